"""May a response be stored, and as what (RFC 9111 §3; RFC 5861; RFC 9213; bug cases B16, B18, B37, B40)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.stored import MAX_KEEP, StoredResponse
from proxy.caching.storing import (
    KEEP_FOR_VALIDATION,
    NEGATIVE_STATUSES,
    NotStored,
    NotStoredReason,
    Storable,
    StoragePolicy,
    may_store,
    mint_etag,
    response_tags,
)
from proxy.caching.vouching import unsigned
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.structured import Token, parse_dictionary
from tests.caching.samples import AT_ONCE, BODY, NOW, URI, date, fields, head, request, stored, storing

FRESH = "Cache-Control: max-age=60"
AUTHORIZED = request("Authorization: Basic eA==")
CLASS = StoragePolicy(
    document_class="agent-card",
    lifetime=300.0,
    stale_while_revalidate=3600.0,
    stale_if_error=7200.0,
    mints_etag=True,
)

VERDICTS: dict[str, tuple[int, tuple[str, ...], Request, str]] = {
    "9111-3-explicit": (200, (FRESH,), request(), "stored"),
    "9111-3-method": (200, (FRESH,), request(method="POST"), "method"),
    "9111-3-head-makes-no-entry": (200, (FRESH,), request(method="HEAD"), "method"),
    "9111-3-final": (103, (FRESH,), request(), "interim"),
    "9111-3.3-partial": (206, (FRESH, "Content-Range: bytes 0-1/10"), request(), "partial"),
    "9111-3-not-modified": (304, (FRESH,), request(), "not-modified"),
    "9111-5.2.2.5-no-store": (200, ("Cache-Control: no-store, max-age=60",), request(), "no-store"),
    "9111-5.2.1.5-request-no-store": (200, (FRESH,), request("Cache-Control: no-store"), "request-no-store"),
    "9111-5.2.2.7-private": (200, ("Cache-Control: private, max-age=60",), request(), "private"),
    "9111-5.2.2.7-private-beside-qualified": (
        200,
        ('Cache-Control: private, private="x", max-age=60',),
        request(),
        "private",
    ),
    "9111-5.2.2.7-qualified": (200, ('Cache-Control: private="x", max-age=60',), request(), "stored"),
    "9111-5.2.2.3-understood": (
        200,
        ("Cache-Control: max-age=60, no-store, must-understand",),
        request(),
        "stored",
    ),
    "9111-5.2.2.3-not-understood": (
        599,
        ("Cache-Control: max-age=60, no-store, must-understand",),
        request(),
        "status-not-understood",
    ),
    "9111-5.2.2.3-not-understood-without-no-store": (
        599,
        ("Cache-Control: max-age=60, must-understand",),
        request(),
        "status-not-understood",
    ),
    "9111-5.2.2.3-request-no-store-stands": (
        200,
        ("Cache-Control: max-age=60, no-store, must-understand",),
        request("Cache-Control: no-store"),
        "request-no-store",
    ),
    "9111-3.5-authorization": (200, (FRESH,), AUTHORIZED, "authorization"),
    "9111-3.5-public": (200, ("Cache-Control: max-age=60, public",), AUTHORIZED, "stored"),
    "9111-3.5-must-revalidate": (200, ("Cache-Control: max-age=60, must-revalidate",), AUTHORIZED, "stored"),
    "9111-3.5-s-maxage": (200, ("Cache-Control: s-maxage=60",), AUTHORIZED, "stored"),
    "9111-3.5-proxy-revalidate-is-not-enough": (
        200,
        ("Cache-Control: max-age=60, proxy-revalidate",),
        AUTHORIZED,
        "authorization",
    ),
    "9213-2.2-authorization-by-the-targeted-field": (
        200,
        ("Cache-Control: max-age=60, public", "CDN-Cache-Control: max-age=60"),
        AUTHORIZED,
        "authorization",
    ),
    "9111-4.1-vary-any": (200, (FRESH, "Vary: Foo, *"), request(), "vary-any"),
    "4.17-vary-cookie": (200, (FRESH, "Vary: Cookie"), request("Cookie: a=b"), "vary-credentials"),
    "4.17-vary-cookie-without-one": (200, (FRESH, "Vary: Cookie"), request(), "stored"),
    "4.17-vary-authorization": (
        200,
        ("Cache-Control: max-age=60, public", "Vary: Foo, Authorization"),
        AUTHORIZED,
        "vary-credentials",
    ),
    "4.17-cookie-that-does-not-select": (200, (FRESH, "Vary: Foo"), request("Cookie: a=b"), "stored"),
    "9111-3-heuristic-status": (301, (f"Last-Modified: {date(-1000)}",), request(), "stored"),
    "9110-15.4.9-308-heuristic": (308, (f"Last-Modified: {date(-1000)}",), request(), "stored"),
    "9111-3-expires": (302, (f"Expires: {date(60)}",), request(), "stored"),
    "9111-3-public-status": (302, ("Cache-Control: public", 'ETag: "1"'), request(), "stored"),
    "9111-3-s-maxage-status": (403, ("Cache-Control: s-maxage=60",), request(), "stored"),
    "9111-3-other-status-needs-explicit": (302, ('ETag: "1"',), request(), "status-without-explicit-freshness"),
    "9111-3-5xx-needs-explicit": (503, ('ETag: "1"',), request(), "status-without-explicit-freshness"),
    "9213-2.2-expires-of-other-status": (
        302,
        ("CDN-Cache-Control: foo", f"Expires: {date(60)}", 'ETag: "1"'),
        request(),
        "status-without-explicit-freshness",
    ),
    "9111-3-5xx-explicit": (503, (FRESH,), request(), "stored"),
    "9111-3-unknown-status-explicit": (599, (FRESH,), request(), "stored"),
    "silent": (200, (), request(), "no-freshness-or-validator"),
    "validator-alone": (200, ('ETag: "1"',), request(), "stored"),
    "stale-with-validator": (200, ("Cache-Control: max-age=0", 'ETag: "1"'), request(), "stored"),
    "stale-without-validator": (200, ("Cache-Control: max-age=0",), request(), "no-freshness-or-validator"),
    "9111-5.2.2.4-no-cache-with-validator": (200, ("Cache-Control: no-cache", 'ETag: "1"'), request(), "stored"),
    "9111-5.2.2.4-no-cache-without-validator": (
        200,
        ("Cache-Control: no-cache, max-age=60",),
        request(),
        "no-freshness-or-validator",
    ),
    "9111-4.2.3-older-than-its-lifetime": (200, (FRESH, "Age: 60"), request(), "no-freshness-or-validator"),
    "older-than-its-lifetime-within-swr": (
        200,
        ("Cache-Control: max-age=60, stale-while-revalidate=60", "Age: 60"),
        request(),
        "stored",
    ),
    "old-but-fresh": (200, ("Cache-Control: max-age=31536000", "Age: 10000000"), request(), "stored"),
    "set-cookie-explicit": (200, (FRESH, "Set-Cookie: a=b"), request(), "stored"),
    "set-cookie-heuristic": (200, (f"Last-Modified: {date(-1000)}", "Set-Cookie: a=b"), request(), "set-cookie"),
    "set-cookie-explicit-404-above-the-cap": (404, (FRESH, "Set-Cookie: a=b"), request(), "stored"),
}


@pytest.mark.parametrize(("status", "lines", "asked", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_may_store(status: int, lines: tuple[str, ...], asked: Request, verdict: str) -> None:
    assert storing(*lines, status=status, asked=asked) == verdict


def test_set_cookie_does_not_keep_a_discovery_document_out() -> None:
    kept = stored("Set-Cookie: a=b", policy=CLASS)
    assert kept.lifetime.seconds == 300
    assert "set-cookie" not in kept.fields


def test_a_silent_refusal_of_a_discovery_document_is_not_stored_by_its_windows() -> None:
    assert storing(status=403, policy=CLASS) == "status-without-explicit-freshness"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        pytest.param(("Age: 5", "Content-Length: 10", "Foo: 1"), ("Foo",), id="framing-and-age"),
        pytest.param(("Set-Cookie: a=b", "Foo: 1", "set-cookie: c=d"), ("Foo",), id="cookies"),
        pytest.param(("Connection: foo, close", "Foo: 1", "Bar: 2"), ("Bar",), id="9111-3.1-connection"),
        pytest.param(("Keep-Alive: 1", "TE: x", "Trailer: y", "Upgrade: z"), (), id="9111-3.1-hop-by-hop"),
        pytest.param(
            ("Proxy-Authenticate: x", "Proxy-Authentication-Info: y", "Proxy-Authorization: z"),
            (),
            id="9111-3.1-proxy",
        ),
        pytest.param(
            ('Cache-Control: private="Foo"', "Foo: 1", "Bar: 2"), ("Cache-Control", "Bar"), id="9111-5.2.2.7"
        ),
        pytest.param(
            ('Cache-Control: no-cache="Foo, bar"', "Foo: 1", "Bar: 2"), ("Cache-Control",), id="9111-5.2.2.4"
        ),
        pytest.param(("Foo: 1", "Bar: 2", "Foo: 3"), ("Foo", "Bar", "Foo"), id="9110-5.3-repeated-in-order"),
    ],
)
def test_stored_fields(lines: tuple[str, ...], kept: tuple[str, ...]) -> None:
    found = stored(*lines, f"Expires: {date(60)}").fields.without(("expires",))
    assert tuple(name for name, _ in found) == kept


def windows(kept: StoredResponse) -> tuple[float, float, bool]:
    return kept.stale_while_revalidate, kept.stale_if_error, kept.forbids_stale


STRICT = StoragePolicy()
LENIENT = StoragePolicy(s_maxage_forbids_stale=False)
BOTH = "stale-while-revalidate=20, stale-if-error=40"
EXPIRES = f"Expires: {date(60)}"

WINDOWS: dict[str, tuple[int, tuple[str, ...], StoragePolicy, tuple[float, float, bool]]] = {
    "5861-3-and-4": (200, (f"Cache-Control: max-age=60, {BOTH}",), STRICT, (20, 40, False)),
    "explicit-alone": (200, (FRESH,), CLASS, (0, 0, False)),
    "expires-alone": (200, (EXPIRES,), CLASS, (0, 0, False)),
    "silent-takes-the-class": (200, (), CLASS, (3600, 7200, False)),
    "silent-with-its-own-swr": (200, ("Cache-Control: stale-while-revalidate=20",), CLASS, (20, 7200, False)),
    "silent-with-its-own-sie": (200, ("Cache-Control: stale-if-error=40",), CLASS, (3600, 40, False)),
    "9213-2.2-expires-does-not-count": (200, ("CDN-Cache-Control: foo", EXPIRES), CLASS, (3600, 7200, False)),
    "9111-5.2.2.2-must-revalidate": (
        200,
        (f"Cache-Control: max-age=60, must-revalidate, {BOTH}",),
        STRICT,
        (0, 0, True),
    ),
    "9111-5.2.2.8-proxy-revalidate": (
        200,
        (f"Cache-Control: max-age=60, proxy-revalidate, {BOTH}",),
        LENIENT,
        (0, 0, True),
    ),
    "9111-5.2.2.4-no-cache": (200, (f"Cache-Control: no-cache, {BOTH}", 'ETag: "1"'), LENIENT, (0, 0, True)),
    "9111-5.2.2.4-qualified-does-not-forbid": (
        200,
        (f'Cache-Control: max-age=60, no-cache="x", {BOTH}',),
        STRICT,
        (20, 40, False),
    ),
    "9111-5.2.2.10-s-maxage": (200, (f"Cache-Control: s-maxage=60, {BOTH}",), STRICT, (0, 0, True)),
    "4.13-explicit-window-wins": (200, (f"Cache-Control: s-maxage=60, {BOTH}",), LENIENT, (20, 40, False)),
    "4.13-explicit-swr-alone": (
        200,
        ("Cache-Control: s-maxage=60, stale-while-revalidate=20",),
        LENIENT,
        (20, 0, False),
    ),
    "4.13-explicit-sie-alone": (200, ("Cache-Control: s-maxage=60, stale-if-error=40",), LENIENT, (0, 40, False)),
    "4.13-no-window": (200, ("Cache-Control: s-maxage=60",), LENIENT, (0, 0, True)),
    "4.13-window-of-nothing": (
        200,
        ("Cache-Control: s-maxage=60, stale-while-revalidate=0",),
        LENIENT,
        (0, 0, True),
    ),
    "4.13-must-revalidate-stands": (
        200,
        (f"Cache-Control: s-maxage=60, must-revalidate, {BOTH}",),
        LENIENT,
        (0, 0, True),
    ),
    "not-of-a-404": (404, (f"Cache-Control: max-age=20, {BOTH}",), STRICT, (0, 0, False)),
    "not-of-a-5xx": (503, (f"Cache-Control: max-age=60, {BOTH}",), STRICT, (0, 0, False)),
    "not-of-a-500": (500, (f"Cache-Control: max-age=60, {BOTH}",), STRICT, (0, 0, False)),
    "of-a-499": (499, (f"Cache-Control: max-age=60, {BOTH}",), STRICT, (20, 40, False)),
}


@pytest.mark.parametrize(("status", "lines", "policy", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_stale_windows(
    status: int, lines: tuple[str, ...], policy: StoragePolicy, expected: tuple[float, float, bool]
) -> None:
    assert windows(stored(*lines, status=status, policy=policy)) == expected


@pytest.mark.parametrize("status", sorted(NEGATIVE_STATUSES))
@pytest.mark.parametrize(
    ("lines", "policy", "lifetime"),
    [
        pytest.param(
            ("Cache-Control: max-age=3600",), STRICT, Lifetime(30, LifetimeSource.NEGATIVE_CAP), id="explicit"
        ),
        pytest.param(
            ("Cache-Control: s-maxage=20",), STRICT, Lifetime(20, LifetimeSource.S_MAXAGE), id="explicit-short"
        ),
        pytest.param(
            (f"Last-Modified: {date(-(10**6))}",), STRICT, Lifetime(30, LifetimeSource.NEGATIVE_CAP), id="heuristic"
        ),
        pytest.param((), CLASS, Lifetime(30, LifetimeSource.NEGATIVE_CAP), id="class"),
    ],
)
def test_negative_cap_14_3(status: int, lines: tuple[str, ...], policy: StoragePolicy, lifetime: Lifetime) -> None:
    assert stored(*lines, status=status, policy=policy).lifetime == lifetime


@pytest.mark.parametrize("status", [200, 302, 400, 403, 503])
def test_other_statuses_are_not_capped(status: int) -> None:
    assert stored("Cache-Control: max-age=3600", status=status).lifetime == Lifetime(3600, LifetimeSource.MAX_AGE)


OUTAGE = StoragePolicy(outage_stale=500.0)


@pytest.mark.parametrize(
    ("lines", "policy", "seconds"),
    [
        pytest.param((FRESH,), STRICT, 60, id="fresh"),
        pytest.param((FRESH, "Age: 20"), STRICT, 40, id="from-birth"),
        pytest.param((f"Cache-Control: max-age=60, {BOTH}",), STRICT, 100, id="longest-window"),
        pytest.param((FRESH, 'ETag: "1"'), STRICT, 60 + KEEP_FOR_VALIDATION, id="etag"),
        pytest.param((FRESH, f"Last-Modified: {date(-10)}"), STRICT, 60 + KEEP_FOR_VALIDATION, id="last-modified"),
        pytest.param((FRESH,), OUTAGE, 560, id="outage"),
        pytest.param((FRESH + ", must-revalidate",), OUTAGE, 60, id="outage-forbidden"),
        pytest.param(("Cache-Control: max-age=99999999999", 'ETag: "1"'), STRICT, MAX_KEEP, id="bound"),
        pytest.param(
            ("Cache-Control: max-age=31536000", "Age: 10000000"), STRICT, MAX_KEEP, id="bound-from-the-fetch"
        ),
    ],
)
def test_keep_until(lines: tuple[str, ...], policy: StoragePolicy, seconds: float) -> None:
    assert stored(*lines, policy=policy).keep_until == NOW + seconds


@pytest.mark.parametrize("status", [500, 503, 599])
def test_a_failure_is_not_kept_for_an_outage(status: int) -> None:
    assert stored(FRESH, status=status, policy=OUTAGE).keep_until == NOW + 60


def test_nothing_outlives_the_marks_made_while_it_was_fetched() -> None:
    slow = Exchange(NOW - 30, NOW)
    assert stored("Cache-Control: max-age=99999999", exchange=slow).keep_until == NOW - 30 + MAX_KEEP


@pytest.mark.parametrize(
    ("lines", "status", "policy", "etag"),
    [
        pytest.param((FRESH,), 200, CLASS, mint_etag(BODY), id="4.15-minted"),
        pytest.param((FRESH, 'ETag: W/"1"'), 200, CLASS, 'W/"1"', id="own-etag"),
        pytest.param((FRESH, f"Last-Modified: {date(-10)}"), 200, CLASS, None, id="own-last-modified"),
        pytest.param((FRESH,), 301, CLASS, None, id="other-status"),
        pytest.param((FRESH,), 200, STRICT, None, id="4.15-class-other"),
    ],
)
def test_downstream_etag(lines: tuple[str, ...], status: int, policy: StoragePolicy, etag: str | None) -> None:
    kept = stored(*lines, status=status, policy=policy)
    assert kept.downstream_etag == etag
    assert kept.etag == kept.fields.get("etag")


def test_minted_etag_is_a_strong_one_of_the_bytes() -> None:
    assert mint_etag(b"") == '"sha256-47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"'
    assert mint_etag(b"a") != mint_etag(b"b")


@pytest.mark.parametrize(
    ("lines", "tags"),
    [
        pytest.param((), (), id="none"),
        pytest.param(("Surrogate-Key: a  b a",), ("a", "b"), id="surrogate-key"),
        pytest.param(("Cache-Tag: a, b c,",), ("a", "b c"), id="cache-tag"),
        pytest.param(("Cache-Tag: b", "Surrogate-Key: a b", "Surrogate-Key: c"), ("a", "b", "c"), id="both"),
    ],
)
def test_response_tags(lines: tuple[str, ...], tags: tuple[str, ...]) -> None:
    assert response_tags(fields(*lines)) == tags


def test_what_is_stored() -> None:
    kept = stored(
        "Cache-Control: max-age=60, immutable",
        "Vary: Accept, Foo",
        "Cache-Tag: t",
        "Age: 5",
        asked=request("Accept: B, a"),
        exchange=Exchange(NOW - 1, NOW),
        policy=replace(CLASS, mints_etag=False),
        generation=7,
    )
    assert kept == StoredResponse(
        uri=URI,
        status=200,
        reason="OK",
        fields=Fields([("Cache-Control", "max-age=60, immutable"), ("Vary", "Accept, Foo"), ("Cache-Tag", "t")]),
        body=BODY,
        vary=("accept", "foo"),
        selecting=("a, b", None),
        exchange=Exchange(NOW - 1, NOW),
        born=NOW - 6,
        lifetime=Lifetime(60.0, LifetimeSource.MAX_AGE),
        stale_while_revalidate=0.0,
        stale_if_error=0.0,
        forbids_stale=False,
        must_validate=False,
        document_class="agent-card",
        tags=("t",),
        generation=7,
        downstream_etag=None,
        keep_until=NOW + 54,
        vouching=unsigned("https", NOW),
    )


def test_the_verdict_needs_no_body() -> None:
    verdict = may_store(request(), head(FRESH), AT_ONCE, STRICT, 0)
    assert isinstance(verdict, Storable)
    assert verdict.draft.body == b""
    assert may_store(request(), head("Cache-Control: no-store"), AT_ONCE, STRICT, 0) == NotStored(
        NotStoredReason.NO_STORE
    )


@pytest.mark.parametrize("reason", NotStoredReason)
def test_every_reason_is_a_token_of_cache_status_9211_2_8(reason: NotStoredReason) -> None:
    assert parse_dictionary((f"detail={reason}",)) == {"detail": Token(reason)}
