"""Pins by did:webvh logs: from the domain, and from anybody once the DID is pinned (TRUST.md §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.keyring import PinEvent
from proxy.trust.records.pin import (
    NO_VALIDATORS,
    Pin,
    PinSource,
    Sighting,
    Validators,
    anchor_of,
    configured,
    gone,
    sighted,
)
from proxy.trust.records.webvh import ReceivedLog, log_sighted, read_log
from proxy.trust.verdict import Rejected
from tests.trust.did.webvh.controller import (
    KEY,
    NOW,
    OTHER,
    PLACEHOLDER,
    WITNESSES,
    Json,
    approved,
    first_entry,
    multikey,
    next_entry,
    scid_of,
    to_file,
    to_log,
    witness_rule,
)
from tests.trust.records import domains
from tests.trust.records.domains import DAY, HOUR, TAGGED


def state(*keys: Any, did: str = f"did:webvh:{PLACEHOLDER}:example.com") -> Json:
    """A document with these keys for assertions."""
    methods = [
        {"id": f"{did}#{number}", "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(key)}
        for number, key in enumerate(keys)
    ]
    listed = [method["id"] for method in methods]
    return {"id": did, "verificationMethod": methods, "assertionMethod": listed}


FIRST = first_entry()
DID = f"did:webvh:{scid_of(FIRST)}:example.com"
ROTATED = next_entry(FIRST, state=state(OTHER, did=DID))
BACK = next_entry(ROTATED, state=state(KEY, did=DID))
FORK = next_entry(FIRST, state=state(WITNESSES[0], did=DID))
ENDED = next_entry(FIRST, {"deactivated": True})
OLD, NEW = frozenset({multikey(KEY)}), frozenset({multikey(OTHER)})
RESTARTED = first_entry(state=state(OTHER))
OTHER_DID = f"did:webvh:{scid_of(RESTARTED)}:example.com"


def told(
    pin: Pin | None,
    *entries: Json,
    hours: float = 0.0,
    did: str = DID,
    from_domain: bool = True,
    witnesses: bytes | None = None,
    validators: Validators = NO_VALIDATORS,
    **options: Any,
) -> Sighting:
    """The pin after a log of these entries has come, from the domain unless said otherwise."""
    log = to_log(list(entries))
    received = ReceivedLog(did, log, witnesses, NOW + hours * HOUR, from_domain, validators)
    return log_sighted(pin, received, **options)


def refused(pin: Pin | None, *entries: Json, **options: Any) -> Reason:
    with pytest.raises(Untrusted) as error:
        told(pin, *entries, **options)
    return error.value.reason


@pytest.fixture
def pin() -> Pin:
    return told(None, FIRST).pin


def test_the_domains_log_is_pinned() -> None:
    first = told(None, FIRST, validators=TAGGED)
    pin = first.pin
    assert first.event is PinEvent.PINNED
    assert (pin.did, pin.source, pin.keys) == (DID, PinSource.WEBVH, OLD)
    assert (pin.first_seen, pin.last_confirmed_at, pin.validators) == (NOW, NOW, TAGGED)
    assert pin.log is not None and pin.log.octets == to_log([FIRST]) and pin.log.verified.versions == 1
    assert pin.document == pin.log.verified.document


def test_keys_rotate_while_the_domain_is_away(pin: Pin) -> None:
    carried = told(pin, FIRST, ROTATED, hours=5, from_domain=False, validators=TAGGED)
    assert carried.event is PinEvent.ROTATED
    assert (carried.pin.keys, carried.pin.dropped) == (NEW, {multikey(KEY): NOW + 5 * HOUR})
    assert (carried.pin.last_confirmed_at, carried.pin.fetched_at) == (NOW, NOW + 5 * HOUR)
    assert not carried.pin.validators.is_any and anchor_of(carried.pin, NOW).barred == frozenset()


def test_a_key_that_vanished_is_back_only_by_the_domain(pin: Pin) -> None:
    rotated = told(pin, FIRST, ROTATED, hours=5).pin
    carried = told(rotated, FIRST, ROTATED, BACK, hours=6, from_domain=False).pin
    assert carried.keys == OLD and anchor_of(carried, NOW).barred == OLD
    shown = told(carried, FIRST, ROTATED, BACK, hours=7)
    assert shown.event is PinEvent.CONFIRMED
    assert shown.pin.dropped == {multikey(OTHER): NOW + 6 * HOUR} and not anchor_of(shown.pin, NOW).barred


@pytest.mark.parametrize("from_domain", [True, False])
def test_a_log_must_continue_the_pinned_one(pin: Pin, from_domain: bool) -> None:
    rotated = told(pin, FIRST, ROTATED).pin
    assert refused(rotated, FIRST, from_domain=from_domain) is Reason.WEBVH_INVALID
    assert refused(rotated, FIRST, FORK, from_domain=from_domain) is Reason.WEBVH_INVALID
    assert refused(rotated, ROTATED, from_domain=from_domain) is Reason.WEBVH_INVALID


def test_what_brings_nothing_new(pin: Pin) -> None:
    carried = told(pin, FIRST, hours=5, from_domain=False)
    assert carried == Sighting(pin, PinEvent.CONFIRMED)
    shown = told(pin, FIRST, hours=5)
    assert shown.event is PinEvent.CONFIRMED
    assert (shown.pin.last_confirmed_at, shown.pin.first_seen) == (NOW + 5 * HOUR, NOW)


def test_a_foreign_log_is_believed_of_a_known_did_only(pin: Pin) -> None:
    web = sighted(None, domains.DID, domains.document("a"), NOW).pin
    for known in (None, web):
        assert refused(known, FIRST, from_domain=False) is Reason.TRUST_ANCHOR_MISSING
    assert refused(pin, RESTARTED, did=OTHER_DID, from_domain=False) is Reason.TRUST_ANCHOR_MISSING


def test_a_configured_did_is_known_without_a_pin() -> None:
    first = told(None, FIRST, from_domain=False, is_configured=True)
    assert first.event is PinEvent.PINNED and first.pin.log is not None
    assert first.pin.last_confirmed_at == first.pin.log.verified.updated_at < NOW - DAY
    web = sighted(None, domains.DID, domains.document("a"), NOW).pin
    replaced = told(web, FIRST, from_domain=False, is_configured=True)
    assert replaced.event is PinEvent.ROTATED and replaced.pin.keys == OLD and not replaced.pin.probation


def test_another_did_of_the_domain_is_on_probation(pin: Pin) -> None:
    other = told(pin, RESTARTED, did=OTHER_DID, hours=1)
    assert other.event is PinEvent.DISCONTINUITY and anchor_of(other.pin, NOW).barred == NEW
    assert other.pin.first_seen == NOW + HOUR
    carried = told(other.pin, RESTARTED, did=OTHER_DID, hours=9, from_domain=False)
    assert carried == Sighting(other.pin, PinEvent.ON_PROBATION)
    later = told(other.pin, RESTARTED, did=OTHER_DID, hours=2)
    assert later.event is PinEvent.PROBATION_ENDED and not later.pin.probation
    named = told(other.pin, RESTARTED, did=OTHER_DID, hours=1.1, is_configured=True)
    assert not named.pin.probation


def test_a_deactivated_did_vouches_for_nothing(pin: Pin) -> None:
    ended = told(pin, FIRST, ENDED, hours=1)
    assert ended.event is PinEvent.DEACTIVATED
    assert ended.pin.keys == frozenset() and ended.pin.dropped == {multikey(KEY): NOW + HOUR}
    rejected = anchor_of(ended.pin, NOW).document
    assert isinstance(rejected, Rejected) and rejected.reason is Reason.WEBVH_INVALID


def test_what_is_configured_is_not_overwritten() -> None:
    anchored = configured(None, domains.DID, domains.document("a"), NOW).pin
    assert told(anchored, FIRST) == Sighting(anchored, PinEvent.ANCHORED)


def test_a_log_that_is_away_is_not_the_end(pin: Pin) -> None:
    assert gone(pin, NOW + DAY) is pin


def test_witnesses_are_kept_with_the_log() -> None:
    first = first_entry({"witness": witness_rule(1, *WITNESSES)})
    did = f"did:webvh:{scid_of(first)}:example.com"
    assert refused(None, first, did=did) is Reason.WEBVH_INVALID
    witnesses = to_file(approved(first, WITNESSES[0]))
    pin = told(None, first, did=did, witnesses=witnesses).pin
    assert pin.log is not None and pin.log.witnesses == witnesses


def test_a_log_of_another_place_is_refused() -> None:
    assert refused(None, FIRST, did=DID.replace("example.com", "example.net")) is Reason.DID_DOC_ID_MISMATCH


@pytest.mark.parametrize("did", [domains.DID, "did:webvh:x:example.com", "", "did:key:z6Mk"])
def test_a_did_of_another_method_has_no_log(did: str) -> None:
    with pytest.raises(Untrusted) as error:
        read_log(to_log([FIRST]), None, NOW, did)
    assert error.value.reason is Reason.WEBVH_INVALID


@pytest.mark.parametrize("octets", [b"", b"\n", b"{}", b"\xff", b"[" * 1000, b"null\n" * 3])
def test_what_is_no_log(pin: Pin, octets: bytes) -> None:
    with pytest.raises(Untrusted):
        log_sighted(pin, ReceivedLog(DID, octets, None, NOW, from_domain=True))
