"""Everything that a step may use, started together and gone together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trustme
from aiohttp import ClientSession, ClientTimeout

from proxy.demo.admin import Freshness, Operator
from proxy.demo.agent import Agent, Answer
from proxy.demo.documents import AUTHORIZATION_HOST, CATCH_ALL, HOST, PUBLISHED, ZONE, Document
from proxy.demo.nameserver import NameServer
from proxy.demo.origin import LocalOrigin
from proxy.demo.process import CannotStart, ProxyProcess

_PATIENCE: Final = ClientTimeout(total=10)
_PAUSE: Final = 0.05
# Freshness is told in milliseconds, so the moment after its end is this much later.
_JUST_AFTER: Final = 0.01


@dataclass(slots=True)
class Stage:
    """The local internet and the proxy in it. `waiting` tells people what is being waited for."""

    origin: LocalOrigin
    nameserver: NameServer
    proxy: ProxyProcess
    agent: Agent
    operator: Operator
    ca_file: Path
    config: Path
    waiting: Callable[[str], None]

    async def fresh(self, document: Document, seconds: int = 0) -> Answer:
        """Ask until the answer is a hit with at least `seconds` of freshness left."""
        while True:
            answer = await self.agent.get(document)
            if answer.is_fresh_hit and answer.ttl is not None and answer.ttl >= seconds:
                return answer
            await asyncio.sleep(_PAUSE)

    async def expiry(self, document: Document) -> None:
        """Wait until what the proxy has stored of a document is stale."""
        stored = await self._stored(document)
        await self._pass(stored.left, "the end of its freshness")

    async def end_of_window(self, document: Document) -> None:
        """Wait until it may no longer be served while it is revalidated."""
        stored = await self._stored(document)
        await self._pass(stored.left + stored.while_revalidating, "the end of stale-while-revalidate")

    async def restart(self) -> None:
        """Kill the proxy and start another in its place."""
        await self.proxy.kill()
        await self.proxy.start()
        await self.operator.ready()

    async def _stored(self, document: Document) -> Freshness:
        """Asked of the admin port, since a request for the document itself could start a refresh."""
        stored = await self.operator.stored(document)
        if stored is None:
            raise LookupError(f"nothing is stored of the {document.name}")
        return stored

    async def _pass(self, seconds: float, until: str) -> None:
        seconds = max(0.0, seconds + _JUST_AFTER)
        self.waiting(f"{seconds:.1f} s to {until}")
        await asyncio.sleep(seconds)


@asynccontextmanager
async def opened(waiting: Callable[[str], None]) -> AsyncIterator[Stage]:
    """A stage with everything running. Raises CannotStart."""
    async with AsyncExitStack() as stack:
        try:
            stage = await _open(stack, waiting)
        except OSError as error:
            raise CannotStart(error.strerror or str(error)) from error
        yield stage


async def _open(stack: AsyncExitStack, waiting: Callable[[str], None]) -> Stage:
    directory = Path(stack.enter_context(TemporaryDirectory(prefix="discovery-proxy-demo-")))
    ca_file = directory / "ca.pem"
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(ca_file))
    origin = LocalOrigin((HOST, AUTHORIZATION_HOST), authority, CATCH_ALL)
    origin.publish(*PUBLISHED)
    await origin.start()
    stack.push_async_callback(origin.kill)
    nameserver = NameServer(ZONE)
    await nameserver.start()
    stack.callback(nameserver.stop)
    config = _written_config(directory, ca_file, origin.port, nameserver.port)
    proxy = ProxyProcess(config)
    stack.push_async_callback(proxy.stop)
    await proxy.start()
    session = await stack.enter_async_context(ClientSession(timeout=_PATIENCE))
    operator = Operator(session, proxy.admin)
    await operator.ready()
    agent = Agent(session, proxy.data)
    return Stage(origin, nameserver, proxy, agent, operator, ca_file, config, waiting)


def _written_config(directory: Path, ca_file: Path, origin_port: int, nameserver_port: int) -> Path:
    """The proxy's configuration; JSON is YAML."""
    settings = {
        "listen": {"drain_timeout": "1s"},
        "store": {"url": f"sqlite:///{directory / 'store.db'}"},
        # A recovered origin is to be noticed within the patience of somebody who watches.
        "cache": {"refresh_backoff": "200ms"},
        "upstream": {
            "ca_file": str(ca_file),
            "connect_to": [f"{host}:443:127.0.0.1:{origin_port}" for host in (HOST, AUTHORIZATION_HOST)],
        },
        "dns": {"resolvers": [f"127.0.0.1:{nameserver_port}"], "trust_anchors": "none"},
    }
    path = directory / "config.yaml"
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return path
