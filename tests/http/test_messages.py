"""What of a client's request and of an origin's response goes on (RFC 9110 §6.6.1, §7.6.1, §9.2.1)."""

import pytest

from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead, forwardable, received
from proxy.http.targets import parse_target

NOW = 784111777.9
RECEIVED = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")


@pytest.mark.parametrize(
    ("method", "is_safe"),
    [
        ("GET", True),
        ("HEAD", True),
        ("OPTIONS", True),
        ("TRACE", True),
        ("POST", False),
        ("PUT", False),
        ("DELETE", False),
        ("PATCH", False),
        ("PROPFIND", False),
        ("get", False),
    ],
)
def test_safe_methods_9_2_1(method: str, is_safe: bool) -> None:
    assert Request(method, parse_target("https://example.com/"), Fields()).is_safe is is_safe


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "x-forwarded-anything",
        "x_forwarded_host",
        "x-http-method-override",
        "X-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "Connection",
        "TE",
        "Proxy-Authorization",
        "Named",
    ],
)
def test_what_no_key_holds_is_not_forwarded(name: str) -> None:
    sent = Fields([(name, "x"), ("Accept", "a"), ("Connection", "named")])
    assert forwardable(sent) == Fields([("Accept", "a")])


@pytest.mark.parametrize("name", ["Accept", "Authorization", "Cookie", "X-Forwarded", "Idempotency-Key"])
def test_everything_else_is_forwarded(name: str) -> None:
    assert forwardable(Fields([(name, "x")])) == Fields([(name, "x")])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([("Foo", "1")], [("Foo", "1"), RECEIVED], id="6.6.1-dated-when-it-was-not"),
        pytest.param([("date", "x"), ("Foo", "1")], [("date", "x"), ("Foo", "1")], id="6.6.1-its-own-date"),
        pytest.param([("Keep-Alive", "5"), ("Foo", "1")], [("Foo", "1"), RECEIVED], id="7.6.1-hop-by-hop"),
        pytest.param([("Connection", "foo, date"), ("Foo", "1"), ("Date", "x")], [RECEIVED], id="7.6.1-named"),
    ],
)
def test_received(lines: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    head = ResponseHead(404, "Gone Fishing", Fields(lines))
    assert received(head, NOW) == ResponseHead(404, "Gone Fishing", Fields(expected))
