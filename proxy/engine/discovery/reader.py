"""Reading one document for a discovery call: through the cache, hop by hop, and only as what it should be.

Nothing here raises for what an origin does: however it ends, there is a reading. What the HTTP cache does not keep
(a wrong kind, "not to you") is remembered for as long as a negative answer may be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, gate
from proxy.discovery.names import is_local
from proxy.discovery.pages.alternatives import Alternative, alternatives_of, successor_of
from proxy.discovery.redirects import POLICIES, REDIRECTS, NotFollowed, next_hop
from proxy.discovery.urls import UrlReason, UrlRefused, checked
from proxy.engine.acceptance import OF_DOCUMENTS
from proxy.engine.discovery.memory import Memory
from proxy.engine.discovery.reading import (
    CENTRAL,
    OVER_BUDGET,
    PLAINLY,
    Judge,
    Manner,
    Reading,
    ReadOutcome,
    Refused,
)
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Answer, Complete, Outcome, Refusal, Served, Streaming
from proxy.engine.settings import Rules
from proxy.http.codings import CodingFault, decode_body
from proxy.http.fields import NO_FIELDS, Fields
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.targets import Target
from proxy.ports import Clock, Generations, OriginUnavailable

_MULTIPLE_CHOICES: Final = 300
_MAY_HAVE_SUCCESSORS: Final = frozenset({409, 410})
_NOT_FOR_US: Final = frozenset({401, 403, 405, 406, 407, 429})
# Room for what is remembered, and about what one takes of it besides its URIs.
_ROOM: Final = 16 * 2**20
_SIZE: Final = 1024
_CACHE_OF: Final = {
    Served.FRESH: "hit",
    Served.SWR: "stale",
    Served.SIE: "stale",
    Served.REVALIDATED: "revalidated",
}
# Refusals that say nothing of the document to another call.
_OF_THE_CALL: Final = frozenset({OVER_BUDGET, CENTRAL})
_JSON: Final = "application/json, */*;q=0.1"
_ACCEPT: Final = {
    DocumentClass.AI_CATALOG: "application/ai-catalog+json, application/json;q=0.9",
    DocumentClass.AGENT_CARD: "application/json, application/a2a+json",
    DocumentClass.MCP_SERVER_CARD: "application/mcp-server-card+json, application/json;q=0.9",
    DocumentClass.API_CATALOG: "application/linkset+json, application/json;q=0.9",
    DocumentClass.OPENAPI: "application/openapi+json, application/json, application/yaml;q=0.9, */*;q=0.1",
    DocumentClass.LLMS: "text/markdown, text/plain, */*;q=0.1",
    DocumentClass.ROBOTS: "text/plain, */*;q=0.1",
    DocumentClass.OTHER: "*/*",
}


# What was looked for: where, of which class, asked for how, and by which further check.
_Key = tuple[str, DocumentClass, str | None, Fields, Judge | None]


class Reader:
    """Reads documents through the gateway, as itself: with no field of a client's."""

    def __init__(
        self,
        gateway: Gateway,
        rules: Rules,
        generations: Generations,
        clock: Clock,
        agent: str,
        negative_ttl: float,
    ) -> None:
        self._gateway = gateway
        self._rules = rules
        self._generations = generations
        self._clock = clock
        self._agent = agent
        self._negative_ttl = negative_ttl
        self._negative: Memory[_Key, Reading] = Memory(generations, _ROOM)

    async def read(self, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY) -> Reading:
        """The document at `target`, which should be of `document_class`."""
        start = Reading(target, target, document_class, ReadOutcome.FAILED)
        refused = _out_of_reach(target, manner.realm)
        if refused is not None:
            return start.refused(refused.reason, refused.detail)
        key = (target.uri, document_class, manner.accept, manner.fields, manner.judge)
        remembered = None if "cache-control" in manner.fields else self._negative.get(key)
        if remembered is not None and self._clock() < remembered.fresh_until:
            return remembered
        generation = self._generations.latest
        reading = await self._follow(start, manner)
        return self._remembered(key, reading, generation) if manner.method == "GET" else reading

    async def _follow(self, reading: Reading, manner: Manner) -> Reading:
        while True:
            got = await self._ask(reading, manner)
            if got.status not in REDIRECTS or got.outcome is not ReadOutcome.ABSENT:
                return got
            policy, location = POLICIES[got.document_class], got.fields.get("location")
            step = next_hop(policy, got.asked, got.hops, got.target, got.status, location)
            if isinstance(step, NotFollowed):
                return got.refused(step.reason, step.detail)
            refused = _out_of_reach(step.hop.target, manner.realm)
            if refused is None and manner.admit is not None:
                refused = manner.admit(step.hop.target)
            if refused is not None:
                return got.refused(refused.reason, refused.detail)
            reading = replace(
                Reading(got.asked, step.hop.target, got.document_class, ReadOutcome.FAILED),
                hops=(*got.hops, step.hop),
                needs_proof=got.needs_proof or step.needs_proof,
                fresh_until=got.fresh_until,
            )

    async def _ask(self, reading: Reading, manner: Manner) -> Reading:
        target = reading.target
        # Of other hosts' resources a domain's word says nothing to whoever else asks for them.
        named = reading.document_class.value if manner.site == target.host else None
        request = Request(manner.method, target, self._lines(reading, manner), manner.realm, named, is_ours=True)
        stored_only = manner.stored_only and target.host == reading.asked.host
        answer = await (self._gateway.stand_in(request) if stored_only else self._gateway.handle(request))
        return await self._got(reading, answer, manner)

    def _lines(self, reading: Reading, manner: Manner) -> Fields:
        accept = manner.accept or _ACCEPT.get(reading.document_class, _JSON)
        lines = (("User-Agent", self._agent), ("Accept", accept), ("Accept-Encoding", "gzip, deflate"))
        return Fields((*lines, *manner.fields))

    async def _got(self, reading: Reading, answer: Answer, manner: Manner) -> Reading:
        reading = replace(reading, cache=_cache_of(answer.outcome), vouching=answer.outcome.vouching)
        if isinstance(answer, Refusal):
            if answer.problem.slug is Slug.GONE:
                return self._gone(reading, answer)
            return _refused(reading, answer.problem)
        assert isinstance(answer, Complete | Streaming)
        body = await self._body(reading, answer)
        if isinstance(body, Problem):
            return _refused(reading, body)
        now = self._clock()
        # What is to be validated each time (RFC 9111 §5.2.2.4) is good for now alone, however fresh.
        is_lasting = not parse_response_directives(answer.head.fields).no_cache
        fresh_until = now + max(answer.outcome.ttl or 0, 0) if is_lasting else now
        reading = replace(
            reading,
            status=answer.head.status,
            fields=answer.head.fields,
            fetched_at=now - (answer.outcome.age or 0),
            fresh_until=min(reading.fresh_until, fresh_until),
        )
        return self._judged(reading, answer.head, body, manner)

    def _gone(self, reading: Reading, answer: Refusal) -> Reading:
        """The origin's 410, as it is recorded."""
        now, successor = self._clock(), answer.problem.members.get("successor")
        return replace(
            reading,
            outcome=ReadOutcome.ABSENT,
            status=answer.problem.status,
            fetched_at=now,
            fresh_until=min(reading.fresh_until, now + max(answer.outcome.ttl or 0, 0)),
            reason="status-410",
            detail=answer.problem.detail,
            alternatives=(Alternative(successor),) if isinstance(successor, str) else (),
        )

    async def _body(self, reading: Reading, answer: Complete | Streaming) -> bytes | Problem:
        """The body of a document; of anything else it tells nothing, and is read so far that it is no trouble."""
        limit = self._rules.of_class(reading.document_class).max_body
        if isinstance(answer, Complete):
            return answer.body
        read = bytearray(answer.read)
        try:
            async for chunk in answer.response.chunks():
                read += chunk
                if len(read) > limit:
                    if answer.head.status not in OF_DOCUMENTS:
                        return b""
                    return Problem(Slug.TOO_LARGE, f"The document is larger than {limit} bytes.")
        except OriginUnavailable as error:
            return Problem(Slug(error.fault.value), error.detail)
        finally:
            answer.response.close()
        return bytes(read)

    def _judged(self, reading: Reading, head: ResponseHead, body: bytes, manner: Manner) -> Reading:
        """What the status, and of a document the body, make of the reading."""
        status = head.status
        if status >= 500:
            return replace(reading, reason=f"status-{status}", detail=f"The origin answered {status}.")
        if status not in OF_DOCUMENTS:
            reason = "not-available" if status in _NOT_FOR_US else f"status-{status}"
            detail = f"The origin answered {status}."
            offered = () if manner.method == "HEAD" else _offered(head, body, reading.target)
            return replace(reading, outcome=ReadOutcome.ABSENT, reason=reason, detail=detail, alternatives=offered)
        if manner.method == "HEAD":
            return replace(reading, outcome=ReadOutcome.FOUND)
        limit = self._rules.of_class(reading.document_class).max_body
        decoded = decode_body(head.fields.get("content-encoding"), body, limit)
        if decoded is CodingFault.TOO_LARGE:
            return _refused(reading, Problem(Slug.TOO_LARGE, f"The document is larger than {limit} bytes."))
        if isinstance(decoded, CodingFault):
            return replace(
                reading, reason=decoded.value, detail="The body does not decode by its Content-Encoding."
            )
        verdict: object = gate(reading.document_class, head.fields.get("content-type"), decoded)
        if not isinstance(verdict, NotADocument) and manner.judge is not None:
            verdict = manner.judge(head, decoded)
        if isinstance(verdict, NotADocument):
            return replace(
                reading, outcome=ReadOutcome.WRONG_KIND, reason=verdict.reason.value, detail=verdict.detail
            )
        return replace(reading, outcome=ReadOutcome.FOUND, body=decoded)

    def _remembered(self, key: _Key, reading: Reading, generation: int) -> Reading:
        """Keep in mind what the HTTP cache does not: that there is no such document. How long that holds is told.

        Nothing of an answer is kept but that it was not the document, so `no-store` says nothing about it. One that
        offers alternatives tells more than that, and is kept by the HTTP cache alone.
        """
        now = self._clock()
        if reading.reason in _OF_THE_CALL:
            return replace(reading, fresh_until=now)
        is_telling = reading.alternatives or reading.outcome in (ReadOutcome.FOUND, ReadOutcome.FAILED)
        if is_telling or now < reading.fresh_until < math.inf:
            return reading
        reading = replace(reading, fields=NO_FIELDS, fresh_until=now + self._negative_ttl)
        self._negative.put(key, replace(reading, cache="remembered"), reading.uris, generation, _SIZE)
        return reading


def _cache_of(outcome: Outcome) -> str:
    if outcome.served in (Served.MIRROR, Served.IPFS):
        return "hit" if outcome.upstream_seconds is None else "miss"
    return _CACHE_OF.get(outcome.served, "miss")


def _out_of_reach(target: Target, realm: Realm) -> Refused | None:
    """Why nothing is asked for at `target` in a realm; None when it may be.

    The local link and the public network never answer for each other (MD-1).
    """
    if realm is Realm.ANY:
        return None
    if is_local(target.host) is not (realm is Realm.LOCAL):
        return Refused(UrlReason.SSRF, "The URL leads from the public network to the local link, or back.")
    try:
        checked(target)
    except UrlRefused as refused:
        return Refused(refused.reason, refused.detail)
    return None


def _offered(head: ResponseHead, body: bytes, target: Target) -> tuple[Alternative, ...]:
    """What an answer other than the document offers in its place."""
    if head.status == _MULTIPLE_CHOICES:
        return alternatives_of(head, body, target)
    successor = successor_of(head, body, target) if head.status in _MAY_HAVE_SUCCESSORS else None
    return () if successor is None else (Alternative(successor),)


def _refused(reading: Reading, problem: Problem) -> Reading:
    """A reading that the proxy itself ended."""
    detail = problem.detail
    match problem.slug:
        case Slug.NOT_A_DOCUMENT:
            reason = str(problem.members.get("reason", problem.slug))
            return replace(reading, outcome=ReadOutcome.WRONG_KIND, reason=reason, detail=detail)
        case Slug.EGRESS_DENIED:
            return reading.refused("ssrf", detail)
        case Slug.TOO_LARGE:
            return reading.refused(problem.slug, detail)
        case _:
            return replace(reading, outcome=ReadOutcome.FAILED, reason=problem.slug, detail=detail)
