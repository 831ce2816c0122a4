"""A dead origin: whose copy is served, on what terms, until when, and what is told where there is none."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from proxy.caching.generations import uri_scope
from proxy.engine.outcome import Served
from proxy.engine.settings import EngineSettings
from proxy.engine.trust import probing
from proxy.engine.trust.settings import TrustSettings
from proxy.ports import OriginFault
from proxy.trust.manifests import TrustRules
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
from tests.simulators.engine import Got
from tests.trust.publisher import DID, OTHER_ED, manifest, method

TAMPERED = MIRRORED.replace(b"0.25", b"0.75")
NOT_A_CID = "ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d"


def verified_from(source: str) -> tuple[str, dict[str, str]]:
    return "verified", {"did": f'"{DID}"', "source": source, "kid": '"#key-1"'}


def attempts(got: Got) -> list[tuple[str, str, str, str | None]]:
    """What a problem says of each place."""
    told = json.loads(got.body or b"{}")["attempts"]
    return [(one["source"], one["url"], one["outcome"], one["reason"]) for one in told]


async def test_a_good_mirror_serves_in_place_of_a_dead_origin() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert (got.status, got.body, trust_of(got)) == (200, MIRRORED, verified_from("mirror"))
    assert got.served is Served.MIRROR
    assert got.cache_status == "discovery-proxy; fwd=uri-miss; ttl=300; detail=mirror"
    assert got.field("Cache-Control") == "max-age=300" and got.field("Age") == "0"
    assert (got.field("ETag") or "").startswith('"sha256-')
    await at.trust.close()


async def test_later_requests_ask_neither_the_origin_nor_a_mirror() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    await at.get()
    asked, mirrored = len(at.sim.origin.requests), len(at.trust.mirrors.asked)
    at.sim.clock += 100
    again = await at.get()
    assert again.cache_status == "discovery-proxy; hit; ttl=200; detail=mirror" and again.field("Age") == "100"
    assert again.served is Served.MIRROR
    assert (len(at.sim.origin.requests), len(at.trust.mirrors.asked)) == (asked, mirrored)
    tag = again.field("ETag") or ""
    assert (await at.get({"If-None-Match": tag})).status == 304
    assert (await at.get({"Cache-Control": "only-if-cached"})).status == 200
    await at.trust.close()


async def test_a_tampered_mirror_is_passed_over() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, TAMPERED)
    at.mirror(SECOND, MIRRORED)
    got = await at.get()
    assert got.body == MIRRORED and trust_of(got) == verified_from("mirror")
    assert ("manifest", "signature_invalid") in at.verdicts and at.verdicts[-1] == ("manifest", "verified")
    await at.trust.close()


async def test_an_invalid_cid_does_not_spoil_the_list() -> None:
    at = scene()
    await at.known(body=signed_manifest(NOT_A_CID, FIRST))
    at.mirror(FIRST, signed_manifest(NOT_A_CID, FIRST))
    assert trust_of(await at.get()) == verified_from("mirror")
    await at.trust.close()


async def test_content_by_its_hash_where_no_mirror_answers() -> None:
    at = scene()
    variant = signed_manifest()
    await at.known(body=signed_manifest(FIRST, at.pin_on_ipfs(variant)))
    got = await at.get()
    assert (got.body, trust_of(got), got.served) == (variant, verified_from("ipfs"), Served.IPFS)
    assert got.cache_status.endswith("detail=ipfs")
    await at.trust.close()


async def test_nobody_has_a_copy() -> None:
    at = scene()
    await at.known(body=signed_manifest(NOT_A_CID, FIRST, SECOND, f"ipfs://{_CID}"))
    at.mirror(FIRST, TAMPERED)
    at.trust.mirrors.fail(SECOND, "origin-timeout")
    got = await at.get()
    assert got.status == 504 and json.loads(got.body or b"")["type"].endswith(":no-trusted-copy")
    assert attempts(got) == [
        ("origin", URI, "failed", "origin-unreachable"),
        ("ipfs", NOT_A_CID, "skipped", "mirror_invalid"),
        ("mirror", FIRST, "refused", "signature_invalid"),
        ("mirror", SECOND, "failed", "origin-timeout"),
        ("ipfs", f"ipfs://{_CID}", "failed", "status-404"),
    ]
    await at.trust.close()


_CID = "bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"

COPIES: dict[str, tuple[bytes, str]] = {
    "unsigned": (octets(manifest()), "unsigned"),
    "a page": (b"<html>", "json_invalid"),
    "older": (signed_manifest(FIRST, **{"x-sequence": 41}), "rollback"),
    "as old, and other": (signed_manifest(FIRST, routes=[]), "equivocation"),
    "by another key": (signed_manifest(FIRST, key=OTHER_ED), "signature_invalid"),
    "by an unknown key": (signed_manifest(FIRST, fragment="key-9"), "vm_not_found"),
    "of another site": (signed_manifest(FIRST, site={"url": "https://example.org/"}), "site_mismatch"),
    "too large": (b" " * (2**20 + 1), "too_large"),
    "ended": (signed_manifest(FIRST, expires="2027-01-15T08:00:30Z"), "proof_expired"),
}


@pytest.mark.parametrize(("copy", "reason"), COPIES.values(), ids=COPIES)
async def test_what_is_not_believed(copy: bytes, reason: str) -> None:
    at = scene()
    await at.known(body=signed_manifest(FIRST))
    at.mirror(FIRST, copy)
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1] == ("mirror", FIRST, "refused", reason)
    await at.trust.close()


async def test_a_newer_copy_is_the_new_baseline() -> None:
    at = scene()
    await at.known(body=signed_manifest(FIRST))
    newer = signed_manifest(FIRST, created=LATER, **{"x-sequence": 43})
    at.mirror(FIRST, newer)
    assert (await at.get()).body == newer
    at.mirror(FIRST, signed_manifest(FIRST))
    at.sim.clock += 301
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "rollback"
    await at.trust.close()


async def test_the_stale_copy_that_the_origin_allows_comes_first() -> None:
    at = scene()
    await at.known("max-age=60, stale-if-error=600")
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert got.served is Served.SIE and trust_of(got) == verified_from("origin")
    # The copy that will be needed when the stale one ends is looked for behind the scenes.
    assert at.trust.mirrors.urls == [FIRST]
    assert (await at.get()).served is Served.SIE
    at.sim.clock += 600
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_must_revalidate_forbids_the_stale_copy_and_not_the_mirror() -> None:
    at = scene()
    await at.known("max-age=60, must-revalidate, stale-if-error=600")
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_a_purge_takes_copies_and_leaves_pins() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    await at.get()
    at.sim.generations.mark((uri_scope(URI),), at.sim.clock(), soft=False)
    asked = len(at.trust.mirrors.asked)
    got = await at.get()
    assert got.served is Served.MIRROR and len(at.trust.mirrors.asked) > asked
    await at.trust.close()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_statuses_that_are_an_outage(status: int) -> None:
    at = scene()
    await at.known()
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, status, body=b"down")
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert got.served is Served.MIRROR and f"fwd-status={status}" in got.cache_status
    await at.trust.close()


UNREAD: dict[str, tuple[int, bytes, bool, bool]] = {
    "503, cut": (503, b"dow", True, True),
    "503, larger than the limit": (503, b" " * 2**11, False, True),
    "507, cut": (507, b"dow", True, False),
    "507, larger than the limit": (507, b" " * 2**11, False, False),
}


@pytest.mark.parametrize(("status", "body", "cut", "fails_over"), UNREAD.values(), ids=UNREAD)
async def test_the_status_counts_whatever_becomes_of_its_body(
    status: int, body: bytes, cut: bool, fails_over: bool
) -> None:
    at = scene(settings=EngineSettings(max_body=2**10))
    await at.known()
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, status, body=body, cut=cut)
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert (got.served is Served.MIRROR) is bool(at.trust.mirrors.asked) is fails_over
    assert (f"fwd-status={status}" in got.cache_status) or not fails_over
    await at.trust.close()


async def test_an_outage_by_status_without_a_copy() -> None:
    at = scene()
    await at.known()
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, 503, body=b"down")
    got = await at.get()
    assert got.status == 503 and json.loads(got.body or b"")["type"].endswith(":no-trusted-copy")
    await at.trust.close()


@pytest.mark.parametrize("status", [302, 308, 400, 401, 403, 404, 410, 429, 501, 505])
async def test_what_the_origin_says_is_no_outage(status: int) -> None:
    at = scene()
    await at.known()
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, status, fields=[("Location", "https://example.com/elsewhere")])
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).status == status
    assert not at.trust.mirrors.asked
    await at.trust.close()


FAULTS = {
    OriginFault.UNREACHABLE: True,
    OriginFault.TIMEOUT: True,
    OriginFault.INVALID_RESPONSE: True,
    OriginFault.DENIED: False,
    OriginFault.OVERLOADED: False,
}


@pytest.mark.parametrize(("fault", "fails_over"), FAULTS.items())
async def test_faults(fault: OriginFault, fails_over: bool) -> None:
    at = scene()
    await at.known()
    at.sim.origin.fail(fault)
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert (got.served is Served.MIRROR) is fails_over
    assert bool(at.trust.mirrors.asked) is fails_over
    await at.trust.close()


async def test_something_else_than_the_document_is_no_outage() -> None:
    at = scene()
    await at.known()
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, body=b"<html>", content_type="text/html")
    at.mirror(FIRST, MIRRORED)
    got = await at.get()
    assert got.status == 502 and not at.trust.mirrors.asked
    await at.trust.close()


async def test_where_nothing_is_known_the_failure_is_told() -> None:
    at = scene()
    at.sim.origin.fail()
    got = await at.get()
    assert got.status == 504 and json.loads(got.body or b"")["type"].endswith(":origin-unreachable")
    await at.trust.close()


async def test_without_mirrors_the_failure_is_told() -> None:
    at = scene()
    await at.known(body=signed_manifest())
    got = await at.get()
    assert json.loads(got.body or b"")["type"].endswith(":origin-unreachable")
    await at.trust.close()


async def test_other_classes_have_no_copies() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    got = await at.sim.ask("/.well-known/agent-card.json")
    assert got.status == 504 and not at.trust.mirrors.asked
    await at.trust.close()


async def test_a_crowd_asks_once() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    got = await asyncio.gather(*(at.get() for _ in range(50)))
    assert {one.body for one in got} == {MIRRORED}
    assert at.trust.mirrors.urls == [FIRST]
    assert at.sim.origin.paths.count(PATH) == 2
    await at.trust.close()


async def test_the_mirror_may_shorten_and_never_lengthen() -> None:
    for max_age, ttl in ((20.0, 20), (9000.0, 300), (0.0, 0)):
        at = scene()
        await at.known()
        at.mirror(FIRST, MIRRORED, max_age=max_age)
        got = await at.get()
        assert got.field("Cache-Control") == f"max-age={ttl}"
        await at.trust.close()


async def test_a_copy_is_not_fresh_past_its_proof() -> None:
    at = scene()
    await at.known(body=(ending := signed_manifest(FIRST, expires="2027-01-15T08:01:31Z")))
    at.mirror(FIRST, ending)
    got = await at.get()
    assert got.outcome.ttl == 30 and got.field("Cache-Control") == "max-age=30"
    at.sim.clock += 30
    assert (await at.get()).status == 504
    await at.trust.close()


AGES: dict[str, tuple[int, str]] = {
    "young": (6 * 86_400, "verified"),
    "soft": (8 * 86_400, "stale-trust"),
    "hard": (31 * 86_400, "trust_anchor_expired"),
}


@pytest.mark.parametrize(("age", "outcome"), AGES.values(), ids=AGES)
async def test_the_age_of_the_pin(age: int, outcome: str) -> None:
    at = scene()
    await at.known(body=(body := signed_manifest(FIRST)))
    at.mirror(FIRST, body)
    at.sim.clock += age
    got = await at.get()
    assert outcome in (trust_of(got)[0], attempts(got)[-1][-1] if got.status == 504 else None)
    await at.trust.close()


async def test_a_clock_set_back_makes_trust_stale() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    at.sim.clock += -3600
    got = await at.get({"Cache-Control": "no-cache"})
    assert trust_of(got)[0] == "stale-trust"
    await at.trust.close()


async def test_keys_without_continuity_are_on_probation_for_mirrors_alone() -> None:
    at = scene(TrustSettings(probation=3600.0))
    at.publish(signed_manifest(FIRST), etag='"1"')
    await at.get()
    at.publish_keys(method("key-1", OTHER_ED))
    renewed = signed_manifest(FIRST, key=OTHER_ED, created=LATER, **{"x-sequence": 43})
    at.publish(renewed)
    at.sim.clock += 3700
    await at.get()
    at.sim.clock += 61
    assert trust_of(await at.get())[0] == "verified"
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, renewed)
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "trust_anchor_on_probation"
    at.mirror(FIRST, signed_manifest(FIRST))
    at.sim.clock += 20
    assert attempts(await at.get())[-1][-1] == "signature_invalid"
    await at.trust.close()


async def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of a probe as short as a test can wait."""
    monkeypatch.setattr(probing, "_FIRST_PAUSE", 0.005)
    monkeypatch.setattr(probing, "_LONGEST_PAUSE", 0.005)


async def until(holds: Any) -> None:
    for _ in range(1000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not come to be")


async def standing_in(monkeypatch: pytest.MonkeyPatch) -> Scene:
    await quickly(monkeypatch)
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    return at


async def test_the_copy_is_given_up_as_soon_as_the_origin_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    at.sim.clock += 10
    at.sim.origin.recover()
    await until(lambda: URI not in at.sim.state.copies)
    got = await at.get()
    assert got.served is Served.FRESH and trust_of(got) == verified_from("origin")
    await at.trust.close()


def test_the_origin_is_not_hammered() -> None:
    # At its quickest a copy makes one request in a second, and soon one in eight.
    assert (probing._FIRST_PAUSE, probing._LONGEST_PAUSE) == (1.0, 8.0)


async def test_the_origin_is_probed_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    before = len(at.sim.origin.requests)
    at.sim.origin.recover()
    at.sim.origin.hang(PATH)
    await asyncio.sleep(0.1)
    assert len(at.sim.origin.requests) == before + 1
    assert (await at.get()).served is Served.MIRROR
    await at.trust.close()


async def test_a_copy_that_has_ended_is_replaced_without_waiting_for_the_origin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = await standing_in(monkeypatch)
    monkeypatch.setattr(probing, "_RENEWED_BEFORE", -1e9)
    at.sim.clock += 301
    at.sim.origin.recover()
    at.sim.origin.hang(PATH)
    got = await at.get()
    assert got.served is Served.MIRROR and got.cache_status.startswith("discovery-proxy; fwd=stale")
    await at.trust.close()


async def test_the_origin_that_says_410_ends_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    at.sim.clock += 10
    at.sim.origin.recover()
    at.sim.origin.respond(PATH, 410)
    await until(lambda: URI not in at.sim.state.copies)
    assert (await at.get()).status == 410
    at.sim.clock += 3600
    at.sim.origin.fail()
    assert (await at.get()).status == 410
    await at.trust.close()


async def test_a_copy_still_wanted_is_renewed_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    asked = len(at.trust.mirrors.asked)
    at.sim.clock += 250
    await until(lambda: len(at.trust.mirrors.asked) > asked)
    await until(lambda: at.sim.state.copies.fresh_until(URI) > at.sim.clock() + 299)
    got = await at.get()
    assert got.cache_status == "discovery-proxy; hit; ttl=300; detail=mirror"
    await at.trust.close()


async def test_a_copy_that_nobody_wants_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    at.sim.clock += 601
    await until(lambda: URI not in at.sim.state.copies)
    asked = len(at.sim.origin.requests)
    await asyncio.sleep(0.05)
    assert len(at.sim.origin.requests) == asked
    await at.trust.close()


async def test_nothing_runs_on_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await standing_in(monkeypatch)
    await at.trust.close()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_discovery_asks_no_origin_that_is_known_to_fail() -> None:
    from tests.simulators.engine import received, request

    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    asked = len(at.sim.origin.requests)
    got = await received(await at.sim.gateway.stand_in(request(PATH)))
    assert got.served is Served.MIRROR and len(at.sim.origin.requests) == asked
    again = await received(await at.sim.gateway.stand_in(request(PATH)))
    assert again.cache_status.startswith("discovery-proxy; hit")
    await at.trust.close()


async def test_a_manifest_too_old_to_be_believed() -> None:
    at = scene(TrustSettings(rules=replace(TrustRules(), max_manifest_age=86_400.0)))
    body = signed_manifest(FIRST, created="2027-01-14T12:00:00Z")
    await at.known(body=body)
    at.mirror(FIRST, body)
    at.sim.clock += 50_000
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "proof_too_old"
    await at.trust.close()


async def test_the_did_document_is_never_asked_of_a_mirror() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    await at.get()
    assert at.sim.origin.paths.count(DID_PATH) == 1
    assert all("did" not in url for url in at.trust.mirrors.urls)
    await at.trust.close()
