"""How the proxy's own resources are asked, and how they answer."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from proxy.caching.serving import VIA, CacheStatus
from proxy.engine.boundary.identity import Identity
from proxy.engine.outcome import Complete, Outcome, Served
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.ports import Clock

OF_API: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Cache-Status, Discovery-Overrides, ETag, Link"),
)
"""What goes with every answer of the proxy's own resources, so that pages of any site may read it."""

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for one of our own resources. `identity` is who asks, None for nobody who is known here."""

    path: str
    query: str
    fields: Fields
    method: str = "GET"
    identity: Identity | None = None
    body: bytes = b""
    request_id: str = ""


class Own:
    """Answers of our own resources."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def local(self, body: bytes, media_type: str, control: str) -> Complete:
        """What is known here, without anybody having been asked; `control` is its Cache-Control."""
        fields = (("Content-Type", media_type),)
        return self.complete(200, body, control, fields, CacheStatus(detail="local"), Served.LOCAL, "other")

    def complete(
        self,
        status: int,
        body: bytes,
        control: str,
        extra: tuple[tuple[str, str], ...],
        cache_status: CacheStatus,
        served: Served,
        document_class: str,
    ) -> Complete:
        """Any answer that is no problem, with `extra` lines."""
        told = cache_status.serialise()
        fields = Fields(
            (
                ("Date", format_http_date(self._clock())),
                *extra,
                ("Cache-Control", control),
                *OF_API,
                ("Via", VIA),
                ("Cache-Status", told),
            )
        )
        reason = HTTPStatus(status).phrase
        outcome = Outcome(served, status, document_class=document_class, cache_status=told, ttl=cache_status.ttl)
        return Complete(ResponseHead(status, reason, fields), body, outcome)
