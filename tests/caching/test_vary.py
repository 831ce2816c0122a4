"""Selecting fields and what counts as the same value of one (RFC 9111 §4.1; bug cases B10, B11)."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.vary import favourite_language, normalise, normalise_codings, parse_vary, selecting_values
from tests.caching.samples import fields

CHECKABLE = frozenset({"gzip", "deflate"})


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        pytest.param((), (), id="absent"),
        pytest.param(("Vary: ",), (), id="empty"),
        pytest.param(("Vary: Foo",), ("foo",), id="9111-4.1-one"),
        pytest.param(("Vary: Foo, bar,, BAZ",), ("bar", "baz", "foo"), id="9111-4.1-names-ignore-case-and-order"),
        pytest.param(("Vary: Foo", "Vary: Bar, foo"), ("bar", "foo"), id="9110-5.3-lines-combine"),
        pytest.param(("Vary: *",), None, id="9111-4.1-any"),
        pytest.param(("Vary: Foo, *",), None, id="9111-4.1-any-last"),
        pytest.param(("Vary: *, *",), None, id="9111-4.1-any-twice"),
        pytest.param(("Vary: , *",), None, id="9111-4.1-any-after-nothing"),
        pytest.param(("Vary: ", "Vary: *"), None, id="9111-4.1-any-on-another-line"),
        pytest.param(("Vary: Foo bar",), None, id="no-field-name"),
        pytest.param(('Vary: "Foo"',), None, id="quoted-name"),
    ],
)
def test_parse_vary(lines: tuple[str, ...], names: tuple[str, ...] | None) -> None:
    assert parse_vary(fields(*lines)) == names


def test_selecting_values_9111_4_1() -> None:
    request = fields("Foo: 1,2", "Accept: b;q=0.5, A", "Foo: 3")
    assert selecting_values(("accept", "bar", "foo"), request) == ("a, b;q=0.5", None, "1, 2, 3")


SAME = {
    "9111-4.1-white-space": ("foo", "1,2", " 1 , 2 "),
    "9110-5.6.1-empty-elements": ("foo", "1,2", "1,,2,"),
    "language-order": ("accept-language", "en, de", "de, en"),
    "language-case": ("accept-language", "en, de", "eN, De"),
    "language-repeated": ("accept-language", "en, de", "en, de, en"),
    "weight-of-one": ("accept-language", "en, de", "en;q=1, de;Q=1.000"),
    "weight-zeros": ("accept-language", "en;q=0.5", "en; q=0.50"),
    "charset-case": ("accept-charset", "utf-8", "UTF-8"),
    "accept-order": ("accept", "text/html, application/json", "application/json,text/html"),
    "accept-case-of-type": ("accept", "text/html;level=1", "TEXT/html ; level=1"),
    "accept-quoted-white-space": ("accept", 'text/html;a="x, y"', 'text/html;a="x, y" ,'),
    "codings-order-and-weights": ("accept-encoding", "gzip, br", "br;q=0.8,gzip;q=0.1"),
    "codings-identity-goes-without-saying": ("accept-encoding", "gzip", "gzip, identity;q=0.5"),
    "codings-refused-are-left-out": ("accept-encoding", "gzip", "gzip, br;q=0"),
    "9110-8.4.1-coding-aliases": ("accept-encoding", "gzip, compress", "x-compress, X-GZIP"),
    "codings-none-at-all": ("accept-encoding", "", "identity"),
    "codings-wildcard-order": ("accept-encoding", "gzip, *;q=0.5", "*;q=0.50,gzip;q=1"),
}

DIFFERENT = {
    "unknown-field-case": ("foo", "a", "A"),
    "unknown-field-order": ("foo", "1, 2", "2, 1"),
    "unknown-field-quoted-comma": ("foo", '"1,2"', '"1, 2"'),
    "absent-and-empty": ("foo", "", None),
    "weights": ("accept-language", "en, de;q=0.5", "en, de;q=0.4"),
    "weight-zero": ("accept-language", "en, de", "en, de;q=0"),
    "9110-5.6.6-case-of-a-parameter": ("accept", "text/html;v=A", "text/html;v=a"),
    "parameter-after-weight": ("accept", "text/html;q=0.5;a=b", "text/html;q=0.5"),
    "quoted-case": ("accept", 'text/html;a="X"', 'text/html;a="x"'),
    "9110-12.4.2-weight-above-one": ("accept", "text/html;q=1.5", "text/html"),
    "9110-12.4.2-weight-too-long": ("accept", "text/html;q=0.1234", "text/html;q=0.123"),
    "9110-12.4.2-weight-without-zero": ("accept", "text/html;q=.5", "text/html;q=0.5"),
    "9110-12.4.2-weight-empty": ("accept", "text/html;q=", "text/html"),
    "9110-12.4.2-weight-not-ascii": ("accept", "text/html;q=0.\u0665", "text/html;q=0.5"),
    "weight-that-is-ours-in-thousandths": ("accept", "text/html;q=500", "text/html;q=0.5"),
    "9110-12.5.3-wildcard": ("accept-encoding", "gzip, *", "gzip"),
    "9110-12.5.3-identity-refused": ("accept-encoding", "gzip, identity;q=0", "gzip"),
    "9110-12.5.3-absent-and-none": ("accept-encoding", "identity", None),
}


@pytest.mark.parametrize(("name", "first", "second"), SAME.values(), ids=SAME)
def test_same_variant(name: str, first: str | None, second: str | None) -> None:
    assert normalise(name, first) == normalise(name, second)


@pytest.mark.parametrize(("name", "first", "second"), DIFFERENT.values(), ids=DIFFERENT)
def test_other_variant(name: str, first: str | None, second: str | None) -> None:
    assert normalise(name, first) != normalise(name, second)


@pytest.mark.parametrize(
    ("value", "checkable", "sent"),
    [
        pytest.param("gzip;q=0.5, br, zstd;q=0", None, "br, gzip", id="set"),
        pytest.param("gzip;q=0.5, *;q=0.125", None, "gzip;q=0.5, *;q=0.125", id="9110-12.4.2-weights-as-sent"),
        pytest.param("*;q=0", None, "*;q=0", id="9110-12.5.3-nothing"),
        pytest.param("gzip;q=2", None, "gzip;q=2", id="malformed-is-passed-on"),
        pytest.param("", None, "identity", id="9110-12.5.3-empty"),
        pytest.param("br, x-gzip", CHECKABLE, "gzip", id="checkable"),
        pytest.param("br", CHECKABLE, "identity", id="checkable-none"),
        pytest.param("*", CHECKABLE, "deflate, gzip", id="checkable-wildcard"),
        pytest.param("gzip;q=0, *;q=0.1", CHECKABLE, "deflate", id="checkable-wildcard-but-one"),
        pytest.param("gzip, *;q=0", CHECKABLE, "gzip", id="checkable-nothing-else"),
        pytest.param("br, identity;q=0", CHECKABLE, "identity", id="checkable-identity-refused"),
        pytest.param("gzip;q=x", CHECKABLE, "identity", id="checkable-malformed"),
    ],
)
def test_codings_to_ask_for(value: str, checkable: frozenset[str] | None, sent: str) -> None:
    assert normalise_codings(value, checkable) == sent


def spellings(count: int) -> list[str]:
    """Orders, white space and weights of the same three codings."""
    separators = (",", ", ", " ,  ")
    weights = ("", ";q=1.0", ";q=0.9", "; q=0.001")
    found = [
        separators[number % 3].join(coding + weights[(number + place) % 4] for place, coding in enumerate(order))
        for number in range(count)
        for order in permutations(("gzip", "br", "zstd"))
    ]
    return found[:count]


def test_fifty_spellings_of_three_codings_make_at_most_three_variants() -> None:
    written = spellings(50)
    assert len(set(written)) > 40
    assert len({normalise("accept-encoding", value) for value in written}) <= 3


@pytest.mark.parametrize(
    ("value", "language"),
    [
        pytest.param(None, None, id="absent"),
        pytest.param("", None, id="empty"),
        pytest.param("DE", "de", id="one"),
        pytest.param("fr;q=0.5, de;q=1.0", "de", id="9110-12.5.4-highest-weight"),
        pytest.param("fr, de", None, id="no-single-favourite"),
        pytest.param("de, DE;q=0.5, de", "de", id="repeated"),
        pytest.param("de;q=0", None, id="9110-12.4.2-not-acceptable"),
        pytest.param("de;q=x", None, id="malformed"),
    ],
)
def test_favourite_language(value: str | None, language: str | None) -> None:
    assert favourite_language(value) == language


NAMES = st.sampled_from(["foo", "accept", "accept-language", "accept-charset", "accept-encoding"])
VALUES = st.one_of(st.text(st.sampled_from('ab"\\,;=q01.* \t'), max_size=24), st.text(max_size=24))


@settings(derandomize=True, deadline=None, max_examples=500)
@given(NAMES, VALUES)
def test_normalise_is_idempotent(name: str, value: str) -> None:
    once = normalise(name, value)
    assert normalise(name, once) == once


@settings(derandomize=True, deadline=None)
@given(VALUES)
def test_what_is_sent_for_a_gate_is_always_a_plain_set(value: str) -> None:
    assert re.fullmatch(r"identity|(deflate|gzip)(, gzip)?", normalise_codings(value, CHECKABLE))
