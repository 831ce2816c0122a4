"""What vouches for a stored response: its field, its end, and what is promised until then."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from proxy.caching.directives import NO_REQUEST_DIRECTIVES
from proxy.caching.preconditions import evaluate
from proxy.caching.reuse import Hit, Revalidate, StaleHit, StalePermit, decide, stale_permit
from proxy.caching.serving import CacheStatus, served_head, ttl
from proxy.caching.stored import StoredResponse, parse_record, to_record
from proxy.caching.storing import StoragePolicy
from proxy.caching.vouching import TrustState, Vouching, from_members, to_members, unsigned, within
from tests.caching.samples import NOW, date, fields, request, stored

DID = "did:web:example.com"
CHECKED = 'checked="2027-01-15T08:00:00Z"'
VERIFIED = Vouching(TrustState.VERIFIED, "mirror", NOW + 0.9, DID, f"{DID}#key-1", "eddsa-jcs-2022")
VALUES = {
    "https": (unsigned("https", NOW + 0.9), f"origin-tls;source=origin;{CHECKED}"),
    "http": (unsigned("http", NOW + 0.9), f"hint;source=origin;{CHECKED}"),
    "verified": (VERIFIED, f'verified;did="{DID}";source=mirror;kid="#key-1";{CHECKED}'),
    "a bad signature": (
        Vouching(TrustState.ORIGIN_TLS, "origin", NOW, signature="expired"),
        f"origin-tls;source=origin;signature=expired;{CHECKED}",
    ),
    "a key of another DID": (
        replace(VERIFIED, method="did:web:other.example#a"),
        f'verified;did="{DID}";source=mirror;kid="did:web:other.example#a";{CHECKED}',
    ),
}


@pytest.mark.parametrize(("vouching", "value"), VALUES.values(), ids=VALUES)
def test_the_field(vouching: Vouching, value: str) -> None:
    assert vouching.told(NOW) == value


def test_a_pin_grows_old() -> None:
    soft = replace(VERIFIED, soft_until=NOW + 10)
    assert (soft.state_at(NOW + 9), soft.state_at(NOW + 10)) == (TrustState.VERIFIED, TrustState.STALE_TRUST)
    assert soft.told(NOW + 9).startswith("verified;") and soft.told(NOW + 10).startswith("stale-trust;did=")


WITHIN = {
    "no end": ("Cache-Control: max-age=900", math.inf, "Cache-Control: max-age=900"),
    "later than promised": ("Cache-Control: max-age=90", NOW + 100, "Cache-Control: max-age=90"),
    "earlier": ("Cache-Control: public, max-age=900", NOW + 100, "Cache-Control: public, max-age=100"),
    "shared": ("Cache-Control: max-age=9, s-maxage=900", NOW + 100, "Cache-Control: max-age=9, s-maxage=100"),
    "targeted": ("CDN-Cache-Control: max-age=900", NOW + 100, "CDN-Cache-Control: max-age=100"),
    "stale windows, after freshness": (
        "Cache-Control: max-age=9, stale-while-revalidate=60, stale-if-error=600",
        NOW + 100,
        "Cache-Control: max-age=9, stale-while-revalidate=60, stale-if-error=91",
    ),
    "stale windows that are left none": (
        "Cache-Control: max-age=900, stale-while-revalidate=60",
        NOW + 100,
        "Cache-Control: max-age=100, stale-while-revalidate=0",
    ),
    "an earlier Expires": (f"Expires: {date(50)}", NOW + 100, f"Expires: {date(50)}"),
    "an Expires that is no date": ("Expires: 0", NOW + 100, "Expires: 0"),
    "quoted, upper case": ('Cache-Control: Max-Age="900"', NOW + 100, "Cache-Control: max-age=100"),
    "malformed": ("Cache-Control: max-age=x, max-age", NOW + 100, "Cache-Control: max-age=100, max-age"),
    "over": ("Cache-Control: max-age=900", NOW - 1, "Cache-Control: max-age=0"),
    "Expires": (f"Expires: {date(900)}", NOW + 100, f"Expires: {date(100)}"),
    "others": ("Content-Type: text/plain", NOW + 100, "Content-Type: text/plain"),
}


@pytest.mark.parametrize(("line", "ends_at", "promised"), WITHIN.values(), ids=WITHIN)
def test_nothing_is_promised_past_the_end(line: str, ends_at: float, promised: str) -> None:
    assert within(fields(line), NOW, ends_at) == fields(promised)


def vouched(ends_in: float, *lines: str) -> StoredResponse:
    return replace(stored(*lines, 'ETag: "a"'), vouching=replace(VERIFIED, ends_at=NOW + ends_in))


def test_the_end_ends_freshness_and_every_stale_window() -> None:
    one = vouched(10, "Cache-Control: max-age=100, stale-while-revalidate=100, stale-if-error=100")
    assert isinstance(decide(request(), NO_REQUEST_DIRECTIVES, [one], NOW + 9), Hit)
    assert ttl(one, NOW) == 10
    assert isinstance(decide(request(), NO_REQUEST_DIRECTIVES, [one], NOW + 10), Revalidate)
    assert stale_permit(one, NO_REQUEST_DIRECTIVES, NOW + 10, 1000.0) is StalePermit.TRUST_ENDED
    patient = replace(NO_REQUEST_DIRECTIVES, max_stale=1000.0)
    assert isinstance(decide(request(), patient, [one], NOW + 10), Revalidate)


def test_a_later_end_changes_nothing() -> None:
    one = vouched(1000, "Cache-Control: max-age=10, stale-while-revalidate=100")
    assert isinstance(decide(request(), NO_REQUEST_DIRECTIVES, [one], NOW + 11), StaleHit)
    assert stale_permit(one, NO_REQUEST_DIRECTIVES, NOW + 11, 0.0) is StalePermit.STALE_IF_ERROR


def test_what_is_served_and_what_is_kept() -> None:
    one = vouched(10, "Cache-Control: max-age=100")
    assert one.fields.get("cache-control") == "max-age=100"
    served = served_head(one, evaluate("GET", request().fields, one, NOW), CacheStatus(hit=True), NOW)
    assert served.fields.get("cache-control") == "max-age=10"


RECORDED = {
    "verified": replace(VERIFIED, signed_at=NOW - 5, valid_until=NOW + 5, soft_until=NOW + 3, ends_at=NOW + 4),
    "unsigned": unsigned("https", NOW),
    "invalid": Vouching(TrustState.ORIGIN_TLS, "origin", NOW, signature="invalid", reason="signature_invalid"),
}


@pytest.mark.parametrize("vouching", RECORDED.values(), ids=RECORDED)
def test_the_record(vouching: Vouching) -> None:
    assert from_members(to_members(vouching)) == vouching
    one = replace(stored("Cache-Control: max-age=100"), vouching=vouching)
    again = parse_record(to_record(one), one.body)
    assert again == one and again is not None
    assert (again.ends_at, again.fresh_until, again.promised) == (one.ends_at, one.fresh_until, one.promised)


DAMAGED = [{"state": "sure"}, {"checked_at": "now"}, {"checked_at": True}, {"ends_at": math.nan}]


@pytest.mark.parametrize("change", DAMAGED, ids=str)
def test_a_damaged_record(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_members(to_members(VERIFIED) | change)
    with pytest.raises(LookupError):
        from_members({})


CLASSES = {"agent-card": "origin-tls", "other": None}


@pytest.mark.parametrize(("document_class", "state"), CLASSES.items())
def test_documents_alone_are_vouched_for(document_class: str, state: str | None) -> None:
    one = stored("Cache-Control: max-age=100", policy=StoragePolicy(document_class=document_class))
    assert (None if one.vouching is None else one.vouching.state) == state
