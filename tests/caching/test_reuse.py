"""May a stored response answer this request (RFC 9111 §4, §5.2.1; RFC 5861; RFC 8246; RFC 9211 §2.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.directives import NO_REQUEST_DIRECTIVES, RequestDirectives, parse_request_directives
from proxy.caching.freshness import Exchange
from proxy.caching.reuse import (
    Decision,
    Forward,
    Hit,
    Miss,
    Revalidate,
    StaleHit,
    StalePermit,
    Unsatisfiable,
    decide,
    select,
    stale_permit,
)
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import StoragePolicy
from proxy.http.structured import Token, parse_dictionary
from tests.caching.samples import NOW, date, fields, request, stored


def word(decision: Decision) -> str:
    """The decision as the tables write it."""
    match decision:
        case Revalidate(_, forward) | Miss(forward):
            return f"{type(decision).__name__.lower()} {forward}"
        case _:
            return {Hit: "hit", StaleHit: "stale hit", Unsatisfiable: "unsatisfiable"}[type(decision)]


PLAIN = "max-age=60"
SWR = "max-age=60, stale-while-revalidate=30"
MUST = "max-age=60, must-revalidate, stale-while-revalidate=30"
SHARED = "s-maxage=60, stale-while-revalidate=30"
NO_CACHE = "no-cache, max-age=60"
IMMUTABLE = "max-age=60, immutable"

# stored Cache-Control, age in seconds, request Cache-Control, decision
DECISIONS: dict[str, tuple[str, float, str, str]] = {
    "9111-4-fresh": (PLAIN, 59, "", "hit"),
    "9111-4.2-age-equals-lifetime": (PLAIN, 60, "", "revalidate stale"),
    "9111-4.2.4-stale-is-not-served-unasked": (PLAIN, 61, "", "revalidate stale"),
    "9111-5.2.2.4-no-cache-response": (NO_CACHE, 1, "", "revalidate stale"),
    "9111-5.2.1.4-no-cache": (PLAIN, 1, "no-cache", "revalidate request"),
    "9111-5.2.1.4-no-cache-on-stale": (SWR, 61, "no-cache", "revalidate stale"),
    "9111-5.2.1.4-no-cache-on-no-cache": (NO_CACHE, 1, "no-cache", "revalidate request"),
    "8246-2.1-immutable-with-no-cache": (IMMUTABLE, 1, "no-cache", "revalidate request"),
    "8246-2-immutable-fresh": (IMMUTABLE, 1, "", "hit"),
    "8246-2-immutable-stale": (IMMUTABLE, 61, "", "revalidate stale"),
    "9111-5.2.1.1-young-enough": (PLAIN, 10, "max-age=10", "hit"),
    "9111-5.2.1.1-too-old": (PLAIN, 10.5, "max-age=10", "revalidate request"),
    "9111-5.2.1.1-zero-and-just-born": (PLAIN, 0, "max-age=0", "hit"),
    "9111-5.2.1.1-zero": (PLAIN, 0.5, "max-age=0", "revalidate request"),
    "9111-5.2.1.1-wants-nothing-stale": (SWR, 70, "max-age=100", "revalidate stale"),
    "9111-5.2.1.1-unless-max-stale": (SWR, 70, "max-age=100, max-stale=20", "stale hit"),
    "9111-5.2.1.1-too-old-for-max-stale": (PLAIN, 70, "max-age=65, max-stale=20", "revalidate stale"),
    "9111-5.2.1.2-within": (PLAIN, 69, "max-stale=10", "stale hit"),
    "9111-5.2.1.2-beyond": (PLAIN, 71, "max-stale=10", "revalidate stale"),
    "9111-5.2.1.2-any": (PLAIN, 10**6, "max-stale", "stale hit"),
    "9111-5.2.1.2-fresh": (PLAIN, 1, "max-stale", "hit"),
    "9111-5.2.2.2-over-max-stale": (MUST, 61, "max-stale", "revalidate stale"),
    "9111-5.2.2.10-over-max-stale": (SHARED, 61, "max-stale", "revalidate stale"),
    "9111-5.2.2.4-over-max-stale": (NO_CACHE, 61, "max-stale", "revalidate stale"),
    "9111-5.2.1.3-fresh-enough": (PLAIN, 50, "min-fresh=10", "hit"),
    "9111-5.2.1.3-not-fresh-enough": (PLAIN, 51, "min-fresh=10", "revalidate request"),
    "9111-5.2.1.3-on-stale": (SWR, 61, "min-fresh=0", "revalidate stale"),
    "9111-5.2.1.3-with-max-stale": (PLAIN, 61, "min-fresh=1, max-stale", "revalidate stale"),
    "9111-5.2.1.7-fresh": (PLAIN, 1, "only-if-cached", "hit"),
    "9111-5.2.1.7-stale": (PLAIN, 61, "only-if-cached", "unsatisfiable"),
    "9111-5.2.1.7-within-swr": (SWR, 61, "only-if-cached", "stale hit"),
    "9111-5.2.1.7-with-max-stale": (PLAIN, 61, "only-if-cached, max-stale=5", "stale hit"),
    "9111-5.2.1.7-too-old": (PLAIN, 10, "only-if-cached, max-age=5", "unsatisfiable"),
    "9111-5.2.1.7-no-cache": (PLAIN, 1, "only-if-cached, no-cache", "unsatisfiable"),
    "5861-3-within": (SWR, 89, "", "stale hit"),
    "5861-3-beyond": (SWR, 90, "", "revalidate stale"),
    "5861-3-against-must-revalidate": (MUST, 61, "", "revalidate stale"),
    "9111-5.2.2.10-against-swr": (SHARED, 61, "", "revalidate stale"),
    "5.2.1.5-no-store-asks-nothing-of-reuse": (PLAIN, 1, "no-store", "hit"),
}


@pytest.mark.parametrize(("control", "age", "asked", "decision"), DECISIONS.values(), ids=DECISIONS)
def test_decide(control: str, age: float, asked: str, decision: str) -> None:
    kept = stored(f"Cache-Control: {control}", 'ETag: "1"')
    presented = request(f"Cache-Control: {asked}" if asked else "Foo: bar")
    found = decide(presented, parse_request_directives(presented.fields), [kept], NOW + age)
    assert word(found) == decision
    assert getattr(found, "stored", kept) is kept


def test_s_maxage_with_explicit_swr_where_the_operator_lets_it_win() -> None:
    kept = stored(f"Cache-Control: {SHARED}", policy=StoragePolicy(s_maxage_forbids_stale=False))
    assert word(decide(request(), NO_REQUEST_DIRECTIVES, [kept], NOW + 61)) == "stale hit"


@pytest.mark.parametrize(
    ("variants", "asked", "decision"),
    [
        pytest.param([], "", "miss uri-miss", id="9211-2.2-uri-miss"),
        pytest.param([], "Cache-Control: only-if-cached", "unsatisfiable", id="9111-5.2.1.7-uri-miss"),
        pytest.param(["1"], "Foo: 2", "miss vary-miss", id="9211-2.2-vary-miss"),
        pytest.param(["1"], "Cache-Control: only-if-cached", "unsatisfiable", id="9111-5.2.1.7-vary-miss"),
        pytest.param(["1", "2"], "Foo: 2", "hit", id="9111-4.1-match"),
    ],
)
def test_decide_among_variants(variants: list[str], asked: str, decision: str) -> None:
    kept = [stored("Cache-Control: max-age=60", "Vary: Foo", asked=request(f"Foo: {value}")) for value in variants]
    presented = request(asked) if asked else request()
    assert word(decide(presented, parse_request_directives(presented.fields), kept, NOW)) == decision


# Vary, the request it was stored for, the request that comes, whether it is selected
SELECTIONS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], bool]] = {
    "no-vary": ("", ("Foo: 1",), ("Foo: 2",), True),
    "9111-4.1-same": ("Foo", ("Foo: 1",), ("Foo: 1",), True),
    "9111-4.1-other": ("Foo", ("Foo: 1",), ("Foo: 2",), False),
    "9111-4.1-absent-from-both": ("Foo", (), ("Bar: 1",), True),
    "9111-4.1-absent-from-request": ("Foo", ("Foo: 1",), (), False),
    "9111-4.1-absent-from-stored": ("Foo", (), ("Foo: 1",), False),
    "9111-4.1-absent-is-not-empty": ("Foo", (), ("Foo: ",), False),
    "9111-4.1-every-field": ("Foo, Bar", ("Foo: 1", "Bar: 2"), ("Foo: 1", "Bar: 3"), False),
    "9111-4.1-lines-combine": ("Foo", ("Foo: 1, 2",), ("Foo: 1", "Foo: 2"), True),
    "9111-4.1-white-space": ("Foo", ("Foo: 1,2",), ("Foo:  1, 2 ",), True),
    "language-order": ("Accept-Language", ("Accept-Language: en, de",), ("Accept-Language: de, en",), True),
    "language-favourite": (
        "Accept-Language",
        ("Accept-Language: en, de",),
        ("Accept-Language: fr;q=0.5, DE;q=1.0",),
        True,
    ),
    "language-not-the-favourite": (
        "Accept-Language",
        ("Accept-Language: en, de",),
        ("Accept-Language: fr, de",),
        False,
    ),
    "language-absent": ("Accept-Language", ("Accept-Language: de",), (), False),
    "language-and-another-field": (
        "Accept-Language, Foo",
        ("Accept-Language: en", "Foo: 1"),
        ("Accept-Language: de", "Foo: 2"),
        False,
    ),
}


@pytest.mark.parametrize(("vary", "first", "second", "is_selected"), SELECTIONS.values(), ids=SELECTIONS)
def test_select(vary: str, first: tuple[str, ...], second: tuple[str, ...], is_selected: bool) -> None:
    kept = stored("Cache-Control: max-age=60", f"Vary: {vary}", "Content-Language: de", asked=request(*first))
    assert select(fields(*second), [kept]) is (kept if is_selected else None)


def test_without_content_language_no_favourite_is_known() -> None:
    kept = stored("Cache-Control: max-age=60", "Vary: Accept-Language", asked=request("Accept-Language: en, de"))
    assert select(fields("Accept-Language: de"), [kept]) is None


def test_the_most_recent_of_several_is_selected_9111_4_1() -> None:
    older = stored("Cache-Control: max-age=60", f"Date: {date(-10)}")
    newer = stored("Cache-Control: max-age=60", f"Date: {date(-5)}", "Vary: Foo")
    assert select(fields(), [older, newer]) is newer
    assert select(fields(), [newer, older]) is newer


def test_of_one_second_the_last_received_is_selected() -> None:
    first = stored("Cache-Control: max-age=60", f"Date: {date()}", exchange=Exchange(NOW + 0.1, NOW + 0.2))
    last = stored(
        "Cache-Control: max-age=60", f"Date: {date()}", "Vary: Foo", exchange=Exchange(NOW + 0.3, NOW + 0.4)
    )
    assert select(fields(), [first, last]) is last
    assert select(fields(), [last, first]) is last


SIE = "max-age=60, stale-if-error=30"

# stored Cache-Control, status, age in seconds, request Cache-Control, the operator's outage seconds, permit
PERMITS: dict[str, tuple[str, int, float, str, float, StalePermit]] = {
    "5861-4-within": (SIE, 200, 89, "", 0, StalePermit.STALE_IF_ERROR),
    "5861-4-beyond": (SIE, 200, 90, "", 0, StalePermit.TOO_OLD),
    "5861-3-within": (SWR, 200, 89, "", 0, StalePermit.STALE_IF_ERROR),
    "4.2.4-no-permit": (PLAIN, 200, 61, "", 0, StalePermit.TOO_OLD),
    "4.2.4-contract": (PLAIN, 200, 61, "", 10, StalePermit.OUTAGE),
    "4.2.4-contract-beyond": (PLAIN, 200, 70, "", 10, StalePermit.TOO_OLD),
    "5861-4-before-contract": (SIE, 200, 61, "", 10, StalePermit.STALE_IF_ERROR),
    "9111-5.2.2.2-must-revalidate": (MUST + ", stale-if-error=30", 200, 61, "", 10, StalePermit.FORBIDDEN),
    "9111-5.2.2.10-s-maxage": (SHARED + ", stale-if-error=30", 200, 61, "", 10, StalePermit.FORBIDDEN),
    "9111-5.2.2.4-no-cache": (NO_CACHE + ", stale-if-error=30", 200, 61, "", 10, StalePermit.FORBIDDEN),
    "9111-5.2.1.4-request-no-cache": (SIE, 200, 61, "no-cache", 10, StalePermit.FORBIDDEN),
    "9111-5.2.1.1-request-max-age": (SIE, 200, 61, "max-age=100", 10, StalePermit.FORBIDDEN),
    "9111-5.2.1.1-unless-max-stale": (SIE, 200, 61, "max-age=100, max-stale", 0, StalePermit.STALE_IF_ERROR),
    "9111-5.2.1.1-too-old-for-both": (SIE, 200, 61, "max-age=5, max-stale", 0, StalePermit.FORBIDDEN),
    "9111-5.2.1.3-request-min-fresh": (SIE, 200, 61, "min-fresh=5", 10, StalePermit.FORBIDDEN),
    "500-for-5xx": (SIE, 500, 61, "", 10, StalePermit.ITSELF_AN_ERROR),
    "5xx-for-5xx": (SIE, 503, 61, "", 10, StalePermit.ITSELF_AN_ERROR),
}


@pytest.mark.parametrize(("control", "status", "age", "asked", "outage", "permit"), PERMITS.values(), ids=PERMITS)
def test_stale_permit(
    control: str, status: int, age: float, asked: str, outage: float, permit: StalePermit
) -> None:
    kept = stored(f"Cache-Control: {control}", 'ETag: "1"', status=status)
    directives = parse_request_directives(fields(f"Cache-Control: {asked}" if asked else "Foo: bar"))
    assert stale_permit(kept, directives, NOW + age, outage) is permit


@pytest.mark.parametrize(
    ("permit", "allows"),
    [
        (StalePermit.STALE_IF_ERROR, True),
        (StalePermit.OUTAGE, True),
        (StalePermit.FORBIDDEN, False),
        (StalePermit.TOO_OLD, False),
        (StalePermit.ITSELF_AN_ERROR, False),
    ],
)
def test_permits_that_allow(permit: StalePermit, allows: bool) -> None:
    assert permit.allows is allows


@pytest.mark.parametrize("name", [*Forward, *StalePermit])
def test_every_name_is_a_token_of_cache_status_9211_2(name: str) -> None:
    assert parse_dictionary((f"fwd={name}",)) == {"fwd": Token(name)}


SECONDS = st.none() | st.floats(0, 200)
REQUESTS = st.builds(
    RequestDirectives,
    max_age=SECONDS,
    max_stale=SECONDS | st.just(float("inf")),
    min_fresh=SECONDS,
    no_cache=st.booleans(),
    no_store=st.booleans(),
    only_if_cached=st.booleans(),
)
CONTROLS = st.sampled_from([PLAIN, SWR, MUST, SHARED, NO_CACHE, IMMUTABLE, SIE])


@settings(derandomize=True, deadline=None, max_examples=300)
@given(CONTROLS, REQUESTS, st.floats(-10, 200), st.floats(0, 100))
def test_a_hit_is_fresh_and_nothing_stale_is_served_against_a_ban(
    control: str, directives: RequestDirectives, age: float, lifetime: float
) -> None:
    kept = stored(f"Cache-Control: {control}", 'ETag: "1"')
    kept = replace(kept, lifetime=replace(kept.lifetime, seconds=lifetime))
    found = decide(request(), directives, [kept], NOW + age)
    if isinstance(found, Hit):
        assert kept.is_fresh(NOW + age) and not kept.must_validate
    if isinstance(found, StaleHit):
        assert not kept.is_fresh(NOW + age) and not kept.forbids_stale
    assert not (directives.only_if_cached and isinstance(found, Revalidate | Miss))
    assert isinstance(found, Hit | StaleHit | Revalidate | Unsatisfiable)


@settings(derandomize=True, deadline=None)
@given(st.permutations(["1", "2", "3"]))
def test_selection_does_not_depend_on_order(order: list[str]) -> None:
    def variant(value: str) -> StoredResponse:
        return stored("Cache-Control: max-age=60", "Vary: Foo", f"Bar: {value}", asked=request(f"Foo: {value}"))

    found = select(fields("Foo: 2"), [variant(value) for value in order])
    assert found is not None and found.fields.get("bar") == "2"
