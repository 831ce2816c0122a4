"""What happened to a request: one value that header, log line and metrics are made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proxy.caching.vouching import Vouching
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem
from proxy.http.targets import Target
from proxy.ports import OriginResponse, Upgraded


class Served(StrEnum):
    """How the answer came about: the `outcome` label of logs and metrics."""

    FRESH = "fresh"
    SWR = "swr"
    SIE = "sie"
    REVALIDATED = "revalidated"
    MISS = "miss"
    EXPIRED = "expired"
    MIRROR = "mirror"
    IPFS = "ipfs"
    BYPASS = "bypass"
    TUNNEL = "tunnel"
    LOCAL = "local"
    NO_OP = "noop"
    """Held back at the boundary."""
    REPLAY = "replay"
    """The result of an earlier request with the same Idempotency-Key."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request's end. Seconds and whole seconds as named; None where it does not apply."""

    served: Served
    status: int
    target: Target | None = None
    document_class: str = "other"
    cache_status: str | None = None
    age: int | None = None
    ttl: int | None = None
    collapsed: bool = False
    upstream_seconds: float | None = None
    vouching: Vouching | None = None
    """What vouches for a document of a known class: the value behind Discovery-Trust."""
    variant: str | None = None
    """Which variant was served: the selecting fields and a digest of their values."""
    detail: str | None = None
    """The reason behind it: a problem slug, a not-stored reason, a stale permit."""


@dataclass(frozen=True, slots=True)
class Complete:
    """An answer whose body is at hand."""

    head: ResponseHead
    body: bytes
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Streaming:
    """An answer passed on as it arrives: `read` first, then what follows in `response`."""

    head: ResponseHead
    read: bytes
    response: OriginResponse
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Switched:
    """The origin agreed to another protocol; the connection becomes a tunnel."""

    upgraded: Upgraded
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of our own making: what stood in the way."""

    problem: Problem
    outcome: Outcome


Answer = Complete | Streaming | Switched | Refusal
