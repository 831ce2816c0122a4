"""Which route record speaks of a request (UAIX.md §4.1; §4.3 D3)."""

from __future__ import annotations

import json
import re
import string
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.boundary.intents import folded_path
from proxy.capability.covering import Covered, RouteIndex, post_target, posted
from proxy.capability.effects import side_effect
from proxy.capability.needs import FetchClass, fetch_class
from proxy.capability.pathtree import PathTree, TooManySteps, is_variable, placeheld
from proxy.discovery.access.routereading import parse_route
from proxy.discovery.access.routes import RouteRecord
from proxy.http.targets import MalformedTarget, Target, parse_target

ORIGIN = "https://example.com"
SITE = parse_target(f"{ORIGIN}/")
CHANGE = {"side_effect_status": "creates"}
RESTRICTED = {"side_effect_status": "deletes"}


def route(path: str | None, method: str = "GET", **members: Any) -> RouteRecord:
    return RouteRecord(method, highest_supported_path=path, **members)


def index(*records: RouteRecord, fold: Callable[[str], str] | None = None, site: Target = SITE) -> RouteIndex:
    return RouteIndex([Covered(record, site) for record in records], fold)


def at(path: str) -> Target:
    return parse_target(path if "://" in path else ORIGIN + path)


def covering(records: list[RouteRecord], method: str, path: str, *, folds: bool = False) -> RouteRecord | None:
    found = index(*records, fold=folded_path if folds else None).covering(method, at(path))
    return None if found is None else found.record


def path_of(record: RouteRecord | None) -> str | None:
    return None if record is None else record.highest_supported_path


# routes (method and path), request: the path of the one that covers it
PATHS: dict[str, tuple[list[str], str, str | None]] = {
    "literal": (["GET /a/b"], "GET /a/b", "/a/b"),
    "root": (["GET /"], "GET /", "/"),
    "another path": (["GET /a/b"], "GET /a/c", None),
    "shorter": (["GET /a/b"], "GET /a", None),
    "longer": (["GET /a"], "GET /a/b", None),
    "trailing slash": (["GET /a"], "GET /a/", None),
    "letter case": (["GET /a"], "GET /A", None),
    "percent-encoded letter in the request": (["GET /start"], "GET /st%61rt", "/start"),
    "percent-encoded letter in the route": (["GET /st%61rt"], "GET /start", "/st%61rt"),
    "case of percent-encoding": (["GET /a%2fb"], "GET /a%2Fb", "/a%2fb"),
    "an encoded slash is none": (["GET /a/b"], "GET /a%2Fb", None),
    "absolute": ([f"GET {ORIGIN}/a"], "GET /a", f"{ORIGIN}/a"),
    "relative": (["GET a"], "GET /a", "a"),
    "fragment": (["GET /a#top"], "GET /a", "/a#top"),
    "other method": (["GET /a"], "POST /a", None),
    "method in another case": (["GET /a"], "get /a", None),
    "head by get": (["GET /a"], "HEAD /a", "/a"),
    "head by get in a template": (["GET /{x}"], "HEAD /a", "/{x}"),
    "get by head": (["HEAD /a"], "GET /a", None),
    "head by head": (["HEAD /a"], "HEAD /a", "/a"),
    "options": (["GET /a"], "OPTIONS /a", None),
    "other host": (["GET https://other.example/a"], "GET /a", None),
    "its own host": (["GET https://other.example/a"], "GET https://other.example/a", "https://other.example/a"),
    "port": (["GET https://example.com:8443/a"], "GET https://example.com:8443/a", "https://example.com:8443/a"),
    "without that port": (["GET https://example.com:8443/a"], "GET /a", None),
    "default port": (["GET https://example.com:443/a"], "GET /a", "https://example.com:443/a"),
    "scheme": (["GET /a"], "GET http://example.com/a", None),
    "one variable": (["GET /a/{id}"], "GET /a/5", "/a/{id}"),
    "one variable, empty": (["GET /a/{id}"], "GET /a/", None),
    "one variable, two segments": (["GET /a/{id}"], "GET /a/5/6", None),
    "variable in the middle": (["GET /a/{id}/b"], "GET /a/5/b", "/a/{id}/b"),
    "variable in the middle, other end": (["GET /a/{id}/b"], "GET /a/5/c", None),
    "prefix and suffix": (["GET /v{n}.json"], "GET /v12.json", "/v{n}.json"),
    "prefix and suffix, nothing between": (["GET /v{n}.json"], "GET /v.json", None),
    "prefix and suffix, overlapping": (["GET /ab{n}ba"], "GET /aba", None),
    "other prefix": (["GET /v{n}.json"], "GET /w12.json", None),
    "other suffix": (["GET /v{n}.json"], "GET /v12.xml", None),
    "two in one segment": (["GET /{a}-{b}"], "GET /x-y", "/{a}-{b}"),
    "encoded text beside a variable": (["GET /%76{n}"], "GET /v1", "/%76{n}"),
    "a brace as such": (["GET /a/{id}"], "GET /a/{id}", "/a/{id}"),
    "a brace left open": (["GET /a/{id"], "GET /a/{id", "/a/{id"),
    "a brace left open is no variable": (["GET /a/{id"], "GET /a/5", None),
    "reserved expansion, one": (["GET /f/{+path}"], "GET /f/a", "/f/{+path}"),
    "reserved expansion, many": (["GET /f/{+path}"], "GET /f/a/b/c", "/f/{+path}"),
    "reserved expansion, none": (["GET /f/{+path}"], "GET /f/", None),
    "reserved expansion, no segment": (["GET /f/{+path}"], "GET /f", None),
    "reserved expansion, empty segment inside": (["GET /f/{+path}"], "GET /f/a//b", "/f/{+path}"),
    "reserved expansion, slash at the end": (["GET /f/{+path}"], "GET /f/a/", "/f/{+path}"),
    "exploded": (["GET /f/{path*}"], "GET /f/a/b", "/f/{path*}"),
    "path segments": (["GET /f{/path*}"], "GET /f/a/b", "/f{/path*}"),
    "path segments, not exploded": (["GET /f{/path}"], "GET /f/a", "/f{/path}"),
    "path segments, none": (["GET /f{/path*}"], "GET /f", None),
    "path segments, other word": (["GET /f{/path*}"], "GET /fa/b", None),
    "wide with an end": (["GET /f/{+path}/edit"], "GET /f/a/b/edit", "/f/{+path}/edit"),
    "wide with another end": (["GET /f/{+path}/edit"], "GET /f/a/b/view", None),
    "wide with prefix and suffix": (["GET /v{+path}.json"], "GET /v1/a/b.json", "/v{+path}.json"),
    "wide with prefix and suffix, one segment": (["GET /v{+path}.json"], "GET /v1.json", "/v{+path}.json"),
    "wide with prefix and suffix, nothing": (["GET /v{+path}.json"], "GET /v.json", None),
    "wide with another suffix": (["GET /v{+path}.json"], "GET /v1/a/b.xml", None),
    "wide that begins a segment of its own": (["GET /f{+path}"], "GET /f/a", "/f{+path}"),
    "two wide ones": (["GET /{+a}/x/{+b}"], "GET /1/2/x/3/x", "/{+a}/x/{+b}"),
    "everything": (["GET /{+all}"], "GET /a/b", "/{+all}"),
    "query expansion": (["GET /s{?q,page}"], "GET /s?q=x", "/s{?q,page}"),
    "query expansion, without one": (["GET /s{?q}"], "GET /s", "/s{?q}"),
    "query continued": (["GET /s?a=1{&q}"], "GET /s?a=1&q=x", "/s?a=1{&q}"),
    "fragment expansion": (["GET /s{#part}"], "GET /s", "/s{#part}"),
    "variable host": (["GET https://{tenant}.example.com/a"], "GET https://x.example.com/a", None),
    "no path": (["GET "], "GET /", None),
    "http": (["GET http://example.com/a"], "GET http://example.com/a", None),
    "private address": (["GET https://10.0.0.1/a"], "GET https://10.0.0.1/a", None),
    "userinfo": (["GET https://u:p@example.com/a"], "GET /a", None),
    "broken encoding": (["GET /%zz"], "GET /", None),
    # precedence
    "literal before template": (["GET /a/{id}", "GET /a/new"], "GET /a/new", "/a/new"),
    "template for the rest": (["GET /a/{id}", "GET /a/new"], "GET /a/old", "/a/{id}"),
    "literal on the left first": (["GET /{x}/b/c", "GET /a/{y}/{z}"], "GET /a/b/c", "/a/{y}/{z}"),
    "back from a literal that leads nowhere": (["GET /{x}/c", "GET /a/b"], "GET /a/c", "/{x}/c"),
    "more literal text first": (["GET /{x}", "GET /v{x}", "GET /v{x}.json"], "GET /v1.json", "/v{x}.json"),
    "one segment before several": (["GET /{+x}", "GET /{x}"], "GET /a", "/{x}"),
    "several for the rest": (["GET /{+x}", "GET /{x}"], "GET /a/b", "/{+x}"),
    "template of one before prefixed several": (["GET /f{+x}", "GET /{x}"], "GET /fa", "/{x}"),
    "same path under two names": (["GET /{a}", "GET /{b}"], "GET /x", "/{a}"),
    "first in order": (["GET /a", "GET /%61"], "GET /a", "/a"),
    "method tells apart": (["GET /a", "POST /%61"], "POST /a", "/%61"),
}


@pytest.mark.parametrize(("routes", "request_line", "expected"), PATHS.values(), ids=PATHS)
def test_paths(routes: list[str], request_line: str, expected: str | None) -> None:
    records = [route(path, method) for method, _, path in (line.partition(" ") for line in routes)]
    method, _, path = request_line.partition(" ")
    assert path_of(covering(records, method, path)) == expected


# routes of one path (query and side effect), query asked with: the query of the route that is meant
READ = "none"
QUERIES: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "the query makes no other route": ([("", READ)], "?x=1", ""),
    "nor does the route's": ([("?a=1", READ)], "?x=1", "?a=1"),
    "no query at all": ([("?a=1", READ), ("?a=2", READ)], "", "?a=1"),
    "its own pair": ([("?a=1", READ), ("?a=2", READ)], "?a=2", "?a=2"),
    "its own pair among others": ([("?a=1", READ), ("?a=2", READ)], "?x=9&a=2&y=8", "?a=2"),
    "semicolons": ([("?a=1", READ), ("?a=2", READ)], "?x=9;a=2", "?a=2"),
    "empty pairs": ([("?a=1", READ), ("?a=2", READ)], "?&&a=2&", "?a=2"),
    "most pairs": ([("?a=1", READ), ("?a=1&b=2", READ)], "?b=2&a=1", "?a=1&b=2"),
    "all pairs are wanted": ([("?a=1", READ), ("?a=1&b=2", READ)], "?a=1&b=3", "?a=1"),
    "a pair before none": ([("", "deletes"), ("?a=view", READ)], "?a=view", "?a=view"),
    "none before another pair": ([("", READ), ("?a=delete", "deletes")], "?a=view", ""),
    "none without a query": ([("", READ), ("?a=delete", "deletes")], "", ""),
    "the gravest where none is meant": (
        [("?a=view", READ), ("?a=make", "creates"), ("?a=delete", "deletes")],
        "?a=other",
        "?a=delete",
    ),
    "a change before a read where none is meant": ([("?a=view", READ), ("?a=make", "creates")], "", "?a=make"),
    "a bare name": ([("?view", READ), ("?delete", "deletes")], "?view", "?view"),
    "value in another case": ([("", READ), ("?a=delete", "deletes")], "?a=DELETE", "?a=delete"),
    "name in another case": ([("", READ), ("?a=delete", "deletes")], "?A=delete", "?a=delete"),
    "encoded name": ([("", READ), ("?action=delete", "deletes")], "?%61ction=delete", "?action=delete"),
    "encoded value": ([("", READ), ("?a=delete", "deletes")], "?a=%64elete", "?a=delete"),
    "plus and space": ([("", READ), ("?a=b+c", "deletes")], "?a=b%20c", "?a=b+c"),
    "an encoded = makes no pair": ([("", READ), ("?a=1", "deletes")], "?a%3D1=", ""),
    "repeated: the gravest": (
        [("?a=view&b=1", READ), ("?a=delete", "deletes")],
        "?a=view&b=1&a=delete",
        "?a=delete",
    ),
    "repeated in the other order": (
        [("?a=view&b=1", READ), ("?a=delete", "deletes")],
        "?a=delete&b=1&a=view",
        "?a=delete",
    ),
    "repeated with the same value": (
        [("?a=view&b=1", READ), ("?a=view", "deletes")],
        "?a=view&b=1&a=view",
        "?a=view&b=1",
    ),
    "as many pairs: the gravest": ([("?a=1", READ), ("?b=2", "deletes")], "?a=1&b=2", "?b=2"),
    "a variable asks for its name": ([("", READ), ("?q={q}", "creates")], "?q=x", "?q={q}"),
    "a variable without its name": ([("", READ), ("?q={q}", "creates")], "", ""),
    "a literal beside a variable": ([("?a=1&q={q}", READ), ("?a=2&q={q}", READ)], "?a=2&q=x", "?a=2&q={q}"),
    "example values beside a key": (
        [("", READ), ("?title=T&idempotency_key=k1", "creates")],
        "?title=Other&idempotency_key=k2",
        "?title=T&idempotency_key=k1",
    ),
    "a key alone": ([("", READ), ("?title=T&nonce=k1", "creates")], "?nonce=9", "?title=T&nonce=k1"),
    "no key, no action": ([("", READ), ("?title=T&nonce=k1", "creates")], "?title=T", ""),
    "key in a template": (
        [("", READ), ("?t={t}&idempotency_key={key}", "creates")],
        "?idempotency_key=k",
        "?t={t}&idempotency_key={key}",
    ),
    "two actions with keys": (
        [("?do=make&nonce=k", "creates"), ("?do=delete&nonce=k", "deletes")],
        "?do=make&nonce=z",
        "?do=make&nonce=k",
    ),
    "two actions with keys, neither meant": (
        [("?do=make&nonce=k", "creates"), ("?do=delete&nonce=k", "deletes")],
        "?do=other&nonce=z",
        "?do=delete&nonce=k",
    ),
    "twice the same": ([("?a=1", READ), ("?a=1", "deletes"), ("?a=1", "creates")], "?a=1", "?a=1"),
}


@pytest.mark.parametrize("path", ["/do", "/x/{id}/do"])
@pytest.mark.parametrize(("routes", "asked", "expected"), QUERIES.values(), ids=QUERIES)
def test_queries(routes: list[tuple[str, str]], asked: str, expected: str, path: str) -> None:
    records = [route(path + query, side_effect_status=effect) for query, effect in routes]
    found = covering(records, "GET", path.replace("{id}", "7") + asked)
    assert found is not None
    assert found.highest_supported_path == path + expected


CASES = json.loads((Path(__file__).parent.parent / "samples/uaix/resolution-cases.json").read_bytes())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_routes_of_the_published_cases_cover_themselves(case: dict[str, Any]) -> None:
    record = parse_route(case["route"]).record
    assert record is not None and record.highest_supported_path is not None
    asked = at(re.sub(r"\{\w+\}", "7", record.highest_supported_path))
    found = index(record).covering(record.method, asked)
    assert found is not None and found.record == record


def test_of_the_same_route_the_gravest_then_the_first() -> None:
    records = [
        route("/a?x=1"),
        route("/a?x=1", **RESTRICTED, get_safety="first"),
        route("/a?x=1", **RESTRICTED, get_safety="second"),
        route("/a?x=1", **CHANGE),
        route("/a"),
    ]
    found = covering(records, "GET", "/a?x=1")
    assert found is not None and found.get_safety == "first"


GET_ACTION = route("/start?title=T&idempotency_key=k", **CHANGE, post_equivalent="POST /api/start")

# post_equivalent: the URL that it covers
EQUIVALENTS: dict[str, tuple[str | None, str, str | None]] = {
    "method and path": ("POST /api/start", "/api/start", f"{ORIGIN}/api/start"),
    "lower-case method": ("post /api/start", "/api/start", f"{ORIGIN}/api/start"),
    "path": ("/api/start", "/api/start", f"{ORIGIN}/api/start"),
    "URL": (f"{ORIGIN}/api/start", "/api/start", f"{ORIGIN}/api/start"),
    "other host": ("https://api.example.net/s", "https://api.example.net/s", "https://api.example.net/s"),
    "template": ("POST /api/{what}", "/api/start", f"{ORIGIN}/api/{{what}}"),
    "segments": ("POST /api{/what*}", "/api/a/b", f"{ORIGIN}/api{{/what*}}"),
    "query expansion": ("POST /api/start{?x}", "/api/start?x=1", f"{ORIGIN}/api/start{{?x}}"),
    "other method": ("PUT /api/start", "/api/start", None),
    "none": (None, "/api/start", None),
    "secret": ("/api/start?token=abc", "/api/start?token=abc", None),
    "http": ("http://example.com/api/start", "/api/start", None),
    "private": ("https://127.0.0.1/s", "https://127.0.0.1/s", None),
}


@pytest.mark.parametrize(("published", "asked", "expected"), EQUIVALENTS.values(), ids=EQUIVALENTS)
def test_post_equivalent(published: str | None, asked: str, expected: str | None) -> None:
    action = route("/start?title=T&idempotency_key=k", **CHANGE, post_equivalent=published)
    found = covering([action], "POST", asked)
    assert path_of(found) == expected
    if found is not None:
        assert (found.method, fetch_class(found)) == ("POST", FetchClass.HTTP_JSON_POST)
        assert side_effect(found) is side_effect(action)


def test_only_a_get_has_a_post_equivalent() -> None:
    assert covering([route("/a", "PUT", post_equivalent="/b")], "POST", "/b") is None


def test_the_equivalent_of_an_unusable_get_still_covers() -> None:
    assert covering([route(None, post_equivalent="/b", **CHANGE)], "POST", "/b") is not None


@pytest.mark.parametrize("is_first", [True, False], ids=["listed first", "listed last"])
def test_an_explicit_post_goes_before_an_equivalent(is_first: bool) -> None:
    explicit = route("/api/start", "POST", **CHANGE, content_type="application/json")
    records = [explicit, GET_ACTION] if is_first else [GET_ACTION, explicit]
    assert covering(records, "POST", "/api/start") == explicit


def test_posted_and_its_target() -> None:
    target = post_target(GET_ACTION, SITE, frozenset())
    assert target is not None
    record = posted(GET_ACTION, target.uri)
    assert (record.method, record.highest_supported_path) == ("POST", f"{ORIGIN}/api/start")
    assert record.side_effect_status == "creates"
    assert post_target(route("/x"), SITE, frozenset()) is None


def test_the_site_and_its_exceptions_stay_with_the_record() -> None:
    allowed = frozenset({"key"})
    given_one = Covered(route("/a", **CHANGE, post_equivalent="/b?key=1"), SITE, allowed)
    found = RouteIndex([given_one])
    assert found.covering("GET", at("/a")) is given_one
    other = found.covering("POST", at("/b?key=1"))
    assert other is not None and (other.site, other.secret_allowed) == (SITE, allowed)


def test_paths_are_resolved_against_the_site() -> None:
    site = parse_target("https://example.com/shop/manifest.json")
    found = index(route("cart"), site=site).covering("GET", at("/shop/cart"))
    assert found is not None


# routes (path and side effect), request path: the path of the one that covers it
SPELLINGS: dict[str, tuple[list[tuple[str, str]], str, str | None]] = {
    "letter case": ([("/start", "creates")], "/START", "/start"),
    "doubled slash": ([("/a/start", "creates")], "/a//start", "/a/start"),
    "trailing slash": ([("/start", "creates")], "/start/", "/start"),
    "no trailing slash": ([("/start/", "creates")], "/start", "/start/"),
    "path parameter": ([("/start", "creates")], "/start;v=1", "/start"),
    "twice encoded": ([("/start", "creates")], "/st%2561rt", "/start"),
    "encoded slash": ([("/a/start", "creates")], "/a%2Fstart", "/a/start"),
    "a read is not spelled otherwise": ([("/page", "none")], "/PAGE", None),
    "literal read of that spelling": ([("/start", "creates"), ("/Start", "none")], "/Start", "/Start"),
    "a change before a template that reads": ([("/{x}", "none"), ("/start", "creates")], "/START", "/start"),
    "a template that reads": ([("/{x}", "none"), ("/start", "creates")], "/other", "/{x}"),
    "a template that changes": ([("/{x}", "creates"), ("/start", "deletes")], "/START", "/{x}"),
    "template in another spelling": ([("/a/{x}/go", "creates")], "/A//5/GO", "/a/{x}/go"),
    "template that reads before another spelled": (
        [("/{+x}", "none"), ("/a/{x}/go", "creates")],
        "/A/5/GO",
        "/{+x}",
    ),
    "nothing like it": ([("/start", "creates")], "/stop", None),
    "the gravest of one spelling": ([("/start", "creates"), ("/START", "deletes")], "/Start", "/START"),
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("routes", "asked", "expected"), SPELLINGS.values(), ids=SPELLINGS)
def test_other_spellings_of_a_change(
    routes: list[tuple[str, str]], asked: str, expected: str | None, method: str
) -> None:
    records = [route(path, side_effect_status=effect) for path, effect in routes]
    assert path_of(covering(records, method, asked, folds=True)) == expected


def test_no_other_spelling_without_a_fold_or_for_an_unsafe_method() -> None:
    records = [route("/start", **CHANGE), route("/post", "POST", **CHANGE)]
    assert covering(records, "GET", "/START") is None
    assert covering(records, "POST", "/POST", folds=True) is None


def test_other_spellings_keep_to_their_host() -> None:
    records = [route("/start", **CHANGE), route("https://other.example/page")]
    assert covering(records, "GET", "https://other.example/START", folds=True) is None


def test_no_routes() -> None:
    assert RouteIndex([]).covering("GET", at("/")) is None


PLACEHELD = {
    "/a": "/a",
    "/{a}": "/{}",
    "/{a}{b}": "/{}{}",
    "/{+a}": "/{+}",
    "/{a*}": "/{+}",
    "/a{/b,c}": "/a/{+}",
    "/a{?b}{&c}{#d}": "/a",
    "/{": "/{",
    "/}{a": "/}{a",
    "/{}": "/{}",
    "/{{a}": "/{{}",
}


@pytest.mark.parametrize(("template", "expected"), PLACEHELD.items(), ids=PLACEHELD)
def test_placeholders(template: str, expected: str) -> None:
    assert placeheld(template) == expected
    assert is_variable(expected) == ("{}" in expected or "{+}" in expected)


def test_a_value_put_twice_into_a_tree() -> None:
    tree: PathTree[str] = PathTree()
    tree.add("/{}", "one")
    tree.add("/{}", "other")
    assert (tree.find("/x"), tree.find("/x/y")) == ("other", None)


# Bounds

_PIECES = ("{x}", "a{x}", "{x}a", "{+x}", "{x*}", "a")
_MANY = range(10_000)


def winding(number: int) -> str:
    """A template of twenty segments, each number's its own."""
    digest = sha256(str(number).encode()).digest()
    return "".join(f"/{_PIECES[octet % len(_PIECES)]}" for octet in digest[:20]) + f"/end{number}"


# templates, request path
HOSTILE: dict[str, tuple[list[str], str]] = {
    "deep and wide": ([winding(n) for n in _MANY], "/aa" * 21),
    "deeper than any": ([winding(n) for n in _MANY], "/aa" * 2_000),
    "nested wide ones": (["/{+a}" * 12 + f"/{n}" for n in _MANY], "/a" * 2_000),
    "prefixes and suffixes": (
        ["/" + "a" * (n % 100) + "{x}" + "a" * (n // 100) + "/q" for n in _MANY],
        "/" + "a" * 4_000 + "/r",
    ),
    "as deep as there are": (["/{a}" * 20 + f"/{n}" for n in _MANY], "/b" * 20 + "/77"),
    "all at one node": ([f"/item-{{x}}-{n}" for n in _MANY], "/item-5-77"),
    "queries that share their pairs": (
        [f"/x?p{one}=1&p{other}=1" for one, other in islice(combinations(range(150), 2), len(_MANY))],
        "/x?" + "&".join(f"p{n}=1" for n in range(150)),
    ),
    "queries with keys": ([f"/x?n={n}&nonce=k" for n in _MANY], "/x?n=5&nonce=z"),
}


def microseconds(work: Callable[[], object], times: int, rounds: int = 5) -> float:
    """The least time of one run."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - began) / times)
    return best * 1e6


@pytest.mark.parametrize(("paths", "asked"), HOSTILE.values(), ids=HOSTILE)
def test_ten_thousand_routes_made_to_be_slow(paths: list[str], asked: str) -> None:
    found, target = index(*map(route, paths), fold=folded_path), at(asked)
    # Half a millisecond at most on an idle machine; without bounds it would be hundreds.
    assert microseconds(lambda: found.covering("GET", target), times=5) < 5_000


def test_literal_routes_are_looked_up() -> None:
    found, target = index(*(route(f"/api/v1/r{n}") for n in _MANY), fold=folded_path), at("/api/v1/r77?x=1")
    # Half a microsecond on an idle machine.
    assert microseconds(lambda: found.covering("GET", target), times=1_000) < 20


def test_where_there_is_no_telling_the_gravest_template_counts() -> None:
    paths = ["/" + "a" * (n % 50) + "{x}" + "a" * (n // 50) + "/q" for n in range(2_000)]
    records = [*map(route, paths), route("/never/{x}", **CHANGE), route("/gravest/{x}", **RESTRICTED)]
    assert path_of(covering(records, "GET", "/" + "a" * 200)) == "/gravest/{x}"
    tree: PathTree[str] = PathTree()
    for path in paths:
        tree.add(placeheld(path), path)
    with pytest.raises(TooManySteps):
        tree.find("/" + "a" * 200)


def test_where_too_many_queries_come_into_question_the_gravest_counts() -> None:
    records = [route(f"/x?a{n // 40}=1&b{n % 40}=1") for n in range(1_600)]
    records.append(route("/x?never=1", **CHANGE))
    asked = "&".join(f"a{n}=1&b{n}=1" for n in range(40))
    assert path_of(covering(records, "GET", f"/x?{asked}")) == "/x?never=1"


_TEXT = st.text(alphabet=string.ascii_letters + string.digits + "/{}+*?&#=;%.:@-_,\u00e9\ud800", max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(_TEXT, _TEXT), max_size=6), _TEXT)
def test_whatever_is_published_nothing_is_raised(published: list[tuple[str, str]], asked: str) -> None:
    found = index(*(route(path, post_equivalent=other) for path, other in published), fold=folded_path)
    try:
        target = at("/" + asked)
    except MalformedTarget:
        return
    for method in ("GET", "HEAD", "POST"):
        found.covering(method, target)


_SEGMENT = st.text(alphabet="abc", min_size=1, max_size=3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.one_of(_SEGMENT, st.just("{x}"), st.just("a{x}")), min_size=1, max_size=4), max_size=8))
def test_a_filled_in_template_is_covered(templates: list[list[str]]) -> None:
    found = index(*(route("/" + "/".join(template)) for template in templates))
    for template in templates:
        filled = "/" + "/".join(template).replace("{x}", "zz")
        assert found.covering("GET", at(filled)) is not None
