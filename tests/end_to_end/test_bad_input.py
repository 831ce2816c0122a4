"""What clients and origins may get wrong, or try: every case over real sockets, against a whole proxy.

After each case the proxy serves the next request, nothing of the case is stored, and no log line tells of a fault.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import re
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
import pytest_asyncio

from tests.end_to_end.running import PATIENCE, Running, Wire, request, running, until
from tests.simulators.wire import Ending, Parts, ScriptedOrigin

pytestmark = pytest.mark.asyncio(loop_scope="module")

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: no-store\r\n\r\nhi"
FRESH = "Cache-Control: max-age=60"
LENGTH = "Content-Length: 2"


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[ScriptedOrigin]:
    async with ScriptedOrigin([OK] * 50) as scripted:
        yield scripted


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def survivor() -> AsyncIterator[Running]:
    """One proxy for all cases: each finds it as the one before has left it."""
    async with running() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def proxy(survivor: Running) -> Running:
    """The survivor with an empty store: ports of origins, and so URLs, may come again."""
    await survivor.purge()
    return survivor


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Bad input is no fault of the proxy's: nothing at level error, no traceback anywhere."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call"), *caplog.get_records("teardown")]
    loud = [record for record in records if record.levelno >= logging.ERROR or record.exc_info]
    assert not loud, [record.getMessage() for record in loud]
    written = capsys.readouterr()
    assert "Traceback" not in written.out + written.err


def gateway(origin: ScriptedOrigin, path: str = "/a") -> str:
    return f"/http/127.0.0.1:{origin.port}{path}"


def paths(origin: ScriptedOrigin) -> list[bytes]:
    """What the origin was asked for."""
    return [received.split(b" ", 2)[1] for received in origin.requests]


async def stored(proxy: Running, origin: ScriptedOrigin) -> list[object]:
    """What the proxy keeps of the origin."""
    answer = await proxy.admin(f"/admin/entries?host=127.0.0.1:{origin.port}")
    entries = answer["entries"]
    assert isinstance(entries, list)
    return entries


async def still_serves(proxy: Running, origin: ScriptedOrigin) -> None:
    reply = await proxy.get(gateway(origin, "/next"))
    assert (reply.status, reply.body) == (200, b"hi")


def _with_fields(*lines: bytes, method: bytes = b"POST", version: bytes = b"1.1", body: bytes = b"") -> bytes:
    return b"\r\n".join([method + b" {path} HTTP/" + version, b"Host: proxy", *lines, b"", b""]) + body


_SMUGGLED = b"GET {path}smuggled HTTP/1.1\r\nHost: proxy\r\n\r\n"
_CHUNKED = b"Transfer-Encoding: chunked"

# Octets, with "{path}" for a gateway path, and the answer. All of these end the connection.
MALFORMED = {
    "not HTTP": (b"hello\r\n\r\n", 400, "bad-request"),
    "TLS hello": (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 400, "bad-request"),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad-request"),
    "unknown method": (b"FOO {path} HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "method in lower case": (b"get {path} HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "HTTP/0.9 with path": (b"GET {path} HTTP/0.9\r\n\r\n", 505, "not-implemented"),
    "HTTP/1.2": (b"GET {path} HTTP/1.2\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "HTTP/2.0": (b"GET {path} HTTP/2.0\r\nHost: proxy\r\n\r\n", 505, "not-implemented"),
    "HTTP/11": (b"GET {path} HTTP/11\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "space in target": (b"GET {path} b HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "tab in request line": (b"GET\t{path} HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "no target": (b"GET  HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-target"),
    "octets beyond ASCII in target": (b"GET {path}\xff HTTP/1.1\r\nHost: proxy\r\n\r\n", 400, "bad-target"),
    "request line of 9 KiB": (b"GET {path}" + b"a" * 9216 + b" HTTP/1.1\r\nHost: proxy\r\n\r\n", 431, "too-large"),
    "request line of 64 KiB": (
        b"GET {path}" + b"a" * 65536 + b" HTTP/1.1\r\nHost: proxy\r\n\r\n",
        431,
        "too-large",
    ),
    "field of 9 KiB": (_with_fields(b"X: " + b"a" * 9216), 431, "too-large"),
    "field of 64 KiB": (_with_fields(b"X: " + b"a" * 65536), 431, "too-large"),
    "field name of 64 KiB": (_with_fields(b"X" * 65536 + b": a"), 431, "too-large"),
    "300 fields": (_with_fields(*[b"X-%d: 1" % n for n in range(300)]), 431, "too-large"),
    "no Host": (b"GET {path} HTTP/1.1\r\n\r\n", 400, "bad-request"),
    "two Hosts": (_with_fields(b"Host: proxy"), 400, "bad-request"),
    "folded field": (_with_fields(b"X: a\r\n b"), 400, "bad-request"),
    "folded before the first field": (b"GET {path} HTTP/1.1\r\n X: a\r\nHost: proxy\r\n\r\n", 400, "bad-request"),
    "line feeds alone": (b"GET {path} HTTP/1.1\nHost: proxy\n\n", 400, "bad-request"),
    "line feed in field": (_with_fields(b"X: a\nY: b"), 400, "bad-request"),
    "carriage return in field": (_with_fields(b"X: a\rY: b"), 400, "bad-request"),
    "NUL in field": (_with_fields(b"X: a\0b"), 400, "bad-request"),
    "control character in field": (_with_fields(b"X: a\x01b"), 400, "bad-request"),
    "DEL in field": (_with_fields(b"X: a\x7fb"), 400, "bad-request"),
    "space before colon": (_with_fields(b"X : a"), 400, "bad-request"),
    "space before the colon of a length": (_with_fields(b"Content-Length : 5", body=b"hello"), 400, "bad-request"),
    "no colon": (_with_fields(b"Xyz"), 400, "bad-request"),
    "no field name": (_with_fields(b": a"), 400, "bad-request"),
    "field name no token": (_with_fields(b"X(y): a"), 400, "bad-request"),
    "length and coding": (
        _with_fields(b"Content-Length: 5", _CHUNKED, body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "coding and length": (
        _with_fields(_CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "two lengths": (
        _with_fields(b"Content-Length: 5", b"Content-Length: 0", body=b"hello" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "one length twice": (
        _with_fields(b"Content-Length: 5", b"Content-Length: 5", body=b"hello" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "length with plus": (_with_fields(b"Content-Length: +5", body=b"hello" + _SMUGGLED), 400, "bad-request"),
    "length with minus": (_with_fields(b"Content-Length: -5", body=b"hello" + _SMUGGLED), 400, "bad-request"),
    "length with space": (_with_fields(b"Content-Length: 0 5", body=b"hello" + _SMUGGLED), 400, "bad-request"),
    "length as list": (_with_fields(b"Content-Length: 5, 5", body=b"hello" + _SMUGGLED), 400, "bad-request"),
    "length in hexadecimal": (_with_fields(b"Content-Length: 0x5", body=b"hello" + _SMUGGLED), 400, "bad-request"),
    "length empty": (_with_fields(b"Content-Length:", body=_SMUGGLED), 400, "bad-request"),
    "length beyond 64 bits": (_with_fields(b"Content-Length: " + b"9" * 30), 400, "bad-request"),
    "length in vertical tabs": (
        _with_fields(b"Content-Length: \x0b5", body=b"hello" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunked is not last": (
        _with_fields(_CHUNKED + b", identity", body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "identity with length": (
        _with_fields(b"Transfer-Encoding: identity", b"Content-Length: 2", body=b"hi" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "identity": (_with_fields(b"Transfer-Encoding: identity", body=_SMUGGLED), 400, "bad-request"),
    "xchunked": (_with_fields(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + _SMUGGLED), 400, "bad-request"),
    "coding after vertical tab": (
        _with_fields(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "coding folded": (
        _with_fields(b"Transfer-Encoding:\r\n chunked", body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunked twice": (_with_fields(_CHUNKED, _CHUNKED, body=b"0\r\n\r\n" + _SMUGGLED), 400, "bad-request"),
    "chunked and gzip": (
        _with_fields(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
        501,
        "not-implemented",
    ),
    "chunked in HTTP/1.0": (
        _with_fields(_CHUNKED, b"Connection: keep-alive", version=b"1.0", body=b"0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunk size beyond 64 bits": (
        _with_fields(_CHUNKED, body=b"F" * 17 + b"\r\nhi\r\n0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunk size negative": (
        _with_fields(_CHUNKED, body=b"-2\r\nhi\r\n0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunk size with prefix": (
        _with_fields(_CHUNKED, body=b"0x2\r\nhi\r\n0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunk shorter than its data": (
        _with_fields(_CHUNKED, body=b"2\r\nhiXX0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
    "chunks ended by line feeds": (_with_fields(_CHUNKED, body=b"2\nhi\n0\n\n" + _SMUGGLED), 400, "bad-request"),
    "line feed in chunk extension": (
        _with_fields(_CHUNKED, body=b"2;\nxx\r\nhi\r\n0\r\n\r\n" + _SMUGGLED),
        400,
        "bad-request",
    ),
}


@pytest.mark.parametrize(("octets", "status", "slug"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_request_is_refused_and_hides_no_other(
    proxy: Running, origin: ScriptedOrigin, octets: bytes, status: int, slug: str
) -> None:
    async with Wire.open(proxy.port) as wire:
        reply = await wire.ask(octets.replace(b"{path}", gateway(origin, "/").encode()))
        assert (reply.status, reply.slug) == (status, slug)
        assert reply.get("connection") == "close"
        assert await wire.rest() == b""
    assert paths(origin) == []
    await still_serves(proxy, origin)
    assert paths(origin) == [b"/next"]


# Request target, Host lines, method, and the answer.
TARGETS = {
    "The target has malformed percent-encoding.": ("{path}%zz", (), "GET", 400, "bad-target"),
    "percent-encoding cut": ("{path}%4", (), "GET", 400, "bad-target"),
    "dot segments": ("{path}../b", (), "GET", 400, "bad-target"),
    "one dot": ("{path}./b", (), "GET", 400, "bad-target"),
    "encoded dot segments": ("{path}%2e%2E/b", (), "GET", 400, "bad-target"),
    "half encoded dot segment": ("{path}.%2e", (), "GET", 400, "bad-target"),
    "dot segment in forward form": ("{absolute}../b", (), "GET", 400, "bad-target"),
    "backslash": ("{path}..\\b", (), "GET", 400, "bad-target"),
    "fragment": ("{path}#b", (), "GET", 400, "bad-target"),
    "quotes": ('{path}"b', (), "GET", 400, "bad-target"),
    "angle brackets": ("{path}<b>", (), "GET", 400, "bad-target"),
    "unknown scheme in gateway form": ("/ftp/example.com/a", (), "GET", 404, "not-found"),
    "unknown scheme": ("ftp://example.com/a", (), "GET", 400, "bad-target"),
    "file": ("file:///etc/passwd", (), "GET", 400, "bad-target"),
    "relative": ("example.com/a", (), "GET", 400, "bad-target"),
    "query alone": ("?x", (), "GET", 400, "bad-target"),
    "asterisk": ("*", (), "GET", 400, "bad-target"),
    "OPTIONS *": ("*", (), "OPTIONS", 400, "bad-target"),
    "userinfo": ("/http/user:word@127.0.0.1/a", (), "GET", 400, "bad-target"),
    "userinfo in forward form": ("http://user:word@127.0.0.1/a", (), "GET", 400, "bad-target"),
    "decimal host": ("/http/2130706433/", (), "GET", 400, "bad-target"),
    "octal host": ("/http/0177.0.0.1/", (), "GET", 400, "bad-target"),
    "hexadecimal host": ("http://0x7f.1/", (), "GET", 400, "bad-target"),
    "short host": ("/http/127.1/", (), "GET", 400, "bad-target"),
    "full-width host": ("/http/%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", (), "GET", 400, "bad-target"),
    "full-width host, raw": ("/http/\uff11\uff12\uff17.0.0.1/", (), "GET", 400, "bad-target"),
    "brackets around a name": ("/http/[example.com]/", (), "GET", 400, "bad-target"),
    "zone": ("/http/[fe80::1%25lo]/", (), "GET", 400, "bad-target"),
    "no authority": ("/http//a", (), "GET", 400, "bad-target"),
    "scheme alone": ("/https", (), "GET", 400, "bad-target"),
    "port 0": ("/http/127.0.0.1:0/", (), "GET", 400, "bad-target"),
    "port beyond 65535": ("/http/127.0.0.1:65536/", (), "GET", 400, "bad-target"),
    "port no number": ("/http/127.0.0.1:8x/", (), "GET", 400, "bad-target"),
    "label of 64 octets": (f"/http/{'a' * 64}.example/", (), "GET", 400, "bad-target"),
    "Host with space": ("{path}", ("Host: a b",), "GET", 400, "bad-request"),
    "Host with userinfo": ("{path}", ("Host: a@b",), "GET", 400, "bad-request"),
    "Host as list": ("{path}", ("Host: a, b",), "GET", 400, "bad-request"),
    "Host with path": ("{path}", ("Host: a/b",), "GET", 400, "bad-request"),
    "Host with bad port": ("{absolute}", ("Host: a:99999",), "GET", 400, "bad-request"),
    "CONNECT to a port not allowed": ("127.0.0.1:22", (), "CONNECT", 403, "egress-denied"),
    "CONNECT without port": ("127.0.0.1", (), "CONNECT", 400, "bad-target"),
    "CONNECT with empty port": ("127.0.0.1:", (), "CONNECT", 400, "bad-target"),
    "CONNECT with path": ("/x", (), "CONNECT", 400, "bad-target"),
    "CONNECT with URI": ("{absolute}", (), "CONNECT", 400, "bad-target"),
    "CONNECT with userinfo": ("user@127.0.0.1:443", (), "CONNECT", 400, "bad-target"),
    "own data port": ("/http/127.0.0.1:{data}/", (), "GET", 403, "egress-denied"),
    "own data port by name": ("/http/localhost:{data}/", (), "GET", 403, "egress-denied"),
    "own data port, unspecified address": ("/http/0.0.0.0:{data}/", (), "GET", 403, "egress-denied"),
    "own data port, mapped address": ("/http/[::ffff:127.0.0.1]:{data}/", (), "GET", 403, "egress-denied"),
    "own admin port": ("/http/127.0.0.1:{admin}/admin/config", (), "GET", 403, "egress-denied"),
    "own admin port in forward form": ("http://127.0.0.1:{admin}/", (), "POST", 403, "egress-denied"),
    "nothing here": ("/nowhere", (), "GET", 404, "not-found"),
    "method not for our own resource": ("/", (), "DELETE", 405, "bad-request"),
}


@pytest.mark.parametrize(("target", "hosts", "method", "status", "slug"), TARGETS.values(), ids=TARGETS.keys())
async def test_unusable_target_is_refused(
    proxy: Running,
    origin: ScriptedOrigin,
    target: str,
    hosts: tuple[str, ...],
    method: str,
    status: int,
    slug: str,
) -> None:
    text = target.replace("{path}", gateway(origin, "/")).replace("{absolute}", f"http://127.0.0.1:{origin.port}/")
    text = text.replace("{data}", str(proxy.port)).replace("{admin}", str(proxy.admin_port))
    octets = request(method, "TARGET", *hosts).replace(b"TARGET", text.encode())
    reply = await proxy.ask(octets, method)
    assert (reply.status, reply.slug) == (status, slug)
    assert b"word" not in reply.body
    assert paths(origin) == []
    await still_serves(proxy, origin)


async def test_own_listener_is_refused_to_a_tunnel(origin: ScriptedOrigin) -> None:
    async with running(forward__connect_ports=list(range(20000, 65536))) as proxy:
        for port in (proxy.port, proxy.admin_port):
            reply = await proxy.ask(request("CONNECT", f"127.0.0.1:{port}"), "CONNECT")
            assert (reply.status, reply.slug) == (403, "egress-denied")
        await still_serves(proxy, origin)


# Unusual but allowed: what goes on to the origin is unambiguous.
TOLERATED = {
    "absolute form with another Host": (
        b"GET {absolute} HTTP/1.1\r\nHost: other.example\r\n\r\n",
        b"Host: 127.0.0.1",
    ),
    "empty Host": (b"GET {path} HTTP/1.1\r\nHost:\r\n\r\n", b"Host: 127.0.0.1"),
    "HTTP/1.0 without Host": (b"GET {path} HTTP/1.0\r\n\r\n", b"Host: 127.0.0.1"),
    "octets beyond ASCII in field": (_with_fields(b"X: a\xe9b", method=b"GET"), b"X: a\xe9b\r\n"),
    "200 fields": (_with_fields(*[b"X-%d: 1" % n for n in range(200)], method=b"GET"), b"X-199: 1\r\n"),
    "empty lines first": (b"\r\n\r\n" + _with_fields(method=b"GET"), b"GET / HTTP/1.1"),
    "chunk extension": (_with_fields(_CHUNKED, body=b"2;a=b\r\nhi\r\n0\r\n\r\n"), b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
    "trailer": (_with_fields(_CHUNKED, body=b"2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"), b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
    "coding in capitals": (
        _with_fields(b"TRANSFER-ENCODING: Chunked", body=b"2\r\nhi\r\n0\r\n\r\n"),
        b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ),
    "TRACE": (b"TRACE {path} HTTP/1.1\r\nHost: proxy\r\n\r\n", b"TRACE / HTTP/1.1"),
    "OPTIONS without path": (b"OPTIONS {authority} HTTP/1.1\r\nHost: proxy\r\n\r\n", b"OPTIONS / HTTP/1.1"),
    "encoded CRLF": (b"GET {path}%0d%0aX:1 HTTP/1.1\r\nHost: proxy\r\n\r\n", b"GET /%0d%0aX:1 HTTP/1.1\r\n"),
    "other protocol than WebSocket": (
        _with_fields(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AA", method=b"GET"),
        b"GET / HTTP/1.1",
    ),
}


@pytest.mark.parametrize(("octets", "expected"), TOLERATED.values(), ids=TOLERATED.keys())
async def test_unusual_request_reaches_the_origin_in_plain_form(
    proxy: Running, origin: ScriptedOrigin, octets: bytes, expected: bytes
) -> None:
    authority = f"http://127.0.0.1:{origin.port}"
    for name, text in (("path", gateway(origin, "/")), ("absolute", f"{authority}/"), ("authority", authority)):
        octets = octets.replace(b"{%b}" % name.encode(), text.encode())
    reply = await proxy.ask(octets)
    assert (reply.status, reply.body) == (200, b"hi")
    assert len(origin.requests) == 1
    assert expected in origin.requests[0]
    for absent in (b"upgrade", b"http2-settings", b"trailer", b"x-t:", b"other.example"):
        assert absent not in origin.requests[0].lower()


# What breaks off or goes wrong after the origin has been asked: pieces, and what the client is told.
BROKEN_UPLOADS = {
    "chunk size overflows": ([b"2\r\nhi\r\n", b"FFFFFFFFFFFFFFFFFF\r\n" + _SMUGGLED], True),
    "chunk longer than it says": ([b"2\r\nhi\r\n", b"2\r\nhiXX" + _SMUGGLED], True),
    "chunk size no number": ([b"2\r\nhi\r\n", b"zz\r\n" + _SMUGGLED], True),
    "closed in the middle": ([b"5\r\nhi"], False),
    "last chunk missing": ([b"2\r\nhi\r\n"], False),
}


@pytest.mark.parametrize(("pieces", "answered"), BROKEN_UPLOADS.values(), ids=BROKEN_UPLOADS.keys())
async def test_broken_upload_never_looks_whole_to_the_origin(
    proxy: Running, origin: ScriptedOrigin, pieces: list[bytes], answered: bool
) -> None:
    async with Wire.open(proxy.port) as wire:
        await wire.send(request("POST", gateway(origin), "Transfer-Encoding: chunked"))
        for piece in pieces:
            await wire.send(piece.replace(b"{path}", gateway(origin, "/").encode()))
            await until(lambda: origin.connections > 0)
        if not answered:
            wire.writer.write_eof()
        rest = await wire.rest()
        assert rest == b"" or rest.startswith((b"HTTP/1.1 400", b"HTTP/1.1 502"))
    assert paths(origin) == []
    await still_serves(proxy, origin)


async def test_upload_shorter_than_its_length_never_looks_whole(proxy: Running, origin: ScriptedOrigin) -> None:
    async with Wire.open(proxy.port) as wire:
        await wire.send(request("POST", gateway(origin), "Content-Length: 10", body=b"hi"))
        await until(lambda: origin.connections > 0)
    await still_serves(proxy, origin)
    assert paths(origin) == [b"/next"]


async def test_bytes_behind_a_body_are_the_clients_own_next_request(proxy: Running, origin: ScriptedOrigin) -> None:
    body = b"GET /within HTTP/1.1\r\nHost: x\r\n\r\n"
    first = request("POST", gateway(origin, "/first"), f"Content-Length: {len(body)}", body=body)
    async with Wire.open(proxy.port) as wire:
        await wire.send(first + request("GET", gateway(origin, "/second")))
        assert [(await wire.reply()).status for _ in range(2)] == [200, 200]
    assert paths(origin) == [b"/first", b"/second"]
    assert origin.requests[0].endswith(b"\r\n\r\n" + body)


async def test_body_of_a_get_is_framed_and_not_a_request(proxy: Running, origin: ScriptedOrigin) -> None:
    inner = request("GET", "/within", "Host: x")
    octets = request("GET", gateway(origin, "/outer"), f"Content-Length: {len(inner)}", body=inner)
    async with Wire.open(proxy.port) as wire:
        assert (await wire.ask(octets)).status == 200
        assert (await wire.ask(request("GET", gateway(origin, "/after")))).status == 200
    assert paths(origin) == [b"/outer", b"/after"]


async def test_refused_upgrade_hides_no_request(proxy: Running, origin: ScriptedOrigin) -> None:
    upgrade = request("GET", gateway(origin, "/ws"), "Connection: Upgrade", "Upgrade: websocket")
    async with Wire.open(proxy.port) as wire:
        await wire.send(upgrade + request("GET", gateway(origin, "/after")))
        assert [(await wire.reply()).status for _ in range(2)] == [200, 200]
    assert paths(origin) == [b"/ws", b"/after"]
    assert b"\r\nConnection: Upgrade\r\n" in origin.requests[0]


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE"])
async def test_max_forwards_is_counted_down(proxy: Running, origin: ScriptedOrigin, method: str) -> None:
    assert (await proxy.ask(request(method, gateway(origin), "Max-Forwards: 2"))).status == 200
    reply = await proxy.ask(request(method, gateway(origin), "Max-Forwards: 0"))
    assert (reply.status, reply.slug) == (501, "not-implemented")
    assert [b"\r\nMax-Forwards: 1\r\n" in received for received in origin.requests] == [True]


async def test_upgrade_is_ignored_in_http_1_0(proxy: Running, origin: ScriptedOrigin) -> None:
    octets = request("GET", gateway(origin), "Connection: Upgrade", "Upgrade: websocket")
    assert (await proxy.ask(octets.replace(b"HTTP/1.1", b"HTTP/1.0"))).status == 200
    assert b"upgrade" not in origin.requests[0].lower()


async def test_pipelined_requests_are_answered_in_order(proxy: Running) -> None:
    slow = asyncio.Event()

    def answer(received: bytes) -> bytes | Parts:
        path = received.split(b" ")[1]
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path)
        return (slow, reply) if path == b"/0" else reply

    async with ScriptedOrigin([answer] * 20) as origin, Wire.open(proxy.port) as wire:
        await wire.send(b"".join(request("GET", gateway(origin, f"/{n}")) for n in range(20)))
        slow.set()
        assert [(await wire.reply()).body for _ in range(20)] == [b"/%d" % n for n in range(20)]


async def test_expect_100_continue_is_met_before_the_body(proxy: Running, origin: ScriptedOrigin) -> None:
    async with Wire.open(proxy.port) as wire:
        await wire.send(request("PUT", gateway(origin), LENGTH, "Expect: 100-continue"))
        assert (await wire.head()).status == 100
        assert (await wire.ask(b"ok")).status == 200
    assert origin.requests[0].endswith(b"\r\n\r\nok")
    assert b"expect" not in origin.requests[0].lower()


async def test_expect_100_continue_is_not_met_for_a_refused_request(proxy: Running) -> None:
    async with Wire.open(proxy.port) as wire:
        reply = await wire.ask(request("PUT", "/http/127.1/", LENGTH, "Expect: 100-continue"))
        assert (reply.status, reply.slug) == (400, "bad-target")


async def test_http_1_0_client_gets_no_chunks_and_no_interim_response(proxy: Running) -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: no-store\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    async with (
        ScriptedOrigin([(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", chunked)]) as origin,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(f"GET {gateway(origin)} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode())
        head = await wire.head()
        assert head.status == 200
        assert head.get("transfer-encoding") is None and head.get("connection") == "close"
        assert await wire.rest() == b"hi"


async def test_slow_request_is_read_piece_by_piece(proxy: Running, origin: ScriptedOrigin) -> None:
    async with Wire.open(proxy.port) as wire:
        for octet in request("POST", gateway(origin), LENGTH, body=b"ok"):
            await wire.send(bytes((octet,)))
            await asyncio.sleep(0)
        assert (await wire.reply()).status == 200
    assert origin.requests[0].endswith(b"\r\n\r\nok")


async def test_head_that_never_ends_is_given_up(origin: ScriptedOrigin) -> None:
    async with running(listen__idle_timeout=0.2) as proxy:
        async with Wire.open(proxy.port) as wire:
            await wire.send(b"GET / HTTP/1.1\r\nHost: pro")
            assert await wire.rest() == b""
        await still_serves(proxy, origin)


async def test_upload_that_stops_is_given_up(proxy: Running, origin: ScriptedOrigin) -> None:
    async with Wire.open(proxy.port) as wire:
        reply = await wire.ask(request("POST", gateway(origin), "Content-Length: 10", body=b"hi"))
        assert reply.status in (408, 504) and reply.slug is not None
    assert paths(origin) == []
    await still_serves(proxy, origin)


async def test_client_that_leaves_while_waiting_harms_nobody(proxy: Running) -> None:
    gate = asyncio.Event()
    async with ScriptedOrigin([(gate, _reply(LENGTH))]) as origin:
        async with Wire.open(proxy.port) as wire:
            await wire.send(request("GET", gateway(origin)))
            await until(lambda: bool(origin.requests))
        gate.set()
        reply = await proxy.get(gateway(origin))
        assert (reply.status, reply.body, origin.connections) == (200, b"hi", 1)


def _reply(*lines: str, status: str = "HTTP/1.1 200 OK", body: bytes = b"hi") -> bytes:
    return "\r\n".join([status, FRESH, *lines, "", ""]).encode("latin-1") + body


_INVALID = (502, "origin-invalid-response")
_GZIP = gzip.compress(bytes(5000))
_CHUNKS = "Transfer-Encoding: chunked"
_NOT_MODIFIED = "HTTP/1.1 304 Not Modified"
_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
_SECRET = "s3cret"
SECRET_BEARERS = {
    "query": b"GET {path}?token=s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query in forward form": b"GET {absolute}?s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query of a target that fails": b"GET /http/127.0.0.1:1/?s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query behind bad encoding": b"GET {path}%zz?s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query of our own": b"GET /nowhere?s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query behind an unknown scheme": b"GET ftp://a.example/?s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "query in a malformed request": b"GET /?s3cret HTTP/9.9\r\nHost: proxy\r\n\r\n",
    "fragment": b"GET {path}#s3cret HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "userinfo": b"GET http://user:s3cret@a.example/ HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "userinfo in gateway form": b"GET /https/user:s3cret@a.example/ HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "userinfo of a tunnel": b"CONNECT user:s3cret@a.example:443 HTTP/1.1\r\nHost: proxy\r\n\r\n",
    "userinfo in Host": _with_fields(b"Authorization: Bearer x", method=b"GET").replace(
        b"proxy", b"u:s3cret@proxy"
    ),
    "fields": _with_fields(
        b"Authorization: Bearer s3cret",
        b"Cookie: s3cret",
        b"Proxy-Authorization: s3cret",
        b"Traceparent: s3cret",
        b"Referer: http://a.example/?s3cret",
        method=b"GET",
    ),
    "A field of the response is malformed.": _with_fields(b"X s3cret", method=b"GET"),
    "body": _with_fields(b"Content-Length: 6", body=b"s3cret"),
}


async def test_secrets_stay_in_the_request(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, origin: ScriptedOrigin
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running() as proxy:
        for name, octets in SECRET_BEARERS.items():
            octets = octets.replace(b"{path}", gateway(origin, "/").encode())
            octets = octets.replace(b"{absolute}", f"http://127.0.0.1:{origin.port}/".encode())
            reply = await proxy.ask(octets)
            assert reply.slug is None or _SECRET not in reply.body.decode(), name
        async with Wire.open(proxy.admin_port) as wire:
            assert _SECRET not in (await wire.ask(request("GET", "/metrics", "Host: 127.0.0.1"))).body.decode()
    written = capsys.readouterr()
    assert '"msg": "request"' in written.out
    assert _SECRET not in written.out + written.err
    assert _SECRET not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("proxy")
    )


_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n"
_SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
_LARGE = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
_PIECES = (bytes(100_000),) * 1000
_UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")

# What a client leaves in the middle of: more request lines, and what the origin sends.
LEFT: dict[str, tuple[tuple[str, ...], Parts]] = {
    "silent stream of events": ((), (_EVENTS, Ending.STAY)),
    "large body": ((), (_LARGE, *_PIECES)),
    "switched protocol": (_UPGRADE, (_SWITCHED, Ending.STAY)),
}


@pytest.mark.parametrize("abruptly", [False, True], ids=["closing", "resetting"])
@pytest.mark.parametrize(("lines", "parts"), LEFT.values(), ids=LEFT.keys())
async def test_client_that_leaves_in_the_middle_frees_the_origin(
    proxy: Running, origin: ScriptedOrigin, lines: tuple[str, ...], parts: Parts, abruptly: bool
) -> None:
    async with ScriptedOrigin([parts]) as busy:
        async with Wire.open(proxy.port) as wire:
            await wire.send(request("GET", gateway(busy), *lines))
            await wire.head()
            if abruptly:
                wire.writer.transport.abort()
        await until(lambda: not busy._tasks)
    await still_serves(proxy, origin)


async def test_client_that_leaves_before_the_protocol_is_switched_frees_the_origin(
    proxy: Running, origin: ScriptedOrigin
) -> None:
    gate = asyncio.Event()
    async with ScriptedOrigin([(gate, _SWITCHED, Ending.STAY)]) as busy:
        async with Wire.open(proxy.port) as wire:
            await wire.send(request("GET", gateway(busy), *_UPGRADE))
            await until(lambda: bool(busy.requests))
        gate.set()
        await until(lambda: not busy._tasks)
    await still_serves(proxy, origin)


async def test_client_that_leaves_in_the_middle_of_an_unwanted_body_leaves_no_task(proxy: Running) -> None:
    async with Wire.open(proxy.port) as wire:
        reply = await wire.ask(request("POST", "/nowhere", "Content-Length: 1000000", body=b"some"))
        assert (reply.status, reply.slug) == (404, "not-found")
    await until(lambda: not any("RequestHandler.start" in repr(task) for task in asyncio.all_tasks()))


async def test_client_that_does_not_read_is_cut_off() -> None:
    async with (
        running(listen__idle_timeout=0.2) as proxy,
        ScriptedOrigin([(_LARGE, *_PIECES)]) as busy,
        Wire.open(proxy.port) as wire,
    ):
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await wire.send(request("GET", gateway(busy)))
        await until(lambda: bool(busy.requests) and not busy._tasks)


async def test_client_that_reads_slowly_is_served_to_the_end() -> None:
    size = 30_000_000
    body = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
    async with (
        running(listen__idle_timeout=0.2) as proxy,
        ScriptedOrigin([(body, *[bytes(100_000)] * (size // 100_000))]) as busy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("GET", gateway(busy)))
        await wire.head()
        left = size
        while left > 0:
            left -= len(await wire.reader.readexactly(min(left, 3_000_000)))
            await asyncio.sleep(0.06)


@pytest.mark.parametrize("octets", [row[0] for row in MALFORMED.values()], ids=MALFORMED.keys())
async def test_malformed_request_does_no_harm_to_the_admin_port(proxy: Running, octets: bytes) -> None:
    async with Wire.open(proxy.admin_port) as wire:
        await wire.send(octets.replace(b"{path}", b"/version"))
        wire.writer.write_eof()
        answer = await wire.rest()
    assert answer == b"" or re.match(rb"HTTP/[0-9.]+ [124]\d\d ", answer), answer
    assert (await proxy.admin("/version"))["name"] == "discovery-proxy"


# What an origin sends that is no usable response, and what the client is told.
GARBAGE: dict[str, tuple[Parts, int, str]] = {
    "body shorter than its length": ((_reply("Content-Length: 10"),), *_INVALID),
    "last chunk missing": ((_reply(_CHUNKS, body=b"2\r\nhi\r\n"),), *_INVALID),
    "chunk cut": ((_reply(_CHUNKS, body=b"5\r\nhi"),), *_INVALID),
    "chunk size no number": ((_reply(_CHUNKS, body=b"zz\r\nhi\r\n0\r\n\r\n"),), *_INVALID),
    "chunk size beyond 64 bits": ((_reply(_CHUNKS, body=b"F" * 17 + b"\r\nhi\r\n0\r\n\r\n"),), *_INVALID),
    "length and coding": ((_reply(LENGTH, _CHUNKS, body=b"4\r\nabcd\r\n0\r\n\r\n"),), *_INVALID),
    "coding and length": ((_reply(_CHUNKS, LENGTH, body=b"4\r\nabcd\r\n0\r\n\r\n"),), *_INVALID),
    "two lengths": ((_reply(LENGTH, "Content-Length: 3", body=b"hi!"),), *_INVALID),
    "length as list": ((_reply("Content-Length: 2, 2"),), *_INVALID),
    "length negative": ((_reply("Content-Length: -2"),), *_INVALID),
    "length with plus": ((_reply("Content-Length: +2"),), *_INVALID),
    "length beyond 64 bits": ((_reply("Content-Length: " + "9" * 30),), *_INVALID),
    "coding unknown before chunked": ((_reply("Transfer-Encoding: foo, chunked", body=b"0\r\n\r\n"),), *_INVALID),
    "coding gzip": ((_reply("Transfer-Encoding: gzip, chunked", body=b"2\r\nhi\r\n0\r\n\r\n"),), *_INVALID),
    "no HTTP": ((b"hello\r\n\r\n",), *_INVALID),
    "HTTP/0.9": ((b"<html>just a text</html>",), *_INVALID),
    "ICY": ((_reply(LENGTH, status="ICY 200 OK"),), *_INVALID),
    "HTTP/2.0": ((_reply(LENGTH, status="HTTP/2.0 200 OK"),), *_INVALID),
    "HTTP/9.9": ((_reply(LENGTH, status="HTTP/9.9 200 OK"),), *_INVALID),
    "status no number": ((_reply(LENGTH, status="HTTP/1.1 2xx OK"),), *_INVALID),
    "status 000": ((_reply(LENGTH, status="HTTP/1.1 000 OK"),), *_INVALID),
    "status 99": ((_reply(LENGTH, status="HTTP/1.1 99 OK"),), *_INVALID),
    "status 1000": ((_reply(LENGTH, status="HTTP/1.1 1000 OK"),), *_INVALID),
    "304 out of nothing": ((_reply(status=_NOT_MODIFIED, body=b""),), *_INVALID),
    "304 with validator out of nothing": ((_reply('ETag: "a"', status=_NOT_MODIFIED, body=b""),), *_INVALID),
    "101 unasked": (
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", Ending.STAY),
        *_INVALID,
    ),
    "interim responses and no final one": ((_HINTS, Ending.STAY), 504, "origin-timeout"),
    "300 fields": ((_reply(LENGTH, *[f"X-{n}: 1" for n in range(300)]),), *_INVALID),
    "field of 70 KiB": ((_reply(LENGTH, "X: " + "a" * 71680),), *_INVALID),
    "fields of 70 KiB together": ((_reply(LENGTH, *[f"X-{n}: {'a' * 7168}" for n in range(10)]),), *_INVALID),
    "reason of 70 KiB": ((_reply(LENGTH, status="HTTP/1.1 200 " + "a" * 71680),), *_INVALID),
    "control character": ((_reply(LENGTH, "X: a\x01b"),), *_INVALID),
    "NUL": ((_reply(LENGTH, "X: a\0b"),), *_INVALID),
    "carriage return": ((_reply(LENGTH, "X: a\rSet-Cookie: b"),), *_INVALID),
    "control character in Location": (
        (_reply(LENGTH, "Location: https://a.example/\x0bX", status="HTTP/1.1 302 Found"),),
        *_INVALID,
    ),
    "space before colon": ((_reply(LENGTH, "X : a"),), *_INVALID),
    "space before the colon of a length": ((_reply("Content-Length : 2"),), *_INVALID),
    "space before the colon of a coding": (
        (_reply(LENGTH, "Transfer-Encoding : chunked", body=b"2\r\nhi\r\n0\r\n\r\n"),),
        *_INVALID,
    ),
    "space before the colon of Connection": ((_reply(LENGTH, "Connection : close"),), *_INVALID),
    "no colon": ((_reply(LENGTH, "Xyz"),), *_INVALID),
    "field name no token": ((_reply(LENGTH, "X(y): a"),), *_INVALID),
    "reset in the body": ((_reply("Content-Length: 1000000", body=b"h" * 1000), Ending.RESET), *_INVALID),
    "reset in the head": ((b"HTTP/1.1 200 OK\r\n", Ending.RESET), 504, "origin-unreachable"),
    "closed in the head": ((b"HTTP/1.1 200 OK\r\nConte", Ending.CLOSE), *_INVALID),
    "closed without a word": ((Ending.CLOSE,), *_INVALID),
    "silence": ((Ending.STAY,), 504, "origin-timeout"),
    "silence in the head": ((b"HTTP/1.1 200 OK\r\n", Ending.STAY), 504, "origin-timeout"),
    "silence in the body": ((_reply("Content-Length: 10"), Ending.STAY), 504, "origin-timeout"),
    "gzip cut": ((_reply("Content-Encoding: gzip", body=_GZIP[:-5]),), *_INVALID),
    "gzip that is none": ((_reply("Content-Encoding: gzip", LENGTH),), *_INVALID),
}


@pytest.mark.parametrize(("parts", "status", "slug"), GARBAGE.values(), ids=GARBAGE.keys())
async def test_unusable_response_is_a_problem_and_not_stored(
    proxy: Running, parts: Parts, status: int, slug: str
) -> None:
    async with ScriptedOrigin([parts]) as broken, ScriptedOrigin([OK]) as origin:
        reply = await proxy.get(gateway(broken))
        assert (reply.status, reply.slug, reply.is_complete) == (status, slug, True)
        assert await stored(proxy, broken) == []
        await still_serves(proxy, origin)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<html>"),
        ("application/json", b"<!doctype html>"),
        ("application/json", b'{"name": '),
        ("", b""),
    ],
    ids=["markup", "markup called JSON", "JSON cut", "nothing"],
)
async def test_wrong_kind_of_document_is_a_problem_and_not_stored(
    proxy: Running, content_type: str, body: bytes
) -> None:
    reply_octets = _reply(f"Content-Type: {content_type}", f"Content-Length: {len(body)}", body=body)
    async with ScriptedOrigin([reply_octets]) as origin:
        reply = await proxy.get(gateway(origin, "/.well-known/agent-card.json"))
        assert (reply.status, reply.slug) == (502, "not-a-document")
        assert await stored(proxy, origin) == []


# Unusual responses that pass: the reply, and what must be in the answer's lines.
PASSED = {
    "Link of 9 KiB": (
        _reply(LENGTH, f"Link: <https://a.example/{'b' * 9216}>"),
        f"</https/a.example/{'b' * 9216}>",
    ),
    "fields of 40 KiB": (_reply(LENGTH, *[f"X-{n}: {'a' * 4096}" for n in range(10)]), "a" * 4096),
    "200 fields": (_reply(LENGTH, *[f"X-{n}: v" for n in range(200)]), "v"),
    "octets beyond ASCII": (_reply(LENGTH, "X: a\xe9b"), "a\xe9b"),
    "folded field": (_reply(LENGTH, "X: a\r\n b"), "a b"),
    "more than its length": (
        _reply(LENGTH, body=b"hiHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
        FRESH[15:],
    ),
    "interim responses before it": (_HINTS * 300 + _reply(LENGTH), FRESH[15:]),
    "encoded CRLF in Location": (
        _reply(LENGTH, "Location: /%0d%0aSet-Cookie:%20a=b", status="HTTP/1.1 200 OK"),
        "%0d%0aSet-Cookie:%20a=b",
    ),
    "link to no http target": (_reply(LENGTH, "Link: <javascript:alert(1)>"), "<javascript:alert(1)>"),
    "unknown content coding": (_reply(LENGTH, "Content-Encoding: foo"), "foo"),
    "status 299": (_reply(LENGTH, status="HTTP/1.1 299 Fine"), FRESH[15:]),
}


@pytest.mark.parametrize(("octets", "expected"), PASSED.values(), ids=PASSED.keys())
async def test_unusual_response_passes(proxy: Running, octets: bytes, expected: str) -> None:
    async with ScriptedOrigin([octets], [OK]) as origin, Wire.open(proxy.port) as wire:
        reply = await wire.ask(request("GET", gateway(origin)))
        assert (reply.status // 100, reply.body, reply.is_complete) == (2, b"hi", True)
        assert any(expected in value for _, value in reply.lines)
        assert reply.get("set-cookie") is None
        following = await wire.ask(request("GET", gateway(origin, "/next")))
        assert (following.status, following.body) == (200, b"hi")


_NINES = "9" * 5000
_CARD = "/.well-known/agent-card.json"
_ENTITIES = b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
_URLSET = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">&j;</urlset>'

# Values made to cost time, memory or an exception: path, reply, and the status of the answer.
HOSTILE = {
    "lifetime of 5000 digits": ("/a", _reply(LENGTH, f"Cache-Control: s-maxage={_NINES}"), 200),
    "age of 5000 digits": ("/a", _reply(LENGTH, f"Age: {_NINES}"), 200),
    "targeted lifetime of 5000 digits": ("/a", _reply(LENGTH, f"CDN-Cache-Control: max-age={_NINES}"), 200),
    "targeted directives without end": ("/a", _reply(LENGTH, "CDN-Cache-Control: " + "(" * 30_000), 200),
    "range of 5000 digits": (
        "/a",
        _reply(LENGTH, f"Content-Range: bytes {_NINES}-{_NINES}/{_NINES}", status="HTTP/1.1 206 Partial"),
        206,
    ),
    "date of the year 99999999": ("/a", _reply(LENGTH, "Date: Mon, 30 Nov 99999999 11:35:06 GMT"), 200),
    "dates of the year 0": (
        "/a",
        _reply(LENGTH, "Date: Mon, 30 Nov 0000 11:35:06 GMT", "Expires: Fri, 31 Dec 0000 23:59:60 GMT"),
        200,
    ),
    "9000 fields varied by": ("/a", _reply(LENGTH, "Vary: " + ",".join(f"x{n}" for n in range(9000))), 200),
    "9000 tags": ("/a", _reply(LENGTH, "Surrogate-Key: " + " ".join(f"k{n}" for n in range(9000))), 200),
    "32000 commas in one link": ("/a", _reply(LENGTH, "Link: <" + "a," * 32_000), 200),
    "64000 open links": ("/a", _reply(LENGTH, "Link: " + "<" * 64_000), 200),
    "64000 quotes": ("/a", _reply(LENGTH, "Link: " + '"' * 64_000), 200),
    "20000 steps up": ("/a", _reply(LENGTH, "Location: " + "../" * 20_000), 200),
    "60000 colons in a host": ("/a", _reply(LENGTH, "Location: http://[" + ":" * 60_000 + "]/"), 200),
    "5000 codings": ("/a", _reply(LENGTH, "Content-Encoding: " + "gzip," * 5000), 200),
    "bomb": (_CARD, _reply("Content-Encoding: gzip", body=gzip.compress(bytes(100_000_000))), 502),
    "deep JSON": (_CARD, _reply("Content-Type: application/json", body=b"[" * 100_000), 502),
    "JSON number of 5000 digits": (
        _CARD,
        _reply("Content-Type: application/json", body=b'{"name": %b}' % _NINES.encode()),
        502,
    ),
    "JSON with half a character": (
        _CARD,
        _reply("Content-Type: application/json", body=b'{"name": "\\ud800"}'),
        502,
    ),
    "entities": (
        "/sitemap.xml",
        _reply("Content-Type: application/xml", body=b'<!DOCTYPE l [<!ENTITY a "a">%b]>%b' % (_ENTITIES, _URLSET)),
        502,
    ),
}


@pytest.mark.parametrize(("path", "octets", "status"), HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_value_costs_little(proxy: Running, path: str, octets: bytes, status: int) -> None:
    async with ScriptedOrigin([octets]) as hostile, ScriptedOrigin([OK]) as origin:
        for _ in range(2):
            async with asyncio.timeout(1):
                assert (await proxy.get(gateway(hostile, path))).status == status
        await still_serves(proxy, origin)


async def test_long_body_cut_short_is_cut_for_the_client_too(proxy: Running) -> None:
    reply_octets = _reply("Content-Length: 10000000", body=bytes(100_000))
    async with ScriptedOrigin([reply_octets]) as broken, ScriptedOrigin([OK]) as origin:
        assert not (await proxy.get(gateway(broken))).is_complete
        assert await stored(proxy, broken) == []
        await still_serves(proxy, origin)


async def test_chunks_cut_short_are_cut_for_the_client_too(proxy: Running) -> None:
    reply_octets = b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
    async with ScriptedOrigin([reply_octets]) as broken, ScriptedOrigin([OK]) as origin:
        assert not (await proxy.get(gateway(broken))).is_complete
        await still_serves(proxy, origin)


async def test_endless_head_is_given_up(proxy: Running) -> None:
    def endless(_: bytes) -> Parts:
        return (b"HTTP/1.1 200 OK\r\n", *[f"X-{n}: {'a' * 1000}\r\n".encode() for n in range(5000)], Ending.STAY)

    async with ScriptedOrigin([endless]) as broken, ScriptedOrigin([OK]) as origin:
        reply = await proxy.get(gateway(broken))
        assert (reply.status, reply.slug) == _INVALID
        await still_serves(proxy, origin)


async def test_endless_body_of_a_document_is_refused(proxy: Running) -> None:
    def endless(_: bytes) -> Parts:
        return (_reply("Content-Type: application/json", body=b"["), *[b" " * 65536] * 200, Ending.STAY)

    async with ScriptedOrigin([endless]) as broken, ScriptedOrigin([OK]) as origin:
        reply = await proxy.get(gateway(broken, "/.well-known/agent-card.json"))
        assert (reply.status, reply.slug) == (502, "too-large")
        await still_serves(proxy, origin)


async def test_dripping_body_of_a_document_is_given_up(proxy: Running) -> None:
    drips = [asyncio.Event() for _ in range(40)]
    parts: list[bytes | asyncio.Event] = [_reply("Content-Length: 1000", body=b"")]
    for drip in drips:
        parts += [drip, b"x"]
    async with ScriptedOrigin([tuple(parts)]) as broken:
        asking = asyncio.get_running_loop().create_task(proxy.get(gateway(broken)))
        ticks = count()
        while not asking.done():
            await asyncio.sleep(0.05)
            drips[min(next(ticks), len(drips) - 1)].set()
        reply = await asking
        assert (reply.status, reply.slug) == (504, "origin-timeout")
        assert next(ticks) < 2 * 20


async def test_interim_responses_do_not_pile_up_for_a_client_that_does_not_read(proxy: Running) -> None:
    gate = asyncio.Event()
    hints = [b"HTTP/1.1 103 Early Hints\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"] * 400
    async with ScriptedOrigin([(*hints, OK, gate)]) as origin, Wire.open(proxy.port) as wire:
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await wire.send(request("GET", gateway(origin)))
        while not gate.is_set():
            await asyncio.sleep(0.1)
            gate.set()
        wire.writer.transport.resume_reading()  # type: ignore[attr-defined]
        seen = 0
        async with asyncio.timeout(PATIENCE):
            while (head := await wire.head()).status == 103:
                seen += 1
        assert head.status == 200
        assert 0 < seen < len(hints)
