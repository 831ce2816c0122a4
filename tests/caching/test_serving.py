"""The fields of a served response (RFC 9110 §7.6.3, §15.3.7, §15.4.5, §15.5.17; RFC 9111 §4, §5.1; RFC 9211)."""

from __future__ import annotations

import http_sf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.preconditions import NotModified, NotSatisfiable, Selection, Slice, Whole
from proxy.caching.reuse import Forward
from proxy.caching.serving import CacheStatus, selected_body, served_head, ttl, with_proxy_fields
from proxy.caching.storing import StoragePolicy
from proxy.http.fields import Fields
from tests.caching.samples import BODY, NOW, date, head, stored

HIT = CacheStatus(hit=True, ttl=60)

STATUSES: dict[str, tuple[CacheStatus, str]] = {
    "nothing": (CacheStatus(), "discovery-proxy"),
    "9211-2.1-hit": (HIT, "discovery-proxy; hit; ttl=60"),
    "9211-2.4-stale": (CacheStatus(hit=True, ttl=-12), "discovery-proxy; hit; ttl=-12"),
    "9211-2.4-zero": (CacheStatus(hit=True, ttl=0), "discovery-proxy; hit; ttl=0"),
    "9211-2.2-miss": (
        CacheStatus(forward=Forward.URI_MISS, forward_status=404),
        "discovery-proxy; fwd=uri-miss; fwd-status=404",
    ),
    "9211-2.5-stored": (
        CacheStatus(forward=Forward.VARY_MISS, stored=True),
        "discovery-proxy; fwd=vary-miss; stored",
    ),
    "9211-2.6-collapsed": (
        CacheStatus(forward=Forward.STALE, collapsed=True),
        "discovery-proxy; fwd=stale; collapsed",
    ),
    "9211-2.8-detail": (
        CacheStatus(forward=Forward.BYPASS, detail="no-store"),
        "discovery-proxy; fwd=bypass; detail=no-store",
    ),
    "all": (
        CacheStatus(forward=Forward.REQUEST, forward_status=200, ttl=5, stored=True, collapsed=True, detail="x"),
        "discovery-proxy; fwd=request; fwd-status=200; ttl=5; stored; collapsed; detail=x",
    ),
}


@pytest.mark.parametrize(("status", "text"), STATUSES.values(), ids=STATUSES)
def test_cache_status(status: CacheStatus, text: str) -> None:
    assert status.serialise() == text
    assert http_sf.ser(http_sf.parse(text.encode(), tltype="list")).replace(";", "; ") == text


@pytest.mark.parametrize(
    ("age", "seconds"),
    [
        pytest.param(0, 60, id="new"),
        pytest.param(0.5, 60, id="whole-seconds"),
        pytest.param(59.5, 1, id="last-second"),
        pytest.param(60, -1, id="at-its-end"),
        pytest.param(60.5, -1, id="just-stale"),
        pytest.param(72.9, -12, id="9211-2.4-stale-is-negative"),
    ],
)
def test_ttl(age: float, seconds: int) -> None:
    assert ttl(stored("Cache-Control: max-age=60"), NOW + age) == seconds


@settings(derandomize=True, deadline=None)
@given(st.floats(-100, 1e6))
def test_ttl_is_negative_only_and_always_when_stale(age: float) -> None:
    kept = stored("Cache-Control: max-age=60")
    now = NOW + age
    assert (ttl(kept, now) < 0) == (kept.staleness(now) > 0)


EVERYTHING = (
    "Cache-Control: max-age=60",
    "CDN-Cache-Control: max-age=60",
    f"Expires: {date(60)}",
    f"Date: {date()}",
    'ETag: "1"',
    f"Last-Modified: {date(-1000)}",
    "Vary: Accept",
    "Content-Type: a/b",
    "Content-Encoding: gzip",
    "Content-Language: de",
    "Content-Location: /x",
    "Content-MD5: x",
    "Content-Digest: sha-256=:AAE=:",
    "Link: </y>",
    "Link: </z>",
    "Cache-Status: other; hit",
)
OURS = ["Age", "Via", "Cache-Status"]

SERVED: dict[str, tuple[Selection, int, str, list[str], bytes]] = {
    "whole": (Whole(), 200, "OK", [line.partition(":")[0] for line in EVERYTHING], BODY),
    "9110-15.4.5-not-modified": (
        NotModified(),
        304,
        "Not Modified",
        [
            "Cache-Control",
            "CDN-Cache-Control",
            "Expires",
            "Date",
            "ETag",
            "Last-Modified",
            "Vary",
            "Content-Location",
        ],
        b"",
    ),
    "9110-15.3.7-partial": (
        Slice(2, 5, 10),
        206,
        "Partial Content",
        [
            "Cache-Control",
            "CDN-Cache-Control",
            "Expires",
            "Date",
            "ETag",
            "Last-Modified",
            "Vary",
            "Content-Type",
            "Content-Encoding",
            "Content-Language",
            "Content-Location",
            "Link",
            "Link",
            "Cache-Status",
            "Content-Range",
        ],
        b"234",
    ),
    "9110-15.5.17-not-satisfiable": (
        NotSatisfiable(10),
        416,
        "Range Not Satisfiable",
        ["Date", "Vary", "Link", "Link", "Cache-Status", "Content-Range"],
        b"",
    ),
}


@pytest.mark.parametrize(("selection", "status", "reason", "names", "body"), SERVED.values(), ids=SERVED)
def test_served(selection: Selection, status: int, reason: str, names: list[str], body: bytes) -> None:
    kept = stored(*EVERYTHING)
    served = served_head(kept, selection, HIT, NOW + 7.9)
    assert (served.status, served.reason) == (status, reason)
    assert [name for name, _ in served.fields] == names + OURS
    assert served.fields.lines[-3:] == (
        ("Age", "7"),
        ("Via", "1.1 discovery-proxy"),
        ("Cache-Status", "discovery-proxy; hit; ttl=60"),
    )
    assert selected_body(kept, selection) == body


@pytest.mark.parametrize(
    ("selection", "value"),
    [
        pytest.param(Slice(2, 5, 10), "bytes 2-4/10", id="9110-14.4"),
        pytest.param(NotSatisfiable(10), "bytes */10", id="9110-14.4-unsatisfied"),
        pytest.param(Whole(), "bytes 0-1/2", id="the-origins-own-is-left-alone"),
        pytest.param(NotModified(), None, id="not-in-a-304"),
    ],
)
def test_content_range(selection: Selection, value: str | None) -> None:
    kept = stored("Cache-Control: max-age=60", "Content-Range: bytes 0-1/2")
    assert served_head(kept, selection, HIT, NOW).fields.get("content-range") == value


@pytest.mark.parametrize(
    ("selection", "is_sent"),
    [
        pytest.param(Whole(), True, id="200"),
        pytest.param(NotModified(), True, id="304"),
        pytest.param(Slice(0, 1, 10), True, id="206"),
        pytest.param(NotSatisfiable(10), False, id="416"),
    ],
)
def test_minted_etag(selection: Selection, is_sent: bool) -> None:
    kept = stored("Cache-Control: max-age=60", policy=StoragePolicy(mints_etag=True))
    served = served_head(kept, selection, HIT, NOW)
    assert served.fields.get_all("etag") == ((kept.downstream_etag,) if is_sent else ())


def test_no_etag_is_invented_where_none_was_minted() -> None:
    assert "etag" not in served_head(stored("Cache-Control: max-age=60"), Whole(), HIT, NOW).fields


def test_a_stored_status_is_served_as_it_came() -> None:
    kept = stored("Cache-Control: max-age=20", status=404)
    served = served_head(kept, Whole(), HIT, NOW)
    assert (served.status, served.fields.get("age")) == (404, "0")


def test_one_age_and_it_is_ours_9111_5_1() -> None:
    kept = stored("Cache-Control: max-age=60", "Age: 5")
    assert served_head(kept, Whole(), HIT, NOW + 2).fields.get_all("age") == ("7",)


def test_our_member_comes_last_9211_2() -> None:
    passed_on = with_proxy_fields(
        head("Cache-Status: other; hit", "Via: 1.0 other"), CacheStatus(forward=Forward.METHOD)
    )
    assert passed_on.fields.get("cache-status") == "other; hit, discovery-proxy; fwd=method"
    assert passed_on.fields.get("via") == "1.0 other, 1.1 discovery-proxy"
    assert passed_on.fields.without(("via", "cache-status")) == Fields()
