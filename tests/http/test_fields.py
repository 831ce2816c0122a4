"""Field lines, lists and quoted strings (RFC 9110 §5, §7.6.1)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.http.fields import HOP_BY_HOP, Fields, end_to_end, is_token, split_list, unquote

FIELDS = Fields([("Foo", "1"), ("Bar", "2"), ("foo", "3"), ("Empty", "")])


@pytest.mark.parametrize(
    ("name", "values", "combined"),
    [
        pytest.param("foo", ("1", "3"), "1, 3", id="5.3-lines-combine-in-order"),
        pytest.param("FOO", ("1", "3"), "1, 3", id="5.1-names-ignore-case"),
        pytest.param("Bar", ("2",), "2", id="one"),
        pytest.param("empty", ("",), "", id="empty-is-not-absent"),
        pytest.param("none", (), None, id="absent"),
    ],
)
def test_values(name: str, values: tuple[str, ...], combined: str | None) -> None:
    assert FIELDS.get_all(name) == values
    assert FIELDS.get(name) == combined
    assert (name in FIELDS) is bool(values)


def test_lines_keep_order_and_spelling() -> None:
    assert list(FIELDS) == [("Foo", "1"), ("Bar", "2"), ("foo", "3"), ("Empty", "")]
    assert len(FIELDS) == 4
    assert repr(Fields([("A", "b")])) == "Fields([('A', 'b')])"


def test_without() -> None:
    assert FIELDS.without(("FOO", "other")) == Fields([("Bar", "2"), ("Empty", "")])


def test_where() -> None:
    assert FIELDS.where(lambda name, value: name == "foo" or value == "") == Fields([("foo", "3"), ("Empty", "")])


def test_plus() -> None:
    assert Fields().plus(("A", "1"), ("a", "2")) == Fields([("A", "1"), ("a", "2")])


def test_with_value() -> None:
    assert FIELDS.with_value("FOO", "9") == Fields([("Bar", "2"), ("Empty", ""), ("FOO", "9")])


def test_equality_is_over_the_lines() -> None:
    same = Fields([("A", "1"), ("B", "2")])
    assert same == Fields(iter([("A", "1"), ("B", "2")]))
    assert hash(same) == hash(Fields([("A", "1"), ("B", "2")]))
    assert same != Fields([("B", "2"), ("A", "1")])
    assert same != Fields([("a", "1"), ("B", "2")])
    assert same != (("A", "1"), ("B", "2"))


@pytest.mark.parametrize("name", sorted(HOP_BY_HOP))
def test_hop_by_hop_fields_go_no_further(name: str) -> None:
    assert end_to_end(Fields([(name.title(), "x"), ("Foo", "1")])) == Fields([("Foo", "1")])


@pytest.mark.parametrize(
    ("connection", "kept"),
    [
        pytest.param(["close"], ["Foo", "Bar", "Baz"], id="7.6.1-no-field-of-that-name"),
        pytest.param(["close, FOO"], ["Bar", "Baz"], id="7.6.1-named"),
        pytest.param(["foo,, bar ,"], ["Baz"], id="7.6.1-several"),
        pytest.param(["foo", "baz"], ["Bar"], id="7.6.1-several-lines"),
        pytest.param([""], ["Foo", "Bar", "Baz"], id="7.6.1-empty"),
    ],
)
def test_fields_that_connection_names_go_no_further(connection: list[str], kept: list[str]) -> None:
    lines = [("Foo", "1"), ("Bar", "2"), ("Baz", "3"), *(("Connection", value) for value in connection)]
    assert [name for name, _ in end_to_end(Fields(lines))] == kept


@pytest.mark.parametrize(
    ("value", "elements"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("a", ["a"], id="one"),
        pytest.param("a,b", ["a", "b"], id="5.6.1-no-white-space"),
        pytest.param(" a ,\tb ", ["a", "b"], id="5.6.1-white-space"),
        pytest.param(",a,,b, ,", ["a", "b"], id="5.6.1.2-empty-elements"),
        pytest.param("a b, c", ["a b", "c"], id="inner-white-space"),
        pytest.param('x="a, b", c', ['x="a, b"', "c"], id="5.6.4-quoted-comma"),
        pytest.param('x="a\\", b", c', ['x="a\\", b"', "c"], id="5.6.4-quoted-quote"),
        pytest.param('x="a\\\\", c', ['x="a\\\\"', "c"], id="5.6.4-quoted-backslash"),
        pytest.param("a\\, b", ["a\\", "b"], id="backslash-outside-quotes"),
        pytest.param('"", a', ['""', "a"], id="5.6.4-empty-string"),
        pytest.param(' "a" ,, "b" ', ['"a"', '"b"'], id="only-strings"),
        pytest.param('x="a, b, c', ['x="a', "b", "c"], id="open-quote-hides-nothing"),
        pytest.param('a, "b", "c, d', ["a", '"b"', '"c', "d"], id="open-quote-after-a-closed-one"),
        pytest.param('"a\\", b', ['"a\\"', "b"], id="open-quote-by-backslash"),
        pytest.param('a, "', ["a", '"'], id="open-quote-at-the-end"),
    ],
)
def test_split_list(value: str, elements: list[str]) -> None:
    assert split_list(value) == elements


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param('"a b"', "a b", id="5.6.4"),
        pytest.param('""', "", id="5.6.4-empty"),
        pytest.param('"a\\"b\\\\c\\d"', 'a"b\\cd', id="5.6.4-quoted-pairs"),
        pytest.param("a", "a", id="token"),
        pytest.param("", "", id="nothing"),
        pytest.param('"', '"', id="one-quote"),
        pytest.param('"a', '"a', id="open"),
        pytest.param('"a\\"', '"a\\"', id="open-by-backslash"),
        pytest.param('"a"b"', '"a"b"', id="quote-inside"),
        pytest.param(' "a"', ' "a"', id="white-space-before"),
        pytest.param('"\x00\n\xff"', "\x00\n\xff", id="any-character"),
    ],
)
def test_unquote(value: str, text: str) -> None:
    assert unquote(value) == text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("Accept-Encoding", True, id="5.6.2"),
        pytest.param("!#$%&'*+-.^_`|~09azAZ", True, id="5.6.2-every-sign"),
        pytest.param("", False, id="5.6.2-empty"),
        *(
            pytest.param(f"a{char}b", False, id=f"5.6.2-{ord(char)}")
            for char in '"(),/:;<=>?@[\\]{} \t\n\x00\x7f\xe9'
        ),
    ],
)
def test_is_token(text: str, is_one: bool) -> None:
    assert is_token(text) is is_one


VALUES = st.text(st.sampled_from('ab,"\\ \t='), max_size=30)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(VALUES)
def test_splitting_loses_nothing_but_commas_and_white_space(value: str) -> None:
    kept = [char for char in value if char not in ", \t"]
    assert [char for element in split_list(value) for char in element if char not in ", \t"] == kept
    assert split_list(", ".join(split_list(value))) == split_list(value)


@settings(derandomize=True, deadline=None)
@given(st.text())
def test_every_text_survives_quoting(text: str) -> None:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert unquote(quoted) == text
    assert split_list(f"a, {quoted}, b")[1:-1] == [quoted]
