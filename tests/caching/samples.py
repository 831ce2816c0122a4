"""Requests, responses and stored responses written as field lines, for the tables of this folder."""

from __future__ import annotations

from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, Storable, StoragePolicy, may_store
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.targets import parse_target

NOW = 1_800_000_000.0
URI = "https://example.com/.well-known/agent-card.json"
BODY = b"0123456789"
AT_ONCE = Exchange(NOW, NOW)
NO_POLICY = StoragePolicy()


def date(seconds: float = 0.0) -> str:
    """The HTTP-date so many seconds from NOW."""
    return format_http_date(NOW + seconds)


def fields(*lines: str) -> Fields:
    """Fields of lines such as "Age: 1"."""
    return Fields((name, value.strip(" ")) for name, _, value in (line.partition(":") for line in lines))


def request(*lines: str, method: str = "GET", uri: str = URI) -> Request:
    """A request for `uri` with those field lines."""
    return Request(method, parse_target(uri), fields(*lines))


def head(*lines: str, status: int = 200, reason: str = "OK") -> ResponseHead:
    """The head of a response with those field lines."""
    return ResponseHead(status, reason, fields(*lines))


def stored(
    *lines: str,
    status: int = 200,
    body: bytes = BODY,
    asked: Request | None = None,
    exchange: Exchange = AT_ONCE,
    policy: StoragePolicy = NO_POLICY,
    generation: int = 0,
) -> StoredResponse:
    """What is stored of a response with those field lines, received at NOW."""
    verdict = may_store(asked or request(), head(*lines, status=status), exchange, policy, generation)
    assert isinstance(verdict, Storable), verdict
    return verdict.with_body(body)


def storing(*lines: str, status: int = 200, asked: Request | None = None, policy: StoragePolicy = NO_POLICY) -> str:
    """ "stored", or why not: the one word that tables compare."""
    verdict = may_store(asked or request(), head(*lines, status=status), AT_ONCE, policy, 0)
    return verdict.reason.value if isinstance(verdict, NotStored) else "stored"
