"""The story, step by step. A step brings about what its title says and gives the answer that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from proxy.demo import boundary, failover, relocation
from proxy.demo.agent import Answer
from proxy.demo.documents import AGENT_CARD, AI_CATALOG, HOST, LLMS, MANIFEST, OPENAPI
from proxy.demo.expectations import (
    expect,
    expect_document,
    expect_manifest,
    expect_seen,
    expect_seen_again,
    expect_told,
)
from proxy.demo.origin import Seen
from proxy.demo.publisher import DID_PATH
from proxy.demo.stage import Stage

_SLOW_SECONDS: Final = 1.0
_AT_ONCE_MS: Final = 500.0
_SINGLE_DIGIT_MS: Final = 10.0
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the demo: at most 22 characters of title, 10 for the document it is about.

    One with `details` has lines below it: who vouches for the answer, where a copy was looked for, who decides.
    """

    title: str
    document: str
    take: Callable[[Stage], Awaitable[Answer]]
    details: bool = False


def _expect_stored(answer: Answer) -> None:
    status = answer.cache_status
    expect(answer, "Cache-Status with fwd=uri-miss", status.get("fwd") == "uri-miss")
    expect(answer, "Cache-Status with stored", status.get("stored") is True)


async def cold_fetch(stage: Stage) -> Answer:
    """Nothing is stored yet: the manifest comes from the origin, and so does the key that must have signed it."""
    answer = await stage.agent.get(MANIFEST)
    expect_manifest(answer, stage.first.manifest)
    _expect_stored(answer)
    expect_seen(stage.origin, answer, Seen(MANIFEST.path, None, 200), Seen(DID_PATH, None, 200))
    return answer


async def other_documents(stage: Stage) -> Answer:
    """The agent card and llms.txt likewise; nobody signed them."""
    for document in (LLMS, AGENT_CARD):
        answer = await stage.agent.get(document)
        expect_document(answer, document)
        _expect_stored(answer)
    expect_seen(stage.origin, answer, Seen(LLMS.path, None, 200), Seen(AGENT_CARD.path, None, 200))
    return answer


async def discovery(stage: Stage) -> Answer:
    """What the domain offers an agent of level L4: from DNS and every place it publishes at, in one answer."""
    stage.nameserver.forget()
    answer = await stage.agent.discover(HOST, "L4")
    expect(answer, "200", answer.status == 200)
    told = answer.members
    expect_told(answer, "the outcome", told["outcome"], "found")
    expect_told(answer, "the trust", told["trust"]["state"], "verified")
    expect_told(answer, "the issuer", told["authorization"]["issuer"], "https://auth.example.com")
    offered = {(endpoint["protocol"], endpoint["from"]) for endpoint in told["endpoints"]}
    expect_told(answer, "endpoints", offered >= {("a2a", "agent-card"), ("mcp", "mcp-server-card")}, True)
    cost = told["overhead"]
    expect_told(answer, "HTTP requests", cost["http_requests"], len(stage.origin.seen))
    expect_told(answer, "DNS queries", cost["dns_queries"], len(stage.nameserver.asked))
    expect_told(answer, "central services", cost["central_services"], 0)
    return answer


async def discovery_again(stage: Stage) -> Answer:
    """Asked again, everything is at hand: no request leaves the proxy."""
    stage.nameserver.forget()
    answers = [await stage.agent.discover(HOST, "L4") for _ in range(_ATTEMPTS)]
    fastest = min(answers, key=lambda answer: answer.milliseconds)
    for answer in answers:
        cost = answer.members["overhead"]
        expect_told(answer, "HTTP requests", cost["http_requests"], 0)
        expect_told(answer, "DNS queries", cost["dns_queries"], len(stage.nameserver.asked))
    expect(fastest, f"less than {_SINGLE_DIGIT_MS:.0f} ms", fastest.milliseconds < _SINGLE_DIGIT_MS)
    return fastest


async def fresh_hit(stage: Stage) -> Answer:
    """The manifest again: from memory, without the origin. The fastest of a few, for a busy machine."""
    await stage.fresh(MANIFEST, seconds=1)
    stage.origin.forget()
    answers = [await stage.agent.get(MANIFEST) for _ in range(_ATTEMPTS)]
    for answer in answers:
        expect(answer, "a fresh hit", answer.is_fresh_hit)
    fastest = min(answers, key=lambda answer: answer.milliseconds)
    expect_manifest(fastest, stage.first.manifest)
    expect_seen(stage.origin, fastest)
    expect(fastest, f"less than {_SINGLE_DIGIT_MS:.0f} ms", fastest.milliseconds < _SINGLE_DIGIT_MS)
    return fastest


async def not_modified(stage: Stage) -> Answer:
    """An agent that has the manifest already is told so by the cache."""
    await stage.fresh(MANIFEST, seconds=1)
    stage.origin.forget()
    answer = await stage.agent.get(MANIFEST, {"If-None-Match": stage.first.manifest.etag})
    expect(answer, "304 without a body", answer.status == 304 and not answer.body)
    expect(answer, "a fresh hit", answer.is_fresh_hit)
    expect_seen(stage.origin, answer)
    return answer


async def stale_while_revalidate(stage: Stage) -> Answer:
    """Past its freshness the copy is served at once, however long the origin takes."""
    await stage.expiry(MANIFEST)
    stage.origin.forget()
    stage.origin.delay_next(_SLOW_SECONDS)
    answer = await stage.agent.get(MANIFEST)
    expect_seen(stage.origin, answer)
    expect_manifest(answer, stage.first.manifest)
    expect(answer, "a stale hit, ttl negative", answer.cache_status.get("hit") is True and (answer.ttl or 0) < 0)
    expect(answer, f"less than {_AT_ONCE_MS:.0f} ms", answer.milliseconds < _AT_ONCE_MS)
    return answer


async def refreshed(stage: Stage) -> Answer:
    """Behind that answer one conditional request went out; its 304 made the copy fresh again."""
    stage.waiting("the origin, which takes a second for its answer")
    await stage.origin.saw(1)
    answer = await stage.fresh(MANIFEST)
    expect_manifest(answer, stage.first.manifest)
    expect_seen(stage.origin, answer, Seen(MANIFEST.path, stage.first.manifest.etag, 304))
    return answer


async def revised_manifest(stage: Stage) -> Answer:
    """The publisher changes the manifest: the next refresh brings it."""
    stage.publish(stage.revised)
    await stage.expiry(MANIFEST)
    stale = await stage.agent.get(MANIFEST)
    expect(stale, "the former manifest from the cache", stale.body == stage.first.manifest.body)
    await stage.origin.saw(1)
    answer = await stage.fresh(MANIFEST)
    expect_manifest(answer, stage.revised.manifest)
    expect_seen(stage.origin, answer, Seen(MANIFEST.path, stage.first.manifest.etag, 200))
    return answer


async def restarted(stage: Stage) -> Answer:
    """The proxy dies without a word; its successor has what was stored."""
    stage.waiting("the proxy's restart")
    await stage.restart()
    answer = await stage.agent.get(AGENT_CARD)
    expect_document(answer, AGENT_CARD)
    expect(answer, "a fresh hit", answer.is_fresh_hit)
    expect_seen(stage.origin, answer)
    return answer


async def stale_if_error(stage: Stage) -> Answer:
    """The origin is gone: the copy serves on, and says how old it is."""
    await stage.fresh(MANIFEST)
    await stage.origin.kill()
    await stage.end_of_window(MANIFEST)
    first = await stage.agent.get(MANIFEST)
    stage.waiting("a second in which the copy gets older")
    await asyncio.sleep(1)
    answer = await stage.agent.get(MANIFEST)
    for each in (first, answer):
        expect_manifest(each, stage.revised.manifest)
        expect(each, "detail=stale-if-error", str(each.cache_status.get("detail")) == "stale-if-error")
        expect(each, "stale, ttl negative", (each.ttl or 0) < 0)
    expect(answer, f"an Age above {first.age}", (answer.age or 0) > (first.age or 0))
    return answer


async def recovered(stage: Stage) -> Answer:
    """The origin is back: a conditional request, and the copy is fresh again."""
    await stage.origin.start()
    stage.waiting("the proxy to ask the origin again")
    answer = await stage.fresh(MANIFEST)
    expect_manifest(answer, stage.revised.manifest)
    expect_seen_again(stage.origin, answer, Seen(MANIFEST.path, stage.revised.manifest.etag, 304))
    return answer


async def only_if_cached(stage: Stage) -> Answer:
    """An agent that wants no traffic is not given any."""
    answer = await stage.agent.get(OPENAPI, {"Cache-Control": "only-if-cached"})
    expect(answer, "504, problem only-if-cached", (answer.status, answer.problem) == (504, "only-if-cached"))
    expect_seen(stage.origin, answer)
    return answer


async def not_a_document(stage: Stage) -> Answer:
    """The origin answers 200 with its web page where a catalog belongs: refused, not stored."""
    answer = await stage.agent.get(AI_CATALOG)
    expect(answer, "502, problem not-a-document", (answer.status, answer.problem) == (502, "not-a-document"))
    expect_seen(stage.origin, answer, Seen(AI_CATALOG.path, None, 200))
    expect(answer, "nothing stored", await stage.operator.stored(AI_CATALOG) is None)
    return answer


STEPS: Final = (
    Step("cold fetch", "manifest", cold_fetch),
    Step("two more, cold", "card, llms", other_documents),
    Step("discover the domain", "all of it", discovery),
    Step("discover it again", "all of it", discovery_again),
    Step("fresh hit", "manifest", fresh_hit),
    Step("If-None-Match: 304", "manifest", not_modified),
    Step("stale while revalidate", "manifest", stale_while_revalidate),
    Step("refreshed by one 304", "manifest", refreshed),
    Step("a new one is noticed", "manifest", revised_manifest),
    Step("kill -9: from SQLite", "agent-card", restarted),
    Step("origin dead: stale", "manifest", stale_if_error),
    Step("origin back: 304", "manifest", recovered),
    Step("only-if-cached: 504", "openapi", only_if_cached),
    Step("web page is no catalog", "ai-catalog", not_a_document),
    Step("dead again: by mirror", "manifest", failover.by_mirror, details=True),
    Step("the mirror's copy: hit", "manifest", failover.copy_at_hand),
    Step("mirrors dead: by IPFS", "manifest", failover.by_content, details=True),
    Step("all dead: no copy, 504", "manifest", failover.no_copy, details=True),
    Step("a mirror back: by it", "manifest", failover.mirror_back, details=True),
    Step("origin back: its word", "manifest", failover.origin_back, details=True),
    Step("the card moves: 308", "agent-card", relocation.moved),
    Step("catalog overruled", "catalog", relocation.overruled, details=True),
    Step("another is gone: 410", "mcp card", relocation.withdrawn),
    Step("catalog: one less", "catalog", relocation.removed, details=True),
    Step("kill -9: still so", "catalog", relocation.remembered, details=True),
    Step("unproven POST: no-op", "order", boundary.unproven, details=True),
    Step("by another query: same", "order", boundary.by_another_query, details=True),
    Step("a person releases it", "order", boundary.released),
    Step("proven, origin says no", "order", boundary.refused_by_origin, details=True),
    Step("the proxy says it on", "order", boundary.refused_by_record, details=True),
    Step("released: it passes", "order", boundary.released_again),
    Step("same key: same result", "order", boundary.same_key),
    Step("evidence, linted", "evidence", boundary.evidence),
)
