"""The stored response and its record (RFC 9111 §4.2; a damaged record is a miss, never an error)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.stored import RECORD_FORMAT, StoredResponse, parse_record, to_record, variant_name
from proxy.http.fields import Fields
from tests.caching.samples import BODY, NOW, request, stored

FRESH = stored(
    "Cache-Control: max-age=60, stale-while-revalidate=30",
    'ETag: W/"1"',
    "Vary: Accept, Foo",
    "Surrogate-Key: a b",
    asked=request("Accept: text/html"),
    generation=3,
)


@pytest.mark.parametrize(
    ("seconds", "age", "staleness", "is_fresh"),
    [
        pytest.param(-5, 0, -65, True, id="9111-4.2.3-clock-set-back"),
        pytest.param(0, 0, -60, True, id="new"),
        pytest.param(59.5, 59.5, -0.5, True, id="9111-4.2-lifetime-exceeds-age"),
        pytest.param(60, 60, 0, False, id="9111-4.2-lifetime-equals-age"),
        pytest.param(90, 90, 30, False, id="stale"),
    ],
)
def test_age_and_staleness(seconds: float, age: float, staleness: float, is_fresh: bool) -> None:
    now = NOW + seconds
    assert (FRESH.age(now), FRESH.staleness(now), FRESH.is_fresh(now)) == (age, staleness, is_fresh)


@pytest.mark.parametrize(
    ("lines", "etag", "last_modified", "has_validator"),
    [
        (("ETag: abc",), "abc", None, True),
        (("Last-Modified: then",), None, "then", True),
        ((), None, None, False),
    ],
    ids=["unquoted-etag", "any-last-modified", "none"],
)
def test_validators_are_byte_for_byte(
    lines: tuple[str, ...], etag: str | None, last_modified: str | None, has_validator: bool
) -> None:
    kept = stored("Cache-Control: max-age=60", *lines)
    assert (kept.etag, kept.last_modified, kept.has_validator) == (etag, last_modified, has_validator)


@pytest.mark.parametrize(
    ("at", "fresh_until"),
    [
        pytest.param(10, 10, id="while-fresh"),
        pytest.param(60, 60, id="at-its-end"),
        pytest.param(90, 60, id="already-stale"),
        pytest.param(-10, 0, id="before-its-birth"),
    ],
)
def test_marked_stale_ends_freshness_and_never_extends_it(at: float, fresh_until: float) -> None:
    marked = FRESH.marked_stale(NOW + at)
    assert marked.fresh_until == NOW + fresh_until
    assert replace(marked, lifetime=FRESH.lifetime) == FRESH


def test_a_record_comes_back_equal() -> None:
    assert parse_record(to_record(FRESH), BODY) == FRESH


def changed(**members: Any) -> str:
    return json.dumps({**json.loads(to_record(FRESH)), **members})


def lacking(name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(to_record(FRESH)).items() if key != name})


DAMAGED = {
    "empty": "",
    "no-json": "{",
    "null": "null",
    "number": "1",
    "text": '"format"',
    "list": "[]",
    "too-deep": "[" * 100_000,
    "number-of-too-many-digits": '{"format":' + "9" * 5000 + "}",
    "other-format": changed(format=RECORD_FORMAT + 1),
    "other-body": changed(length=len(BODY) + 1),
    "lifetime-short": changed(lifetime=[1.0]),
    "lifetime-source-unknown": changed(lifetime=[1.0, "guess"]),
    "lifetime-infinite": changed(lifetime=[float("inf"), "max-age"]),
    "born-text": changed(born="1"),
    "born-not-a-number": changed(born=float("nan")),
    "born-beyond-floats": changed(born=10**400),
    "keep-until-beyond-floats": changed().replace(str(FRESH.keep_until), "1e999"),
    "exchange-null": changed(exchange=None),
    "exchange-short": changed(exchange=[1.0]),
    "fields-of-one": changed(fields=[["a"]]),
    "fields-of-numbers": changed(fields=[["a", 1]]),
    "vary-null": changed(vary=None),
    "vary-without-values": changed(selecting=[]),
    "selecting-number": changed(selecting=[1, None]),
    "tags-number": changed(tags=[1]),
    "status-text": changed(status="200"),
    "flag-text": changed(forbids_stale="no"),
    "uri-null": changed(uri=None),
    "uri-unusable": changed(uri="nonsense"),
    "etag-number": changed(downstream_etag=1),
    **{f"without-{name}": lacking(name) for name in json.loads(to_record(FRESH))},
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_is_none(text: str) -> None:
    assert parse_record(text, BODY) is None


# What a border makes of octets: Latin-1, or UTF-8 with lone surrogates for the octets that are none.
TEXT = st.one_of(
    st.binary(max_size=12).map(lambda octets: octets.decode("latin-1")),
    st.binary(max_size=12).map(lambda octets: octets.decode("utf-8", "surrogateescape")),
)
SECONDS = st.floats(-1e12, 1e12)


@st.composite
def responses(draw: st.DrawFn) -> StoredResponse:
    pairs = draw(st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=3))
    return StoredResponse(
        uri=draw(st.sampled_from(("https://example.com/a?b", "http://[::1]:8080/%2f"))),
        status=draw(st.integers(200, 599)),
        reason=draw(TEXT),
        fields=Fields(draw(st.lists(st.tuples(TEXT, TEXT), max_size=4))),
        body=draw(st.binary(max_size=8)),
        vary=tuple(name for name, _ in pairs),
        selecting=tuple(value for _, value in pairs),
        exchange=Exchange(draw(SECONDS), draw(SECONDS)),
        born=draw(SECONDS),
        lifetime=Lifetime(draw(SECONDS), draw(st.sampled_from(LifetimeSource))),
        stale_while_revalidate=draw(SECONDS),
        stale_if_error=draw(SECONDS),
        forbids_stale=draw(st.booleans()),
        must_validate=draw(st.booleans()),
        document_class=draw(TEXT),
        tags=tuple(draw(st.lists(TEXT, max_size=3))),
        generation=draw(st.integers(0, 2**62)),
        downstream_etag=draw(st.none() | TEXT),
        keep_until=draw(SECONDS),
    )


@settings(derandomize=True, deadline=None)
@given(responses())
def test_every_record_comes_back_equal(response: StoredResponse) -> None:
    record = to_record(response)
    assert record.isascii() and "\n" not in record
    assert parse_record(record, response.body) == response


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=6,
)


@settings(derandomize=True, deadline=None)
@given(st.text(), st.sampled_from(sorted(json.loads(to_record(FRESH)))), JSON)
def test_no_text_makes_parse_record_raise(text: str, name: str, value: object) -> None:
    parse_record(text, BODY)
    read = parse_record(changed(**{name: value}), BODY)
    assert read is None or parse_record(to_record(read), BODY) == read


@settings(derandomize=True, deadline=None)
@given(responses(), SECONDS)
def test_age_is_never_negative(response: StoredResponse, now: float) -> None:
    assert response.age(now) >= 0


def test_a_variant_is_named_without_its_values() -> None:
    assert variant_name(stored("Cache-Control: max-age=1")) is None
    spoken = stored("Cache-Control: max-age=1", "Vary: Accept-Language", asked=request("Accept-Language: de"))
    assert re.fullmatch("accept-language:[0-9a-f]{8}", variant_name(spoken) or "")
