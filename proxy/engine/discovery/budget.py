"""What one discovery call may ask for in all, whatever a domain publishes.

A domain decides what else is read, so without bounds it could have the proxy flood itself or somebody else.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from proxy.discovery.names import LOCAL_SUFFIX, registrable_domain
from proxy.metering import Meter

MOST_REQUESTS: Final = 128
MOST_ABROAD: Final = 16
MOST_OCTETS: Final = 32 * 2**20
MOST_QUESTIONS: Final = 32


class Budget:
    """The requests, octets and questions that are left to a call about `domain`; `meter` counts what arrives."""

    def __init__(self, domain: str, meter: Meter) -> None:
        self._own = registrable_domain(domain if "." in domain else domain + LOCAL_SUFFIX)
        self._meter = meter
        self._requests: Counter[str] = Counter()
        self._octets = 0
        self._questions = 0

    def spend(self, host: str) -> str | None:
        """Set a request to `host` against the budget, answered by a cache or not; why it may not go, or None."""
        site = registrable_domain(host)
        if self._requests.total() >= MOST_REQUESTS:
            return f"One discovery makes no more than {MOST_REQUESTS} requests."
        if site != self._own and self._requests[site] >= MOST_ABROAD:
            return f"One discovery makes no more than {MOST_ABROAD} requests to another site."
        if max(self._octets, self._meter.bytes_received) >= MOST_OCTETS:
            return f"One discovery reads no more than {MOST_OCTETS // 2**20} MiB."
        self._requests[site] += 1
        return None

    def spend_octets(self, octets: int) -> None:
        """Set what was read, decoded, against the budget."""
        self._octets += octets

    def spend_question(self) -> bool:
        """Set a question to the resolvers against the budget; False when it may not be asked."""
        self._questions += 1
        return self._questions <= MOST_QUESTIONS
