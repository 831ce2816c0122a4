"""Everything that a step may use, started together and gone together."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trustme
from aiohttp import ClientSession, ClientTimeout

from proxy.demo.admin import Freshness, Operator
from proxy.demo.agent import Agent, Answer
from proxy.demo.documents import (
    AUTHORIZATION_HOST,
    CATALOG,
    CATCH_ALL,
    HOST,
    MANIFEST,
    MIRROR_HOSTS,
    ORDER,
    PUBLISHED,
    REGISTRY_HOST,
    REVISED_MANIFEST,
    ZONE,
    Document,
)
from proxy.demo.gateway import LocalGateway
from proxy.demo.loopback import LoopbackServer
from proxy.demo.nameserver import NameServer
from proxy.demo.origin import LocalOrigin
from proxy.demo.process import CannotStart, ProxyProcess
from proxy.demo.publisher import Publication, Publisher, tampered

CLIENT: Final = "market-agent"
TOKEN: Final = "of-the-demo-and-no-other"
"""By which the proxy knows that client, of level L4."""

_PATIENCE: Final = ClientTimeout(total=10)
_PAUSE: Final = 0.05
# Freshness is told in milliseconds, so the moment after its end is this much later.
_JUST_AFTER: Final = 0.01


@dataclass(slots=True)
class Stage:
    """The local internet and the proxy in it. `waiting` tells people what is being waited for.

    `first` and `revised` are the versions of the manifest; the first of the two mirrors changes what it publishes.
    """

    origin: LocalOrigin
    registry: LocalOrigin
    mirrors: tuple[LocalOrigin, LocalOrigin]
    gateway: LocalGateway
    nameserver: NameServer
    first: Publication
    revised: Publication
    proxy: ProxyProcess
    agent: Agent
    operator: Operator
    ca_file: Path
    config: Path
    waiting: Callable[[str], None]

    @property
    def servers(self) -> Mapping[str, LoopbackServer]:
        """Who can be killed, by name."""
        liar, honest = self.mirrors
        return {
            "origin": self.origin,
            "registry": self.registry,
            "mirror1": liar,
            "mirror2": honest,
            "gateway": self.gateway,
        }

    def publish(self, publication: Publication) -> None:
        """Bring a version of the manifest to everybody who has a copy."""
        liar, honest = self.mirrors
        self.origin.publish(publication.manifest)
        liar.publish(tampered(publication.mirrored))
        honest.publish(publication.mirrored)
        self.gateway.pin(publication.blocks)

    async def until(self, document: Document, holds: Callable[[Answer], bool]) -> Answer:
        """Ask until the answer is so."""
        while True:
            answer = await self.agent.get(document)
            if holds(answer):
                return answer
            await asyncio.sleep(_PAUSE)

    async def fresh(self, document: Document, seconds: int = 0) -> Answer:
        """Ask until the answer is a hit with at least `seconds` of freshness left."""
        return await self.until(
            document, lambda answer: answer.is_fresh_hit and answer.ttl is not None and answer.ttl >= seconds
        )

    async def sought(self, document: Document) -> Answer:
        """Ask for a document of a dead origin: the copy, with the places where the proxy looked for it."""
        self.proxy.forget()
        answer = await self.agent.get(document)
        if answer.problem is not None:
            return answer
        return replace(answer, attempts=await self.proxy.attempts())

    async def expiry(self, document: Document) -> None:
        """Wait until what the proxy has stored of a document is stale."""
        stored = await self._stored(document)
        await self._pass(stored.left, "the end of its freshness")

    async def end_of_window(self, document: Document) -> None:
        """Wait until it may no longer be served while it is revalidated."""
        stored = await self._stored(document)
        await self._pass(stored.left + stored.while_revalidating, "the end of stale-while-revalidate")

    async def end_of_stale(self, document: Document) -> None:
        """Wait until it may no longer be served at all."""
        stored = await self._stored(document)
        await self._pass(stored.left + stored.if_error, "the end of stale-if-error")

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
    publisher = Publisher(datetime.now(UTC).timestamp())
    origin = LocalOrigin((HOST, AUTHORIZATION_HOST), authority, CATCH_ALL)
    origin.publish(*PUBLISHED, publisher.did_document)
    origin.take(ORDER)
    liar, honest = (LocalOrigin((host,), authority, CATCH_ALL) for host in MIRROR_HOSTS)
    registry = LocalOrigin((REGISTRY_HOST,), authority, CATCH_ALL)
    registry.publish(CATALOG)
    gateway = LocalGateway()
    for server in (origin, registry, liar, honest, gateway):
        await server.start()
        stack.push_async_callback(server.kill)
    nameserver = NameServer(ZONE)
    await nameserver.start()
    stack.callback(nameserver.stop)
    https = {
        HOST: origin,
        AUTHORIZATION_HOST: origin,
        REGISTRY_HOST: registry,
        **dict(zip(MIRROR_HOSTS, (liar, honest), strict=True)),
    }
    config = _written_config(directory, ca_file, https, gateway, nameserver)
    proxy = ProxyProcess(config)
    stack.push_async_callback(proxy.stop)
    await proxy.start()
    session = await stack.enter_async_context(ClientSession(timeout=_PATIENCE))
    operator = Operator(session, proxy.admin)
    await operator.ready()
    stage = Stage(
        origin=origin,
        registry=registry,
        mirrors=(liar, honest),
        gateway=gateway,
        nameserver=nameserver,
        first=publisher.publication(MANIFEST, 1),
        revised=publisher.publication(REVISED_MANIFEST, 2),
        proxy=proxy,
        agent=Agent(session, proxy.data),
        operator=operator,
        ca_file=ca_file,
        config=config,
        waiting=waiting,
    )
    stage.publish(stage.first)
    return stage


def _written_config(
    directory: Path,
    ca_file: Path,
    https: Mapping[str, LoopbackServer],
    gateway: LocalGateway,
    nameserver: NameServer,
) -> Path:
    """The proxy's configuration, `https` by host; JSON is YAML."""
    settings = {
        "listen": {"drain_timeout": "1s"},
        "store": {"url": f"sqlite:///{directory / 'store.db'}"},
        # A recovered origin is to be noticed within the patience of somebody who watches.
        "cache": {"refresh_backoff": "200ms"},
        "upstream": {
            "ca_file": str(ca_file),
            "connect_to": [f"{host}:443:127.0.0.1:{server.port}" for host, server in https.items()],
        },
        "dns": {"resolvers": [f"127.0.0.1:{nameserver.port}"], "trust_anchors": "none"},
        "clients": {"tokens": [{"id": CLIENT, "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}]},
        # The first mirror is to be heard before the second is asked, however busy the machine is.
        "failover": {"ipfs_gateways": [gateway.url], "hedge_delay": "2s"},
    }
    path = directory / "config.yaml"
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return path
