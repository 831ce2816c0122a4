"""The story, step by step. A step brings about what its title says and gives the answer that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from proxy.demo.agent import Answer
from proxy.demo.documents import (
    AGENT_CARD,
    AI_CATALOG,
    DID_DOCUMENT,
    HOST,
    LLMS,
    MANIFEST,
    REVISED_MANIFEST,
    Document,
)
from proxy.demo.origin import Seen
from proxy.demo.stage import Stage

_SLOW_SECONDS: Final = 1.0
_AT_ONCE_MS: Final = 500.0
_SINGLE_DIGIT_MS: Final = 10.0
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the demo: at most 22 characters of title, 10 for the document it is about."""

    title: str
    document: str
    take: Callable[[Stage], Awaitable[Answer]]


class Unfulfilled(Exception):
    """A step did not do what it says."""

    def __init__(self, expected: str, came: str, answer: Answer) -> None:
        super().__init__(f"{expected}: {came}")
        self.expected = expected
        self.came = came
        self.answer = answer


def _expect(answer: Answer, expected: str, holds: bool) -> None:
    if not holds:
        raise Unfulfilled(expected, str(answer), answer)


def _expect_seen(stage: Stage, answer: Answer, *expected: Seen) -> None:
    """The origin was asked this since the step began, and nothing else."""
    if stage.origin.seen != list(expected):
        raise Unfulfilled(f"the origin sees {_listed(expected)}", _listed(stage.origin.seen), answer)


def _listed(seen: list[Seen] | tuple[Seen, ...]) -> str:
    return ", ".join(f"{one.status} for {one.path} ({one.if_none_match})" for one in seen) or "no request"


def _expect_document(answer: Answer, document: Document) -> None:
    _expect(answer, f"200 with the {document.name} as published", answer.status == 200)
    _expect(answer, f"the {document.name} as published", answer.body == document.body)
    _expect(answer, "Discovery-Trust: origin-tls", answer.trust == "origin-tls")


async def _cold(stage: Stage, document: Document) -> Answer:
    answer = await stage.agent.get(document)
    _expect_document(answer, document)
    status = answer.cache_status
    _expect(answer, "Cache-Status with fwd=uri-miss", status.get("fwd") == "uri-miss")
    _expect(answer, "Cache-Status with stored", status.get("stored") is True)
    return answer


async def cold_fetch(stage: Stage) -> Answer:
    """Nothing is stored yet: the manifest comes from the origin and is stored."""
    answer = await _cold(stage, MANIFEST)
    _expect_seen(stage, answer, Seen(MANIFEST.path, None, 200))
    return answer


async def other_documents(stage: Stage) -> Answer:
    """The agent card and llms.txt likewise."""
    await _cold(stage, LLMS)
    answer = await _cold(stage, AGENT_CARD)
    _expect_seen(stage, answer, Seen(LLMS.path, None, 200), Seen(AGENT_CARD.path, None, 200))
    return answer


async def discovery(stage: Stage) -> Answer:
    """What the domain offers an agent of level L4: from DNS and every place it publishes at, in one answer."""
    stage.nameserver.forget()
    answer = await stage.agent.discover(HOST, "L4")
    _expect(answer, "200", answer.status == 200)
    told = answer.discovered
    _expect_told(answer, "the outcome", told["outcome"], "found")
    _expect_told(answer, "the trust", told["trust"]["state"], "origin-tls")
    _expect_told(answer, "the issuer", told["authorization"]["issuer"], "https://auth.example.com")
    offered = {(endpoint["protocol"], endpoint["from"]) for endpoint in told["endpoints"]}
    _expect_told(answer, "endpoints", offered >= {("a2a", "agent-card"), ("mcp", "mcp-server-card")}, True)
    cost = told["overhead"]
    _expect_told(answer, "HTTP requests", cost["http_requests"], len(stage.origin.seen))
    _expect_told(answer, "DNS queries", cost["dns_queries"], len(stage.nameserver.asked))
    _expect_told(answer, "central services", cost["central_services"], 0)
    return answer


async def discovery_again(stage: Stage) -> Answer:
    """Asked again, everything is at hand: no request leaves the proxy."""
    stage.nameserver.forget()
    answers = [await stage.agent.discover(HOST, "L4") for _ in range(_ATTEMPTS)]
    fastest = min(answers, key=lambda answer: answer.milliseconds)
    for answer in answers:
        cost = answer.discovered["overhead"]
        _expect_told(answer, "HTTP requests", cost["http_requests"], 0)
        _expect_told(answer, "DNS queries", cost["dns_queries"], len(stage.nameserver.asked))
    _expect(fastest, f"less than {_SINGLE_DIGIT_MS:.0f} ms", fastest.milliseconds < _SINGLE_DIGIT_MS)
    return fastest


def _expect_told(answer: Answer, what: str, told: object, expected: object) -> None:
    if told != expected:
        raise Unfulfilled(f"{what}: {expected}", str(told), answer)


async def fresh_hit(stage: Stage) -> Answer:
    """The manifest again: from memory, without the origin. The fastest of a few, for a busy machine."""
    await stage.fresh(MANIFEST, seconds=1)
    stage.origin.forget()
    answers = [await stage.agent.get(MANIFEST) for _ in range(_ATTEMPTS)]
    for answer in answers:
        _expect(answer, "a fresh hit", answer.is_fresh_hit)
    fastest = min(answers, key=lambda answer: answer.milliseconds)
    _expect_document(fastest, MANIFEST)
    _expect_seen(stage, fastest)
    _expect(fastest, f"less than {_SINGLE_DIGIT_MS:.0f} ms", fastest.milliseconds < _SINGLE_DIGIT_MS)
    return fastest


async def not_modified(stage: Stage) -> Answer:
    """An agent that has the manifest already is told so by the cache."""
    await stage.fresh(MANIFEST, seconds=1)
    stage.origin.forget()
    answer = await stage.agent.get(MANIFEST, {"If-None-Match": MANIFEST.etag})
    _expect(answer, "304 without a body", answer.status == 304 and not answer.body)
    _expect(answer, "a fresh hit", answer.is_fresh_hit)
    _expect_seen(stage, answer)
    return answer


async def stale_while_revalidate(stage: Stage) -> Answer:
    """Past its freshness the copy is served at once, however long the origin takes."""
    await stage.expiry(MANIFEST)
    stage.origin.forget()
    stage.origin.delay_next(_SLOW_SECONDS)
    answer = await stage.agent.get(MANIFEST)
    _expect_seen(stage, answer)
    _expect_document(answer, MANIFEST)
    _expect(answer, "a stale hit, ttl negative", answer.cache_status.get("hit") is True and (answer.ttl or 0) < 0)
    _expect(answer, f"less than {_AT_ONCE_MS:.0f} ms", answer.milliseconds < _AT_ONCE_MS)
    return answer


async def refreshed(stage: Stage) -> Answer:
    """Behind that answer one conditional request went out; its 304 made the copy fresh again."""
    stage.waiting("the origin, which takes a second for its answer")
    await stage.origin.saw(1)
    answer = await stage.fresh(MANIFEST)
    _expect_document(answer, MANIFEST)
    _expect_seen(stage, answer, Seen(MANIFEST.path, MANIFEST.etag, 304))
    return answer


async def revised_manifest(stage: Stage) -> Answer:
    """The publisher changes the manifest: the next refresh brings it."""
    stage.origin.publish(REVISED_MANIFEST)
    await stage.expiry(MANIFEST)
    stale = await stage.agent.get(MANIFEST)
    _expect(stale, "the former manifest from the cache", stale.body == MANIFEST.body)
    await stage.origin.saw(1)
    answer = await stage.fresh(MANIFEST)
    _expect_document(answer, REVISED_MANIFEST)
    _expect_seen(stage, answer, Seen(MANIFEST.path, MANIFEST.etag, 200))
    return answer


async def restarted(stage: Stage) -> Answer:
    """The proxy dies without a word; its successor has what was stored."""
    stage.waiting("the proxy's restart")
    await stage.restart()
    answer = await stage.agent.get(AGENT_CARD)
    _expect_document(answer, AGENT_CARD)
    _expect(answer, "a fresh hit", answer.is_fresh_hit)
    _expect_seen(stage, answer)
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
        _expect_document(each, REVISED_MANIFEST)
        _expect(each, "detail=stale-if-error", str(each.cache_status.get("detail")) == "stale-if-error")
        _expect(each, "stale, ttl negative", (each.ttl or 0) < 0)
    _expect(answer, f"an Age above {first.age}", (answer.age or 0) > (first.age or 0))
    return answer


async def recovered(stage: Stage) -> Answer:
    """The origin is back: one conditional request, and the copy is fresh again."""
    await stage.origin.start()
    stage.waiting("the proxy to ask the origin again")
    answer = await stage.fresh(MANIFEST)
    _expect_document(answer, REVISED_MANIFEST)
    _expect_seen(stage, answer, Seen(MANIFEST.path, REVISED_MANIFEST.etag, 304))
    return answer


async def only_if_cached(stage: Stage) -> Answer:
    """An agent that wants no traffic is not given any."""
    answer = await stage.agent.get(DID_DOCUMENT, {"Cache-Control": "only-if-cached"})
    _expect(answer, "504, problem only-if-cached", (answer.status, answer.problem) == (504, "only-if-cached"))
    _expect_seen(stage, answer)
    return answer


async def not_a_document(stage: Stage) -> Answer:
    """The origin answers 200 with its web page where a catalog belongs: refused, not stored."""
    answer = await stage.agent.get(AI_CATALOG)
    _expect(answer, "502, problem not-a-document", (answer.status, answer.problem) == (502, "not-a-document"))
    _expect_seen(stage, answer, Seen(AI_CATALOG.path, None, 200))
    _expect(answer, "nothing stored", await stage.operator.stored(AI_CATALOG) is None)
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
    Step("only-if-cached: 504", "did.json", only_if_cached),
    Step("web page is no catalog", "ai-catalog", not_a_document),
)
