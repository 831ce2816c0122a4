"""Bugs that other proxies had with signed documents and mirrors, each through a real proxy and real TLS servers.

The number in a test's name is the case's.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest

from tests.end_to_end.running import request
from tests.end_to_end.site import reply
from tests.end_to_end.trust.world import (
    COPY_PATH,
    FIRST,
    HOST,
    JSON,
    MIRRORS,
    NEVER_STALE,
    PATH,
    SECOND,
    URI,
    World,
    answers,
    ask_manifest,
    attempts,
    counted,
    looked_for,
    octets,
    signed_manifest,
    trust_of,
    verified_from,
)
from tests.trust.publisher import Json, signature, signed

CARD_PATH = "/.well-known/agent-card.json"
CARD_FORM = f"/https/{HOST}{CARD_PATH}"
ETAG = ("ETag", '"1"')
CARD: Json = {"name": "Agent", "url": f"https://{HOST}/a2a", "version": "1", "capabilities": {}, "skills": []}
UNLIKE_ANY_SERIALIZER = (
    b'{ "name":"Agent",\r\n\t"url" : "https:\\/\\/example.com\\/a2a",\n"x-number": 1.50e+1,'
    b'"x-z\\u00fcrich":"\xe7\xb4\x8d","capabilities":{ },"skills":[\n], "version":"1", "signatures":  '
)


def signed_card(**members: object) -> bytes:
    card = {**CARD, **members}
    return octets({**card, "signatures": [signature(card)]})


def oddly_written_card() -> bytes:
    """A signed card whose octets no serializer would write a second time."""
    card = json.loads(UNLIKE_ANY_SERIALIZER + b"null}")
    entry = signature({name: value for name, value in card.items() if name != "signatures"})
    return UNLIKE_ANY_SERIALIZER + json.dumps([entry], indent=1).encode() + b"\r\n}  \n"


def oddly_written_manifest() -> bytes:
    body = signed_manifest(*MIRRORS)
    return body.replace(b": 0.25", b" :\t25.0E-2").replace(
        b"https://example.com/", b"https:\\u002f/example.com/", 1
    )


BODIES = {"card": (CARD_PATH, oddly_written_card()), "manifest": (PATH, oddly_written_manifest())}
FORMS: dict[str, Callable[[str], bytes]] = {
    "gateway": lambda path: request("GET", f"/https/{HOST}{path}", "Accept-Encoding: gzip"),
    "forward": lambda path: request("GET", f"https://{HOST}{path}", f"Host: {HOST}", "Accept-Encoding: gzip"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_coded", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("path", "body"), BODIES.values(), ids=BODIES)
async def test_b24_signed_bodies_pass_byte_for_byte(
    world: World, form: str, is_coded: bool, path: str, body: bytes
) -> None:
    sent = gzip.compress(body) if is_coded else body
    coding = (("Content-Encoding", "gzip"),) if is_coded else ()
    world.origin.on(path, lambda asked: reply(sent, "max-age=60", JSON, *coding))
    async with world.proxy() as proxy:
        for times in (1, 2):
            answer = await proxy.ask(FORMS[form](path))
            assert (answer.status, answer.body) == (200, sent), times
            assert trust_of(answer) == verified_from("origin")
            assert answer.get("content-encoding") == ("gzip" if is_coded else None)
        assert len(world.origin.to(path)) == 1


async def test_b24_a_copy_from_a_mirror_passes_byte_for_byte(world: World) -> None:
    body = oddly_written_manifest()
    async with world.proxy() as proxy:
        await world.known(proxy, world.mirrored(body))
        for form in FORMS.values():
            answer = await proxy.ask(form(PATH))
            assert (answer.body, trust_of(answer)) == (body, verified_from("mirror"))


async def test_b25_a_bad_signature_on_a_card_is_told_and_counted(world: World) -> None:
    good, bad = signed_card(), signed_card().replace(b'"Agent"', b'"Other"')
    world.origin.on(CARD_PATH, lambda asked: reply(good if asked.number == 1 else bad, NEVER_STALE, JSON, ETAG))
    async with world.proxy() as proxy:
        assert trust_of(await proxy.get(CARD_FORM)) == verified_from("origin")
        answer = await proxy.get(CARD_FORM)
        # The live origin's TLS is its authority; what it signed badly is never called verified.
        assert answer.body == bad
        assert trust_of(answer) == ("origin-tls", {"source": "origin", "signature": "invalid"})
        verdicts = await counted(proxy, "discovery_proxy_verification_total", kind="agent-card")
        assert verdicts == {"verified": 1.0, "signature_invalid": 1.0}


async def test_b25_a_bad_signature_at_the_origin_leaves_the_good_version_to_judge_mirrors_by(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    good = world.mirrored(signed_manifest(*MIRRORS))
    bad = signed_manifest(*MIRRORS, sequence=99).replace(b"0.25", b"0.75")
    async with world.proxy() as proxy:
        world.publish(good)
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
        world.publish(bad)
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)[1]["signature"]) == (bad, "invalid")
        await world.origin.down()
        world.first.on(COPY_PATH, answers(bad))
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (good, verified_from("mirror"))
        assert looked_for(log) == [
            ("mirror", FIRST, "refused", "signature_invalid"),
            ("mirror", SECOND, "served", ""),
        ]


async def test_b25_a_refused_copy_leaves_the_one_before_until_its_end(world: World) -> None:
    good = world.mirrored(signed_manifest(*MIRRORS))
    async with world.proxy() as proxy:
        await world.known(proxy, good)
        assert (await ask_manifest(proxy)).body == good
        world.mirrored(good.replace(b"0.25", b"0.75"))
        for _ in range(3):
            answer = await ask_manifest(proxy)
            assert (answer.body, trust_of(answer)) == (good, verified_from("mirror"))


@pytest.mark.parametrize("cache_control", [None, "max-age=60", "no-store"])
@pytest.mark.parametrize("status", [404, 410])
async def test_b43_the_origin_s_no_is_no_outage(world: World, status: int, cache_control: str | None) -> None:
    async with world.proxy() as proxy:
        world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert (await ask_manifest(proxy)).status == 200
        world.origin.on(PATH, lambda asked: reply(b"", cache_control, status=status))
        assert (await ask_manifest(proxy)).status == status
        assert not world.asked_mirrors
        # What it has withdrawn stays withdrawn while it is down.
        await world.origin.down()
        await proxy.purge()
        answer = await ask_manifest(proxy)
        expected = (410, "gone") if status == 410 else (504, "origin-unreachable")
        assert (answer.status, answer.slug) == expected
        assert not world.asked_mirrors


@pytest.mark.parametrize("status", [404, 410])
async def test_b43_a_mirror_s_no_is_not_the_origin_s(
    world: World, log: pytest.LogCaptureFixture, status: int
) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, lambda asked: reply(b"", "max-age=60", status=status))
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body) == (200, body)
        assert looked_for(log)[0] == ("mirror", FIRST, "failed", f"status-{status}")

        await world.second.down()
        await proxy.purge()
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        told = [(source, reason) for source, _, _, reason in attempts(answer)]
        assert told == [("mirror", f"status-{status}"), ("mirror", "origin-unreachable")]


async def test_b43_both_words_are_in_one_answer(world: World) -> None:
    async with world.proxy() as proxy:
        world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert (await ask_manifest(proxy)).status == 200
        world.origin.on(PATH, lambda asked: reply(b"", "no-store", status=503))
        for site in (world.first, world.second):
            site.on(COPY_PATH, lambda asked: reply(b"", status=410))
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (503, "no-trusted-copy")
        told = [(one["source"], one["url"], one["reason"]) for one in json.loads(answer.body)["attempts"]]
        assert told[0][:2] == ("origin", URI)
        assert [reason for _, _, reason in told[1:]] == ["status-410", "status-410"]


def test_the_samples_are_what_they_seem() -> None:
    assert json.loads(oddly_written_manifest())["proof"]["cryptosuite"] == "eddsa-jcs-2022"
    assert json.loads(oddly_written_card())["x-number"] == 15
    assert signed(CARD)["proof"]
