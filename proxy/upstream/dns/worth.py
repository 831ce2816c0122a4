"""How far a response can be believed, and until when (C-25)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import dns.flags
import dns.message
import dns.name
import dns.rdatatype

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.failure import DnsFailure
from proxy.upstream.dns.rounds import Checking, Reply

FOR_EVER: Final = float("inf")


class Judged(Protocol):
    """What a judge says."""

    @property
    def security(self) -> Security: ...


class Judge(Protocol):
    """Checks the signatures of a response (RFC 4035 §5)."""

    async def judge(
        self, response: dns.message.Message, name: dns.name.Name, rdtype: dns.rdatatype.RdataType
    ) -> Judged:
        """What `response` to the question `name`, `rdtype` is worth. Raises DnsFailure when that cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class Worth:
    """The state of an answer and for how many seconds it holds, beside what the TTL says."""

    security: Security
    seconds: float = FOR_EVER


def weakest(worths: Iterable[Worth]) -> Worth:
    """What a chain of answers is worth; there is at least one."""
    links = tuple(worths)
    security = min((worth.security for worth in links), key=lambda each: each.rank)
    return Worth(security, min(worth.seconds for worth in links))


@dataclass(frozen=True, slots=True)
class Assessor:
    """Weighs replies by the AD bit, where that was asked for, and by `judge`, where there is one.

    What could not be told in time holds for `retry` seconds.
    """

    judge: Judge | None
    retry: float

    async def worth(
        self, reply: Reply, name: dns.name.Name, rdtype: dns.rdatatype.RdataType, now: float, deadline: float
    ) -> Worth:
        """The worth of the reply to one question; `now` in Unix seconds, `deadline` in the event loop's time."""
        if reply.checking is Checking.NOBODY:
            return Worth(Security.INSECURE)
        if reply.checking is Checking.RESOLVER and reply.response.flags & dns.flags.AD:
            return Worth(Security.SECURE)
        if self.judge is None:
            return Worth(Security.INDETERMINATE)
        try:
            async with asyncio.timeout_at(deadline):
                security = (await self.judge.judge(reply.response, name, rdtype)).security
        except (TimeoutError, DnsFailure):
            return Worth(Security.INDETERMINATE, self.retry)
        return Worth(security, _signed_for(reply.response, now) if security is Security.SECURE else FOR_EVER)


def _signed_for(response: dns.message.Message, now: float) -> float:
    """The seconds for which the signatures carry what they cover (RFC 4035 §5.3.3)."""
    signatures = (
        rdata
        for rrset in (*response.answer, *response.authority)
        if rrset.rdtype == dns.rdatatype.RRSIG
        for rdata in rrset
    )
    return min((min(rdata.original_ttl, rdata.expiration - now) for rdata in signatures), default=FOR_EVER)
