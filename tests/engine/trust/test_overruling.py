"""The origin's word and the operator's against copies: withdrawals, races, purges, rotated keys, lost watches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proxy.caching.generations import uri_scope
from proxy.engine.outcome import Served
from proxy.engine.trust import probing
from proxy.engine.trust.settings import TrustSettings
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request
from proxy.stores.trustrecords import MemoryTrustRecords
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsUnavailable
from tests.engine.trust.scene import (
    DID_PATH,
    FIRST,
    LATER,
    MIRRORED,
    PATH,
    SECOND,
    URI,
    Scene,
    octets,
    scene,
    signed_manifest,
    trust_of,
)
from tests.engine.trust.test_failover import attempts, quickly, until
from tests.simulators.engine import received, request
from tests.simulators.origin import Reply
from tests.trust.publisher import OTHER_ED, manifest, method

NEWER = signed_manifest(FIRST, created=LATER, **{"x-sequence": 43})


async def seen(at: Scene, body: bytes = MIRRORED) -> None:
    """The proxy has seen the manifest, and its freshness has ended."""
    at.publish(body)
    await at.get()
    at.sim.clock += 61


@pytest.mark.parametrize("cache_control", ["no-store", "private", "max-age=0", "max-age=60"])
@pytest.mark.parametrize("status", [301, 308, 404, 410])
async def test_a_withdrawal_counts_whether_or_not_it_may_be_stored(status: int, cache_control: str) -> None:
    at = scene()
    await seen(at)
    at.sim.origin.respond(PATH, status, cache_control=cache_control, fields=[("Location", "https://example.com/m")])
    await at.get()
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).status == (410 if status == 410 else 504) and not at.trust.mirrors.asked
    await at.trust.close()


@pytest.mark.parametrize("status", [401, 403, 429, 302])
async def test_what_is_no_withdrawal(status: int) -> None:
    at = scene()
    await seen(at)
    at.sim.origin.respond(PATH, status, fields=[("Location", "https://example.com/m")])
    await at.get()
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


NEW_VERSIONS = {
    "no-store": ("no-store", False),
    "private": ("private", False),
    "max-age=0": ("max-age=0", True),
    "max-age=60": ("max-age=60", True),
}


@pytest.mark.parametrize(("cache_control", "is_kept"), NEW_VERSIONS.values(), ids=NEW_VERSIONS)
async def test_an_older_version_is_never_served_after_a_newer_one_was_seen(
    cache_control: str, is_kept: bool
) -> None:
    at = scene()
    await seen(at)
    at.publish(NEWER, cache_control)
    assert (await at.get()).body == NEWER
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).status == 504
    at.mirror(FIRST, NEWER)
    at.sim.clock += 20
    assert ((await at.get()).body == NEWER) is is_kept
    await at.trust.close()


ANSWERS: dict[str, tuple[int, bytes]] = {"410": (410, b""), "a newer one": (200, NEWER)}


@pytest.mark.parametrize(("status", "body"), ANSWERS.values(), ids=ANSWERS)
async def test_an_origin_that_answers_during_the_search_is_not_overruled(status: int, body: bytes) -> None:
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    at.trust.mirrors.delay(FIRST, 0.2)
    waiting = asyncio.ensure_future(at.sim.ask(PATH))  # noqa: TID251 - awaited below
    await at.trust.mirrors.arrived(1)
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, status, body=body, content_type="application/json", cache_control="max-age=60")
    other = await at.sim.ask(PATH, {"Cache-Control": "no-cache"})
    assert other.status == status
    got = await waiting
    assert (got.status, got.served is Served.MIRROR) == (status, False)
    assert URI not in at.sim.state.copies
    known = await at.trust.records.get("example.com")
    assert known is not None and (URI in known.manifests) is (status == 200)
    await at.trust.close()


async def test_a_purge_during_the_search() -> None:
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    at.trust.mirrors.delay(FIRST, 0.1)
    first = asyncio.ensure_future(at.sim.ask(PATH))  # noqa: TID251 - awaited below
    await at.trust.mirrors.arrived(1)
    at.sim.generations.mark((uri_scope(URI),), at.sim.clock(), soft=False)
    second = await at.sim.ask(PATH)
    assert second.served is Served.MIRROR
    await first
    # Nothing that was asked for before the purge is given after it.
    assert at.trust.mirrors.urls.count(FIRST) >= 2
    await at.trust.close()


async def test_the_probe_asks_in_the_realm_and_as_the_class_of_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    await quickly(monkeypatch)
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    asked = request(PATH)
    public = type(asked)("GET", asked.target, asked.fields, Realm.PUBLIC, "manifest")
    assert (await received(await at.sim.gateway.handle(public))).served is Served.MIRROR
    before = len(at.sim.origin.requests)
    at.sim.clock += 10
    await until(lambda: len(at.sim.origin.requests) > before)
    probe = at.sim.origin.requests[-1].request
    assert (probe.realm, probe.document_class) == (Realm.PUBLIC, "manifest")
    await at.trust.close()


async def test_queries_push_nothing_out() -> None:
    at = scene()
    await seen(at)
    for number in range(20):
        at.publish(octets(manifest()), path=f"{PATH}?{number}")
        await at.sim.ask(f"{PATH}?{number}")
    known = await at.trust.records.get("example.com")
    assert known is not None and list(known.manifests) == [URI]
    await at.trust.close()


async def test_nobody_has_a_copy_and_nobody_is_asked_again_at_once() -> None:
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    for _ in range(10):
        assert (await at.get()).status == 504
    assert len(at.trust.mirrors.asked) == 2
    at.sim.clock += 2
    await at.get()
    assert len(at.trust.mirrors.asked) == 4
    await at.trust.close()


async def test_a_dropped_key_ends_the_copies_that_it_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, 503)
    at.publish_keys(method("key-2", OTHER_ED))
    await at.trust.trusting.control.pin("example.com")
    assert URI not in at.sim.state.copies
    at.sim.clock += 20
    assert (await at.get()).status == 503
    await at.trust.close()


async def test_without_a_watch_no_copy_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_MOST", 0)
    at = scene()
    await seen(at)
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    at.sim.origin.recover()
    at.publish(NEWER)
    assert (await at.get()).body == NEWER
    await at.trust.close()


async def test_first_seen_before_its_keys_and_then_the_origin_dies() -> None:
    at = scene(TrustSettings(patience=0.01))
    at.sim.origin.hang(DID_PATH)
    at.publish(MIRRORED, "max-age=86400", etag='"1"')
    assert trust_of(await at.get())[1]["signature"] == "unverifiable"
    at.sim.origin.unhang(DID_PATH)
    await at.sim.settle()
    # What was stored before its keys had come is judged by them at the next request, however fresh.
    assert trust_of(await at.get())[0] == "verified"
    at.sim.clock += 90_000
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_without_a_pin_the_domain_is_asked_once_more_during_the_outage() -> None:
    at = scene()
    at.sim.origin.respond(DID_PATH, 503)
    await seen(at)
    at.publish_keys(method("key-1"))
    at.sim.origin.respond(PATH, 503)
    at.sim.clock += 61
    at.mirror(FIRST, MIRRORED)
    assert trust_of(await at.get())[0] == "verified"
    await at.trust.close()


async def test_an_unknown_key_asks_for_the_document_once_an_hour_at_the_most() -> None:
    at = scene()
    at.publish(signed_manifest(fragment="key-9"), etag='"1"')
    for _ in range(58):
        await at.get()
        at.sim.clock += 61
    assert at.sim.origin.paths.count(DID_PATH) == 2
    await at.trust.close()


async def test_tending_goes_on_after_a_restart() -> None:
    at = scene()
    at.publish(signed_manifest(), "max-age=1000000")
    await at.get()
    pinning = at.trust.trusting.pinning
    pinning._asked.clear()
    at.sim.clock += 3 * 86_400
    pinning.begin()
    await at.sim.settle()
    pinning.tend()
    await at.sim.settle()
    assert at.sim.origin.paths.count(DID_PATH) == 2
    await at.trust.close()


async def test_a_validator_that_cannot_be_kept_is_left_out() -> None:
    at = scene()
    from tests.trust.publisher import did_document

    at.sim.origin.respond(DID_PATH, body=octets(did_document(method("key-1"))), etag='"\udce9"')
    at.publish(signed_manifest(), etag='"1"')
    for _ in range(3):
        assert trust_of(await at.get())[0] == "verified"
        at.sim.clock += 3601
    known = await at.trust.records.get("example.com")
    assert known is not None and known.pin is not None
    assert known.pin.last_confirmed_at > at.sim.clock() - 4000
    await at.trust.close()


async def test_strict_trust_serves_no_copy_past_the_soft_age() -> None:
    at = scene(TrustSettings(is_strict=True))
    await at.known(body=(body := signed_manifest(FIRST)))
    at.mirror(FIRST, body)
    at.sim.clock += 8 * 86_400
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "trust_anchor_expired"
    await at.trust.close()


async def test_every_verdict_is_counted() -> None:
    at = scene()
    variant = signed_manifest()
    await at.known(body=signed_manifest(FIRST, at.pin_on_ipfs(variant)))
    at.mirror(FIRST, b"<html>")
    await at.get()
    assert ("manifest", "json_invalid") in at.verdicts and ("cid", "verified") in at.verdicts
    other = scene()
    other.publish(octets(manifest()))
    await other.get()
    assert ("manifest", "unsigned") in other.verdicts
    for one in (at, other):
        await one.trust.close()


STATUSES: list[Any] = [418, 599, 299]


@pytest.mark.parametrize("status", STATUSES)
async def test_no_origin_makes_up_names_in_metrics(status: int) -> None:
    at = scene()
    at.sim.origin.respond(DID_PATH, status)
    at.publish(signed_manifest())
    await at.get()
    assert not any(str(status) in text for text in (*map(str, at.verdicts), *map(str, at.sim.noted.upstreams)))
    await at.trust.close()


async def test_two_mirrors_that_contradict_each_other_are_both_refused() -> None:
    at = scene()
    await seen(at, signed_manifest(FIRST, SECOND))
    at.sim.origin.fail()
    one = signed_manifest(FIRST, SECOND, created=LATER, **{"x-sequence": 43})
    other = signed_manifest(FIRST, SECOND, created=LATER, routes=[], **{"x-sequence": 43})
    at.mirror(FIRST, one)
    assert (await at.get()).body == one
    at.sim.clock += 301
    at.mirror(FIRST, other)
    at.trust.mirrors.fail(SECOND, "status-404")
    assert attempts(await at.get())[1][-1] == "equivocation"
    for body in (one, other):
        at.sim.clock += 20
        at.mirror(FIRST, body)
        assert attempts(await at.get())[1][-1] == "equivocation"
    # What the origin itself published last is still good.
    at.sim.clock += 20
    at.mirror(FIRST, signed_manifest(FIRST, SECOND))
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_a_version_far_ahead_locks_nobody_out_once_the_origin_speaks() -> None:
    at = scene()
    await seen(at, signed_manifest(FIRST))
    at.sim.origin.fail()
    far = signed_manifest(FIRST, created=LATER, **{"x-sequence": 2**53 - 1})
    at.mirror(FIRST, far)
    assert (await at.get()).body == far
    at.sim.origin.recover()
    at.publish(NEWER)
    at.sim.clock += 301
    assert (await at.get({"Cache-Control": "no-cache"})).body == NEWER
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, NEWER)
    assert (await at.get()).body == NEWER
    await at.trust.close()


ODD = {"X-Odd": "1", "Cache-Control": "no-cache"}


def odd(at: Scene, status: int, body: bytes = b"", *, cache_control: str = "no-store") -> None:
    """Whoever sends the odd field gets another answer than everybody else."""
    plain = at.sim.origin.answering(PATH)
    lines = (("Content-Type", "application/json"), ("Cache-Control", cache_control), ("Location", "/login"))

    def answer(asked: Request) -> Reply:
        return Reply(status, Fields(lines), body) if "x-odd" in asked.fields else plain(asked)

    at.sim.origin.answer(PATH, answer)


@pytest.mark.parametrize("status", [301, 308, 404, 410])
async def test_one_clients_fields_withdraw_nothing(status: int) -> None:
    at = scene()
    await seen(at)
    odd(at, status)
    assert (await at.get(ODD)).status == status
    assert at.sim.origin.paths.count(PATH) == 3, "the origin is asked what it says to others"
    assert at.sim.origin.requests[-1].field("x-odd") is None
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_who_is_told_that_there_is_none_makes_nobody_else_ask() -> None:
    """Of what is not remembered nothing ends."""
    at = scene()
    at.sim.origin.respond(PATH, 404)
    await at.get(ODD)
    assert at.sim.origin.paths.count(PATH) == 1
    await at.trust.close()


async def test_what_is_private_to_one_client_forgets_nothing() -> None:
    at = scene()
    await seen(at)
    odd(at, 200, octets(manifest(**{"x-you": "you"})), cache_control="private")
    assert (await at.get(ODD)).status == 200
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_an_origin_that_is_down_for_the_second_request_confirms_nothing() -> None:
    at = scene()
    await seen(at)
    at.sim.origin.respond(PATH, 503)
    odd(at, 410)
    assert (await at.get(ODD)).status == 410
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_an_error_that_one_client_gets_ends_no_copy() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, 503)
    odd(at, 400)
    assert (await at.get(ODD)).status == 400
    assert URI in at.sim.state.copies and (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_an_error_that_one_client_gets_diverts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    await quickly(monkeypatch)
    at = scene()
    await seen(at)
    at.publish(NEWER)
    at.mirror(FIRST, MIRRORED)
    odd(at, 503)
    assert (await at.get(ODD)).served is Served.MIRROR
    asked = len(at.sim.origin.requests)
    assert (await at.get()).body == NEWER
    assert URI not in at.sim.state.copies
    assert all(one.field("x-odd") is None for one in at.sim.origin.requests[asked:])
    await at.trust.close()


class Unreadable(MemoryTrustRecords):
    """Records that cannot be used at times."""

    is_away = False

    async def get(self, authority: str) -> Knowledge | None:
        if self.is_away:
            raise TrustRecordsUnavailable("They are locked.")
        return await super().get(authority)


SAID_MEANWHILE: dict[str, tuple[int, bytes]] = {"410": (410, b""), "another one": (200, NEWER)}


@pytest.mark.parametrize(("status", "body"), SAID_MEANWHILE.values(), ids=SAID_MEANWHILE)
async def test_what_the_origin_says_while_no_record_can_be_read_is_not_lost(status: int, body: bytes) -> None:
    at = scene()
    records = at.trust.trusting.known._records = Unreadable()
    await seen(at)
    records.is_away = True
    at.sim.origin.respond(PATH, status, body=body, content_type="application/json", cache_control="max-age=0")
    assert (await at.get()).status == status
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    at.sim.clock += 61
    refused = 410 if status == 410 else 504
    assert (await at.get()).status == refused, "nothing is known of it"
    records.is_away = False
    at.sim.clock += 61
    assert (await at.get()).status == refused and not at.trust.mirrors.asked
    known = await at.trust.trusting.known.get("example.com")
    assert known is not None and known.pin is not None and URI not in known.manifests
    await at.trust.close()


async def test_the_same_answer_while_no_record_can_be_read_changes_nothing() -> None:
    at = scene()
    records = at.trust.trusting.known._records = Unreadable()
    await seen(at)
    records.is_away = True
    assert (await at.get()).status == 200
    records.is_away = False
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()
