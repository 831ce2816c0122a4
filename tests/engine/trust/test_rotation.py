"""Keys that rotate while a domain is away (did:webvh), and names of current content (IPNS)."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from tests.engine.trust.scene import FIRST, GATEWAY, LATER, PATH, URI, Scene, scene, signed_manifest, trust_of
from tests.engine.trust.test_failover import attempts
from tests.simulators.gateway import ipns_name, ipns_record
from tests.simulators.mirror import RECORD
from tests.trust.did.webvh.controller import KEY, NEXT, document, first_entry, multikey, next_entry, scid_of, to_log

LOG_PATH = "/.well-known/did.jsonl"
WATCHER = "https://watcher.example.net/w"
FIRST_ENTRY = first_entry({"watchers": [WATCHER]})
DID = FIRST_ENTRY["state"]["id"]
WATCHED = f"{WATCHER}/log?scid={scid_of(FIRST_ENTRY)}"
NEXT_METHOD = {
    "id": f"{DID}#2",
    "type": "Multikey",
    "controller": DID,
    "publicKeyMultibase": multikey(NEXT),
}


def rotated() -> dict[str, Any]:
    """The entry that brings another key."""
    state = document(scid=scid_of(FIRST_ENTRY))
    return next_entry(
        FIRST_ENTRY, state={**state, "verificationMethod": [NEXT_METHOD], "assertionMethod": [f"{DID}#2"]}
    )


def by(key: Ed25519PrivateKey, fragment: str, **members: Any) -> bytes:
    return signed_manifest(FIRST, key=key, verificationMethod=f"{DID}#{fragment}", **members)


def publisher(configured: bool = True) -> Scene:
    anchors = {"example.com": ConfiguredAnchor(DID)} if configured else {}
    at = scene(TrustSettings(anchors=anchors, patience=1.0))
    at.sim.origin.respond(LOG_PATH, content_type="text/jsonl", body=to_log([FIRST_ENTRY]))
    return at


async def test_a_log_is_pinned_and_verifies() -> None:
    at = publisher()
    at.publish(by(KEY, "1"))
    state, parameters = trust_of(await at.get())
    assert (state, parameters["did"], parameters["kid"]) == ("verified", f'"{DID}"', '"#1"')
    assert ("webvh", "pinned") in at.verdicts
    await at.trust.close()


async def test_keys_rotate_while_the_domain_is_away() -> None:
    at = publisher()
    await at.known(body=by(KEY, "1"))
    renewed = by(NEXT, "2", created=LATER, **{"x-sequence": 43})
    at.mirror(FIRST, renewed)
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "vm_not_found"
    at.mirror(WATCHED, to_log([FIRST_ENTRY, rotated()]), media_type="text/jsonl")
    at.sim.clock += 61
    got = await at.get()
    assert got.body == renewed and trust_of(got)[0] == "verified"
    assert ("webvh", "rotated") in at.verdicts
    await at.trust.close()


@pytest.mark.parametrize("by_the_domain", [True, False], ids=["of the domain", "of a watcher"])
async def test_a_key_that_is_gone_is_dead_at_once(by_the_domain: bool) -> None:
    at = publisher()
    await at.known(body=by(KEY, "1"))
    at.mirror(FIRST, by(KEY, "1"))
    assert trust_of(await at.get())[1]["source"] == "mirror"
    log = to_log([FIRST_ENTRY, rotated()])
    if by_the_domain:
        at.sim.origin.recover()
        at.sim.origin.respond(PATH, 503)
        at.sim.origin.respond(LOG_PATH, content_type="text/jsonl", body=log)
        await at.trust.trusting.pinning.renew("example.com")
    else:
        at.mirror(WATCHED, log, media_type="text/jsonl")
        assert await at.trust.trusting.continuing.look("example.com", ())
    assert URI not in at.sim.state.copies
    assert attempts(await at.get())[-1][-1] == "vm_not_found"
    await at.trust.close()


FORKS: dict[str, bytes] = {
    "cut off": b"",
    "of another": to_log([first_entry({"watchers": [WATCHER]}, key=NEXT)]),
    "forged": to_log([FIRST_ENTRY, next_entry(FIRST_ENTRY, key=NEXT)]),
    "no log": b"<html>",
}


@pytest.mark.parametrize("log", FORKS.values(), ids=FORKS)
async def test_logs_of_watchers_that_are_not_believed(log: bytes) -> None:
    at = publisher()
    await at.known(body=by(KEY, "1"))
    at.mirror(FIRST, by(NEXT, "2", created=LATER, **{"x-sequence": 43}))
    at.mirror(WATCHED, log, media_type="text/jsonl")
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "vm_not_found"
    await at.trust.close()


async def test_the_did_that_dns_names_is_adopted_once_the_domain_shows_it() -> None:
    at = publisher(configured=False)
    voucher = at.trust.trusting.voucher
    at.publish(by(KEY, "1"))
    assert trust_of(await at.get())[0] == "origin-tls"
    assert await voucher.dns_did_seen("example.com", DID)
    assert await at.trust.trusting.control.pin("example.com") is not None
    assert not await voucher.dns_did_seen("example.com", DID)
    at.sim.clock += 61
    assert trust_of(await at.get())[0] == "verified"
    await at.trust.close()


async def test_a_did_that_the_domain_does_not_show_changes_nothing() -> None:
    at = scene()
    at.publish(signed_manifest())
    await at.get()
    voucher = at.trust.trusting.voucher
    assert await voucher.dns_did_seen("example.com", DID)
    await at.trust.trusting.control.pin("example.com")
    assert await voucher.dns_did_seen("example.com", DID)
    at.sim.clock += 61
    assert trust_of(await at.get())[0] == "verified"
    await at.trust.close()


OWNER = Ed25519PrivateKey.from_private_bytes(b"\x31" * 32)
NAME = ipns_name(OWNER)


def named(at: Scene, body: bytes, sequence: int) -> None:
    """From now on the name stands for `body`."""
    value = "/ipfs/" + at.pin_on_ipfs(body).removeprefix("ipfs://")
    record = ipns_record(OWNER, value, sequence=sequence, valid_until=at.sim.clock() + 86_400)
    at.trust.mirrors.respond(f"{GATEWAY}/ipns/{NAME.text}?format=ipns-record", record, media_type=RECORD)


async def test_a_name_leads_to_the_current_copy_and_never_back() -> None:
    at = scene()
    mirror = f"ipns://{NAME.text}"
    await at.known(body=signed_manifest(mirror))
    newer = signed_manifest(mirror, created=LATER, **{"x-sequence": 43})
    named(at, newer, 7)
    got = await at.get()
    assert got.body == newer and trust_of(got) == (
        "verified",
        {"did": '"did:web:example.com"', "source": "ipfs", "kid": '"#key-1"'},
    )
    known = await at.trust.records.get("example.com")
    assert known is not None and known.ipns == {NAME.text: 7}
    at.sim.clock += 301
    named(at, newer, 6)
    got = await at.get()
    assert got.status == 504 and attempts(got)[-1][-1] == "rollback"
    await at.trust.close()
