"""When two requests are the same intent (UAIX.md D2, §5.2)."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.intents import folded_path, intent_of, secret_intent_of
from proxy.http.targets import parse_target

URL = "https://example.com/orders/cancel"


def intent(url: str = URL, method: str = "POST", client: str = "agent-1") -> str:
    return intent_of(client, method, parse_target(url))


SAME = {
    "query": URL + "?x=1",
    "empty query": URL + "?",
    "letter case of the path": "https://example.com/Orders/CANCEL",
    "letter case of the host": "https://EXAMPLE.com/orders/cancel",
    "dot behind the host": "https://example.com./orders/cancel",
    "default port": "https://example.com:443/orders/cancel",
    "other scheme": "http://example.com/orders/cancel",
    "other scheme with its port": "http://example.com:80/orders/cancel",
    "trailing slash": URL + "/",
    "doubled slashes": "https://example.com//orders///cancel",
    "encoded letter": "https://example.com/orders/c%61ncel",
    "twice encoded letter": "https://example.com/orders/c%2561ncel",
    "four times encoded letter": "https://example.com/orders/c%25252561ncel",
    "encoded slash": "https://example.com/orders%2Fcancel",
    "encoded backslash": "https://example.com/orders%5Ccancel",
    "path parameter": URL + ";jsessionid=1",
    "path parameter in the middle": "https://example.com/orders;v=1/cancel",
    "encoded path parameter": URL + "%3Bv=1",
    "dot behind a segment": URL + ".",
    "space behind a segment": URL + "%20",
    "dots that lead out": "https://example.com/..;/orders/cancel",
    "full path encoded": "https://example.com/" + quote("orders/cancel", safe="").replace("o", "%6f"),
}


@pytest.mark.parametrize("url", SAME.values(), ids=SAME)
def test_one_place_in_other_words(url: str) -> None:
    assert intent(url) == intent()


# Servers resolve these to the same place: by path parameters taken off first, by a second decoding, by a backslash
# taken for a slash; and they cut off what is white or behind a zero octet.
RESOLVED = {
    "dots with a path parameter": "https://example.com/x/..;/orders/cancel",
    "dots encoded twice": "https://example.com/x/%252e%252e/orders/cancel",
    "dots between backslashes": "https://example.com/x%5C..%5Corders/cancel",
    "dots behind an encoded slash": "https://example.com/x%2F..%2Forders/cancel",
    "tab behind a segment": URL + "%09",
    "line break behind a segment": URL + "%0D%0A",
    "zero octet": URL + "%00.html",
}


@pytest.mark.parametrize("url", RESOLVED.values(), ids=RESOLVED)
def test_one_place_once_resolved(url: str) -> None:
    assert intent(url) == intent()


OTHER = {
    "another path": "https://example.com/orders/confirm",
    "longer path": URL + "/now",
    "shorter path": "https://example.com/orders",
    "another host": "https://example.org/orders/cancel",
    "below the host": "https://www.example.com/orders/cancel",
    "another port": "https://example.com:8443/orders/cancel",
    "root": "https://example.com/",
}


@pytest.mark.parametrize("url", OTHER.values(), ids=OTHER)
def test_other_places(url: str) -> None:
    assert intent(url) != intent()


def test_who_and_how() -> None:
    assert intent(client="agent-2") != intent()
    assert intent(method="DELETE") != intent()
    assert intent(method="post") == intent()
    assert intent(method="HEAD") == intent(method="GET") == intent(method="head")
    assert intent(method="OPTIONS") != intent(method="GET")


def test_an_intent_is_a_digest() -> None:
    assert len(intent()) == 64 and int(intent(), 16)
    assert intent_of("\ud800", "GET", parse_target("https://example.com/%ff"))


def test_a_secret_is_one_intent_for_host_and_name() -> None:
    def of(url: str, parameter: str = "token", method: str = "GET", client: str = "agent-1") -> str:
        return secret_intent_of(client, method, parse_target(url), parameter)

    one = of("https://example.com/a?token=1")
    assert one == of("https://example.com/b?token=2") == of("http://example.com/", method="HEAD")
    assert one != of("https://example.com/a", "api_key")
    assert one != of("https://example.org/a")
    assert one != of("https://example.com/a", client="agent-2")
    assert one != intent("https://example.com/a", "GET")


FOLDED = {
    "/": "/",
    "": "/",
    "//": "/",
    "/a": "/a",
    "a": "/a",
    "/A/": "/a",
    "/%41": "/a",
    "/%2541": "/a",
    "/a//b": "/a/b",
    "/a\\b": "/a/b",
    "/a;x/b;y": "/a/b",
    "/;x": "/",
    "/a. .": "/a",
    "/.a": "/.a",
    "/%zz": "/%zz",
    "/stra\u00dfe": "/strasse",
    "/%C3%89": "/\u00e9",
}


@pytest.mark.parametrize(("path", "expected"), FOLDED.items(), ids=map(repr, FOLDED))
def test_folding(path: str, expected: str) -> None:
    assert folded_path(path) == expected


@given(st.text(alphabet="aB/%;. \\25346Ff\u00c9\u0130", max_size=40))
def test_a_folded_path_has_one_form(path: str) -> None:
    folded = folded_path(path)
    assert folded.startswith("/") and "//" not in folded and ";" not in folded and "\\" not in folded
    assert folded == "/" or not folded.endswith(("/", ".", " "))


@given(st.text(max_size=40))
def test_any_path_folds(path: str) -> None:
    assert folded_path(path).startswith("/")


@pytest.mark.parametrize("piece", ["%25", "/", ";", "%2F", ".", "a", "%"])
def test_folding_is_linear(piece: str) -> None:
    began = time.process_time()
    folded_path("/" + piece * (65536 // len(piece)))
    assert time.process_time() - began < 0.5
