"""The time a call has: an answer comes within it whatever hangs, says what was cut, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

import pytest

from proxy.engine.discovery.discoverer import DiscoverySettings
from tests.engine.discovery.documents import (
    ARD_AT,
    CARD_AT,
    MANIFEST_AT,
    SKILLS_AT,
    agent_card,
    catalog,
    entry,
    manifest,
    skill,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

DEADLINE = 0.2
CUT = "The time for discovery was over (discovery.deadline)."
TEXT = {"content_type": "text/plain"}


def hurried(**settings: Any) -> Neighbourhood:
    return neighbourhood(DiscoverySettings(deadline=DEADLINE, **settings))


async def in_time(n: Neighbourhood) -> Described:
    started = perf_counter()
    found = await n.discover()
    assert perf_counter() - started < DEADLINE * 4
    return found


def cut(found: Described) -> list[str]:
    """The targets of the steps that were not waited for."""
    return [step["target"] for step in found["steps"] if step["detail"] == CUT]


class TestOrigin:
    async def test_that_never_answers(self) -> None:
        n = hurried()
        n.engine.origin.hold()
        found = await in_time(n)
        assert (found["outcome"], found.status) == ("unavailable", 503)
        assert len(cut(found)) == len(n.paths) == 4
        assert found["overhead"]["http_requests"] == 4
        assert found.prepared.fresh_until == n.engine.clock()

    async def test_what_it_answers_later_is_let_go_or_kept_and_never_leaked(self) -> None:
        n = hurried()
        n.publish(MANIFEST_AT, manifest())
        n.publish("/", b"<p>", content_type="text/html")
        n.engine.origin.hold()
        await in_time(n)
        n.engine.origin.release()
        await n.engine.settle()
        await n.engine.refreshed()
        assert n.engine.origin.leaked == []
        n.engine.origin.requests.clear()
        found = await n.discover()
        assert found["outcome"] == "found" and MANIFEST_AT not in n.paths

    @pytest.mark.parametrize("path", ["/llms.txt", "/robots.txt", CARD_AT, ARD_AT, SKILLS_AT, "/"])
    async def test_of_which_one_document_hangs(self, path: str) -> None:
        n = hurried()
        n.publish(MANIFEST_AT, manifest())
        n.engine.origin.hang(path)
        found = await in_time(n)
        assert (found["outcome"], found["manifest"] is not None) == ("found", True)
        assert f"https://example.com{path}" in cut(found)
        assert found.step("manifest")["outcome"] == "found"
        assert found.prepared.fresh_until == n.engine.clock()

    async def test_whose_manifest_hangs(self) -> None:
        n = hurried()
        n.publish(CARD_AT, agent_card())
        n.engine.origin.hang(MANIFEST_AT)
        found = await in_time(n)
        assert (found["outcome"], found["manifest"]) == ("found", None)
        assert found["endpoints"] and f"https://example.com{MANIFEST_AT}" in cut(found)

    async def test_of_which_nothing_was_found_in_time(self) -> None:
        """What was not waited for is not known to be absent."""
        n = hurried()
        n.engine.origin.hang(CARD_AT)
        found = await in_time(n)
        assert (found["outcome"], found.status) == ("unavailable", 503)

    @pytest.mark.parametrize("path", ["/cards/one.json", "/skills/a/SKILL.md"])
    async def test_whose_documents_lead_to_one_that_hangs(self, path: str) -> None:
        n = hurried()
        n.publish(ARD_AT, catalog(entry("one", "https://example.com/cards/one.json")))
        n.publish(SKILLS_AT, skills_index(skill("a", b"text")))
        n.engine.origin.hang(path)
        found = await in_time(n)
        assert f"https://example.com{path}" in cut(found)
        kinds = {document["class"] for document in found["documents"] if document["found"]}
        assert kinds >= {"ai-catalog", "agent-skills"}

    async def test_whose_proof_hangs(self) -> None:
        n = hurried()
        n.publish(MANIFEST_AT, manifest())
        n.dns.txt("_agent.example.com", f"v=aid2;u=https://api.example.com/mcp;p=mcp;k={'A' * 42}E")
        n.engine.origin.hang("/mcp")
        found = await in_time(n)
        assert (found["outcome"], cut(found)) == ("found", ["https://api.example.com/mcp"])
        assert not [one for one in found["endpoints"] if one["protocol"] == "mcp"]


class TestResolver:
    @pytest.mark.parametrize("name", ["*", "_agent.example.com", "_index._agents.example.com"])
    async def test_that_never_answers(self, name: str) -> None:
        n = hurried()
        n.publish(MANIFEST_AT, manifest())
        n.dns.hang(name)
        found = await in_time(n)
        assert (found["outcome"], found["manifest"] is not None) == ("found", True)
        assert all(target.endswith("example.com") for target in cut(found)) and cut(found)

    async def test_nor_does_the_origin(self) -> None:
        n = hurried()
        n.dns.hang("*")
        n.engine.origin.hold()
        found = await in_time(n)
        assert (found["outcome"], found.status) == ("unavailable", 503)
        assert len(cut(found)) == 8

    async def test_that_answers_everything_but_an_alias(self) -> None:
        n = hurried()
        n.publish(MANIFEST_AT, manifest())
        n.dns.svcb("_catalog._agents.example.com", 0, "slow.example.com")
        n.dns.hang("slow.example.com")
        found = await in_time(n)
        assert cut(found) == ["slow.example.com"]


class TestAfterwards:
    async def test_the_next_call_begins_anew(self) -> None:
        n = hurried()
        n.engine.origin.hold()
        await in_time(n)
        n.publish(MANIFEST_AT, manifest())
        n.engine.origin.release()
        await n.engine.settle()
        n.engine.generations.mark(("",), n.engine.clock(), soft=False)
        assert (await n.discover())["outcome"] == "found"

    async def test_nothing_is_left_running(self) -> None:
        n = hurried()
        n.dns.hang("_index._agents.example.com")
        n.engine.origin.hang("/llms.txt")
        before = asyncio.all_tasks()
        await in_time(n)
        await n.engine.settle()
        # The fill belongs to the proxy and has a lease of its own.
        assert len(asyncio.all_tasks() - before) == 1
        await n.engine.flights.close(0.0)
        await n.engine.settle()
        assert asyncio.all_tasks() - before == set()

    async def test_steps_tell_all_and_the_last_says_when(self) -> None:
        n = hurried()
        n.engine.origin.hold()
        found = await in_time(n)
        asked = {step["target"] for step in found["steps"]}
        assert asked >= {sent.request.target.uri for sent in n.engine.origin.requests}
        assert {step["outcome"] for step in found["steps"] if step["detail"] == CUT} == {"failed"}

    async def test_all_who_waited_are_answered(self) -> None:
        n = hurried()
        n.engine.origin.hold()
        answers = await asyncio.gather(*(n.discover() for _ in range(5)))
        assert [found.status for found in answers] == [503] * 5
        assert len(n.paths) == 4

    async def test_one_who_leaves_before(self) -> None:
        n = hurried()
        n.engine.origin.hold()
        task = n.start()
        await n.engine.settle()
        task.cancel()
        await asyncio.sleep(DEADLINE * 1.5)
        n.engine.origin.release()
        await n.engine.settle()
        assert n.engine.origin.leaked == []

    async def test_a_single_place_is_enough(self) -> None:
        n = hurried(concurrency=1)
        n.publish(MANIFEST_AT, manifest())
        n.publish("/llms.txt", b"# Site\n", **TEXT)
        found = await in_time(n)
        assert (found["outcome"], cut(found)) == ("found", [])
