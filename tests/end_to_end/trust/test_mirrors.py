"""A mirror that misbehaves beside one that does not, over real TLS: the second serves, and the log says why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from tests.end_to_end.site import Answering, Asked, Cut, Stream, reply
from tests.end_to_end.trust.world import (
    COPY_PATH,
    FIRST,
    FIRST_HOST,
    INSIDE_HOST,
    JSON,
    MIRRORS,
    SECOND,
    SECOND_HOST,
    URI,
    World,
    answers,
    ask_manifest,
    attempts,
    counted,
    looked_for,
    octets,
    signed_manifest,
    source_of,
    told_reasons,
    trust_of,
    verified_from,
)
from tests.trust.publisher import OTHER_ED, manifest, signed

MIB = 2**20
HTML = b"<!doctype html><title>Nothing here</title>"


def always(answer: bytes) -> Answering:
    return lambda asked: answer


def redirect(location: str) -> Answering:
    return always(reply(b"", None, ("Location", location), status=302))


def endless(asked: Asked) -> Stream:
    async def parts() -> AsyncGenerator[bytes, None]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"
        while True:
            yield b" " * 2**16

    return Stream(parts())


async def late(answer: bytes) -> bytes:
    await asyncio.sleep(3)
    return answer


def halved(body: bytes) -> Cut:
    return Cut(reply(body, None, JSON)[: -len(body) // 2])


Misbehaving = Callable[[bytes], Answering]
"""What a mirror answers, made from the copy that it should have."""

# Then how the attempt ends, why, and what the metrics call that.
FIRST_MIRROR: dict[str, tuple[Misbehaving, str, str, str]] = {
    "tampered": (
        lambda body: answers(body.replace(b"0.25", b"0.75")),
        "refused",
        "signature_invalid",
        "rejected",
    ),
    "unsigned": (lambda body: answers(octets(manifest())), "refused", "unsigned", "rejected"),
    "signed by somebody else": (
        lambda body: answers(octets(signed(manifest(), key=OTHER_ED))),
        "refused",
        "signature_invalid",
        "rejected",
    ),
    "a member twice": (
        lambda body: answers(body.replace(b"{", b'{"x-sequence": 99,', 1)),
        "refused",
        "json_duplicate_key",
        "rejected",
    ),
    "HTML": (
        lambda body: always(reply(HTML, None, ("Content-Type", "text/html"))),
        "refused",
        "json_invalid",
        "rejected",
    ),
    "2 MiB": (lambda body: answers(body + b" " * 2 * MIB), "failed", "too-large", "too-large"),
    "endless": (lambda body: endless, "failed", "too-large", "too-large"),
    "truncated": (
        lambda body: lambda asked: halved(body),
        "failed",
        "origin-invalid-response",
        "origin-invalid-response",
    ),
    "coded": (
        lambda body: answers(body, None, ("Content-Encoding", "gzip")),
        "failed",
        "origin-invalid-response",
        "origin-invalid-response",
    ),
    "404": (lambda body: always(reply(b"", status=404)), "failed", "status-404", "error-status"),
    "410": (lambda body: always(reply(b"", status=410)), "failed", "status-410", "error-status"),
    "503": (lambda body: always(reply(b"", status=503)), "failed", "status-503", "error-status"),
    "to a private address": (
        lambda body: redirect("https://10.1.2.3/manifest.json"),
        "failed",
        "egress-denied",
        "egress-denied",
    ),
    "to cloud metadata": (
        lambda body: redirect("https://169.254.169.254/latest/meta-data"),
        "failed",
        "egress-denied",
        "egress-denied",
    ),
    "to a name of this machine": (
        lambda body: redirect(f"https://{INSIDE_HOST}{COPY_PATH}"),
        "failed",
        "egress-denied",
        "egress-denied",
    ),
    "to the origin": (lambda body: redirect(URI), "failed", "redirect-refused", "redirect-refused"),
    "out of TLS": (
        lambda body: redirect(f"http://{SECOND_HOST}{COPY_PATH}"),
        "failed",
        "redirect-refused",
        "redirect-refused",
    ),
    "to another port": (
        lambda body: redirect(f"https://{SECOND_HOST}:8443{COPY_PATH}"),
        "failed",
        "redirect-refused",
        "redirect-refused",
    ),
    "to itself, again and again": (
        lambda body: redirect(COPY_PATH),
        "failed",
        "too-many-redirects",
        "too-many-redirects",
    ),
}


@pytest.mark.parametrize(("misbehaving", "outcome", "reason", "result"), FIRST_MIRROR.values(), ids=FIRST_MIRROR)
async def test_the_second_serves(
    world: World,
    log: pytest.LogCaptureFixture,
    misbehaving: Misbehaving,
    outcome: str,
    reason: str,
    result: str,
) -> None:
    # The first is to be heard before the second is asked, however busy the machine is.
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, misbehaving(body))
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body, trust_of(answer)) == (200, body, verified_from("mirror"))
        assert looked_for(log) == [("mirror", FIRST, outcome, reason), ("mirror", SECOND, "served", "")]
        asked = await counted(proxy, "discovery_proxy_upstream_requests_total", reason="mirror")
        assert asked == {result: 1.0, "verified": 1.0}
        verdicts = await counted(proxy, "discovery_proxy_verification_total", kind="manifest")
        refused = {reason: 1.0} if outcome == "refused" else {}
        assert verdicts == {"verified": 2.0, **refused}
        assert told_reasons(log, "not verified") == [*refused]
        assert len(world.first.asked) == (4 if reason == "too-many-redirects" else 1)
        assert len(world.second.asked) == 1


async def test_a_slow_one_is_overtaken(world: World, log: pytest.LogCaptureFixture) -> None:
    async with world.proxy() as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, lambda asked: late(reply(body, None, JSON)))
        answer = await ask_manifest(proxy)
        assert (answer.body, source_of(answer)) == (body, "mirror")
        assert looked_for(log) == [("mirror", FIRST, "skipped", "hedged"), ("mirror", SECOND, "served", "")]


async def test_a_good_one_is_enough_and_may_lie_at_another_host(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    async with world.proxy() as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, redirect(f"https://{SECOND_HOST}/moved.json"))
        world.second.on("/moved.json", answers(body))
        assert source_of(await ask_manifest(proxy)) == "mirror"
        assert looked_for(log) == [("mirror", FIRST, "served", "")]
        assert [asked.path for asked in world.asked_mirrors] == [COPY_PATH, "/moved.json"]
        [agent] = {asked.fields.get("user-agent") for asked in world.asked_mirrors}
        assert (agent or "").startswith("discovery-proxy/")
        assert {asked.fields.get("accept-encoding") for asked in world.asked_mirrors} == {"identity"}


async def test_where_all_misbehave_each_is_told(world: World, log: pytest.LogCaptureFixture) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, answers(body.replace(b"0.25", b"0.75")))
        world.second.on(COPY_PATH, redirect(URI))
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        ends = [
            ("mirror", FIRST, "refused", "signature_invalid"),
            ("mirror", SECOND, "failed", "redirect-refused"),
        ]
        assert attempts(answer) == looked_for(log) == ends
        assert trust_of(answer) == ("rejected", {"source": "mirror"})


async def test_where_no_copy_came_none_is_rejected(world: World) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, always(reply(b"", status=404)))
        await world.second.down()
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert {outcome for _, _, outcome, _ in attempts(answer)} == {"failed"}
        assert answer.get("discovery-trust") is None


async def test_a_certificate_of_another_name_is_no_mirror(world: World, log: pytest.LogCaptureFixture) -> None:
    """The first name leads to the second's server, which cannot prove to be the first."""
    misled = f"{FIRST_HOST}:443:127.0.0.1:{world.second.port}"
    async with world.proxy(upstream__connect_to=[misled, *world.connect_to]) as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        answer = await ask_manifest(proxy)
        assert (answer.body, source_of(answer)) == (body, "mirror")
        assert looked_for(log)[0] == ("mirror", FIRST, "failed", "origin-unreachable")
