"""An `AiohttpOrigin` and requests to a `ScriptedOrigin` on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import Clock, OriginUnavailable
from proxy.upstream.addresses import AddressPolicy, CheckedResolver, OwnListeners
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from tests.simulators.wire import ScriptedOrigin

DEFAULTS = UpstreamLimits()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


def message(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK", body: bytes = b"") -> bytes:
    """A response in octets."""
    return b"\r\n".join([status, *lines, b"", body])


def request_to(
    origin: ScriptedOrigin,
    method: str = "GET",
    path: str = "/",
    query: str | None = None,
    fields: tuple[tuple[str, str], ...] = (),
    scheme: str = "http",
    host: str = "127.0.0.1",
) -> Request:
    return Request(method, Target(scheme, host, origin.port, path, query), Fields(fields))


@asynccontextmanager
async def client(
    limits: UpstreamLimits = DEFAULTS, policy: AddressPolicy | None = None, clock: Clock = lambda: 1_000_000.0
) -> AsyncIterator[AiohttpOrigin]:
    origin = AiohttpOrigin(limits, CheckedResolver(policy or OwnListeners()), clock)
    try:
        yield origin
    finally:
        await origin.close()


async def failure(upstream: AiohttpOrigin, request: Request) -> tuple[str, str]:
    """Fault and detail of fetching `request` with its body."""
    with pytest.raises(OriginUnavailable) as caught:
        response = await upstream.fetch(request)
        await response.read(10_000_000)
    return caught.value.fault.value, caught.value.detail
