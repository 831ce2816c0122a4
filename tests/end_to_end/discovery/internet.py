"""A small internet on loopback: a signed zone tree, a name server in front of it that counts, and sites over TLS.

    async with Internet(tree, tmp_path) as internet:
        internet.publish("agents.example.com", "/.well-known/agent-card.json", {...})
        async with internet.proxy() as proxy:
            reply = await discover(proxy, "agents.example.com")

The zones are those of `tests.simulators.knot` with `ZONES` added, served by Knot DNS. Names that lead to `SITES`
are served here; to `BLACK_HOLE` lead the names that nobody may need, and who connects is counted. Both listen on
one port that stands in for 443: the proxy connects to it (`upstream.connect_to`) at the address it has looked up.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from proxy.discovery.central import CENTRAL_SERVICES
from proxy.http.fields import Fields
from tests.end_to_end.discovery.counting import CountingNameserver
from tests.end_to_end.running import Reply, Running, request, running
from tests.simulators.knot import Internet as ZoneTree
from tests.simulators.wire import Authority, read_message

SITES: Final = "127.0.0.1"
BLACK_HOLE: Final = "127.0.0.66"
NOBODY: Final = "127.0.0.99"
MANIFEST: Final = "/.well-known/uaix-agent-access.json"
JUDGED: Final = (
    *("nsec3.com", "optout.com", "iterations.com", "unsigned.com", "old.com", "free.nsec3.com", "free.optout.com"),
    *("expired.com", "future.com", "wrongkey.com", "stripped.com"),
)
# Other processes may speak on the same link.
LOCAL: Final = f"printer-{os.getpid()}.local"
CERTIFIED: Final = ("*.example.com", "example.com", LOCAL, *JUDGED)
DID: Final = "did:web:agents.example.com"
_KEY: Final = "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ"


def _central(*suffixes: str) -> str:
    """The central services below some top-level domains, and all names below them, at the black hole."""
    names = sorted(name for name in CENTRAL_SERVICES if name.endswith(suffixes))
    return "\n".join(f"{owner}. IN A {BLACK_HOLE}" for name in names for owner in (name, f"*.{name}"))


# Zone-format text by domain, beside what the zones hold anyway.
ZONES: Final = {
    "example.com.": f"""
agents                IN A     {SITES}
auth                  IN A     {SITES}
_agent.agents         IN TXT   "v=uaix1; endpoint=https://agents.example.com{MANIFEST}" "; did={DID}"
_agent.agents         IN TXT   "v=aid2;u=https://agents.example.com/mcp;p=mcp"
_catalog._agents.agents IN SVCB 1 agents alpn="h2" port=443 key65280="/.well-known/pointed.json"
quiet                 IN A     {SITES}
down                  IN A     {NOBODY}
withdrawn             IN A     {SITES}
peer                  IN A     {SITES}
_agent.peer           IN TXT   "v=uaix1; endpoint=https://uaix.org{MANIFEST}"
_agent.peer           IN TXT   "v=aid2;u=https://smithery.ai/mcp;p=mcp;k={_KEY}"
_catalog._agents.peer IN SVCB  1 registry.modelcontextprotocol.io. alpn="h2"
_index._agents.peer   IN TXT   "registry=https://pulsemcp.com/catalog.json"
two                   IN A     {SITES}
_agent.two            IN TXT   "v=aid2;u=https://agents.example.com/a;p=mcp"
_agent.two            IN TXT   "v=aid2;u=https://agents.example.com/b;p=mcp"
mended                IN A     {SITES}
_agent.mended         IN TXT   "v=aid2;p=mcp"
_agent.mended         IN TXT   "v=aid2;u=https://agents.example.com/mcp;p=mcp"
broken                IN A     {SITES}
_agent.broken         IN TXT   "v=aid2;u=http://agents.example.com/mcp;p=mcp"
inside                IN A     {SITES}
_agent.inside         IN TXT   "v=aid2;u=https://10.1.2.3/mcp;p=mcp"
market                IN A     {SITES}
_index._agents.market IN TXT   "agents=chat:mcp,billing:a2a,missing:mcp"
chat.market           IN SVCB  1 agents alpn="mcp"
chat._agents.market   IN SVCB  0 chat.market
billing.market        IN SVCB  1 agents alpn="a2a" port=8443
billing._agents.market IN SVCB 1 agents alpn="a2a" port=8443
far                   IN A     {SITES}
_catalog._agents.far  IN SVCB  1 nsec3.com. alpn="h2"
tiers                 IN A     {SITES}
_index._agents.tiers  IN HTTPS 1 agents alpn="h2"
ports                 IN A     {SITES}
_catalog._agents.ports IN SVCB 1 agents alpn="h2" port=8443
ranked                IN A     {SITES}
_catalog._agents.ranked IN SVCB 2 market alpn="h2"
_catalog._agents.ranked IN SVCB 1 agents alpn="h2"
private               IN A     10.1.2.3
partly                IN A     1.1.1.1
partly                IN A     10.1.2.3
half                  IN A     1.1.1.1
half                  IN AAAA  ::1
six                   IN AAAA  ::1
mapped                IN AAAA  ::ffff:10.1.2.3
metadata              IN A     169.254.169.254
alias                 IN CNAME private
loopback              IN A     {SITES}
keyed                 IN A     {SITES}
_agent.keyed          IN TXT   "v=aid2;u=https://keyed.example.com/mcp;p=mcp;k={_KEY}"
_agent.big            IN TXT   "v=aid2;u=https://agents.example.com/mcp;p=mcp;s=Tools"
_agent.big            IN TXT   {" ".join(f'"{"x" * 250}"' for _ in range(8))}
big                   IN A     {SITES}
""",
    **{f"{name}.": f"@ IN A {SITES}" for name in JUDGED},
    "unsigned.com.": f"""
@                     IN A     {SITES}
_catalog._agents      IN SVCB  1 agents.example.com. alpn="h2"
""",
    "com.": _central(".com"),
    ".": _central(".ai", ".io", ".org", ".so"),
}


@dataclass(frozen=True, slots=True)
class Published:
    """What a site answers at a path; `max_age` None: no Cache-Control. Conditional requests are heeded."""

    body: bytes
    media_type: str = "application/json"
    max_age: int | None = 300
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that a site answered, and the octets of both messages above TLS."""

    method: str
    host: str
    path: str
    fields: Fields
    status: int
    octets_in: int
    octets_out: int


class Internet:
    """See the module's text. `exchanges` are what the sites answered; `touched` counts calls at the black hole.

    `port` stands in for 443 everywhere.
    """

    def __init__(self, tree: ZoneTree, directory: Path) -> None:
        self.authority = Authority()
        self.ca_file = self.authority.write(directory / "ca.pem")
        self.anchors = directory / "anchors.db"
        self.anchors.write_text(tree.anchors_text, encoding="utf-8")
        self.nameserver = CountingNameserver(tree.port)
        self.exchanges: list[Exchange] = []
        self.touched = 0
        self.port = 0
        self._published: dict[tuple[str, str], Published] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[asyncio.Server] = []

    def publish(self, host: str, path: str, document: object, **how: Any) -> None:
        """From now on `host` has `document` at `path`: octets, or what is written as JSON; see `Published`."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self._published[host, path] = Published(body, **how)

    def forget(self) -> None:
        """Count from here."""
        self.exchanges.clear()
        self.nameserver.forget()

    def statuses(self, host: str) -> dict[str, int]:
        """The status of the last answer of `host` for each path, HEAD's marked."""
        marks = {"GET": "", "HEAD": "HEAD "}
        return {marks[one.method] + one.path: one.status for one in self.exchanges if one.host == host}

    @property
    def overhead(self) -> dict[str, int]:
        """What went through the sockets here, by the names that a discovery answer has for it."""
        nameserver = self.nameserver
        return {
            "http_requests": len(self.exchanges),
            "dns_queries": len(nameserver.questions),
            "bytes_sent": sum(one.octets_in for one in self.exchanges) + nameserver.octets_in,
            "bytes_received": sum(one.octets_out for one in self.exchanges) + nameserver.octets_out,
        }

    @property
    def sections(self) -> dict[str, object]:
        """The configuration of a proxy in this internet."""
        # The published sample has addresses of documentation: its names are served here all the same.
        names = ("example.com", "shop.example.com", "api.example.com", "docs.example.com")
        samples = [f"{name}:443:{SITES}:{self.port}" for name in names]
        return {
            "dns__resolvers": [f"{SITES}:{self.nameserver.port}"],
            "dns__trust_anchors": str(self.anchors),
            "discovery__deadline": 4,
            "upstream__ca_file": str(self.ca_file),
            "upstream__connect_to": [*samples, f":443::{self.port}"],
        }

    @asynccontextmanager
    async def proxy(self, **sections: object) -> AsyncIterator[Running]:
        """A proxy in this internet; `sections` are laid over its configuration."""
        async with running(**{**self.sections, **sections}) as proxy:
            yield proxy

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self.nameserver)
            opened.push_async_callback(self._close)
            await self._listen()
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def _listen(self) -> None:
        tls = self.authority.server(*CERTIFIED)
        sites = await asyncio.start_server(self._accept, SITES, 0, ssl=tls, limit=2**20)
        self._listeners.append(sites)
        self.port = sites.sockets[0].getsockname()[1]
        self._listeners.append(await asyncio.start_server(self._swallow, BLACK_HOLE, self.port))

    async def _close(self) -> None:
        for listener in self._listeners:
            listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _swallow(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.touched += 1
        writer.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(self._answered(await read_message(reader)))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answered(self, received: bytes) -> bytes:
        first, *lines = received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        fields = Fields((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
        host = (fields.get("host") or "").partition(":")[0]
        published = self._published.get((host, path)) or Published(b"", "text/plain", None, 404)
        is_known = published.status == 200 and fields.get("if-none-match") == published.etag
        status = 304 if is_known else published.status
        answer = _message(published, status, with_body=method != "HEAD" and not is_known)
        self.exchanges.append(Exchange(method, host, path, fields, status, len(received), len(answer)))
        return answer


def _message(published: Published, status: int, *, with_body: bool) -> bytes:
    lines = [f"HTTP/1.1 {status} Published", *(f"{name}: {value}" for name, value in published.fields)]
    if published.max_age is not None:
        lines.append(f"Cache-Control: max-age={published.max_age}")
    if published.status == 200:
        lines.append(f"ETag: {published.etag}")
    if status != 304:
        lines += [f"Content-Type: {published.media_type}", f"Content-Length: {len(published.body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (published.body if with_body else b"")


def client_tls(internet: Internet) -> ssl.SSLContext:
    """What a client of the sites trusts."""
    return ssl.create_default_context(cafile=str(internet.ca_file))


async def discover(proxy: Running, domain: str, *lines: str, method: str = "GET") -> Reply:
    """The answer about a domain; `domain` may go on with a query."""
    return await proxy.ask(request(method, f"/v1/discover/{domain}", *lines), method)


async def described(proxy: Running, domain: str) -> dict[str, Any]:
    """The members of the answer about a domain, whatever its status."""
    members: dict[str, Any] = json.loads((await discover(proxy, domain)).body)
    return members
