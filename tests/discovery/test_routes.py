"""Route records in both spellings, their conflicts, and their URLs (UAIX.md §4.1, U-S1, U-G6)."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.access.manifestroutes import MOST_ROUTES, Disabled, read_routes
from proxy.discovery.access.manifesturls import MOST_URL_CHARACTERS
from proxy.discovery.access.routereading import MOST_TEXTS, camel_case, parse_route, url_findings
from proxy.discovery.access.routes import RouteRecord
from proxy.http.targets import parse_target

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
SITE = parse_target("https://example.com/shop/")
MINIMAL = {"method": "POST", "highest_supported_path": "/a"}
TEXT_NAMES = """
    highest_supported_path lowest_safe_fallback content_type side_effect_status fetch_execution_class
    result_url_field restore_readback_url_field write_credential_response_path browser_form_equivalent get_safety
    post_blocked_fallback live_get_blocked_fallback mcp_unavailable_fallback auth_unavailable_fallback
    tool_unavailable_fallback human_review_url no_op_behavior ability_level post_equivalent"""
TEXTS = TEXT_NAMES.split()
LISTS = ["required_fields", "target_clients"]
FLAGS = ["requires_authentication", "consent_required"]


def route(**members: Any) -> RouteRecord:
    reading = parse_route({**MINIMAL, **members})
    assert reading.record is not None
    return reading.record


def breaches(value: object) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in parse_route(value, "/routes/0").findings]


def test_every_member_of_the_record_is_read() -> None:
    special = {"method", "no_op_url", "conflicts"}
    assert {field.name for field in fields(RouteRecord)} == {*TEXTS, *LISTS, *FLAGS, *special}


@pytest.mark.parametrize("spell", [str, camel_case], ids=["snake_case", "camelCase"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, spell: Callable[[str], str]) -> None:
    assert getattr(route(**{spell(name): "L3"}), name) == "L3"


@pytest.mark.parametrize("spell", [str, camel_case], ids=["snake_case", "camelCase"])
@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str, spell: Callable[[str], str]) -> None:
    assert getattr(route(**{spell(name): ["a", "b"]}), name) == ("a", "b")


@pytest.mark.parametrize("spell", [str, camel_case], ids=["snake_case", "camelCase"])
@pytest.mark.parametrize("name", FLAGS)
def test_flags(name: str, spell: Callable[[str], str]) -> None:
    assert getattr(route(**{spell(name): True}), name) is True
    assert getattr(route(**{spell(name): False}), name) is False


@pytest.mark.parametrize("name", [*TEXTS, *LISTS, *FLAGS])
def test_null_is_absent(name: str) -> None:
    reading = parse_route({"method": "GET", "highest_supported_path": "/a", name: None})
    rules = [finding.rule for finding in reading.findings]
    assert rules == (["local.route_required_field"] if name == "highest_supported_path" else [])


@pytest.mark.parametrize("wrong", [7, True, [], {}, ["a"], "", 1.5], ids=repr)
@pytest.mark.parametrize("name", TEXTS)
def test_wrong_texts_are_absent(name: str, wrong: object) -> None:
    value = {**MINIMAL, camel_case(name): wrong}
    if name == "highest_supported_path":
        del value[name]
    reading = parse_route(value)
    assert reading.record is not None and getattr(reading.record, name) is None
    assert [(finding.rule, finding.is_warning) for finding in reading.findings] == [
        ("local.route_member_type", False)
    ]


@pytest.mark.parametrize("wrong", ["a", 7, {}, [1], ["a", None], [""]], ids=repr)
@pytest.mark.parametrize("name", LISTS)
def test_wrong_lists(name: str, wrong: object) -> None:
    assert breaches({**MINIMAL, name: wrong}) == [("local.route_member_type", f"/routes/0/{name}")]
    assert set(getattr(route(**{name: wrong}), name)) <= {"a"}


@pytest.mark.parametrize("wrong", ["true", 1, [], {}], ids=repr)
@pytest.mark.parametrize("name", [*FLAGS, "side_effecting"])
def test_wrong_flags(name: str, wrong: object) -> None:
    assert breaches({**MINIMAL, name: wrong}) == [("local.route_member_type", f"/routes/0/{name}")]
    assert not route(**{name: wrong}).requires_authentication


@pytest.mark.parametrize("value", [None, [], "GET", 7, True], ids=repr)
def test_what_is_no_object_is_no_route(value: object) -> None:
    assert parse_route(value).record is None
    assert breaches(value) == [("local.route_required_field", "/routes/0")]


@pytest.mark.parametrize("method", [None, 7, "", "GET it", "G\x00", ["GET"]], ids=repr)
def test_a_route_needs_a_method(method: object) -> None:
    value = {"highest_supported_path": "/a", "method": method}
    assert parse_route(value).record is None
    assert breaches(value) == [("local.route_required_field", "/routes/0/method")]


def test_methods_are_upper_case() -> None:
    assert route(method="post").method == "POST"


def test_a_route_names_its_path() -> None:
    assert breaches({"method": "GET"}) == [("local.route_required_field", "/routes/0/highest_supported_path")]
    assert parse_route({"method": "GET"}).record == RouteRecord("GET")


CONFLICTS = [
    ({"lowestSafeFallback": "/b", "lowest_safe_fallback": "/c"}, ("lowest_safe_fallback",)),
    ({"lowestSafeFallback": "/b", "lowest_safe_fallback": "/b"}, ()),
    ({"lowestSafeFallback": None, "lowest_safe_fallback": "/b"}, ()),
    ({"requiresAuthentication": True, "requires_authentication": False}, ("requires_authentication",)),
    ({"requiredFields": ["a"], "required_fields": ["b"]}, ("required_fields",)),
    ({"highestSupportedPath": "/b"}, ("highest_supported_path",)),
    ({"sideEffecting": True, "side_effecting": False}, ("side_effecting",)),
    ({"sideEffecting": True, "side_effect_status": "none"}, ("side_effect_status",)),
    ({"sideEffecting": False, "side_effect_status": "creates"}, ("side_effect_status",)),
    ({"sideEffecting": True, "side_effect_status": "creates"}, ()),
    ({"sideEffecting": False, "side_effect_status": "Read_Only"}, ()),
    ({"noOpBehavior": "no_op", "no_op_behavior": {"code": "no_op"}}, ("no_op_behavior",)),
]


@pytest.mark.parametrize(("members", "conflicts"), CONFLICTS, ids=lambda value: str(value)[:60])
def test_conflicts(members: dict[str, Any], conflicts: tuple[str, ...]) -> None:
    assert route(**members).conflicts == conflicts
    rules = [rule for rule, _ in breaches({**MINIMAL, **members})]
    assert rules == ["local.route_alias_conflict"] * len(conflicts)


def test_of_two_spellings_camel_case_wins() -> None:
    assert route(lowestSafeFallback="/b", lowest_safe_fallback="/c").lowest_safe_fallback == "/b"


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({}, None),
        ({"sideEffecting": True}, "side_effecting"),
        ({"sideEffecting": False}, "none"),
        ({"side_effecting": False}, "none"),
        ({"sideEffecting": True, "sideEffectStatus": "pays"}, "pays"),
    ],
    ids=str,
)
def test_side_effects(members: dict[str, Any], status: str | None) -> None:
    assert route(**members).side_effect_status == status


@pytest.mark.parametrize("level", [f"L{step}" for step in range(8)])
def test_known_levels(level: str) -> None:
    assert breaches({**MINIMAL, "abilityLevel": level}) == []


@pytest.mark.parametrize("level", ["L8", "l3", "3", "L", "L10"])
def test_unknown_levels(level: str) -> None:
    [finding] = parse_route({**MINIMAL, "ability_level": level}).findings
    assert (finding.rule, finding.path, finding.is_warning) == (
        "local.ability_level_unknown",
        "/ability_level",
        True,
    )


NO_OPS = [
    ({"code": "rejected", "url": "https://example.com/r"}, ("rejected", "https://example.com/r"), 0),
    ({"code": "rejected"}, ("rejected", None), 0),
    ({"code": "rejected", "url": ""}, ("rejected", None), 0),
    ({"url": "https://example.com/r"}, (None, "https://example.com/r"), 1),
    ({"code": 7, "url": None}, (None, None), 1),
    ({"code": "rejected", "url": 7}, ("rejected", None), 1),
    ({}, (None, None), 1),
    ([], (None, None), 1),
]


@pytest.mark.parametrize(("behavior", "read", "faults"), NO_OPS, ids=lambda value: str(value)[:50])
def test_no_op_behavior(behavior: object, read: tuple[str | None, str | None], faults: int) -> None:
    record = route(noOpBehavior=behavior)
    assert (record.no_op_behavior, record.no_op_url) == read
    assert (
        breaches({**MINIMAL, "noOpBehavior": behavior})
        == [("local.route_member_type", "/routes/0/noOpBehavior")] * faults
    )


def test_both_spellings_read_the_same() -> None:
    snake = json.loads((SAMPLES / "valid-route-record-full-snake.json").read_bytes())
    camel = {camel_case(name): value for name, value in snake.items()}
    assert parse_route(snake) == parse_route(camel)
    assert parse_route(snake).findings == ()


def url_breaches(members: dict[str, Any]) -> list[tuple[str, str]]:
    value = {**MINIMAL, **members}
    record = parse_route(value).record
    assert record is not None
    return [(finding.rule, finding.path) for finding in url_findings(value, record, SITE, "/r")]


URLS = [
    ({}, []),
    ({"lowest_safe_fallback": "no_op"}, []),
    ({"lowest_safe_fallback": "help.html", "postBlockedFallback": "/form?x=1"}, []),
    ({"highestSupportedPath": "/api/{version}/x?q={q}"}, []),
    ({"postEquivalent": "POST https://example.com/a"}, []),
    ({"lowest_safe_fallback": "http://example.com/"}, [("U-S1", "/r/lowest_safe_fallback")]),
    ({"authUnavailableFallback": "ftp://example.com/"}, [("U-S1", "/r/authUnavailableFallback")]),
    ({"post_equivalent": "POST http://example.com/a"}, [("U-S1", "/r/post_equivalent")]),
    ({"lowest_safe_fallback": "https://10.0.0.1/"}, [("C-10", "/r/lowest_safe_fallback")]),
    ({"lowest_safe_fallback": "https://example.com:22/"}, [("C-10", "/r/lowest_safe_fallback")]),
    ({"lowest_safe_fallback": "/" + "a" * 8192}, [("C-10", "/r/lowest_safe_fallback")]),
    ({"lowest_safe_fallback": "/a\x00b"}, [("C-10", "/r/lowest_safe_fallback")]),
    ({"mcp_unavailable_fallback": "mailto:a@example.com"}, [("C-10", "/r/mcp_unavailable_fallback")]),
    ({"highestSupportedPath": "/a?api_key=1"}, [("get_action_query_secret", "/r/highestSupportedPath")]),
    ({"human_review_url": "https://127.0.0.1/r"}, [("local.human_review_url_not_public", "/r/human_review_url")]),
    ({"humanReviewUrl": "http://example.com/r"}, [("local.human_review_url_not_public", "/r/humanReviewUrl")]),
    ({"human_review_url": "/r?token=1"}, [("get_action_query_secret", "/r/human_review_url")]),
    (
        {"noOpBehavior": {"code": "rejected", "url": "https://localhost/"}},
        [("local.human_review_url_not_public", "/r/noOpBehavior/url")],
    ),
]


@pytest.mark.parametrize(("members", "expected"), URLS, ids=lambda value: str(value)[:70])
def test_urls(members: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    members = dict(members)
    if "highestSupportedPath" in members:
        members["highest_supported_path"] = None
    assert url_breaches(members) == expected


def test_no_finding_quotes_a_url() -> None:
    value = {**MINIMAL, "lowest_safe_fallback": "/a?api_key=hunter2", "human_review_url": "http://hunter2.example/"}
    record = parse_route(value).record
    assert record is not None
    details = [finding.detail for finding in url_findings(value, record, SITE)]
    assert len(details) == 2 and "hunter2" not in "".join(details) and "api_key" in details[0]


DISABLED = [
    ({}, None),
    ({"lowest_safe_fallback": "http://example.com/"}, Disabled.NOT_HTTPS),
    ({"lowest_safe_fallback": "https://10.0.0.1/"}, Disabled.UNUSABLE_URL),
    ({"human_review_url": "https://10.0.0.1/"}, Disabled.UNUSABLE_URL),
    ({"lowest_safe_fallback": "/a?token=1"}, Disabled.SECRET),
    ({"ability_level": "L9"}, Disabled.UNKNOWN_LEVEL),
    ({"ability_level": "L1", "abilityLevel": "L2"}, Disabled.ALIAS_CONFLICT),
    ({"ability_level": "L9", "lowest_safe_fallback": "/a?token=1"}, Disabled.SECRET),
    ({"content_type": 7}, None),
]


@pytest.mark.parametrize(("members", "reason"), DISABLED, ids=lambda value: str(value)[:60])
def test_disabled_routes_are_kept_with_the_reason(members: dict[str, Any], reason: Disabled | None) -> None:
    routes = read_routes([7, {**MINIMAL, **members}, {}], SITE, "/routes")
    assert [(listed.index, listed.disabled) for listed in routes.routes] == [(1, reason)]
    assert {finding.path.split("/")[2] for finding in routes.findings} >= {"0", "2"}


def test_of_long_lists_the_head_is_read() -> None:
    assert route(target_clients=["a"] * MOST_TEXTS).target_clients == ("a",) * MOST_TEXTS
    many = {**MINIMAL, "target_clients": ["a"] * (MOST_TEXTS + 1)}
    assert breaches(many) == [("local.route_member_type", "/routes/0/target_clients")]


def test_routes_are_read_as_far_as_their_urls_are_short() -> None:
    long = {**MINIMAL, "highest_supported_path": "/" + "a" * 8000}
    routes = read_routes([long] * 20, SITE, "/routes")
    assert len(routes.routes) == MOST_URL_CHARACTERS // 8025
    [finding] = routes.findings
    assert finding.detail == f"Only the first {len(routes.routes)} routes are read."
    unread = {**MINIMAL, "highest_supported_path": "/" + "a" * 100_000}
    assert [one.disabled for one in read_routes([unread] * 20, SITE, "/routes").routes] == [
        Disabled.UNUSABLE_URL
    ] * 20


def test_only_the_head_of_a_long_list_is_read() -> None:
    routes = read_routes([MINIMAL] * (MOST_ROUTES + 1), SITE, "/routes")
    assert len(routes.routes) == MOST_ROUTES
    assert [(finding.rule, finding.is_warning) for finding in routes.findings] == [("local.route_limit", True)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = st.sampled_from(
    [spell(name) for name in [*TEXTS, *LISTS, *FLAGS, "method"] for spell in (str, camel_case)]
)


@given(st.dictionaries(MEMBERS, JSON) | JSON)
def test_any_value_is_read(value: object) -> None:
    reading = parse_route(value)
    assert reading.record is not None or reading.findings
    routes = read_routes([value], SITE, "/routes")
    assert len(routes.routes) <= 1
