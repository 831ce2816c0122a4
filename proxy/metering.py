"""What one call costs on the wire: a meter that the adapters at the network's edge add to.

The meter travels in the context, so work that a call starts (fills, look-ups) counts for it and work that it only
waits for (another call's fill) does not. Bytes are those of HTTP messages above TLS and of DNS messages.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counts of one call, or of one step in it, whose `whole` is the call; they only ever grow."""

    whole: Meter | None = None
    http_requests: int = 0
    dns_queries: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    hosts: set[str] = field(default_factory=set)
    """Whom HTTP requests went to."""

    def http_sent(self, host: str, octets: int) -> None:
        """A request to `host` was written."""
        self.http_requests += 1
        self.bytes_sent += octets
        self.hosts.add(host)
        if self.whole is not None:
            self.whole.http_sent(host, octets)

    def dns_sent(self, octets: int) -> None:
        """A query was written."""
        self.dns_queries += 1
        self.bytes_sent += octets
        if self.whole is not None:
            self.whole.dns_sent(octets)

    def received(self, octets: int) -> None:
        """Octets of a response arrived."""
        self.bytes_received += octets
        if self.whole is not None:
            self.whole.received(octets)


current_meter: ContextVar[Meter | None] = ContextVar("current_meter", default=None)
