"""The conditional request, the 304 and the HEAD (RFC 9111 §3.2, §4.3; bug cases B07, B09, B12, B33)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import StoragePolicy
from proxy.caching.validation import (
    CLIENT_CONDITIONS,
    Freshened,
    NotOurs,
    conditional_request,
    fill_request,
    freshen,
    is_same_etag,
    is_weak_etag,
    opaque_tag,
    update_from_head,
)
from proxy.http.fields import Fields
from proxy.http.messages import Request
from tests.caching.samples import BODY, NO_POLICY, NOW, date, fields, head, request, stored

LATER = NOW + 100
THEN = Exchange(LATER, LATER)
FRESH = "Cache-Control: max-age=60"
MODIFIED = f"Last-Modified: {date(-1000)}"


@pytest.mark.parametrize(
    ("lines", "checkable", "sent"),
    [
        pytest.param(("Foo: 1", "Accept: a"), None, ("Foo: 1", "Accept: a"), id="as-it-is"),
        pytest.param(
            ("If-None-Match: x", "If-Modified-Since: y", "If-Range: z", "Range: bytes=0-", "Foo: 1"),
            None,
            ("Foo: 1",),
            id="9111-4.3.2-conditions-of-the-client",
        ),
        pytest.param(
            ("If-Match: x", "If-Unmodified-Since: y"),
            None,
            ("If-Match: x", "If-Unmodified-Since: y"),
            id="9111-4.3.2-conditions-for-the-origin",
        ),
        pytest.param(("Accept-Encoding: GZIP;q=0.5, br",), None, ("Accept-Encoding: br, gzip",), id="codings"),
        pytest.param(
            ("Accept-Encoding: gzip", "accept-encoding: br"),
            frozenset({"gzip"}),
            ("Accept-Encoding: gzip",),
            id="codings-that-can-be-checked",
        ),
        pytest.param((), frozenset({"gzip"}), (), id="codings-unasked"),
    ],
)
def test_fill_request(lines: tuple[str, ...], checkable: frozenset[str] | None, sent: tuple[str, ...]) -> None:
    assert fill_request(request(*lines), checkable) == request(*sent)


@pytest.mark.parametrize(
    ("validators", "sent"),
    [
        pytest.param(('ETag: "1"',), ('If-None-Match: "1"',), id="9111-4.3.1-etag"),
        pytest.param((MODIFIED,), (f"If-Modified-Since: {date(-1000)}",), id="9111-4.3.1-last-modified"),
        pytest.param(
            (MODIFIED, 'ETag: "1"'),
            ('If-None-Match: "1"', f"If-Modified-Since: {date(-1000)}"),
            id="9111-4.3.1-both",
        ),
        pytest.param(('ETag: W/"1"',), ('If-None-Match: W/"1"',), id="B09-weak-prefix-kept"),
        pytest.param(("ETag: abc",), ("If-None-Match: abc",), id="B33-unquoted"),
        pytest.param(('ETag: "W/3a2b1c"',), ('If-None-Match: "W/3a2b1c"',), id="C-33-strong-tag-that-looks-weak"),
        pytest.param((), (), id="none"),
    ],
)
def test_conditional_request(validators: tuple[str, ...], sent: tuple[str, ...]) -> None:
    kept = stored(FRESH, *validators)
    assert conditional_request(request("Foo: 1"), kept) == request("Foo: 1", *sent)


def test_a_minted_etag_is_never_sent_upstream() -> None:
    kept = stored(FRESH, policy=StoragePolicy(mints_etag=True))
    assert kept.downstream_etag is not None
    assert conditional_request(request(), kept) == request()


# RFC 9110 §8.8.3.2 has the first four rows as its example.
ETAGS: dict[str, tuple[str, str, bool, bool]] = {
    "9110-8.8.3.2-weak-same": ('W/"1"', 'W/"1"', False, True),
    "9110-8.8.3.2-weak-other": ('W/"1"', 'W/"2"', False, False),
    "9110-8.8.3.2-weak-strong": ('W/"1"', '"1"', False, True),
    "9110-8.8.3.2-strong-same": ('"1"', '"1"', True, True),
    "strong-other": ('"1"', '"2"', False, False),
    "9110-8.8.3-case-of-the-flag": ('w/"1"', '"1"', False, False),
    "C-33-text-that-looks-weak": ('"W/1"', 'W/"1"', False, False),
    "C-33-text-that-looks-weak-is-strong": ('"W/1"', '"W/1"', True, True),
    "B33-unquoted-same": ("abc", "abc", True, True),
    "B33-unquoted-quoted": ("abc", '"abc"', False, False),
    "B33-unquoted-after-weak-flag": ("W/abc", "abc", False, False),
    "B13-coding-suffix": ('"a"', '"a-gzip"', False, False),
}


@pytest.mark.parametrize(("first", "second", "strongly", "weakly"), ETAGS.values(), ids=ETAGS)
def test_entity_tags(first: str, second: str, strongly: bool, weakly: bool) -> None:
    assert is_same_etag(first, second, strong=True) is is_same_etag(second, first, strong=True) is strongly
    assert is_same_etag(first, second) is is_same_etag(second, first) is weakly


def test_opaque_tag_keeps_the_quotes() -> None:
    assert (opaque_tag('W/"1"'), opaque_tag('"1"'), opaque_tag("1")) == ('"1"', '"1"', "1")
    assert (is_weak_etag('W/"1"'), is_weak_etag('"W/1"')) == (True, False)


def freshened(
    kept: StoredResponse, *lines: str, asked: Request | None = None, exchange: Exchange = THEN
) -> Freshened | NotOurs:
    """What a 304 with those lines makes of `kept`, asked for with its own validators."""
    sent = conditional_request(asked or request(), kept)
    return freshen(kept, sent, head(*lines, status=304), exchange, NO_POLICY, 9, 10_000)


NOT_OURS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "9111-4.3.4-same-strong-etag": (('ETag: "1"',), ('ETag: "1"',), "ours"),
    "9111-4.3.4-other-etag": (('ETag: "1"',), ('ETag: "2"',), "304-for-another-validator"),
    "9111-4.3.4-weak-etag-of-a-strong-one": (('ETag: "1"',), ('ETag: W/"1"',), "ours"),
    "9111-4.3.4-other-weak-etag": (('ETag: "1"',), ('ETag: W/"2"',), "304-for-another-validator"),
    "strong-etag-of-a-weak-one": (('ETag: W/"1"',), ('ETag: "1"',), "ours"),
    "9111-4.3.4-etag-where-none-was": ((MODIFIED,), ('ETag: "1"', MODIFIED), "304-for-another-validator"),
    "9111-4.3.4-same-last-modified": ((MODIFIED,), (MODIFIED,), "ours"),
    "9111-4.3.4-other-last-modified": ((MODIFIED,), (f"Last-Modified: {date(-10)}",), "304-for-another-validator"),
    "9111-4.3.4-etag-before-last-modified": (
        ('ETag: "1"', MODIFIED),
        ('ETag: "1"', f"Last-Modified: {date(-10)}"),
        "ours",
    ),
    "9111-4.3.4-other-last-modified-alone": (
        ('ETag: "1"', MODIFIED),
        (f"Last-Modified: {date(-10)}",),
        "304-for-another-validator",
    ),
    "no-validator-in-the-304": (('ETag: "1"', MODIFIED), (), "ours"),
    "B33-unquoted": (("ETag: abc",), ("ETag: abc",), "ours"),
    "B33-unquoted-comes-back-quoted": (("ETag: abc",), ('ETag: "abc"',), "304-for-another-validator"),
    "4.1-nothing-was-asked": ((), (), "304-without-condition"),
    "4.1-nothing-was-asked-but-answered": ((), ('ETag: "1"',), "304-without-condition"),
}


@pytest.mark.parametrize(("validators", "lines", "expected"), NOT_OURS.values(), ids=NOT_OURS)
def test_whose_304_it_is(validators: tuple[str, ...], lines: tuple[str, ...], expected: str) -> None:
    found = freshened(stored(FRESH, *validators), *lines)
    assert (found.reason.value if isinstance(found, NotOurs) else "ours") == expected


def test_a_304_that_grows_the_fields_beyond_the_bound_is_not_used() -> None:
    kept = stored(FRESH, 'ETag: "1"')
    sent = conditional_request(request(), kept)
    size = len(f'Cache-Control: max-age=60\r\nETag: "1"\r\nDate: {date()}\r\n')
    for limit, is_ours in ((size, True), (size - 1, False)):
        found = freshen(kept, sent, head(status=304), THEN, NO_POLICY, 0, limit)
        assert isinstance(found, Freshened) is is_ours, limit


def renewed(kept: StoredResponse, *lines: str, exchange: Exchange = THEN) -> StoredResponse:
    found = freshened(kept, *lines, exchange=exchange)
    assert isinstance(found, Freshened) and found.withdrawn is None, found
    return found.stored


STORED_LINES = (FRESH, 'ETag: "1"', "Content-Type: a/b", "Content-Encoding: gzip", "Foo: 1", "Foo: 2", "Bar: 3")

# Lines of the 304, and what the fields of one name are afterwards.
UPDATES: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "9111-3.2-kept": ((), "Bar", ("3",)),
    "9111-3.2-replaced": (("Bar: 4",), "Bar", ("4",)),
    "9111-3.2-all-lines-replaced": (("foo: 9",), "Foo", ("9",)),
    "9111-3.2-added": (("New: 1", "New: 2"), "New", ("1", "2")),
    "9111-3.2-content-length": (("Content-Length: 99",), "Content-Length", ()),
    "4.1-content-encoding": (("Content-Encoding: br",), "Content-Encoding", ("gzip",)),
    "4.1-content-range": (("Content-Range: bytes 0-1/2",), "Content-Range", ()),
    "9111-3.2-content-type": (("Content-Type: c/d",), "Content-Type", ("c/d",)),
    "9111-3.1-hop-by-hop": (("Transfer-Encoding: chunked", "Keep-Alive: 5"), "Keep-Alive", ()),
    "9111-3.1-connection": (("Connection: bar", "Bar: 4"), "Bar", ("3",)),
    "4.17-set-cookie": (("Set-Cookie: a=b",), "Set-Cookie", ()),
    "9111-5.2.2.7-qualified-private": (('Cache-Control: max-age=60, private="bar"',), "Bar", ()),
    "9111-5.2.2.4-qualified-no-cache-of-the-304": (
        ('Cache-Control: max-age=60, no-cache="new"', "New: 1"),
        "New",
        (),
    ),
    "9110-8.8.3-etag-weakened": (('ETag: W/"1"',), "ETag", ('W/"1"',)),
    "age-is-not-kept": (("Age: 5",), "Age", ()),
    "B07-date-of-the-304": ((f"Date: {date(95)}",), "Date", (date(95),)),
    "B07-no-date": ((), "Date", (date(100),)),
}


@pytest.mark.parametrize(("lines", "name", "values"), UPDATES.values(), ids=UPDATES)
def test_fields_after_a_304(lines: tuple[str, ...], name: str, values: tuple[str, ...]) -> None:
    assert renewed(stored(*STORED_LINES), *lines).fields.get_all(name) == values


def test_a_weak_tag_never_becomes_strong() -> None:
    kept = stored(FRESH, 'ETag: W/"1"')
    assert renewed(kept, 'ETag: "1"').etag == 'W/"1"'


AGES: dict[str, tuple[tuple[str, ...], Exchange, float, float]] = {
    "B07-age-starts-again": ((f"Date: {date(100)}",), THEN, 0, 60),
    "B07-without-date": ((), THEN, 0, 60),
    "9111-4.2.3-delay-of-the-validation": ((), Exchange(LATER - 2, LATER), 2, 60),
    "9111-4.2.3-age-of-the-304": (("Age: 7",), THEN, 7, 60),
    "9111-4.2.3-old-date": ((f"Date: {date(90)}",), THEN, 10, 60),
    "9111-4.3.4-new-lifetime": (("Cache-Control: max-age=5",), THEN, 0, 5),
}


@pytest.mark.parametrize(("lines", "exchange", "age", "lifetime"), AGES.values(), ids=AGES)
def test_age_after_a_304(lines: tuple[str, ...], exchange: Exchange, age: float, lifetime: float) -> None:
    fresh = renewed(stored(FRESH, 'ETag: "1"', "Age: 30", f"Date: {date(-40)}"), *lines, exchange=exchange)
    assert (fresh.age(LATER), fresh.lifetime.seconds) == (age, lifetime)
    assert (fresh.exchange, fresh.generation, fresh.body) == (exchange, 9, BODY)


def test_a_304_may_change_what_selects() -> None:
    kept = stored(FRESH, 'ETag: "1"', "Vary: Foo", asked=request("Foo: 1", "Bar: 2"))
    found = freshened(kept, "Vary: Bar", asked=request("Foo: 1", "Bar: 2"))
    assert isinstance(found, Freshened)
    assert (found.stored.vary, found.stored.selecting) == (("bar",), ("2",))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param(("Vary: *",), "vary-any", id="9111-4.1"),
        pytest.param(("Cache-Control: private",), "private", id="9111-5.2.2.7"),
        pytest.param(("Cache-Control: no-store", "Age: 5"), "no-store", id="9111-5.2.2.5"),
    ],
)
def test_b12_a_304_that_forbids_storing_withdraws(lines: tuple[str, ...], reason: str) -> None:
    found = freshened(
        stored("Cache-Control: max-age=60, stale-while-revalidate=900", 'ETag: "1"', "Age: 20"), *lines
    )
    assert isinstance(found, Freshened) and found.withdrawn is not None
    assert found.withdrawn.reason.value == reason
    assert found.stored.age(LATER) == (5 if "Age: 5" in lines else 0)
    assert found.stored.body == BODY
    assert "age" not in found.stored.fields
    # It answers the one who asked; for anybody else it is neither fresh nor good enough as stale.
    assert not found.stored.is_fresh(LATER)
    assert found.stored.forbids_stale and found.stored.stale_while_revalidate == 0


HEADS: dict[str, tuple[tuple[str, ...], bool]] = {
    "9111-4.3.5-nothing-said": ((), False),
    "9111-4.3.5-same": (('ETag: "1"', MODIFIED, f"Content-Length: {len(BODY)}"), False),
    "9111-4.3.5-other-etag": (('ETag: "2"',), True),
    "9111-4.3.5-other-last-modified": (('ETag: "1"', f"Last-Modified: {date(-10)}"), True),
    "9111-4.3.5-other-length": (("Content-Length: 11",), True),
    "other-length-in-another-coding": (("Content-Length: 11", "Content-Encoding: gzip"), False),
    "other-fields-change-nothing": (("Cache-Control: max-age=9999", "Foo: 2"), False),
}


@pytest.mark.parametrize(("lines", "is_stale"), HEADS.values(), ids=HEADS)
def test_update_from_head(lines: tuple[str, ...], is_stale: bool) -> None:
    kept = stored(FRESH, 'ETag: "1"', MODIFIED)
    expected = kept.marked_stale(NOW + 10) if is_stale else None
    assert update_from_head(kept, head(*lines), NOW + 10) == expected


NAMES = st.sampled_from(
    ["Content-Length", "content-encoding", "Content-Range", "TRANSFER-ENCODING", "Foo", "Set-Cookie"]
)
LINES = st.lists(st.tuples(NAMES, st.text("ab0,;= ", max_size=8)), max_size=6)


@settings(derandomize=True, deadline=None)
@given(LINES)
def test_a_304_never_touches_what_describes_the_body(lines: list[tuple[str, str]]) -> None:
    kept = stored(*STORED_LINES)
    fresh = renewed(kept, *(f"{name}: {value}" for name, value in lines))
    for name in ("content-length", "content-encoding", "content-range", "transfer-encoding", "set-cookie"):
        assert fresh.fields.get_all(name) == kept.fields.get_all(name)
    assert fresh.body == kept.body


def test_conditions_of_the_client_are_the_four_a_cache_answers() -> None:
    assert fields(*(f"{name}: x" for name in CLIENT_CONDITIONS)).without(CLIENT_CONDITIONS) == Fields()
