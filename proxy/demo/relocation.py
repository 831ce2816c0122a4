"""Steps in which the origin has the last word: it moves a document, withdraws another, and a catalog lists both."""

from __future__ import annotations

import json
from typing import Any, Final

from proxy.demo.agent import Answer
from proxy.demo.documents import AGENT_CARD, CATALOG, MOVED_CARD, SERVER_CARD
from proxy.demo.expectations import expect, expect_seen, expect_told
from proxy.demo.stage import Stage
from proxy.http.problems import Slug

_PAST_THE_CACHE: Final = {"Cache-Control": "no-cache"}
_MOVED: Final = "moved"


async def moved(stage: Stage) -> Answer:
    """The origin answers 308: recorded before the agent is told, and said on without the origin."""
    stage.origin.move(AGENT_CARD, MOVED_CARD)
    first = await stage.agent.get(AGENT_CARD, _PAST_THE_CACHE)
    expect(first, "308 from the origin", (first.status, first.source) == (308, "origin"))
    await stage.until(AGENT_CARD, lambda answer: answer.detail == _MOVED)
    stage.origin.forget()
    answer = await stage.agent.get(AGENT_CARD)
    _expect_moved(answer)
    expect_seen(stage.origin, answer)
    return answer


async def overruled(stage: Stage) -> Answer:
    """A registry still lists the old place of the card; the origin knows better."""
    answer = await stage.agent.catalog(CATALOG)
    _expect_catalog(answer, [MOVED_CARD.url, SERVER_CARD.url], "1;moved=1;gone=0")
    return answer


async def withdrawn(stage: Stage) -> Answer:
    """The origin answers 410: from then on the proxy does, and nothing stored stands in."""
    stage.origin.withdraw(SERVER_CARD)
    first = await stage.agent.get(SERVER_CARD, _PAST_THE_CACHE)
    expect(first, "410 from the origin", (first.status, first.source) == (410, "origin"))
    stage.origin.forget()
    answer = await stage.agent.get(SERVER_CARD)
    _expect_gone(answer)
    expect_seen(stage.origin, answer)
    return answer


async def removed(stage: Stage) -> Answer:
    """What the registry lists and the origin has withdrawn is not in the catalog any more."""
    answer = await stage.agent.catalog(CATALOG)
    _expect_catalog(answer, [MOVED_CARD.url], "2;moved=1;gone=1")
    return answer


async def remembered(stage: Stage) -> Answer:
    """The proxy dies without a word; its successor says the same, and asks nobody."""
    stage.waiting("the proxy's restart")
    await stage.restart()
    stage.origin.forget()
    _expect_moved(await stage.agent.get(AGENT_CARD))
    _expect_gone(await stage.agent.get(SERVER_CARD))
    answer = await stage.agent.catalog(CATALOG)
    _expect_catalog(answer, [MOVED_CARD.url], "2;moved=1;gone=1")
    expect_seen(stage.origin, answer)
    return answer


def _expect_moved(answer: Answer) -> None:
    location = answer.fields.get("location")
    expect_told(answer, "Location", location, MOVED_CARD.url.replace("https://", "/https/"))
    is_recorded = (answer.status, answer.source, answer.detail) == (308, "cache", _MOVED)
    expect(answer, "308 from the record", is_recorded)


def _expect_gone(answer: Answer) -> None:
    expect(answer, "410, problem gone", (answer.status, answer.problem) == (410, Slug.GONE))


def _expect_catalog(answer: Answer, urls: list[str], overrides: str) -> None:
    expect(answer, f"200, {CATALOG.media_type}", answer.status == 200)
    catalog: dict[str, Any] = json.loads(answer.body)
    expect_told(answer, "entries", [entry["url"] for entry in catalog["entries"]], urls)
    expect_told(answer, "Discovery-Overrides", answer.fields.get("discovery-overrides"), overrides)
