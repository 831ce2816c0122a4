"""What stands in the query of a mirror's URL reaches no log line, no answer and no metric."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.end_to_end.running import Wire, request
from tests.end_to_end.test_process import Child, child
from tests.end_to_end.trust.world import (
    COPY_PATH,
    FIRST,
    FIRST_HOST,
    GATEWAY_FORM,
    HOST,
    SECOND,
    SECOND_HOST,
    World,
    answers,
    attempts,
    signed_manifest,
    trust_of,
    verified_from,
)

SECRET = "tk5Qz8Lw2RnVb7Xc"
QUIET = "quietquery"
WITH_SECRETS = (
    f"{FIRST}?access_token={SECRET}",
    f"https://user:{SECRET}@{FIRST_HOST}{COPY_PATH}",
    f"{FIRST}#api_key={SECRET}",
)
WITH_QUERY = f"{SECOND}?{QUIET}=1"


async def told_by(proxy: Child) -> str:
    """Everything that the two ports tell of it, and of what is known."""
    texts = []
    for path in ("/metrics", "/admin/trust", "/admin/upstreams", "/readyz"):
        async with Wire.open(proxy.admin_port) as wire:
            texts.append((await wire.ask(request("GET", path, "Host: 127.0.0.1"))).body.decode())
    return "\n".join(texts)


async def rest_of_log(proxy: Child) -> str:
    """What it logged since it served, up to its end."""
    proxy.process.send_signal(signal.SIGTERM)
    assert proxy.process.stdout is not None
    log = (await proxy.process.stdout.read()).decode()
    assert await proxy.ended() == 0
    return log


async def test_of_mirrors_that_serve_and_that_do_not(world: World, tmp_path: Path) -> None:
    body = signed_manifest(*WITH_SECRETS, WITH_QUERY)
    for site in (world.first, world.second):
        site.on(COPY_PATH, answers(body))
    world.second.on(f"{COPY_PATH}?{QUIET}=1", answers(body))
    world.publish(body)
    sections = world.document(log__level="debug")
    async with child(tmp_path / "proxy.yaml", **sections) as proxy:
        assert trust_of(await proxy.get(GATEWAY_FORM)) == verified_from("origin")
        await world.origin.down()
        answer = await proxy.get(GATEWAY_FORM)
        assert (answer.body, trust_of(answer)) == (body, verified_from("mirror"))
        assert [asked.path for asked in world.asked_mirrors] == [f"{COPY_PATH}?{QUIET}=1"]

        await world.second.down()
        order = json.dumps({"host": HOST}).encode()
        lines = ("Host: 127.0.0.1", f"Content-Length: {len(order)}")
        async with Wire.open(proxy.admin_port) as wire:
            assert (await wire.ask(request("POST", "/admin/purge", *lines, body=order))).status == 200
        problem = await proxy.get(GATEWAY_FORM)
        assert (problem.status, problem.slug) == (504, "no-trusted-copy")
        assert attempts(problem) == [
            ("mirror", f"https://{FIRST_HOST}/", "skipped", "mirror_invalid"),
            ("mirror", f"https://{FIRST_HOST}/", "skipped", "mirror_invalid"),
            ("mirror", f"https://{FIRST_HOST}/", "skipped", "mirror_invalid"),
            ("mirror", f"https://{SECOND_HOST}{COPY_PATH}", "failed", "origin-unreachable"),
        ]
        discovered = await proxy.get(f"/v1/discover/{HOST}")
        told = "\n".join([problem.body.decode(), discovered.body.decode(), await told_by(proxy)])
        log = await rest_of_log(proxy)
    assert "copy looked for" in log
    for text in (told, log):
        assert SECRET not in text and QUIET not in text and "user:" not in text
    assert not world.first.asked
