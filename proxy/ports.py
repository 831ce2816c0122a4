"""What the engine needs of the world: protocols, their values and the errors that come out of them.

An implementer raises only the family named here; everything else is a fault of the adapter.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from proxy.caching.freshness import Exchange
from proxy.caching.generations import Purges
from proxy.caching.stored import StoredResponse
from proxy.discovery.records.dnsvalues import DnsAnswer
from proxy.discovery.records.localservices import Browsed
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.targets import Target

Clock = Callable[[], float]
"""Unix seconds."""

Body = AsyncIterator[bytes] | bytes | None
"""A request body: whole, streamed once, or none."""

Interim = Callable[[ResponseHead], None]
"""Told of each 1xx response (RFC 9110 §15.2) before the final one."""


class OriginFault(StrEnum):
    """How an origin failed; the values are problem slugs."""

    UNREACHABLE = "origin-unreachable"
    TIMEOUT = "origin-timeout"
    INVALID_RESPONSE = "origin-invalid-response"
    DENIED = "egress-denied"
    OVERLOADED = "overloaded"


class OriginUnavailable(Exception):
    """The origin gave no usable response. `detail` is fit for clients: no address, path or secret in it."""

    def __init__(self, fault: OriginFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


class StoreUnavailable(Exception):
    """The persistent store failed or took too long; the request goes on without it."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A body grew past the limit; `read` is what had come until then, the rest follows in `chunks`."""

    read: bytes


class OriginResponse(Protocol):
    """A response whose head has arrived."""

    @property
    def head(self) -> ResponseHead:
        """All fields as received, hop-by-hop ones included."""
        ...

    @property
    def exchange(self) -> Exchange:
        """When the request was sent and the head received."""
        ...

    async def read(self, max_bytes: int) -> bytes | Overflow:
        """The whole body, or an `Overflow`. Raises OriginUnavailable when it is cut short or overdue."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, or what of it has not been read. Raises OriginUnavailable when it is cut short."""
        ...

    def close(self) -> None:
        """Let go of the connection; harmless when the body was read to its end."""
        ...


class ByteStream(Protocol):
    """One end of a tunnel."""

    async def read(self) -> bytes:
        """Some bytes, empty at the end. Raises OSError when the connection is lost."""
        ...

    async def write(self, data: bytes) -> None:
        """Send `data`, waiting while the peer reads slowly. Raises OSError when the connection is lost."""
        ...

    def write_eof(self) -> None:
        """Nothing more follows from this side; the other direction goes on."""
        ...

    def close(self) -> None:
        """End both directions."""
        ...


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The origin switched protocols (RFC 9110 §7.8)."""

    head: ResponseHead
    stream: ByteStream


class Origin(Protocol):
    """The network. Every call is bounded in time, size and address by the adapter's own limits."""

    async def fetch(self, request: Request, body: Body = None, interim: Interim | None = None) -> OriginResponse:
        """Send `request` as it is. Redirects are not followed. Raises OriginUnavailable."""
        ...

    async def upgrade(self, request: Request) -> Upgraded | OriginResponse:
        """Send `request` with its Upgrade field. Raises OriginUnavailable."""
        ...

    async def connect(self, host: str, port: int) -> ByteStream:
        """A connection for a CONNECT tunnel. Raises OriginUnavailable."""
        ...

    async def close(self) -> None:
        """Close every idle connection."""
        ...


class Dns(Protocol):
    """Resolvers. Every query is bounded in time; what can be kept is kept."""

    async def resolve(self, name: str, record_type: str) -> DnsAnswer:
        """The records of `record_type` ("TXT", "SVCB", "HTTPS", "A", "AAAA") at `name`. Failures are values."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class LocalLink(Protocol):
    """Multicast DNS on the local link (RFC 6762, RFC 6763)."""

    async def browse(self, seconds: float) -> Browsed:
        """Every agent service heard within `seconds`. Failures are values."""
        ...

    def admit(self, host: str, addresses: tuple[str, ...]) -> None:
        """From now on requests of the local realm for `host` go to these addresses."""
        ...

    async def close(self) -> None:
        """Leave the multicast groups."""
        ...


class Store(Protocol):
    """Where stored responses outlive the process. Every method may raise StoreUnavailable."""

    async def find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        """The variants under `key` that `request` may select, newest last; empty when there are none."""
        ...

    async def put(self, key: str, stored: StoredResponse) -> None:
        """Publish `stored` under `key`, then remove what it replaces."""
        ...

    async def remove(self, key: str) -> int:
        """Remove every variant under `key`; how many there were."""
        ...

    async def close(self) -> None:
        """Release files and connections."""
        ...


class Generations(Purges, Protocol):
    """Purge marks, durable (see caching.generations)."""

    @property
    def latest(self) -> int:
        """The generation a fetch that starts now belongs to."""
        ...

    def mark(self, scopes: tuple[str, ...], now: float, *, soft: bool) -> None:
        """Begin a new generation and mark `scopes` with it; durable when this returns. Raises StoreUnavailable."""
        ...

    def close(self) -> None:
        """Release the file, where there is one."""
        ...


class MirrorUnavailable(Exception):
    """No usable answer. `reason` is a problem slug, `status-NNN` or the like; `detail` is fit for clients."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class MirrorAnswer:
    """The body of a 200, uncoded; nobody vouches for it. `media_type` is lower case, bare, "" for none; `max_age`
    is for how many seconds more it calls itself fresh, None where it does not say."""

    media_type: str
    body: bytes
    max_age: float | None


class Mirrors(Protocol):
    """Where copies lie that somebody else keeps. Every call is bounded in time, size and address."""

    async def fetch(
        self,
        target: Target,
        accept: str,
        max_bytes: int,
        seconds: float,
        realm: Realm,
        may_follow: Callable[[Target], bool],
    ) -> MirrorAnswer:
        """What `target` has, after a few redirects to where `may_follow` allows. Raises MirrorUnavailable."""
        ...


class Observer(Protocol):
    """Told what happened, for metrics. Never raises, never waits."""

    def upstream(self, reason: str, result: str, seconds: float) -> None:
        """A request to an origin ended."""
        ...

    def collapsed(self) -> None:
        """A request waited for another's fill."""
        ...

    def refreshed(self, result: str) -> None:
        """A background refresh ended."""
        ...

    def store_operation(self, tier: str, operation: str, seconds: float) -> None:
        """A store answered."""
        ...

    def store_error(self, tier: str, operation: str) -> None:
        """A store failed or was too slow."""
        ...

    def evicted(self, tier: str, reason: str, count: int) -> None:
        """Stored responses left a tier."""
        ...

    def verified(self, kind: str, result: str) -> None:
        """Something was held against a key or a hash: "verified", or why it is not believed."""
        ...

    def boundary(self, decision: str, rule: str, mode: str) -> None:
        """The boundary judged a request: "execute", "no-op", or "report" for one that was only to be told of."""
        ...
