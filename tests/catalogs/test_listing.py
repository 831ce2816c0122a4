"""JSON texts that list things, and where in them their elements are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.catalogs.listing import LISTS, MOST_VALUES, OCTETS_A_VALUE, Number, encoded, read_listing, written
from proxy.discovery.jsontext import MAX_DEPTH, MOST_CONTAINERS, MalformedJson

TEXTS = {
    "object": '{"a":1}',
    "list": '[1,"b",{"c":[]}]',
    "empty list": " [ ] ",
    "empty object": " { } ",
    "text": '"a"',
    "number": "1.10",
    "named list": '{"x":{}, "entries" : [ {"a":1} , {"b":"]"},\n["\\"[,"] ] , "y":[1,2]}',
    "empty named list": '{"entries":[\n]}',
    "named, but no list": '{"entries":{"a":[1]}}',
    "brackets in strings": '{"entries":["}]{[", "\\\\", "\\"}"]}',
    "byte order mark": '\ufeff{"entries":[1]}',
    "all of them": json.dumps({name: [name, 1] for name in LISTS}),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_values(text: str) -> None:
    listing = read_listing(text.encode())
    assert json.loads(written(listing.value)) == json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_spans(text: str) -> None:
    listing = read_listing(text.encode())
    for name, spans in listing.lists.items():
        value: Any = listing.value if name is None else listing.value[name]  # type: ignore[index]
        elements = [listing.text[start:end] for start, end in zip(spans.starts, spans.ends, strict=True)]
        assert [json.loads(element) for element in elements] == json.loads(written(value))
        assert listing.text[spans.start - 1] == "[" and listing.text[spans.end] == "]"


def test_which_lists_have_spans() -> None:
    listing = read_listing(b'{"entries":[1],"others":[1],"x":{"entries":[1]}}')
    assert list(listing.lists) == ["entries"]
    assert list(read_listing(b'[{"entries":[1]}]').lists) == [None]


@pytest.mark.parametrize(
    "number", ["1.10", "-0", "1e999", "1E+2", "0", "9" * 5000, "-1.0e-400", "18446744073709551617"]
)
def test_numbers_stay_as_written(number: str) -> None:
    value = read_listing(f'{{"entries":[{number}]}}'.encode()).value
    assert value == {"entries": [Number(number)]}
    assert written(value) == f'{{"entries":[{number}]}}'


@pytest.mark.parametrize("text", ['{"\u00e9":"\u2028\U0001f600"}', '{"a":[true,false,null,"\\"\\\\\\n"]}'])
def test_texts_are_written_without_needless_escapes(text: str) -> None:
    assert written(read_listing(text.encode()).value) == text


def deep(depth: int) -> bytes:
    return b'{"entries":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


MALFORMED = {
    "nothing": b"",
    "blank": b" \n",
    "no JSON": b"<html>",
    "not UTF-8": b'{"a":"\xff"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "rest": b"{} {}",
    "rest of a list": b"[1] 2",
    "open object": b'{"a":1',
    "open list": b'{"entries":[1',
    "open text": b'{"entries":["a',
    "comma before the end of a list": b'{"entries":[1,]}',
    "comma before the end": b'{"entries":[1],}',
    "no comma": b'{"entries":[1 2]}',
    "no comma between members": b'{"a":1 "b":2}',
    "no colon": b'{"entries" [1]}',
    "name of another kind": b'{1:"a"}',
    "no name": b"{,}",
    "wrong bracket": b'{"entries":[1}}',
    "NaN": b'{"entries":[NaN]}',
    "Infinity": b'{"a":-Infinity}',
    "control character": b'{"a":"\x01"}',
    "leading zero": b'{"a":01}',
    "a name twice": b'{"a":1,"a":1}',
    "a name twice, as an escape": b'{"a":1,"\\u0061":1}',
    "a name twice, below": b'{"entries":[{"url":"x","url":"y"}]}',
    "too deep": deep(MAX_DEPTH + 1),
    "much too deep": b"[" * 100_000,
    "too deep, then wrong": b"[" * 5_000 + b"}" + b"]" * 5_000,
    "too many": b'{"entries":[' + b"[]," * MOST_CONTAINERS + b"[]]}",
    "too many values": b'{"entries":[' + b"1," * (MOST_VALUES + 1) + b"1]}",
    "too many members": b"{" + b",".join(b'"%d":1' % number for number in range(MOST_VALUES + 2)) + b"}",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        read_listing(body)


def test_bounds_are_those_of_discovery() -> None:
    read_listing(deep(MAX_DEPTH))
    read_listing(b'{"entries":[' + b"[]," * (MOST_CONTAINERS - 3) + b"[]]}")
    read_listing(json.dumps({"a": "[" * 100 + '"{' * 100}).encode())


def test_values_are_bounded_by_the_length_as_well() -> None:
    read_listing(b'{"entries":[' + b"1," * MOST_VALUES + b"1]}")
    many = 2 * MOST_VALUES
    text = b'{"entries":[' + b"1," * many + b"1]}"
    assert read_listing(text + b" " * (many * OCTETS_A_VALUE - len(text))).value
    with pytest.raises(MalformedJson, match="commas"):
        read_listing(text + b" " * (many * OCTETS_A_VALUE - len(text) - 1))


def test_equal_numbers_are_one_value() -> None:
    value: Any = read_listing(
        b'[{"a":[1.10,1.10]},1.10,1.1,' + b",".join(b"%d" % n for n in range(3000)) + b"]"
    ).value
    assert value[0]["a"][0] is value[0]["a"][1] is value[1] != value[2]
    assert [number.text for number in value[3:]] == [str(number) for number in range(3000)]


SEALS = {
    "none": ('{"entries":[{"url":"signature"}]}', False),
    "of the document": ('{"signature":1}', True),
    "of an element": ('[{"a":[{"proof":"x"}]},1]', True),
    "empty": ('{"signature":{},"a":{"jws":[]}}', False),
    "as an escape": ('{"a":{"\\u006aws":1}}', True),
}


@pytest.mark.parametrize(("text", "expected"), SEALS.values(), ids=SEALS)
def test_seals(text: str, expected: bool) -> None:
    assert read_listing(text.encode()).has_seals is expected


@given(st.text())
def test_texts_are_encoded(text: str) -> None:
    assert encoded(text) == text.encode()


@pytest.mark.parametrize("half", ["\ud800", "\udfff", "a\udc00b\ud83d"])
def test_half_a_surrogate_pair_is_encoded_as_its_escape(half: str) -> None:
    value = read_listing(json.dumps([half]).encode()).value
    assert json.loads(encoded(written(value)).decode()) == [half]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["entries", "a", '"', "\\", "[", "é"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_any_value_is_read_as_json_has_it(value: object, indent: int | None, ensure_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    assert json.loads(written(read_listing(body).value)) == value


@given(st.binary(max_size=60) | st.text('{}[]",:\\entries1 ', max_size=60).map(str.encode))
def test_octets_are_refused_where_json_refuses_them(body: bytes) -> None:
    try:
        read_listing(body)
    except MalformedJson:
        return
    json.loads(body.decode("utf-8-sig"))
