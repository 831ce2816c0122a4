"""TLS: which certificates are trusted, and what a client is told about the others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.upstream.addresses import CheckedResolver, OwnListeners
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from tests.simulators.wire import Authority, ScriptedOrigin
from tests.upstream.loopback import OK, client, failure, request_to

PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def limits(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> UpstreamLimits:
    ca_file = authority.write(tmp_path_factory.mktemp("tls") / "ca.pem")
    return UpstreamLimits(
        ca_file=str(ca_file), connect_to=(ConnectTo("example.com", None, "127.0.0.1", None),), total_timeout=2.0
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "example.com"])
async def test_trusted(authority: Authority, limits: UpstreamLimits, host: str) -> None:
    async with ScriptedOrigin([OK, OK], tls=authority.server(host)) as origin, client(limits) as upstream:
        for _ in range(2):
            response = await upstream.fetch(request_to(origin, scheme="https", host=host))
            assert await response.read(9) == b"hi"
        assert origin.connections == 1
        assert f"\r\nHost: {host}:{origin.port}\r\n".encode() in origin.requests[0]


UNKNOWN = (
    "certificate comes from an unknown authority. "
    "Name the authority that the proxy shall trust in upstream.ca_file."
)
UNTRUSTED: dict[str, tuple[Callable[[Authority], ssl.SSLContext], str, str]] = {
    "expired": (lambda ca: ca.server("127.0.0.1", not_after=PAST), "127.0.0.1", "certificate has expired."),
    "another host": (lambda ca: ca.server("example.org"), "example.com", "certificate is for another host."),
    "another address": (lambda ca: ca.server("10.0.0.1"), "127.0.0.1", "certificate is for another host."),
    "the host connected to": (lambda ca: ca.server("127.0.0.1"), "example.com", "certificate is for another host."),
    "unknown authority": (
        lambda _: Authority().server("127.0.0.1"),
        "127.0.0.1",
        UNKNOWN,
    ),
}


@pytest.mark.parametrize(("server", "host", "detail"), UNTRUSTED.values(), ids=UNTRUSTED)
async def test_untrusted(
    authority: Authority,
    limits: UpstreamLimits,
    server: Callable[[Authority], ssl.SSLContext],
    host: str,
    detail: str,
) -> None:
    async with ScriptedOrigin([OK], tls=server(authority)) as origin, client(limits) as upstream:
        request = request_to(origin, scheme="https", host=host)
        assert await failure(upstream, request) == ("origin-unreachable", f"The origin's TLS {detail}")
        assert origin.requests == []


async def test_the_system_trusts_others(authority: Authority) -> None:
    async with ScriptedOrigin([OK], tls=authority.server("127.0.0.1")) as origin, client() as upstream:
        fault, detail = await failure(upstream, request_to(origin, scheme="https"))
        assert (fault, detail) == ("origin-unreachable", f"The origin's TLS {UNKNOWN}")


async def test_no_tls_there(limits: UpstreamLimits) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server, client(limits) as upstream:
        port = server.sockets[0].getsockname()[1]
        request = Request("GET", Target("https", "127.0.0.1", port, "/", None), Fields())
        assert await failure(upstream, request) == (
            "origin-unreachable",
            "The TLS handshake with the origin failed.",
        )


async def test_unusable_ca_file(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        AiohttpOrigin(
            UpstreamLimits(ca_file=str(tmp_path / "none.pem")), CheckedResolver(OwnListeners()), lambda: 0.0
        )
