"""Every way in which an origin fails, as the fault and the detail that a client may read."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl

import pytest
from aiohttp import ClientConnectionError, ClientOSError, ServerDisconnectedError

from proxy.ports import OriginFault, OriginUnavailable
from proxy.upstream.faults import faults
from proxy.upstream.origin import UpstreamLimits
from tests.simulators.wire import Ending, Parts, ScriptedOrigin
from tests.upstream.loopback import OK, client, failure, message, request_to

ONE, CHUNKED = b"Content-Length: 1", b"Transfer-Encoding: chunked"
LINE = "The status line is malformed, or bytes follow the end of the previous message."
MALFORMED = "The response is malformed: "

INVALID = {
    "no HTTP": (b"hello\r\n\r\n", LINE),
    "ICY": (b"ICY 200 OK\r\n\r\n", LINE),
    "HTTP/1.2": (message(status=b"HTTP/1.2 200 OK"), LINE),
    "HTTP/2.0": (
        message(ONE, status=b"HTTP/2.0 200 OK", body=b"a"),
        "The response is in an HTTP version that is not supported.",
    ),
    "status of two digits": (message(status=b"HTTP/1.1 99 OK"), LINE),
    "status of four digits": (message(status=b"HTTP/1.1 1000 OK"), LINE),
    "status 099": (
        message(ONE, status=b"HTTP/1.1 099 OK", body=b"a"),
        "The status code of the response is out of range.",
    ),
    "field without colon": (message(b"foo"), f"{MALFORMED}Invalid header token."),
    "space before the colon": (message(b"foo : bar"), f"{MALFORMED}Invalid header token."),
    "name that is no token": (message(b"f(o: bar"), f"{MALFORMED}Invalid header token."),
    "empty name": (message(b": bar"), f"{MALFORMED}Invalid header token."),
    "NUL in a value": (message(b"foo: b\0r"), "A field of the response is malformed."),
    "control in a value": (message(b"foo: b\x01r"), "The head of the response has a control character in it."),
    "control in the reason": (
        message(status=b"HTTP/1.1 200 O\x7fK"),
        "The head of the response has a control character in it.",
    ),
    "bare CR": (message(b"foo: b\rar"), f"{MALFORMED}Missing expected LF after header value."),
    "length and coding": (
        message(ONE, CHUNKED, body=b"0\r\n\r\n"),
        f"{MALFORMED}Transfer-Encoding can't be present with Content-Length.",
    ),
    "coding and length": (
        message(CHUNKED, ONE, body=b"0\r\n\r\n"),
        f"{MALFORMED}Content-Length can't be present with Transfer-Encoding.",
    ),
    "two lengths": (message(ONE, b"Content-Length: 2", body=b"ab"), f"{MALFORMED}Duplicate Content-Length."),
    "no number": (message(b"Content-Length: x"), f"{MALFORMED}Invalid character in Content-Length."),
    "negative length": (message(b"Content-Length: -1"), f"{MALFORMED}Invalid character in Content-Length."),
    "unknown coding": (
        message(b"Transfer-Encoding: gzip", body=b"a"),
        "The response has a transfer coding that cannot be undone.",
    ),
    "coding after chunked": (
        message(b"Transfer-Encoding: chunked, gzip", body=b"a"),
        "The response has a transfer coding that cannot be undone.",
    ),
    "bad chunk size": (message(CHUNKED, body=b"zz\r\n"), f"{MALFORMED}Invalid character in chunk size."),
    "last chunk missing": (message(CHUNKED, body=b"3\r\nabc\r\n"), "The body ends before its last chunk."),
    "chunk cut": (message(CHUNKED, body=b"9\r\nabc"), "The body ends before its last chunk."),
    "body too short": (message(b"Content-Length: 10", body=b"abc"), "The body is shorter than its Content-Length."),
    "body too long": (message(ONE, body=b"abc"), LINE),
    "body too long, last on the connection": (
        message(ONE, b"Connection: close", body=b"abc"),
        f"{MALFORMED}Data after `Connection: close`.",
    ),
    "body where there is none": (message(ONE, status=b"HTTP/1.1 204 No", body=b"a"), LINE),
    "nothing": (b"", "The origin closed the connection before the end of the response head."),
    "half a head": (
        b"HTTP/1.1 200 OK\r\nfoo: b",
        "The origin closed the connection before the end of the response head.",
    ),
    "unasked switch": (message(status=b"HTTP/1.1 101 S"), "The origin switched protocols unasked."),
    "unasked upgrade": (
        message(b"Connection: upgrade", b"Upgrade: x", status=b"HTTP/1.1 101 S"),
        "The origin switched protocols unasked.",
    ),
    "bad interim response": (
        message(b"Link: \x01", status=b"HTTP/1.1 103 E") + OK,
        "The head of the response has a control character in it.",
    ),
}


@pytest.mark.parametrize(("sent", "detail"), INVALID.values(), ids=INVALID)
async def test_invalid_responses(sent: bytes, detail: str) -> None:
    async with ScriptedOrigin([sent]) as origin, client() as upstream:
        interim_heard = upstream.fetch(request_to(origin, "POST"), interim=lambda _: None)
        with pytest.raises(OriginUnavailable) as caught:
            await (await interim_heard).read(100)
        assert (caught.value.fault, caught.value.detail) == (OriginFault.INVALID_RESPONSE, detail)


BROKEN_LATER: dict[str, tuple[bytes, Parts, str]] = {
    "bad chunk": (
        message(CHUNKED, body=b"1\r\na\r\n"),
        (b"zz\r\n", Ending.STAY),
        f"{MALFORMED}Invalid character in chunk size.",
    ),
    "reset in a body with length": (
        message(b"Content-Length: 9", body=b"abc"),
        (Ending.RESET,),
        "The body is shorter than its Content-Length.",
    ),
    "reset in a chunked body": (
        message(CHUNKED, body=b"1\r\na\r\n"),
        (Ending.RESET,),
        "The body ends before its last chunk.",
    ),
    "reset in a body that ends with the connection": (
        message(body=b"abc"),
        (Ending.RESET,),
        "The body was cut short.",
    ),
}


@pytest.mark.parametrize(("first", "then", "detail"), BROKEN_LATER.values(), ids=BROKEN_LATER)
@pytest.mark.parametrize("waiting", [True, False], ids=["reader waits", "reader comes later"])
async def test_bodies_broken_after_the_head(first: bytes, then: Parts, detail: str, waiting: bool) -> None:
    gate = asyncio.Event()
    async with ScriptedOrigin([(first, gate, *then)]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin))
        chunks = response.chunks()
        await anext(chunks)
        gate.set()
        if not waiting:
            await asyncio.sleep(0.02)
        with pytest.raises(OriginUnavailable) as caught:
            await anext(chunks)
        assert (caught.value.fault, caught.value.detail) == (OriginFault.INVALID_RESPONSE, detail)


RAISED = {
    "refused": (
        ConnectionRefusedError(errno.ECONNREFUSED, ""),
        "origin-unreachable",
        "The origin refused the connection: nothing listens on its port.",
    ),
    "reset": (
        ConnectionResetError(errno.ECONNRESET, ""),
        "origin-unreachable",
        "The connection to the origin was reset.",
    ),
    "reset, by aiohttp": (
        ClientOSError(errno.ECONNRESET, ""),
        "origin-unreachable",
        "The connection to the origin was reset.",
    ),
    "reset without number": (
        ConnectionResetError("Lost"),
        "origin-unreachable",
        "The connection to the origin was reset.",
    ),
    "host": (
        OSError(errno.EHOSTUNREACH, "10.0.0.1"),
        "origin-unreachable",
        "There is no route to the origin's host.",
    ),
    "network": (
        OSError(errno.ENETUNREACH, "10.0.0.1"),
        "origin-unreachable",
        "There is no route to the origin's network.",
    ),
    "several": (
        OSError("Multiple exceptions: 10.0.0.1"),
        "origin-unreachable",
        "The connection to the origin failed.",
    ),
    "kernel's time-out": (TimeoutError(errno.ETIMEDOUT, ""), "origin-timeout", "overdue"),
    "our time-out": (TimeoutError(), "origin-timeout", "overdue"),
    "name": (
        socket.gaierror(socket.EAI_NONAME, ""),
        "origin-unreachable",
        "The origin's host name does not resolve. Check its spelling and the proxy's resolver.",
    ),
    "name, for now": (
        socket.gaierror(socket.EAI_AGAIN, ""),
        "origin-unreachable",
        "The origin's host name does not resolve. Check its spelling and the proxy's resolver.",
    ),
    "TLS": (ssl.SSLError(1, "WRONG_VERSION"), "origin-unreachable", "The TLS handshake with the origin failed."),
    "certificate": (
        ssl.SSLCertVerificationError(1, "x"),
        "origin-unreachable",
        "The origin's TLS certificate is not valid.",
    ),
    "gone": (
        ServerDisconnectedError(),
        "origin-invalid-response",
        "The origin closed the connection before the end of the response head.",
    ),
    "body not sent": (ClientConnectionError("10.0.0.1"), "origin-unreachable", "The request to the origin failed."),
    "surprise": (RuntimeError("Session is closed"), "origin-unreachable", "The request to the origin failed."),
    "ours": (OriginUnavailable(OriginFault.DENIED, "no"), "egress-denied", "no"),
}


@pytest.mark.parametrize(("error", "fault", "detail"), RAISED.values(), ids=RAISED)
def test_what_exceptions_mean(error: Exception, fault: str, detail: str) -> None:
    with pytest.raises(OriginUnavailable) as caught, faults("overdue"):
        raise error
    assert (caught.value.fault.value, caught.value.detail) == (fault, detail)


def test_cancellation_is_no_fault() -> None:
    with pytest.raises(asyncio.CancelledError), faults("overdue"):
        raise asyncio.CancelledError


async def test_refused() -> None:
    async with ScriptedOrigin([OK]) as origin:
        request = request_to(origin)
    async with client() as upstream:
        assert await failure(upstream, request) == (
            "origin-unreachable",
            "The origin refused the connection: nothing listens on its port.",
        )


async def test_reset_before_the_head() -> None:
    async with ScriptedOrigin([(Ending.RESET,)]) as origin, client() as upstream:
        assert await failure(upstream, request_to(origin)) == (
            "origin-unreachable",
            "The connection to the origin was reset.",
        )
        assert origin.connections == 2


async def test_name_that_does_not_resolve() -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        request = request_to(origin, host="host.invalid")
        assert await failure(upstream, request) == (
            "origin-unreachable",
            "The origin's host name does not resolve. Check its spelling and the proxy's resolver.",
        )


async def test_closed_client() -> None:
    async with ScriptedOrigin([OK]) as origin, client() as upstream:
        await upstream.close()
        assert await failure(upstream, request_to(origin)) == (
            "origin-unreachable",
            "The request to the origin failed.",
        )


SHORT = UpstreamLimits(connect_timeout=0.5, total_timeout=0.5)
SILENT: dict[str, tuple[Parts, str]] = {
    "no head": ((Ending.STAY,), "The origin sent no response within 0.5 seconds (upstream.total_timeout)."),
    "half a head": (
        (b"HTTP/1.1 200 OK\r\nfoo: b", Ending.STAY),
        "The origin sent no response within 0.5 seconds (upstream.total_timeout).",
    ),
    "interim responses only": (
        (b"HTTP/1.1 103 E\r\n\r\n" * 9, Ending.STAY),
        "The origin sent no response within 0.5 seconds (upstream.total_timeout).",
    ),
    "no body": ((message(ONE), Ending.STAY), "The body did not arrive in time (upstream.total_timeout)."),
    "half a body": (
        (message(b"Content-Length: 9", body=b"abc"), Ending.STAY),
        "The body did not arrive in time (upstream.total_timeout).",
    ),
}


@pytest.mark.parametrize(("parts", "detail"), SILENT.values(), ids=SILENT)
async def test_silence(parts: Parts, detail: str) -> None:
    async with ScriptedOrigin([parts]) as origin, client(SHORT) as upstream:
        assert await failure(upstream, request_to(origin)) == ("origin-timeout", detail)


async def test_silent_handshake() -> None:
    async with ScriptedOrigin([OK]) as origin, client(UpstreamLimits(connect_timeout=0.2)) as upstream:
        request = request_to(origin, scheme="https")
        assert await failure(upstream, request) == (
            "origin-timeout",
            "The origin took too long to accept a connection (upstream.connect_timeout).",
        )


async def test_wait_for_a_free_connection_is_bounded() -> None:
    limits = UpstreamLimits(connect_timeout=0.2, max_connections=1)
    async with ScriptedOrigin([(message(ONE), Ending.STAY)]) as origin, client(limits) as upstream:
        held = await upstream.fetch(request_to(origin))
        assert await failure(upstream, request_to(origin)) == (
            "origin-timeout",
            "The origin took too long to accept a connection (upstream.connect_timeout).",
        )
        held.close()
