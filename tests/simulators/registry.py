"""An MCP-registry-shaped origin: pages by cursor, `updated_since`, statuses that lag behind what is true.

    registry = Registry(10_000)
    registry.move("com.example/server-7", "https://new.example.com/mcp", at=clock())
    async with Serving(registry, tls=authority.server("registry.test")) as serving:
        ...  # ask 127.0.0.1:{serving.port} for /v0.1/servers?limit=100
    origin.answer("/v0.1/servers?limit=100", registry.reply)    # or by an OriginSimulator

`asked` holds the query of every request, in order.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qsl

from aiohttp import web

from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.timestamps import timestamp
from tests.simulators.clock import START
from tests.simulators.origin import Reply

PATH: Final = "/v0.1/servers"
OFFICIAL: Final = "io.modelcontextprotocol.registry/official"
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_LIMIT: Final = 30
_MOST: Final = 100


@dataclass(frozen=True)
class Server:
    """A server as the registry lists it."""

    name: str
    urls: tuple[str, ...]
    updated_at: float = START - 86_400.0
    status: str = "active"

    def listed(self) -> dict[str, object]:
        """Its row on a page."""
        server = {
            "$schema": _SCHEMA,
            "name": self.name,
            "description": "Tools.",
            "version": "1.0.0",
            "remotes": [{"type": "streamable-http", "url": url} for url in self.urls],
        }
        updated = timestamp(self.updated_at, "seconds")
        official = {"status": self.status, "publishedAt": updated, "updatedAt": updated, "isLatest": True}
        return {"server": server, "_meta": {OFFICIAL: official}}


def name_of(number: int) -> str:
    return f"com.example/server-{number}"


def url_of(number: int, hosts: int = 500) -> str:
    return f"https://mcp-{number % hosts}.example.com/servers/{number}/mcp"


@dataclass
class Registry:
    """`count` servers on 500 hosts, each with one remote."""

    count: int
    cache_control: str = "max-age=300"
    asked: list[Mapping[str, str]] = field(default_factory=list)
    servers: dict[str, Server] = field(init=False)

    def __post_init__(self) -> None:
        self.servers = {name_of(n): Server(name_of(n), (url_of(n),)) for n in range(self.count)}

    def move(self, name: str, url: str, at: float) -> None:
        """From now on the server's one remote is elsewhere."""
        self.servers[name] = replace(self.servers[name], urls=(url,), updated_at=at)

    def mark(self, name: str, status: str, at: float) -> None:
        """Another status: active, deprecated or deleted."""
        self.servers[name] = replace(self.servers[name], status=status, updated_at=at)

    def add(self, name: str, url: str, at: float) -> None:
        """One server more."""
        self.servers[name] = Server(name, (url,), at)

    def page(self, query: str) -> dict[str, Any]:
        """What `GET /v0.1/servers?query` answers."""
        given = dict(parse_qsl(query))
        self.asked.append(given)
        since = datetime.fromisoformat(given["updated_since"]).timestamp() if "updated_since" in given else 0.0
        limit = min(int(given.get("limit", _LIMIT)), _MOST)
        start = int(given.get("cursor", "0").removeprefix("from:"))
        changed = [server for server in self.servers.values() if server.updated_at >= since]
        page = changed[start : start + limit]
        metadata: dict[str, object] = {"count": len(page)}
        if start + limit < len(changed):
            metadata["nextCursor"] = f"from:{start + limit}"
        return {"servers": [server.listed() for server in page], "metadata": metadata}

    def reply(self, request: Request) -> Reply:
        """The answer of a simulated origin."""
        body = json.dumps(self.page(request.target.query or "")).encode()
        return Reply(
            200, Fields((("Content-Type", "application/json"), ("Cache-Control", self.cache_control))), body
        )


class Serving:
    """The registry on a loopback socket."""

    def __init__(self, registry: Registry, tls: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self._registry = registry
        self._tls = tls

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_get(PATH, self._answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        # By the clock of the simulators, which stands still.
        headers = {"Cache-Control": self._registry.cache_control, "Date": format_http_date(START)}
        return web.json_response(self._registry.page(request.query_string), headers=headers)
