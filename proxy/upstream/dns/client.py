"""The DNS client: what the engine asks.

Invariants: a question is under way once, however many ask it, and whoever leaves leaves the others alone; nothing
bogus gives records; no name tells of another (an NXDOMAIN above proves nothing below, C-24).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import dns.exception
import dns.name
import dns.rdatatype

from proxy.discovery.records.dnsvalues import AddressRecord, DnsAnswer, DnsOutcome, Record, Security
from proxy.ports import Clock
from proxy.single import SingleCalls
from proxy.upstream.dns.aliases import Chain, Ending
from proxy.upstream.dns.cache import AnswerCache, lifetime
from proxy.upstream.dns.convert import DECODERS, name_text, records
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.rounds import Checking, Reply, Rounds
from proxy.upstream.dns.settings import Dnssec
from proxy.upstream.dns.worth import Assessor, Judge, Worth, weakest

_TYPES = {rdtype.name: rdtype for rdtype in DECODERS}


@dataclass(frozen=True, slots=True)
class _Question:
    name: dns.name.Name
    rdtype: dns.rdatatype.RdataType


@dataclass(frozen=True, slots=True)
class _Step:
    """A question on the way along a chain, and its reply."""

    question: _Question
    reply: Reply


class DnsClient:
    """Implements `ports.Dns`."""

    def __init__(self, rounds: Rounds, clock: Clock, judge: Judge | None = None) -> None:
        self._rounds = rounds
        self._settings = rounds.settings
        self._clock = clock
        self._assessor = Assessor(judge, rounds.settings.failure_ttl)
        self._cache = AnswerCache()
        self._under_way: SingleCalls[tuple[str, str], DnsAnswer] = SingleCalls()

    async def resolve(self, name: str, record_type: str) -> DnsAnswer:
        """The records of `record_type` ("TXT", "SVCB", "HTTPS", "A", "AAAA") at `name`. Failures are values."""
        try:
            question = _parse_question(name, record_type)
        except DnsFailure as failure:
            return self._failed((name, record_type), failure)
        key = (name_text(question.name), record_type)
        kept = self._cache.get(*key, self._clock())
        if kept is not None:
            return kept
        # Begun in the caller's context, so that its meter counts what goes over the wire.
        return await self._under_way.call(key, lambda: self._look_up(key, question))

    async def addresses(self, host: str) -> tuple[str, ...]:
        """The literal addresses of `host`, IPv6 before IPv4 (RFC 8305 §4); none when there are none to be had."""
        answers = await asyncio.gather(self.resolve(host, "AAAA"), self.resolve(host, "A"))
        return tuple(
            record.address for answer in answers for record in answer.records if isinstance(record, AddressRecord)
        )

    async def close(self) -> None:
        """Give up every question under way; who waits for one is cancelled."""
        await self._under_way.close()

    async def _look_up(self, key: tuple[str, str], question: _Question) -> DnsAnswer:
        try:
            answer = await self._found(key, question)
        except DnsFailure as failure:
            answer = self._failed(key, failure)
        self._cache.put(answer, self._clock())
        return answer

    async def _found(self, key: tuple[str, str], question: _Question) -> DnsAnswer:
        deadline = self._rounds.deadline()
        chain, ending, steps = await self._follow(question, deadline)
        received = self._clock()
        worth = await self._worth(steps, received, deadline)
        values: tuple[Record, ...] = ()
        dropped = 0
        if ending.rrset is not None:
            values, dropped = records(ending.rrset)
        return DnsAnswer(
            *key,
            outcome=ending.outcome,
            owner=name_text(chain.owner),
            records=values,
            ttl=ending.ttl,
            expires=received + min(lifetime(ending.outcome, ending.ttl), worth.seconds),
            security=worth.security,
            resolver=str(steps[-1].reply.resolver),
            dropped=dropped,
        )

    async def _follow(self, question: _Question, deadline: float) -> tuple[Chain, Ending, list[_Step]]:
        """To the end of the chain, asking again where a response gives only a part of it."""
        chain = Chain(question.name)
        steps: list[_Step] = []
        ending = None
        while ending is None:
            asked = _Question(chain.owner, question.rdtype)
            reply = await self._ask(asked, deadline)
            steps.append(_Step(asked, reply))
            ending = chain.follow(reply.response, question.rdtype)
        return chain, ending, steps

    async def _ask(self, question: _Question, deadline: float) -> Reply:
        """A reply; what a trusted resolver gives out only unchecked is bogus (C-25)."""
        try:
            return await self._rounds.ask(question.name, question.rdtype, deadline)
        except DnsFailure as failure:
            if failure.reason is not DnsReason.SERVFAIL or not self._rounds.relies_on_resolvers:
                raise
            await self._rounds.ask(question.name, question.rdtype, deadline, Checking.PROXY)
            raise DnsFailure(DnsReason.BOGUS, "The resolver found the signatures of the answer bad.") from None

    async def _worth(self, steps: list[_Step], now: float, deadline: float) -> Worth:
        """What the whole chain is worth. Raises DnsFailure (BOGUS)."""
        worth = weakest(
            [
                await self._assessor.worth(step.reply, step.question.name, step.question.rdtype, now, deadline)
                for step in steps
            ]
        )
        if worth.security is Security.BOGUS:
            raise DnsFailure(DnsReason.BOGUS, "Signatures of the answer are bad, or missing where they must be.")
        return worth

    def _failed(self, key: tuple[str, str], failure: DnsFailure) -> DnsAnswer:
        name, _ = key
        security = Security.INSECURE if self._settings.dnssec is Dnssec.OFF else Security.INDETERMINATE
        return DnsAnswer(
            *key,
            outcome=DnsOutcome.FAILURE,
            owner=name,
            records=(),
            ttl=0,
            expires=self._clock() + lifetime(DnsOutcome.FAILURE, self._settings.failure_ttl),
            security=Security.BOGUS if failure.reason is DnsReason.BOGUS else security,
            resolver=", ".join(map(str, self._settings.resolvers)),
            reason=failure.reason,
        )


def _parse_question(name: str, record_type: str) -> _Question:
    """Raises DnsFailure (MALFORMED) for what cannot be asked."""
    try:
        return _Question(dns.name.from_text(name), _TYPES[record_type])
    except (dns.exception.DNSException, UnicodeError, KeyError):
        raise DnsFailure(DnsReason.MALFORMED, "DNS cannot be asked for this name or type.") from None
