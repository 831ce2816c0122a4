"""kill -9 during an outage, with the records on disk: neither that nor a purge loses the pin or the version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.end_to_end.running import Reply, Wire, request
from tests.end_to_end.test_process import Child, child
from tests.end_to_end.trust.world import (
    FIRST,
    GATEWAY_FORM,
    MIRRORS,
    SECOND,
    URI,
    World,
    attempts,
    signed_manifest,
    trust_of,
    verified_from,
)


async def get(proxy: Child) -> Reply:
    return await proxy.get(GATEWAY_FORM)


async def known_to(proxy: Child) -> Any:
    """What the operator is told of the one domain that is known."""
    [domain] = (await proxy.admin("/admin/trust"))["domains"]
    return domain


async def purge_all(proxy: Child) -> None:
    order = b'{"all": true}'
    lines = ("Host: 127.0.0.1", f"Content-Length: {len(order)}")
    async with Wire.open(proxy.admin_port) as wire:
        assert (await wire.ask(request("POST", "/admin/purge", *lines, body=order))).status == 200


async def kill(proxy: Child) -> None:
    """As a power cut would."""
    proxy.process.kill()
    await proxy.ended()


async def test_a_restart_during_the_outage(world: World, tmp_path: Path) -> None:
    body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
    older = signed_manifest(*MIRRORS, sequence=41)
    config = tmp_path / "proxy.yaml"
    sections = world.document(store__url=f"sqlite:///{tmp_path / 'store.db'}")
    async with child(config, **sections) as proxy:
        assert trust_of(await get(proxy)) == verified_from("origin")
        await world.origin.down()
        assert trust_of(await get(proxy)) == verified_from("mirror")
        before = await known_to(proxy)
        await kill(proxy)
    asked = len(world.asked_mirrors)
    async with child(config, **sections) as proxy:
        assert await known_to(proxy) == before
        assert before["pin"]["standing"] == "verified"
        assert [(one["url"], one["sequence"]) for one in before["manifests"]] == [(URI, 42)]
        answer = await get(proxy)
        assert (answer.body, trust_of(answer)) == (body, verified_from("mirror"))
        assert len(world.asked_mirrors) > asked

        world.mirrored(older)
        await purge_all(proxy)
        answer = await get(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert attempts(answer) == [("mirror", url, "refused", "rollback") for url in (FIRST, SECOND)]
        assert await known_to(proxy) == before

        world.mirrored(body)
        # That nobody had a copy is remembered for a moment, but not past a purge.
        await purge_all(proxy)
        assert trust_of(await get(proxy)) == verified_from("mirror")


async def test_a_newer_version_from_a_mirror_is_remembered_before_it_is_served(
    world: World, tmp_path: Path
) -> None:
    body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
    config = tmp_path / "proxy.yaml"
    sections = world.document(store__url=f"sqlite:///{tmp_path / 'store.db'}")
    async with child(config, **sections) as proxy:
        assert (await get(proxy)).body == body
        await world.origin.down()
        newer = world.mirrored(signed_manifest(*MIRRORS, sequence=43))
        assert (await get(proxy)).body == newer
        await kill(proxy)
    world.mirrored(body)
    async with child(config, **sections) as proxy:
        answer = await get(proxy)
        assert (answer.status, {reason for *_, reason in attempts(answer)}) == (504, {"rollback"})
        assert [one["sequence"] for one in (await known_to(proxy))["manifests"]] == [43]
