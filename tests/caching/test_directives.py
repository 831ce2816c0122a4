"""What Cache-Control, CDN-Cache-Control and Pragma say (RFC 9111 §5.2, §5.4; RFC 5861; RFC 8246; RFC 9213)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.directives import (
    MAX_SECONDS,
    NO_REQUEST_DIRECTIVES,
    RequestDirectives,
    ResponseDirectives,
    parse_delta_seconds,
    parse_request_directives,
    parse_response_directives,
)
from proxy.http.fields import Fields
from tests.caching.samples import fields

INFINITE = float("inf")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("0", 0.0, id="zero"),
        pytest.param("007", 7.0, id="leading-zeros"),
        pytest.param("2147483648", MAX_SECONDS, id="9111-1.2.2-largest"),
        pytest.param("99999999999", MAX_SECONDS, id="9111-1.2.2-overflow"),
        pytest.param("9" * 5000, MAX_SECONDS, id="9111-1.2.2-more-digits-than-a-float"),
        pytest.param("", None, id="empty"),
        pytest.param("-1", None, id="9111-1.2.2-non-negative"),
        pytest.param("+1", None, id="sign"),
        pytest.param("1.5", None, id="9111-1.2.2-integer"),
        pytest.param("1_0", None, id="underscore"),
        pytest.param(" 1", None, id="white-space"),
        pytest.param("\u0661", None, id="digit-outside-ascii"),
        pytest.param("\u00b2", None, id="superscript"),
    ],
)
def test_delta_seconds(text: str, seconds: float | None) -> None:
    assert parse_delta_seconds(text) == seconds


RESPONSES: dict[str, tuple[tuple[str, ...], ResponseDirectives]] = {
    "nothing": ((), ResponseDirectives()),
    "9111-5.2-names-ignore-case": (("Cache-Control: MaX-aGe=60, NO-store",), ResponseDirectives(60, no_store=True)),
    "9111-5.2-unknown-is-ignored": (("Cache-Control: nothing-to-see-here, x=1",), ResponseDirectives()),
    "9111-5.2-quoted-argument": (('Cache-Control: max-age="60"',), ResponseDirectives(60)),
    "9111-5.2-quoted-pair": (('Cache-Control: max-age="6\\0"',), ResponseDirectives(60)),
    "9111-5.2-quoted-string-hides-directives": (
        ('Cache-Control: x="no-store, max-age=1", max-age=60',),
        ResponseDirectives(60),
    ),
    "open-quote-hides-nothing": (('Cache-Control: x="a, no-store',), ResponseDirectives(no_store=True)),
    "empty-elements": (("Cache-Control: , max-age=60,,",), ResponseDirectives(60)),
    "9111-5.2.2.1-max-age": (("Cache-Control: max-age=60",), ResponseDirectives(60)),
    "9111-5.2.2.10-s-maxage": (("Cache-Control: s-maxage=60",), ResponseDirectives(s_maxage=60)),
    "5861-3-stale-while-revalidate": (
        ("Cache-Control: stale-while-revalidate=30",),
        ResponseDirectives(stale_while_revalidate=30),
    ),
    "5861-4-stale-if-error": (("Cache-Control: stale-if-error=30",), ResponseDirectives(stale_if_error=30)),
    "flags": (
        ("Cache-Control: must-revalidate, proxy-revalidate, public, must-understand",),
        ResponseDirectives(must_revalidate=True, proxy_revalidate=True, public=True, must_understand=True),
    ),
    "8246-2-immutable-is-for-user-agents": (("Cache-Control: immutable",), ResponseDirectives()),
    "flag-with-argument": (("Cache-Control: no-store=1",), ResponseDirectives(no_store=True)),
    "9111-4.2.1-invalid-lifetime-is-stale": (("Cache-Control: max-age=abc",), ResponseDirectives(0)),
    "9111-4.2.1-fraction-is-stale": (("Cache-Control: max-age=1.5",), ResponseDirectives(0)),
    "9111-4.2.1-negative-is-stale": (("Cache-Control: max-age=-1",), ResponseDirectives(0)),
    "9111-4.2.1-no-argument-is-stale": (("Cache-Control: max-age",), ResponseDirectives(0)),
    "9111-4.2.1-empty-argument-is-stale": (("Cache-Control: max-age=",), ResponseDirectives(0)),
    "9111-5.2-space-before-equals": (("Cache-Control: max-age =60",), ResponseDirectives(0)),
    "9111-5.2-space-after-equals": (("Cache-Control: max-age= 60",), ResponseDirectives(0)),
    "9111-4.2.1-shortest-of-two": (("Cache-Control: max-age=60, max-age=5",), ResponseDirectives(5)),
    "9111-4.2.1-shortest-of-two-lines": (
        ("Cache-Control: max-age=5", "Cache-Control: max-age=60"),
        ResponseDirectives(5),
    ),
    "9111-4.2.1-nonsense-among-two": (("Cache-Control: max-age=60, max-age=x",), ResponseDirectives(0)),
    "9111-5.2.2.7-private": (("Cache-Control: private",), ResponseDirectives(private=True)),
    "9111-5.2.2.7-private-fields": (
        ('Cache-Control: private="X-User, set-cookie"',),
        ResponseDirectives(withheld=frozenset({"x-user", "set-cookie"})),
    ),
    "9111-5.2.2.7-private-token": (
        ("Cache-Control: private=X-User",),
        ResponseDirectives(withheld=frozenset({"x-user"})),
    ),
    "9111-5.2.2.7-both-forms": (
        ('Cache-Control: private, private="x"',),
        ResponseDirectives(private=True, withheld=frozenset({"x"})),
    ),
    "9111-5.2.2.7-empty-list": (('Cache-Control: private=""',), ResponseDirectives(private=True)),
    "9111-5.2.2.7-empty-argument": (("Cache-Control: private=",), ResponseDirectives(private=True)),
    "9111-5.2.2.7-no-field-name": (('Cache-Control: private="a b"',), ResponseDirectives(private=True)),
    "9111-5.2.2.7-half-quoted": (('Cache-Control: private="x',), ResponseDirectives(private=True)),
    "9111-5.2.2.7-space-before-equals": (('Cache-Control: private ="x"',), ResponseDirectives(private=True)),
    "9111-5.2.2.7-space-after-equals": (('Cache-Control: private= "x"',), ResponseDirectives(private=True)),
    "9111-5.2.2.7-then-no-store": (
        ("Cache-Control: private=foo,no-store",),
        ResponseDirectives(no_store=True, withheld=frozenset({"foo"})),
    ),
    "9111-5.2.2.4-no-cache": (("Cache-Control: no-cache",), ResponseDirectives(no_cache=True)),
    "9111-5.2.2.4-fields-twice": (
        ('Cache-Control: no-cache="a", no-cache="b"',),
        ResponseDirectives(withheld=frozenset({"a", "b"})),
    ),
    "9111-5.2.2.4-same-fields-twice": (
        ('Cache-Control: no-cache="a", no-cache="a"',),
        ResponseDirectives(withheld=frozenset({"a"})),
    ),
    "9213-2.2-replaces-cache-control": (
        ("Cache-Control: no-store, max-age=1", "CDN-Cache-Control: max-age=60"),
        ResponseDirectives(60, targeted=True),
    ),
    "9213-2.2-no-store": (
        ("Cache-Control: max-age=60", "CDN-Cache-Control: no-store"),
        ResponseDirectives(no_store=True, targeted=True),
    ),
    "9213-2.1-empty-counts-as-absent": (("Cache-Control: max-age=5", "CDN-Cache-Control: "), ResponseDirectives(5)),
    "9213-2.1-unparsable-counts-as-absent": (
        ("Cache-Control: no-store", "CDN-Cache-Control: max-age=60, &&&&&"),
        ResponseDirectives(no_store=True),
    ),
    "9213-2.1-upper-case-key-is-unparsable": (
        ("Cache-Control: no-store", "CDN-Cache-Control: MaX-aGe=60"),
        ResponseDirectives(no_store=True),
    ),
    "9213-2.1-space-before-equals-is-unparsable": (
        ("Cache-Control: max-age=1", "CDN-Cache-Control: max-age =60"),
        ResponseDirectives(1),
    ),
    "9213-2.1-string-for-integer": (
        ("Cache-Control: no-store", 'CDN-Cache-Control: max-age="60"'),
        ResponseDirectives(no_store=True),
    ),
    "9213-2.1-decimal-for-integer": (("CDN-Cache-Control: max-age=1.5",), ResponseDirectives()),
    "9213-2.1-boolean-for-integer": (("CDN-Cache-Control: max-age",), ResponseDirectives()),
    "9213-2.1-negative-integer": (("CDN-Cache-Control: max-age=-1",), ResponseDirectives()),
    "9213-2.1-integer-for-boolean": (
        ("Cache-Control: private", "CDN-Cache-Control: max-age=60, no-store=1"),
        ResponseDirectives(private=True),
    ),
    "9213-2.1-list-for-string": (
        ("Cache-Control: no-store", 'CDN-Cache-Control: max-age=60, private=("a" "b")'),
        ResponseDirectives(no_store=True),
    ),
    "9213-2.1-parameters-are-ignored": (
        ("CDN-Cache-Control: max-age=60;x=1, private;y",),
        ResponseDirectives(60, private=True, targeted=True),
    ),
    "9213-2.1-false-is-not-set": (
        ("Cache-Control: no-store", "CDN-Cache-Control: no-store=?0, max-age=60"),
        ResponseDirectives(60, targeted=True),
    ),
    "9213-2.1-unknown-of-any-type": (
        ("CDN-Cache-Control: foobar, x=:AAE=:, y=(1 2), max-age=60",),
        ResponseDirectives(60, targeted=True),
    ),
    "9213-2.1-field-names": (
        ('CDN-Cache-Control: private="X-User", no-cache=x-other',),
        ResponseDirectives(withheld=frozenset({"x-user", "x-other"}), targeted=True),
    ),
    "9213-2.1-two-lines-are-one-dictionary": (
        ("CDN-Cache-Control: max-age=60", "CDN-Cache-Control: no-cache"),
        ResponseDirectives(60, no_cache=True, targeted=True),
    ),
    "edge-2.2-surrogate-control": (
        ("Cache-Control: no-store", "Surrogate-Control: foobar, MaX-aGe=60"),
        ResponseDirectives(60, targeted=True),
    ),
    "edge-2.2-fresh-and-stale": (("Surrogate-Control: max-age=60+30",), ResponseDirectives(60, targeted=True)),
    "edge-2.2-for-this-surrogate": (
        ("Surrogate-Control: max-age=60; Discovery-Proxy, no-store;other",),
        ResponseDirectives(60, targeted=True),
    ),
    "edge-2.2-flag-for-this-surrogate": (
        ("Surrogate-Control: max-age=60;other, no-store;discovery-proxy",),
        ResponseDirectives(no_store=True, targeted=True),
    ),
    "edge-2.2-for-another-surrogate": (
        ("Cache-Control: max-age=5", "Surrogate-Control: max-age=60;other"),
        ResponseDirectives(5),
    ),
    "edge-2.2-nothing-known": (
        ("Cache-Control: max-age=5", 'Surrogate-Control: content="ESI/1.0"'),
        ResponseDirectives(5),
    ),
    "9213-2.2-before-surrogate-control": (
        ("Surrogate-Control: max-age=5", "CDN-Cache-Control: max-age=60"),
        ResponseDirectives(60, targeted=True),
    ),
    "9213-2.2-zero": (
        ("Cache-Control: max-age=60", "CDN-Cache-Control: max-age=0"),
        ResponseDirectives(0, targeted=True),
    ),
    "9213-2.1-overflow": (
        ("CDN-Cache-Control: max-age=99999999999",),
        ResponseDirectives(MAX_SECONDS, targeted=True),
    ),
}


@pytest.mark.parametrize(("lines", "expected"), RESPONSES.values(), ids=RESPONSES)
def test_response_directives(lines: tuple[str, ...], expected: ResponseDirectives) -> None:
    assert parse_response_directives(fields(*lines)) == expected


REQUESTS: dict[str, tuple[tuple[str, ...], RequestDirectives]] = {
    "nothing": ((), NO_REQUEST_DIRECTIVES),
    "9111-5.2-unknown-is-ignored": (("Cache-Control: nothing-to-see-here", "Pragma: foo"), NO_REQUEST_DIRECTIVES),
    "9111-5.2.1.1-max-age": (("Cache-Control: max-age=10",), RequestDirectives(max_age=10)),
    "9111-5.2.1.1-nonsense": (("Cache-Control: max-age=x",), RequestDirectives(max_age=0)),
    "9111-5.2.1.1-shortest": (("Cache-Control: max-age=60, max-age=10",), RequestDirectives(max_age=10)),
    "9111-5.2.1.2-max-stale": (("Cache-Control: max-stale=10",), RequestDirectives(max_stale=10)),
    "9111-5.2.1.2-any-staleness": (("Cache-Control: max-stale",), RequestDirectives(max_stale=INFINITE)),
    "9111-5.2.1.2-any-then-some": (("Cache-Control: max-stale, max-stale=10",), RequestDirectives(max_stale=10)),
    "9111-5.2.1.2-some-then-any": (("Cache-Control: max-stale=10, max-stale",), RequestDirectives(max_stale=10)),
    "9111-5.2.1.2-nonsense": (("Cache-Control: max-stale=x",), RequestDirectives(max_stale=0)),
    "9111-5.2.1.3-min-fresh": (("Cache-Control: min-fresh=10",), RequestDirectives(min_fresh=10)),
    "9111-5.2.1.3-longest": (("Cache-Control: min-fresh=60, min-fresh=10",), RequestDirectives(min_fresh=60)),
    "9111-5.2.1.3-nonsense": (("Cache-Control: min-fresh",), RequestDirectives(min_fresh=MAX_SECONDS)),
    "9111-5.2.1.4-no-cache": (("Cache-Control: no-cache",), RequestDirectives(no_cache=True)),
    "9111-5.2.1.5-no-store": (("Cache-Control: no-store",), RequestDirectives(no_store=True)),
    "9111-5.2.1.7-only-if-cached": (("Cache-Control: only-if-cached",), RequestDirectives(only_if_cached=True)),
    "9111-5.4-pragma": (("Pragma: no-cache",), RequestDirectives(no_cache=True)),
    "9111-5.4-pragma-among-others": (("Pragma: x=1, No-Cache",), RequestDirectives(no_cache=True)),
    "9111-5.4-cache-control-silences-pragma": (
        ("Pragma: no-cache", "Cache-Control: max-age=10"),
        RequestDirectives(max_age=10),
    ),
}


@pytest.mark.parametrize(("lines", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_request_directives(lines: tuple[str, ...], expected: RequestDirectives) -> None:
    assert parse_request_directives(fields(*lines)) == expected


def one_per_line(members: Sequence[str]) -> Fields:
    return Fields(("Cache-Control", member) for member in members)


def in_two_orders(members: tuple[str, ...]) -> st.SearchStrategy[tuple[list[str], list[str]]]:
    chosen = st.lists(st.sampled_from(members), min_size=2, max_size=6)
    return chosen.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some)))


RESPONSE_MEMBERS = ("max-age=60", "max-age=5", "max-age=x", "private", 'private="a"', 'no-cache="b"', "no-store")
REQUEST_MEMBERS = ("max-age=60", "max-age=x", "max-stale", "max-stale=7", "min-fresh=1", "min-fresh=9", "no-cache")


@settings(derandomize=True, deadline=None)
@given(in_two_orders(RESPONSE_MEMBERS))
def test_order_and_lines_of_response_directives_say_nothing(orders: tuple[list[str], list[str]]) -> None:
    one_line = Fields([("Cache-Control", ", ".join(orders[0]))])
    assert parse_response_directives(one_per_line(orders[1])) == parse_response_directives(one_line)


@settings(derandomize=True, deadline=None)
@given(in_two_orders(REQUEST_MEMBERS))
def test_order_and_lines_of_request_directives_say_nothing(orders: tuple[list[str], list[str]]) -> None:
    one_line = Fields([("Cache-Control", ", ".join(orders[0]))])
    assert parse_request_directives(one_per_line(orders[1])) == parse_request_directives(one_line)


@pytest.mark.parametrize("name", ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"])
@pytest.mark.parametrize("lifetimes", list(permutations(("60", "5", "600"))), ids=", ".join)
def test_the_shortest_lifetime_wins_in_any_order(name: str, lifetimes: tuple[str, ...]) -> None:
    read = parse_response_directives(one_per_line([f"{name}={lifetime}" for lifetime in lifetimes]))
    assert getattr(read, name.replace("-", "_")) == 5.0
