"""What vouches for what an origin sends, and what is remembered of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from tests.engine.trust.scene import (
    CREATED,
    DID_PATH,
    LATER,
    PATH,
    URI,
    octets,
    scene,
    signed_manifest,
    trust_of,
)
from tests.trust.publisher import DID, ED, OTHER_ED, did_document, manifest, method, signature, signed

VERIFIED = ("verified", {"did": f'"{DID}"', "source": "origin", "kid": '"#key-1"'})
CARD = {"name": "a", "url": "https://example.com/a2a", "version": "1", "capabilities": {}, "skills": []}


async def test_a_signed_manifest_is_verified_at_its_first_answer_and_at_every_hit() -> None:
    at = scene()
    at.publish(signed_manifest())
    assert trust_of(await at.get()) == VERIFIED
    hit = await at.get()
    assert trust_of(hit) == VERIFIED and hit.cache_status.startswith("discovery-proxy; hit")
    assert at.sim.origin.paths == [PATH, DID_PATH]
    assert at.verdicts == [("did", "pinned"), ("manifest", "verified")]
    await at.trust.close()


BAD: dict[str, tuple[bytes, str, str]] = {
    "changed": (signed_manifest().replace(b"0.25", b"0.75"), "invalid", "signature_invalid"),
    "by another key": (signed_manifest(key=OTHER_ED), "invalid", "signature_invalid"),
    "by an unknown key": (signed_manifest(fragment="key-9"), "invalid", "vm_not_found"),
    "of the future": (signed_manifest(created="2027-02-01T00:00:00Z"), "invalid", "proof_not_yet_valid"),
    "expired": (signed_manifest(expires="2027-01-15T07:59:59Z"), "expired", "proof_expired"),
    "of another site": (
        signed_manifest(site={"url": "https://example.org/"}),
        "invalid",
        "site_mismatch",
    ),
    "a member twice": (
        signed_manifest().replace(b'{"profileId"', b'{"site":1,"profileId"', 1),
        "invalid",
        "json_duplicate_key",
    ),
}


@pytest.mark.parametrize(("body", "signature_state", "reason"), BAD.values(), ids=BAD)
async def test_the_live_origin_is_served_all_the_same(body: bytes, signature_state: str, reason: str) -> None:
    at = scene()
    at.publish(body)
    got = await at.get()
    assert got.status == 200 and got.body == body
    assert trust_of(got) == ("origin-tls", {"source": "origin", "signature": signature_state})
    assert got.outcome.vouching is not None and got.outcome.vouching.reason == reason
    assert ("manifest", reason) in at.verdicts
    known = await at.trust.records.get("example.com")
    assert known is not None and not known.manifests
    await at.trust.close()


async def test_without_did_document_nothing_can_be_said() -> None:
    at = scene()
    at.sim.origin.respond(DID_PATH, 404)
    at.publish(signed_manifest())
    assert trust_of(await at.get()) == ("origin-tls", {"source": "origin", "signature": "unverifiable"})
    await at.trust.close()


async def test_an_unsigned_manifest_is_remembered_and_the_keys_pinned_behind_it() -> None:
    at = scene()
    body = octets(manifest())
    at.publish(body)
    at.sim.origin.hang(DID_PATH)
    assert trust_of(await at.get()) == ("origin-tls", {"source": "origin"})
    at.sim.origin.unhang(DID_PATH)
    await at.sim.settle()
    known = await at.trust.records.get("example.com")
    assert known is not None and known.pin is not None
    published = known.manifests[URI].published
    assert (published.sha256, published.signed) == (hashlib.sha256(body).hexdigest(), False)
    await at.trust.close()


async def test_a_slow_did_document_holds_up_nobody_for_long() -> None:
    at = scene(TrustSettings(patience=0.01))
    at.publish(signed_manifest())
    at.sim.origin.hang(DID_PATH)
    got = await at.get()
    assert trust_of(got) == ("origin-tls", {"source": "origin", "signature": "unverifiable"})
    at.sim.origin.unhang(DID_PATH)
    await at.sim.settle()
    at.sim.clock += 61
    assert trust_of(await at.get()) == VERIFIED
    await at.trust.close()


async def test_the_end_of_the_proof_ends_freshness_here_and_downstream() -> None:
    at = scene()
    at.publish(signed_manifest(expires="2027-01-15T08:00:30Z"), "max-age=60, stale-if-error=600", etag='"1"')
    got = await at.get()
    assert trust_of(got) == VERIFIED
    assert got.field("Cache-Control") == "max-age=30, stale-if-error=0"
    at.sim.clock += 30
    again = await at.get()
    assert trust_of(again) == ("origin-tls", {"source": "origin", "signature": "expired"})
    assert at.sim.origin.paths.count(PATH) == 2
    at.sim.origin.fail()
    at.sim.clock += 61
    await at.trust.close()


async def test_a_304_is_judged_by_the_keys_of_today() -> None:
    at = scene()
    at.publish(signed_manifest(), etag='"1"')
    assert trust_of(await at.get()) == VERIFIED
    at.publish_keys(method("key-1", revoked="2027-01-14T00:00:00Z"))
    at.sim.clock += 3601
    await at.get()
    await at.sim.settle()
    at.sim.clock += 61
    assert trust_of(await at.get()) == ("origin-tls", {"source": "origin", "signature": "invalid"})
    await at.trust.close()


async def test_a_new_key_is_looked_up_at_once() -> None:
    at = scene()
    at.publish(signed_manifest())
    await at.get()
    at.publish_keys(method("key-1"), method("key-2", OTHER_ED))
    at.publish(signed_manifest(key=OTHER_ED, fragment="key-2", created=LATER, **{"x-sequence": 43}))
    at.sim.clock += 61
    state, parameters = trust_of(await at.get())
    assert (state, parameters["kid"]) == ("verified", '"#key-2"')
    await at.trust.close()


async def test_what_may_not_be_stored_is_judged_and_not_remembered() -> None:
    at = scene()
    at.publish(signed_manifest(), "no-store")
    assert trust_of(await at.get()) == VERIFIED
    known = await at.trust.records.get("example.com")
    assert known is not None and not known.manifests
    await at.trust.close()


@pytest.mark.parametrize("status", [404, 410])
async def test_a_withdrawn_manifest_is_forgotten(status: int) -> None:
    at = scene()
    at.publish(signed_manifest())
    await at.get()
    at.sim.clock += 61
    at.sim.origin.respond(PATH, status)
    assert (await at.get()).status == status
    known = await at.trust.records.get("example.com")
    assert known is not None and not known.manifests and known.pin is not None
    await at.trust.close()


OTHERS: dict[str, tuple[str, bytes, tuple[str, dict[str, str]]]] = {
    "card": ("/.well-known/agent-card.json", octets({**CARD, "signatures": [signature(CARD)]}), VERIFIED),
    "card by a key unknown": (
        "/.well-known/agent-card.json",
        octets({**CARD, "signatures": [signature(CARD, kid=f"{DID}#key-9")]}),
        ("origin-tls", {"source": "origin", "signature": "invalid"}),
    ),
    "card of somebody else": (
        "/.well-known/agent-card.json",
        octets({**CARD, "signatures": [signature(CARD, kid="did:web:other.example#key-1")]}),
        ("origin-tls", {"source": "origin", "signature": "unverifiable"}),
    ),
    "unsigned card": ("/.well-known/agent-card.json", octets(CARD), ("origin-tls", {"source": "origin"})),
    "no class that is signed": (
        "/.well-known/agent-skills/index.json",
        b'{"skills": []}',
        ("origin-tls", {"source": "origin"}),
    ),
}


@pytest.mark.parametrize(("path", "body", "trust"), OTHERS.values(), ids=OTHERS)
async def test_other_documents(path: str, body: bytes, trust: Any) -> None:
    at = scene()
    at.publish(body, path=path)
    assert trust_of(await at.sim.ask(path)) == trust
    await at.trust.close()


async def test_plain_http_proves_nothing() -> None:
    at = scene()
    at.publish(signed_manifest())
    assert trust_of(await at.sim.ask(f"http://example.com{PATH}")) == ("hint", {"source": "origin"})
    assert at.sim.origin.paths == [PATH]
    await at.trust.close()


async def test_a_configured_document_is_believed_and_none_is_fetched() -> None:
    anchor = ConfiguredAnchor(DID, octets(did_document(method("key-1", OTHER_ED))))
    at = scene(TrustSettings(anchors={"example.com": anchor}))
    at.publish(signed_manifest(key=OTHER_ED))
    assert trust_of(await at.get()) == VERIFIED
    assert at.sim.origin.paths == [PATH]
    await at.trust.close()


async def test_a_pin_that_grows_old_is_told() -> None:
    at = scene()
    at.publish(signed_manifest(), f"max-age={20 * 86400}")
    assert trust_of(await at.get()) == VERIFIED
    at.sim.clock += 8 * 86400
    assert trust_of(await at.get())[0] == "stale-trust"
    await at.trust.close()


async def test_the_pin_is_renewed_with_the_manifest_but_not_more_than_hourly() -> None:
    at = scene()
    at.publish(signed_manifest(), etag='"1"')
    for _ in range(70):
        await at.get()
        at.sim.clock += 61
    assert at.sim.origin.paths.count(DID_PATH) == 2
    await at.trust.close()


async def test_a_pin_without_occasion_is_renewed_after_a_day() -> None:
    at = scene()
    at.publish(signed_manifest(), "max-age=1000000")
    await at.get()
    at.sim.clock += 86_399
    at.trust.trusting.pinning.tend()
    await at.sim.settle()
    assert at.sim.origin.paths.count(DID_PATH) == 1
    at.sim.clock += 1
    at.trust.trusting.pinning.tend()
    await at.sim.settle()
    assert at.sim.origin.paths.count(DID_PATH) == 2
    await at.trust.close()


NO_DOCUMENTS: dict[str, dict[str, Any]] = {
    "absent": {"status": 404},
    "a redirect": {"status": 308, "fields": [("Location", "https://example.org/did.json")]},
    "a page": {"content_type": "text/html", "body": b"<html>"},
    "of another DID": {"content_type": "application/json", "body": octets(did_document(did="did:web:example.org"))},
    "two methods of one id": {"body": octets(did_document(method("a"), method("a")))},
    "too large": {"body": b" " * 300_000},
    "failing": {"status": 503},
}


@pytest.mark.parametrize("reply", NO_DOCUMENTS.values(), ids=NO_DOCUMENTS)
async def test_what_is_no_did_document_pins_nothing(reply: dict[str, Any]) -> None:
    at = scene()
    reply = dict(reply)
    at.sim.origin.respond(DID_PATH, reply.pop("status", 200), **reply)
    at.publish(signed_manifest())
    assert trust_of(await at.get())[0] == "origin-tls"
    known = await at.trust.records.get("example.com")
    assert known is None or known.pin is None
    await at.get()
    assert at.sim.origin.paths.count(DID_PATH) == 1
    await at.trust.close()


async def test_a_large_manifest_is_judged_off_the_loop() -> None:
    at = scene()
    at.publish(signed_manifest(supportBoundary="x" * 100_000))
    assert trust_of(await at.get()) == VERIFIED
    await at.trust.close()


async def test_the_origin_may_go_back() -> None:
    at = scene()
    at.publish(signed_manifest(**{"x-sequence": 50}))
    await at.get()
    at.publish(signed_manifest(**{"x-sequence": 49}))
    at.sim.clock += 61
    assert trust_of(await at.get()) == VERIFIED
    known = await at.trust.records.get("example.com")
    assert known is not None and known.manifests[URI].version.sequence == 49
    await at.trust.close()


def test_the_samples_are_what_they_seem() -> None:
    assert signed(manifest(), created=CREATED, key=ED)["proof"]["created"] == CREATED
