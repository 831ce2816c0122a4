"""The DNS round: every record that says where a domain's agents are, asked for at once (§10, phase 2).

What comes of it are pointers, never more than hints: a document counts because its own origin serves it.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from proxy.discovery.records.dnsvalues import DnsAnswer, DnsOutcome, Security
from proxy.discovery.records.indextxt import read_index_txt
from proxy.discovery.records.svcb import MAX_ALIASES, Place, Pointer, PointerKind, PointerReason, pointers
from proxy.discovery.records.txt import AgentTxt, TxtKind, read_agent_txt
from proxy.engine.discovery.budget import MOST_QUESTIONS
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.listing import listed_index, listed_pointer, listed_txt, listing_order
from proxy.engine.discovery.steps import StepEnd, StepOutcome
from proxy.http.targets import Target
from proxy.ports import Dns

_INDEX: Final = "_index._agents"
_NAMES: Final = ("_catalog._agents", _INDEX, "_entries._agents")
_MOST_AGENTS: Final = 8
# U-T9, AID-8: longer TTLs than these are not relied on.
_LONGEST_SECONDS: Final = 900.0
_OUTCOMES: Final = {
    DnsOutcome.ANSWER: StepOutcome.FOUND,
    DnsOutcome.NODATA: StepOutcome.ABSENT,
    DnsOutcome.NXDOMAIN: StepOutcome.ABSENT,
    DnsOutcome.FAILURE: StepOutcome.FAILED,
}


@dataclass(slots=True)
class DnsFacts:
    """What DNS said. `records` as the answer lists them; the others are those that may be followed.

    `links` lead to documents of whatever kind.
    """

    agent: AgentTxt
    answer: DnsAnswer
    records: list[dict[str, object]] = field(default_factory=list)
    pointers: list[Pointer] = field(default_factory=list)
    agents: dict[str, list[Pointer]] = field(default_factory=dict)
    """By the name that the index gives each."""
    links: list[Target] = field(default_factory=list)

    @property
    def security(self) -> Security:
        """The DNSSEC state of what `_agent` said."""
        return self.answer.security

    def refuse_aid(self, reason: str) -> None:
        """The AID record that was accepted turned out not to hold."""
        for record in self.records:
            if record["accepted"] and record["kind"] in (TxtKind.AID1, TxtKind.AID2):
                record.update(accepted=False, reason=reason)

    def told(self) -> dict[str, object]:
        """DNS as the answer has it."""
        return {"dnssec": self.security.value, "records": sorted(self.records, key=listing_order)}


@dataclass(frozen=True, slots=True)
class DnsTrust:
    """What of DNS is believed: signed pointers also out of the domain, or nothing that is not signed."""

    off_domain: bool = False
    requires_dnssec: bool = False


class DnsRound:
    """Asks for the records of one domain after another, each time for no longer than `patience` seconds.

    `salt` makes the wildcard probe's label unguessable.
    """

    def __init__(self, dns: Dns, salt: bytes, patience: float, trust: DnsTrust) -> None:
        self._dns = dns
        self._salt = salt
        self._patience = patience
        self._trust = trust

    async def run(self, call: Call) -> DnsFacts:
        """Everything DNS says of the call's domain in time: documents have places of their own (U-T7)."""
        facts = self._agent_facts(call, _unanswered(call))
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await asyncio.gather(self._agent_records(call, facts), self._listed_records(call, facts))
                return facts
        call.expire_at(call.clock())
        return facts

    async def _agent_records(self, call: Call, facts: DnsFacts) -> None:
        answer = await self._ask(call, "dns-txt", facts.answer.name, "TXT")
        found = self._agent_facts(call, answer)
        facts.agent, facts.answer = found.agent, answer
        facts.records[:0] = found.records
        if any(record["accepted"] for record in found.records):
            await self._probe_wildcard(call, facts)

    async def _listed_records(self, call: Call, facts: DnsFacts) -> None:
        """Each name's part as it arrives: a slow one costs only its own."""
        await asyncio.gather(*(self._name_records(call, facts, f"{name}.{call.domain}") for name in _NAMES))

    async def _name_records(self, call: Call, facts: DnsFacts, name: str) -> None:
        found = await self._pointers(call, name)
        facts.pointers += _listed(facts, found.pointers)
        facts.links += found.links
        facts.records += found.records
        agents = call.first("dns-svcb", found.agents, _MOST_AGENTS, "agents in the index", at=name)
        await asyncio.gather(*(self._agent(call, facts, agent) for agent in agents))

    async def _ask(self, call: Call, step: str, name: str, record_type: str) -> DnsAnswer:
        if not call.budget.spend_question():
            call.published.limit(f"One discovery asks no more than {MOST_QUESTIONS} questions of DNS.")
            return replace(_unanswered(call), name=name, type=record_type, owner=name)
        answer = await call.steps.take(step, name, lambda: self._dns.resolve(name, record_type), _step_end)
        call.expire_at(min(answer.expires, call.clock() + _LONGEST_SECONDS))
        if answer.records and self._trust.requires_dnssec and answer.security is not Security.SECURE:
            call.steps.note(
                step, name, StepOutcome.REFUSED, f"DNSSEC is required, and the answer is {answer.security}."
            )
            return replace(answer, records=())
        return answer

    def _agent_facts(self, call: Call, answer: DnsAnswer) -> DnsFacts:
        secure = answer.security is Security.SECURE
        agent = read_agent_txt(answer.records, call.domain, secure=secure, now=call.clock())
        facts = DnsFacts(agent, answer)
        facts.records += [listed_txt(answer, record) for record in agent.records]
        return facts

    async def _pointers(self, call: Call, name: str) -> _Listed:
        """The pointers at `name`; of the index also by HTTPS and TXT, each where the one before has no data."""
        answer = await self._ask(call, "dns-svcb", name, "SVCB")
        if answer.outcome is DnsOutcome.NODATA and name.startswith(_INDEX):
            answer = await self._ask(call, "dns-https", name, "HTTPS")
            if answer.outcome is DnsOutcome.NODATA:
                text = await self._ask(call, "dns-txt-index", name, "TXT")
                return self._index(call, text)
        return _Listed(pointers=await self._followed(call, answer))

    def _index(self, call: Call, answer: DnsAnswer) -> _Listed:
        texts = read_index_txt(answer.records, self._place(call, answer))
        listed = _Listed(records=[listed_index(answer, text) for text in texts if text.pointer is None])
        listed.pointers = [(answer, text.pointer) for text in texts if text.pointer is not None]
        listed.agents = [agent.name for text in texts for agent in text.agents]
        listed.links = [text.link for text in texts if text.link is not None]
        return listed

    async def _followed(self, call: Call, answer: DnsAnswer) -> list[tuple[DnsAnswer, Pointer]]:
        """The pointers of an answer, its aliases among them and followed as far as they may be."""
        place = self._place(call, answer)
        passed: list[tuple[DnsAnswer, Pointer]] = []
        found = [(answer, one) for one in pointers(answer.records, place, holder=answer.owner)]
        seen = {answer.name}
        while alias := next((one.alias for _, one in found if one.alias), None):
            if alias in seen or len(seen) > MAX_ALIASES:
                return passed + [(answer, _endless(one)) if one.alias else (answer, one) for answer, one in found]
            seen.add(alias)
            passed += found
            answer = await self._ask(call, "dns-svcb", alias, answer.type)
            place = replace(place, secure=place.secure and answer.security is Security.SECURE)
            if not place.secure and answer.security is Security.SECURE:
                answer = replace(answer, security=Security.INSECURE)  # as any alias on the way
            found = [(answer, one) for one in pointers(answer.records, place, holder=answer.owner)]
        return passed + found

    def _place(self, call: Call, answer: DnsAnswer) -> Place:
        return Place(answer.name, call.domain, answer.security is Security.SECURE and self._trust.off_domain)

    async def _agent(self, call: Call, facts: DnsFacts, name: str) -> None:
        """The records of an agent that the index names: where it can be spoken to."""
        answer = await self._ask(call, "dns-svcb", f"{name}._agents.{call.domain}", "SVCB")
        followed = _listed(facts, await self._followed(call, answer))
        facts.agents[name] = [pointer for pointer in followed if pointer.kind is PointerKind.AGENT]

    async def _probe_wildcard(self, call: Call, facts: DnsFacts) -> None:
        """A label that nobody published: what it says as well comes from a wildcard (C-23)."""
        label = hashlib.sha256(self._salt + call.domain.encode()).hexdigest()[:16]
        answer = await self._ask(call, "dns-wildcard", f"_{label}.{call.domain}", "TXT")
        if answer.records and set(answer.records) & set(facts.answer.records):
            for record in facts.records:
                if record["name"] == facts.answer.name and record["accepted"]:
                    record["reason"] = "wildcard: The same is said at names that nobody published."


@dataclass(slots=True)
class _Listed:
    """What one name below `_agents` came to."""

    pointers: list[tuple[DnsAnswer, Pointer]] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    links: list[Target] = field(default_factory=list)
    records: list[dict[str, object]] = field(default_factory=list)


def _listed(facts: DnsFacts, found: list[tuple[DnsAnswer, Pointer]]) -> list[Pointer]:
    """Those that may be followed, all of them listed."""
    facts.records += [listed_pointer(answer, pointer) for answer, pointer in found]
    return [pointer for _, pointer in found if pointer.accepted and pointer.alias is None]


def _endless(pointer: Pointer) -> Pointer:
    detail = f"The aliases go round in a circle, or there are more than {MAX_ALIASES} in a row."
    return replace(pointer, alias=None, reason=PointerReason.ALIAS_LOOP, detail=detail)


def _unanswered(call: Call) -> DnsAnswer:
    """What is known of `_agent` before the resolvers have answered."""
    name = f"_agent.{call.domain}"
    return DnsAnswer(
        name, "TXT", DnsOutcome.FAILURE, name, (), 0, call.clock(), Security.INDETERMINATE, "nobody", "timeout"
    )


def _step_end(answer: DnsAnswer) -> StepEnd:
    outcome = _OUTCOMES[answer.outcome]
    if answer.outcome is DnsOutcome.FAILURE:
        return StepEnd(outcome, f"{answer.reason or 'failure'} from {answer.resolver}")
    told = [f"{len(answer.records)} of {answer.type}" if answer.records else answer.outcome.value]
    told += [f"at {answer.owner}"] if answer.owner != answer.name else []
    told += [f"{answer.dropped} malformed"] if answer.dropped else []
    told += [f"{answer.security}, by {answer.resolver}{' (cached)' if answer.cached else ''}"]
    is_kept = answer.cached and bool(answer.records)
    return StepEnd(StepOutcome.CACHED if is_kept else outcome, ", ".join(told))
