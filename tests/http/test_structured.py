from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import http_sf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.http.structured import BareItem, Date, InnerList, Token, parse_dictionary, serialise_item

DICTIONARIES: dict[str, tuple[Sequence[str], Mapping[str, BareItem | InnerList]]] = {
    "no-lines": ([], {}),
    "empty": ([""], {}),
    "integer": (["max-age=60"], {"max-age": 60}),
    "negative": (["a=-1"], {"a": -1}),
    "decimal": (["a=1.5"], {"a": Decimal("1.5")}),
    "key-alone": (["no-store"], {"no-store": True}),
    "boolean": (["a=?0, b=?1"], {"a": False, "b": True}),
    "string": (['a="x\\"y"'], {"a": 'x"y'}),
    "token": (["a=x"], {"a": Token("x")}),
    "byte-sequence": (["sha-256=:AAE=:"], {"sha-256": b"\x00\x01"}),
    "date": (["a=@1659578233"], {"a": Date(1659578233)}),
    "display-string": (['a=%"%c3%bc"'], {"a": "ü"}),
    "inner-list": (['a=(x 1 "s");p'], {"a": (Token("x"), 1, "s")}),
    "inner-list-empty": (["a=()"], {"a": ()}),
    "parameters-dropped": (["max-age=60;x=1, b;y"], {"max-age": 60, "b": True}),
    "two-lines": (["max-age=60", "no-store"], {"max-age": 60, "no-store": True}),
    "last-wins": (["a=1, b=2", "a=3"], {"a": 3, "b": 2}),
    "spaces": (["  a=1 ,\t b=2  "], {"a": 1, "b": 2}),
}

MALFORMED_DICTIONARIES = {
    "trailing-comma": ["a=1,"],
    "empty-line-first": ["", "a=1"],
    "capital-key": ["Max-Age=60"],
    "space-around-equals": ["a = 1"],
    "value-missing": ["a="],
    "single-quotes": ["a='x'"],
    "string-not-closed": ['a="x'],
    "integer-too-long": ["a=1234567890123456"],
    "date-out-of-range": ["a=@999999999999999"],
    "decimal-date": ["a=@1.5"],
    "display-string-no-utf-8": ['a=%"%ff"'],
    "list": ["a, (b)"],
    "semicolons": ["a=1; b=2, c d"],
    "one-bad-member": ["a=1, b=&"],
    "one-bad-line": ["a=1", "&"],
    "control-character": ["a=\x00"],
    "non-ascii": ["a=ü"],
    "undecodable-octet": ["a=\udcff"],
}


@pytest.mark.parametrize(("values", "members"), DICTIONARIES.values(), ids=DICTIONARIES)
def test_dictionary(values: Sequence[str], members: Mapping[str, BareItem | InnerList]) -> None:
    parsed = parse_dictionary(values)
    assert parsed == members
    assert [type(member) for member in (parsed or {}).values()] == [type(member) for member in members.values()]


@pytest.mark.parametrize("values", MALFORMED_DICTIONARIES.values(), ids=MALFORMED_DICTIONARIES)
def test_a_malformed_dictionary_counts_as_absent(values: Sequence[str]) -> None:
    assert parse_dictionary(values) is None


@given(st.lists(st.text(st.sampled_from('abz09-_.*=,;:?@%"()\\ \t\x00üA/+'), max_size=20), max_size=2))
@settings(max_examples=200)
def test_any_text_is_a_dictionary_or_malformed(values: list[str]) -> None:
    assert parse_dictionary(values) is None or isinstance(parse_dictionary(values), dict)


ITEMS: dict[str, tuple[Token | str | int | bool, Mapping[str, Token | str | int | bool | Date], str]] = {
    "token": (Token("discovery-proxy"), {}, "discovery-proxy"),
    "string": ("discovery proxy", {}, '"discovery proxy"'),
    "integer": (-12, {}, "-12"),
    "boolean": (True, {}, "?1"),
    "true-parameter": (Token("discovery-proxy"), {"hit": True}, "discovery-proxy; hit"),
    "false-parameter": (Token("discovery-proxy"), {"stored": False}, "discovery-proxy; stored=?0"),
    "one-is-not-true": (Token("discovery-proxy"), {"n": 1}, "discovery-proxy; n=1"),
    "stale-hit": (Token("discovery-proxy"), {"hit": True, "ttl": -12}, "discovery-proxy; hit; ttl=-12"),
    "miss": (
        Token("discovery-proxy"),
        {"fwd": Token("uri-miss"), "fwd-status": 200, "stored": True, "detail": "a b"},
        'discovery-proxy; fwd=uri-miss; fwd-status=200; stored; detail="a b"',
    ),
    "date-parameter": (
        Token("verified"),
        {"did": "did:web:example.com", "source": Token("origin"), "checked": Date(1659578233)},
        'verified; did="did:web:example.com"; source=origin; checked=@1659578233',
    ),
    "string-escaped": ('a"b\\c', {}, '"a\\"b\\\\c"'),
    "string-empty": ("", {}, '""'),
    "string-separators": (Token("t"), {"detail": "a; b, c=d"}, 't; detail="a; b, c=d"'),
    "string-not-printable-ascii": ("a\r\nb\tü\x7f\x00\udcff😀", {}, '"a??b??????"'),
}


@pytest.mark.parametrize(("value", "parameters", "text"), ITEMS.values(), ids=ITEMS)
def test_serialise_item(
    value: Token | str | int | bool, parameters: Mapping[str, Token | str | int | bool | Date], text: str
) -> None:
    assert serialise_item(value, parameters) == text


def library_value(value: Token | str | int | bool | Date) -> Any:
    if isinstance(value, Token):
        return http_sf.Token(value)
    return datetime.fromtimestamp(value.seconds, UTC) if isinstance(value, Date) else value


tokens = st.from_regex(r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]{0,8}", fullmatch=True).map(Token)
strings = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)
bare_items = st.one_of(tokens, strings, st.integers(-(10**15) + 1, 10**15 - 1), st.booleans())
dates = st.integers(0, 2**32).map(Date)
keys = st.from_regex(r"[a-z*][a-z0-9_.*-]{0,6}", fullmatch=True)


@given(bare_items, st.dictionaries(keys, bare_items | dates, max_size=4))
@settings(max_examples=200)
def test_items_are_what_the_library_writes_but_for_the_space_before_a_parameter(
    value: Token | str | int | bool, parameters: dict[str, Token | str | int | bool | Date]
) -> None:
    expected = (library_value(value), {key: library_value(each) for key, each in parameters.items()})
    text = serialise_item(value, parameters)
    assert http_sf.ser(http_sf.parse(text.encode(), tltype="item")) == http_sf.ser(expected)
    assert len(text) == len(http_sf.ser(expected)) + len(parameters)
