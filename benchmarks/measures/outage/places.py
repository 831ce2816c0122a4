"""Three domains, two mirrors and a trustless gateway on loopback, which die and come back."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trustme

from benchmarks.publisher import DID_PATH, MANIFEST_PATH, Publisher
from proxy.demo.documents import CATCH_ALL, Document
from proxy.demo.origin import LocalOrigin
from proxy.trust.content.unixfs import add_file

_GATEWAY_HOST: Final = "gateway.example.net"
_MIRROR_HOSTS: Final = ("mirror1.example.net", "mirror2.example.org")
_SIZE: Final = 2048
_SOON_STALE: Final = "public, max-age=1"
_OF_MIRRORS: Final = "public, max-age=300"


class Death(Enum):
    """How a place is gone: nobody listens, or connections are accepted and nothing is ever said on them."""

    REFUSING = "refuses connections"
    SILENT = "accepts and stays silent"


class Domain(Enum):
    """What a domain allows while it is away: its host, and the rest of its Cache-Control."""

    MIRRORED = ("mirrors, no stale copy", "mirrored.example.com", "must-revalidate")
    STALE = ("a stale copy, no mirrors", "stale.example.com", "stale-if-error=86400")
    PLAIN = ("neither", "plain.example.com", "must-revalidate")

    @property
    def text(self) -> str:
        """As a table has it."""
        return self.value[0]

    @property
    def host(self) -> str:
        """Its host."""
        return self.value[1]

    @property
    def cache_control(self) -> str:
        """Of its manifest."""
        return f"{_SOON_STALE}, {self.value[2]}"


class Place:
    """A server that can die and live again on its port."""

    def __init__(self, origin: LocalOrigin) -> None:
        self._origin = origin
        self._silence: asyncio.Server | None = None
        self._held: list[asyncio.StreamWriter] = []

    @property
    def port(self) -> int:
        """Where it listens, alive or not."""
        return self._origin.port

    async def live(self) -> None:
        """Answer from now on."""
        await self._break_silence()
        await self._origin.start()

    async def die(self, death: Death) -> None:
        """Cut every connection, and be gone in this way; one that is gone already is from now on gone in this."""
        await self._break_silence()
        await self._origin.kill()
        if death is Death.SILENT:
            self._silence = await asyncio.start_server(self._hold, "127.0.0.1", self.port, backlog=1024)

    def _hold(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held.append(writer)

    async def _break_silence(self) -> None:
        if self._silence is not None:
            self._silence.close()
            self._silence = None
        for writer in self._held:
            writer.transport.abort()
        self._held.clear()


async def kill(places: Sequence[Place], death: Death) -> None:
    """All of them in one moment, or nearly."""
    await asyncio.gather(*(place.die(death) for place in places))


@dataclass(frozen=True, slots=True)
class World:
    """The places, and what a proxy and a client of its own have to know of them."""

    domains: tuple[Place, ...]
    mirrors: tuple[Place, ...]
    gateway: Place
    settings: dict[str, str]
    tls: ssl.SSLContext
    block_path: str

    async def by_itself(self, place: Place) -> float:
        """Milliseconds in which a client of its own has what a mirror or gateway has, connection included."""
        is_gateway = place is self.gateway
        host, path = (_GATEWAY_HOST, self.block_path) if is_gateway else (_MIRROR_HOSTS[0], MANIFEST_PATH)
        started = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", place.port, ssl=self.tls, server_hostname=host)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        await reader.read()
        elapsed = time.perf_counter() - started
        writer.close()
        return elapsed * 1000


@asynccontextmanager
async def world(now: float) -> AsyncIterator[World]:
    """Everything alive; gone when the block is left. `now` in Unix seconds."""
    authority = trustme.CA()
    mirrored = Publisher(Domain.MIRRORED.host, now)
    cid, blocks = add_file(mirrored.manifest(_SIZE))
    ipfs = f"ipfs://{cid.text}"
    manifest = mirrored.manifest(
        _SIZE, mirrors=[*(f"https://{host}{MANIFEST_PATH}" for host in _MIRROR_HOSTS), ipfs]
    )
    domains = [_domain(Domain.MIRRORED, mirrored, manifest, authority)]
    for domain in (Domain.STALE, Domain.PLAIN):
        publisher = Publisher(domain.host, now)
        domains.append(_domain(domain, publisher, publisher.manifest(_SIZE), authority))
    mirrors = [
        _published(host, authority, Document("copy", MANIFEST_PATH, "application/json", manifest, _OF_MIRRORS))
        for host in _MIRROR_HOSTS
    ]
    stored = [Document(cid.text, f"/ipfs/{cid.text}", "application/vnd.ipld.raw", block) for cid, block in blocks]
    gateway = _published(_GATEWAY_HOST, authority, *stored)
    places = (*domains, *mirrors, gateway)
    for place in places:
        await place.live()
    with TemporaryDirectory() as directory:
        ca_file = Path(directory, "ca.pem")
        authority.cert_pem.write_to_path(str(ca_file))
        hosts = (*(domain.host for domain in Domain), *_MIRROR_HOSTS, _GATEWAY_HOST)
        connect_to = [f"{host}:443:127.0.0.1:{place.port}" for host, place in zip(hosts, places, strict=True)]
        settings = {
            "UPSTREAM__CA_FILE": str(ca_file),
            "UPSTREAM__CONNECT_TO": json.dumps(connect_to),
            "FAILOVER__IPFS_GATEWAYS": json.dumps([f"https://{_GATEWAY_HOST}"]),
        }
        tls = ssl.create_default_context(cafile=str(ca_file))
        try:
            yield World(tuple(domains), tuple(mirrors), gateway, settings, tls, stored[-1].path)
        finally:
            await kill(places, Death.REFUSING)


def _domain(domain: Domain, publisher: Publisher, manifest: bytes, authority: trustme.CA) -> Place:
    return _published(
        domain.host,
        authority,
        Document("manifest", MANIFEST_PATH, "application/json", manifest, domain.cache_control),
        Document("did.json", DID_PATH, "application/json", publisher.did_document, _OF_MIRRORS),
    )


def _published(host: str, authority: trustme.CA, *documents: Document) -> Place:
    origin = LocalOrigin((host,), authority, CATCH_ALL)
    origin.publish(*documents)
    return Place(origin)
