"""What a request looks like on the wire, and which response heads are fit to be passed on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import Body
from proxy.upstream.octets import request_octets
from tests.simulators.wire import ScriptedOrigin
from tests.upstream.loopback import OK, client, failure, message, request_to


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


PATHS = {
    "encoded slash": ("/a%2Fb", None),
    "lower-case hex": ("/%e4%c3%bc", None),
    "reserved": ("/a;b=c,d+e/(f)'*!$&@:", "q=a+b;c&d=%20e/?f"),
    "empty segments": ("/a//b///", None),
    "empty query": ("/a", ""),
    "query of a question mark": ("/a", "?"),
    "encoded unreserved": ("/%41%7e", "%41"),
    "looks like an authority": ("//example.com/x", None),
    "looks absolute": ("/http://example.com/", None),
}


@pytest.mark.parametrize(("path", "query"), PATHS.values(), ids=PATHS)
async def test_request_target_is_sent_as_it_is(path: str, query: str | None) -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        await (await upstream.fetch(request_to(origin, path=path, query=query))).read(9)
        target = path if query is None else f"{path}?{query}"
        assert origin.requests[0].split(b"\r\n")[0] == f"GET {target} HTTP/1.1".encode()


METHODS = ("GET", "OPTIONS", "M-SEARCH", "PURGE", "get", "x!#$%&'*+-.^_`|~9")


@pytest.mark.parametrize("method", METHODS)
async def test_method_is_sent_as_it_is(method: str) -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        await (await upstream.fetch(request_to(origin, method))).read(9)
        assert origin.requests[0].split(b" ")[0] == method.encode()


FIELDS = {
    "none: only Host": ((), ()),
    "spelling, order and repetition": (
        (("X-b", "1"), ("x-A", "2"), ("X-b", "3")),
        (b"X-b: 1", b"x-A: 2", b"X-b: 3"),
    ),
    "octets of UTF-8 and of none": (
        (("If-None-Match", '"\xc3\xbc", "\xfc"'),),
        (b'If-None-Match: "\xc3\xbc", "\xfc"',),
    ),
    "empty value": ((("X", ""),), (b"X: ",)),
    "expectation is not waited for": ((("Expect", "100-continue"),), (b"Expect: 100-continue",)),
    "own framing": (
        (("Host", "evil"), ("transfer-encoding", "chunked"), ("content-length", "7"), ("A", "b")),
        (b"A: b",),
    ),
}


@pytest.mark.parametrize(("fields", "lines"), FIELDS.values(), ids=FIELDS)
async def test_fields_are_sent_as_they_are(fields: tuple[tuple[str, str], ...], lines: tuple[bytes, ...]) -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        await (await upstream.fetch(request_to(origin, fields=fields))).read(9)
        host = b"Host: 127.0.0.1:%d" % origin.port
        assert origin.requests == [b"\r\n".join([b"GET / HTTP/1.1", host, *lines, b"", b""])]


STATED = (("Content-Length", "4"),)
BODIES = {
    "no body, none anticipated": ("GET", (), None, b"\r\n"),
    "no body, anticipated": ("POST", (), None, b"Content-Length: 0\r\n\r\n"),
    "empty body": ("PUT", (), b"", b"Content-Length: 0\r\n\r\n"),
    "whole": ("POST", (), b"abcd", b"Content-Length: 4\r\n\r\nabcd"),
    "whole, length stated wrongly": ("POST", (("Content-Length", "9"),), b"ab", b"Content-Length: 2\r\n\r\nab"),
    "whole, with GET": ("GET", (), b"ab", b"Content-Length: 2\r\n\r\nab"),
    "whole, large": ("PUT", (), b"x" * 2_000_000, b"Content-Length: 2000000\r\n\r\n" + b"x" * 2_000_000),
    "streamed with length": ("POST", STATED, (b"ab", b"cd"), b"Content-Length: 4\r\n\r\nabcd"),
    "streamed": (
        "POST",
        (),
        (b"ab", b"cd"),
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
    ),
    "streamed, nothing": ("POST", (), (b"",), b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "streamed, no valid length": (
        "POST",
        (("Content-Length", "+2"),),
        (b"ab",),
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ),
}


@pytest.mark.parametrize(("method", "fields", "body", "sent"), BODIES.values(), ids=BODIES)
async def test_framing(
    method: str, fields: tuple[tuple[str, str], ...], body: bytes | tuple[bytes, ...] | None, sent: bytes
) -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        content: Body = pieces(*body) if isinstance(body, tuple) else body
        response = await upstream.fetch(request_to(origin, method, fields=fields), content)
        assert await response.read(9) == b"hi"
        assert origin.requests[0].partition(b"%d\r\n" % origin.port)[2] == sent


UNWRITABLE = {
    "line in a value": ("GET", (("A", "b\r\nC: d"),)),
    "line in a name": ("GET", (("A: b\nC", "d"),)),
    "line in the method": ("GET / HTTP/1.1\r\nA:", ()),
    "NUL": ("GET", (("A", "b\0"),)),
    "no octet": ("GET", (("A", "\u20ac"),)),
}


@pytest.mark.parametrize(("method", "fields"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_unwritable_requests_are_refused(method: str, fields: tuple[tuple[str, str], ...]) -> None:
    request = Request(method, Target("http", "example.com", 80, "/", None), Fields(fields))
    with pytest.raises(ValueError):
        request_octets(request, None, lambda: None)


AUTHORITIES = {
    "default port": (Target("http", "example.com", 80, "/", None), b"example.com"),
    "other port": (Target("https", "example.com", 80, "/", None), b"example.com:80"),
    "IPv6": (Target("http", "::1", 8080, "/", None), b"[::1]:8080"),
}


@pytest.mark.parametrize(("target", "host"), AUTHORITIES.values(), ids=AUTHORITIES)
def test_host_is_the_target_s(target: Target, host: bytes) -> None:
    octets = request_octets(Request("GET", target, Fields()), None, lambda: None)
    assert octets.head == b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


async def test_head_comes_as_it_was_sent() -> None:
    cookies = (b"Set-Cookie: a=b", b"Set-Cookie: c=d")
    lines = (b"x-A: 1", b"X-a: 2", b'ETag: "\xc3\xbc\xfc"', *cookies, b"Content-Length: 0")
    sent = message(*lines, status=b"HTTP/1.1 299 Gar nicht \xfcbel")
    async with ScriptedOrigin([sent]) as origin, client() as upstream:
        head = (await upstream.fetch(request_to(origin))).head
        assert (head.status, head.reason) == (299, "Gar nicht \xfcbel")
        assert [f"{name}: {value}".encode("latin-1") for name, value in head.fields] == list(lines)


LARGE = {
    "a field of 9 KiB": (b"Link: <" + b"a" * 9216 + b">",),
    "40 KiB of fields": (b"A: " + b"a" * 20_000, b"B: " + b"b" * 20_000),
    "200 fields": tuple(b"X-%d: y" % number for number in range(200)),
    "the limit": (b"A: " + b"a" * (64 * 1024 - len("OK") - len("A: \r\n") - len("Content-Length: 0\r\n")),),
}


@pytest.mark.parametrize("lines", LARGE.values(), ids=LARGE)
async def test_large_heads_pass(lines: tuple[bytes, ...]) -> None:
    async with ScriptedOrigin([message(*lines, b"Content-Length: 0")]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin))
        assert len(response.head.fields) == len(lines) + 1
        assert await response.read(0) == b""


TOO_LARGE = {
    "a field of 70 KiB": (
        (b"A: " + b"a" * 70 * 1024,),
        "A field or the reason phrase of the response is longer than 65536 bytes (upstream.max_header).",
    ),
    "70 KiB of fields": (
        (b"A: " + b"a" * 35 * 1024, b"B: " + b"b" * 35 * 1024),
        "The head of the response is longer than 65536 bytes (upstream.max_header).",
    ),
    "300 fields": (tuple(b"X-%d: y" % number for number in range(300)), "The response has more than 256 fields."),
}


@pytest.mark.parametrize(("lines", "detail"), TOO_LARGE.values(), ids=TOO_LARGE)
async def test_too_large_heads_are_invalid(lines: tuple[bytes, ...], detail: str) -> None:
    async with ScriptedOrigin([message(*lines, b"Content-Length: 0")]) as origin, client() as upstream:
        assert await failure(upstream, request_to(origin)) == ("origin-invalid-response", detail)
