"""Resolvers in memory: a test says what is at a name, and reads what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from proxy.discovery.records.dnsvalues import DnsAnswer, DnsOutcome, Record, Security, Svcb, Txt
from proxy.metering import current_meter
from proxy.ports import Clock

_OCTETS = 100


class DnsSimulator:
    """Implements `ports.Dns`: every query costs a hundred octets each way, and answers are kept for their TTL.

    `security` is that of every answer, but for names in `securities`; so is `ttl`, in seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self.asked: list[tuple[str, str]] = []
        self.security = Security.INSECURE
        self.securities: dict[str, Security] = {}
        self.ttl = 300
        self._clock = clock
        self._records: dict[tuple[str, str], tuple[Record, ...]] = {}
        self._outcomes: dict[tuple[str, str], DnsOutcome] = {}
        self._kept: dict[tuple[str, str], DnsAnswer] = {}
        self._wildcards: dict[str, tuple[Record, ...]] = {}
        self._hanging: set[str] = set()

    def txt(self, name: str, *texts: str | bytes) -> None:
        """From now on these are the TXT records at `name`."""
        self.publish(name, "TXT", [Txt((text.encode() if isinstance(text, str) else text,)) for text in texts])

    def svcb(self, name: str, priority: int, target: str, **params: bytes) -> None:
        """From now on this is the SVCB record at `name`; parameters by number, `key3=b"…"`."""
        self.publish(name, "SVCB", [Svcb(priority, target, {int(key[3:]): value for key, value in params.items()})])

    def publish(self, name: str, record_type: str, records: Iterable[Record]) -> None:
        self._records[name, record_type] = tuple(records)
        self._kept.clear()

    def wildcard(self, domain: str, *texts: str) -> None:
        """From now on these are the TXT records at every name below `domain` that has none of its own."""
        self._wildcards[domain] = tuple(Txt((text.encode(),)) for text in texts)
        self._kept.clear()

    def hang(self, name: str) -> None:
        """From now on no question about `name` is answered; "*" is every name."""
        self._hanging.add(name)

    def fail(self, name: str, record_type: str, outcome: DnsOutcome = DnsOutcome.FAILURE) -> None:
        """From now on the question has no answer."""
        self._outcomes[name, record_type] = outcome

    async def resolve(self, name: str, record_type: str) -> DnsAnswer:
        key = (name, record_type)
        kept = self._kept.get(key)
        if kept is not None and self._clock() < kept.expires:
            return replace(kept, cached=True)
        self.asked.append(key)
        if self._hanging & {name, "*"}:
            await asyncio.Event().wait()
        meter = current_meter.get()
        if meter is not None:
            meter.dns_sent(_OCTETS)
            meter.received(_OCTETS)
        records = self._records.get(key) or self._by_wildcard(name, record_type)
        has_name = any(known == name for known, _ in self._records)
        absent = DnsOutcome.NODATA if has_name else DnsOutcome.NXDOMAIN
        outcome = self._outcomes.get(key, DnsOutcome.ANSWER if records else absent)
        is_failure = outcome is DnsOutcome.FAILURE
        answer = DnsAnswer(
            name,
            record_type,
            outcome,
            name,
            () if is_failure else records,
            self.ttl,
            self._clock() + (5 if is_failure else self.ttl),
            self.securities.get(name, self.security),
            "simulated",
            "timeout" if is_failure else None,
        )
        self._kept[key] = answer
        return answer

    def _by_wildcard(self, name: str, record_type: str) -> tuple[Record, ...]:
        below = (records for domain, records in self._wildcards.items() if name.endswith(f".{domain}"))
        return next(below, ()) if record_type == "TXT" else ()

    async def close(self) -> None:
        pass
