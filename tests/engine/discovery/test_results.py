"""Answers kept ready, calls that share one, and what ends them: expiry, a purge, nobody leaving (§5.1, §14.10)."""

from __future__ import annotations

import asyncio
import json

import pytest

from proxy.engine.control import ByHost, ByUri, Everything, Scope
from proxy.engine.discovery.results import Prepared, Question, Results, question_of
from proxy.ports import OriginFault, OriginUnavailable
from proxy.stores.generations import MemoryGenerations
from tests.engine.discovery.documents import CARD_AT, CATALOG_AT, MANIFEST_AT, agent_card, catalog, manifest
from tests.simulators.clock import FakeClock
from tests.simulators.discovery import Neighbourhood, neighbourhood
from tests.simulators.origin import Reply

PKA = f"v=aid2;u=https://api.example.com/mcp;p=mcp;k={'A' * 42}E"


URIS = frozenset({"https://a.example/x"})


def question(domain: str) -> Question:
    return Question(domain, None, None)


def answer(fresh_until: float = 1e12, size: int = 10) -> Prepared:
    return Prepared(b"x" * size, b"", 'W/"1"', fresh_until)


class TestResults:
    def test_one_that_is_good_is_given(self) -> None:
        clock = FakeClock()
        results = Results(MemoryGenerations(), clock)
        assert results.get(question("a")) is None
        kept = answer(clock() + 10)
        results.put(question("a"), kept, URIS, 0)
        assert results.get(question("a")) is kept
        assert results.get(Question("a", "L4", None)) is None
        clock += 10
        assert results.get(question("a")) is None

    def test_one_that_is_no_longer_good_is_not_kept(self) -> None:
        clock = FakeClock()
        results = Results(MemoryGenerations(), clock)
        results.put(question("a"), answer(clock()), URIS, 0)
        assert results.get(question("a")) is None

    @pytest.mark.parametrize("scope", ["all", "uri:https://a.example/x", "host:a.example", "tag:any"])
    def test_a_purge_of_what_it_was_made_of_ends_it(self, scope: str) -> None:
        clock, generations = FakeClock(), MemoryGenerations()
        results = Results(generations, clock)
        results.put(question("a"), answer(), URIS, generations.latest)
        before = generations.latest
        generations.mark((scope,), clock(), soft=False)
        assert results.get(question("a")) is None
        results.put(question("a"), answer(), URIS, before)
        assert results.get(question("a")) is None
        results.put(question("a"), answer(), URIS, generations.latest)
        assert results.get(question("a")) is not None

    @pytest.mark.parametrize("scope", ["uri:https://a.example/y", "host:b.example", "host:a.example:444"])
    def test_a_purge_of_something_else_leaves_it(self, scope: str) -> None:
        clock, generations = FakeClock(), MemoryGenerations()
        results = Results(generations, clock)
        results.put(question("a"), answer(), URIS, generations.latest)
        generations.mark((scope,), clock(), soft=False)
        assert results.get(question("a")) is not None

    def test_a_soft_purge_ends_it_too(self) -> None:
        clock, generations = FakeClock(), MemoryGenerations()
        results = Results(generations, clock)
        results.put(question("a"), answer(), URIS, generations.latest)
        generations.mark(("all",), clock(), soft=True)
        assert results.get(question("a")) is None

    def test_what_it_was_made_of_counts_too(self) -> None:
        results = Results(MemoryGenerations(), FakeClock(), max_bytes=100)
        results.put(question("a"), answer(), frozenset({"https://a.example/" + "x" * 100}), 0)
        assert results.get(question("a")) is None

    @pytest.mark.parametrize(("size", "is_kept"), [(2**20, True), (2**20 + 1, False)])
    def test_one_that_is_large_is_not_kept(self, size: int, is_kept: bool) -> None:
        results = Results(MemoryGenerations(), FakeClock())
        results.put(question("a"), answer(size=size), URIS, 0)
        assert (results.get(question("a")) is not None) is is_kept

    def test_a_newer_one_takes_the_place(self) -> None:
        results = Results(MemoryGenerations(), FakeClock(), max_bytes=25)
        for _ in range(3):
            newest = answer()
            results.put(question("a"), newest, frozenset(), 0)
        results.put(question("b"), answer(), frozenset(), 0)
        assert results.get(question("a")) is newest and results.get(question("b")) is not None

    def test_one_that_is_good_no_longer_takes_the_older_with_it(self) -> None:
        clock = FakeClock()
        results = Results(MemoryGenerations(), clock)
        results.put(question("a"), answer(), URIS, 0)
        results.put(question("a"), answer(clock()), URIS, 0)
        assert results.get(question("a")) is None

    def test_the_bound_is_in_bytes_and_the_least_asked_for_goes_first(self) -> None:
        results = Results(MemoryGenerations(), FakeClock(), max_bytes=30)
        for name in "abc":
            results.put(question(name), answer(), frozenset(), 0)
        results.get(question("a"))
        results.put(question("d"), answer(), frozenset(), 0)
        assert [results.get(question(name)) is not None for name in "abcd"] == [True, False, True, True]
        results.put(question("e"), answer(size=31), frozenset(), 0)
        assert [results.get(question(name)) is not None for name in "acde"] == [False] * 4

    def test_the_time_stands_between(self) -> None:
        assert Prepared(b'{"ms":', b"}", "", 0.0).body(1.234) == b'{"ms":1.23}'


def publishing() -> Neighbourhood:
    n = neighbourhood()
    n.publish(MANIFEST_AT, manifest())
    n.publish(CARD_AT, agent_card())
    n.dns.txt("_agent.example.com", "v=uaix1; did=did:web:example.com")
    return n


def conditions(n: Neighbourhood) -> dict[str, bool]:
    """Which paths were asked for with a condition."""
    return {sent.path: sent.field("If-None-Match") is not None for sent in n.engine.origin.requests}


class TestWarm:
    async def test_the_second_call_costs_nothing(self) -> None:
        n = publishing()
        first = await n.discover()
        n.engine.origin.requests.clear()
        n.dns.asked.clear()
        second = await n.discover()
        assert (n.paths, n.dns.asked) == ([], [])
        assert [step["step"] for step in second["steps"]] == ["answer"]
        assert (second["source"]["cache"], second["steps"][0]["outcome"]) == ("hit", "cached")
        passing = {"overhead", "steps", "source"}
        assert {name: value for name, value in second.told.items() if name not in passing} == {
            name: value for name, value in first.told.items() if name not in passing
        }

    async def test_it_says_how_long_it_is_good(self) -> None:
        n = publishing()
        await n.discover()
        detail = (await n.discover())["steps"][0]["detail"]
        assert detail == "made at 2027-01-15T08:00:00Z, good until 2027-01-15T08:00:30Z"

    async def test_each_client_has_its_own(self) -> None:
        n = publishing()
        await n.discover()
        first = await n.discover(level="L4")
        assert first["client"]["level"] == "L4" and first["steps"][0]["step"] != "answer"
        assert (await n.discover(level="L4"))["steps"][0]["step"] == "answer"
        assert (await n.discover(level="L4", ladder="profile"))["steps"][0]["step"] != "answer"

    @pytest.mark.parametrize(
        ("level", "ladder", "told"),
        [
            (None, "exec", (None, None)),
            ("L4", None, ("L4", None)),
            ("L4", "profile", ("L4", "profile")),
            ("L9", None, ("L0", None)),
            ("x" * 9000, "y" * 9000, ("L0", "unknown")),
        ],
    )
    def test_claims_in_anybodys_words_are_few(
        self, level: str | None, ladder: str | None, told: tuple[str | None, str | None]
    ) -> None:
        assert question_of("a", level, ladder) == Question("a", *told)

    async def test_after_expiry_what_did_not_change_is_only_validated(self) -> None:
        n = publishing()
        await n.discover()
        n.engine.clock += 301
        n.engine.origin.requests.clear()
        found = await n.discover()
        asked = conditions(n)
        assert asked[MANIFEST_AT] and asked[CARD_AT]
        assert found["source"]["cache"] == "revalidated"
        read = [step for step in found["steps"] if step["target"].startswith("https")]
        assert {step["detail"] for step in read if step["outcome"] == "found"} == {"unchanged"}

    async def test_before_the_documents_expire_only_what_was_not_there_is_asked_again(self) -> None:
        n = publishing()
        await n.discover()
        n.engine.clock += 31
        n.engine.origin.requests.clear()
        found = await n.discover()
        assert not {MANIFEST_AT, CARD_AT} & set(n.paths) and CATALOG_AT in n.paths
        assert found["overhead"]["dns_queries"] == 0

    async def test_the_shortest_source_decides(self) -> None:
        for seconds in (3, 29, 300):
            n = publishing()
            n.publish(CARD_AT, agent_card(), max_age=seconds)
            found = await n.discover()
            assert found.prepared.fresh_until == n.engine.clock() + min(seconds, 30)

    @pytest.mark.parametrize("control", ["no-store", "no-cache", "max-age=0", "private"])
    async def test_one_of_what_may_not_be_kept_is_found_out_each_time(self, control: str) -> None:
        n = publishing()
        n.publish(CARD_AT, agent_card(), cache_control=control)
        assert (await n.discover()).prepared.fresh_until == n.engine.clock()
        n.engine.origin.requests.clear()
        found = await n.discover()
        assert n.paths == [CARD_AT]
        assert (found["overhead"]["http_requests"], found["overhead"]["dns_queries"]) == (1, 0)

    async def test_a_proof_is_run_each_time(self) -> None:
        n = publishing()
        n.dns.txt("_agent.example.com", PKA)
        for _ in range(2):
            found = await n.discover()
            assert found.step("aid-pka") and found.prepared.fresh_until == n.engine.clock()
        assert n.asked("api.example.com").count("/mcp") == 2


SCOPES: list[Scope] = [Everything(), ByHost("example.com"), ByUri(f"https://example.com{MANIFEST_AT}")]


class TestPurge:
    """§4.4: nothing that was read before a purge is told after it."""

    @pytest.mark.parametrize("scope", SCOPES, ids=str)
    async def test_it_ends_prepared_answers(self, scope: Scope) -> None:
        n = publishing()
        await n.discover()
        newer = {**manifest(), "supportBoundary": "Newer."}
        n.publish(MANIFEST_AT, newer)
        assert (await n.discover())["manifest"]["body"] == manifest()
        await n.engine.control.purge(scope, soft=False)
        assert (await n.discover())["manifest"]["body"] == newer

    async def test_a_call_under_way_is_not_joined_after_it_and_begins_again(self) -> None:
        n = publishing()
        n.engine.origin.hang(CATALOG_AT)
        early = n.start()
        await n.engine.settle()
        assert MANIFEST_AT in n.paths and not early.done()
        newer = {**manifest(), "supportBoundary": "Newer."}
        n.publish(MANIFEST_AT, newer)
        await n.engine.control.purge(Everything(), soft=False)
        n.engine.origin.unhang(CATALOG_AT)
        late = n.start()
        assert (await late)["manifest"]["body"] == newer
        assert (await early)["manifest"]["body"] == newer
        assert (await n.discover())["manifest"]["body"] == newer

    async def test_nobody_joins_a_call_that_a_second_purge_overtook(self) -> None:
        n = publishing()
        n.engine.origin.hang(CATALOG_AT)
        early = n.start()
        await n.engine.settle()
        await n.engine.control.purge(Everything(), soft=False)
        n.engine.origin.unhang(CATALOG_AT)
        n.engine.origin.hang(CARD_AT)
        await n.engine.settle()
        assert n.paths.count(MANIFEST_AT) == 2 and not early.done()
        newer = {**manifest(), "supportBoundary": "Newer."}
        n.publish(MANIFEST_AT, newer)
        await n.engine.control.purge(Everything(), soft=False)
        late = n.start()
        await n.engine.settle()
        n.engine.origin.unhang(CARD_AT)
        assert (await late)["manifest"]["body"] == newer
        await early
        assert (await n.discover())["manifest"]["body"] == newer

    async def test_what_was_remembered_as_absent_is_asked_for_again(self) -> None:
        n = neighbourhood()
        await n.discover()
        n.publish(CARD_AT, agent_card())
        n.publish("/", b"", fields=[("Link", '</o.json>; rel="service-desc"')])
        assert (await n.discover()).status == 404
        await n.engine.control.purge(Everything(), soft=False)
        found = await n.discover()
        assert found.status == 200
        assert ("openapi", "https://example.com/o.json", "link", "origin-tls") in found.endpoints


class TestWritesOfClients:
    """RFC 9111 §4.4: an unsafe request invalidates what it was sent to, and not what has nothing to do with it."""

    @pytest.mark.parametrize(("path", "is_warm"), [("/orders", True), (MANIFEST_AT, False), (CARD_AT, False)])
    async def test_only_what_was_read_counts(self, path: str, is_warm: bool) -> None:
        n = publishing()
        n.engine.origin.respond("/orders", body=b"done")
        await n.discover()
        await n.engine.ask(path, method="POST", body=b"x")
        n.engine.origin.requests.clear()
        found = await n.discover()
        assert ([step["step"] for step in found["steps"]] == ["answer"]) is is_warm
        assert bool(n.paths) is not is_warm

    async def test_a_stream_of_them_is_no_stream_of_discoveries(self) -> None:
        n = publishing()
        n.engine.origin.respond("/orders", body=b"done")
        n.engine.origin.hang(CATALOG_AT)
        calls = []
        for _ in range(5):
            calls.append(n.start())
            await n.engine.ask("/orders", method="POST", body=b"x")
            await n.engine.settle()
        n.engine.origin.unhang(CATALOG_AT)
        await asyncio.gather(*calls)
        assert n.paths.count(MANIFEST_AT) == 1


class TestTogether:
    """Calls for the same that come together are one; nobody who leaves takes it with him."""

    async def test_twenty_are_one(self) -> None:
        n = publishing()
        n.engine.origin.hold()
        tasks = [n.start() for _ in range(20)]
        await n.engine.settle()
        n.engine.origin.release()
        answers = await asyncio.gather(*tasks)
        assert len({found.prepared.etag for found in answers}) == 1
        assert n.paths.count(MANIFEST_AT) == 1 and len(n.paths) == len(set(n.paths))
        costs = [found["overhead"]["http_requests"] for found in answers]
        assert costs == [len(n.paths)] + [0] * 19

    async def test_they_are_told_of_no_cost_where_nothing_can_be_kept_either(self) -> None:
        n = publishing()
        n.publish(CARD_AT, agent_card(), cache_control="no-store")
        n.engine.origin.hold()
        tasks = [n.start() for _ in range(3)]
        await n.engine.settle()
        n.engine.origin.release()
        answers = await asyncio.gather(*tasks)
        assert [bool(found["overhead"]["http_requests"]) for found in answers] == [True, False, False]
        assert len({found.prepared.etag for found in answers}) == 1

    async def test_those_of_a_domain_that_is_down(self) -> None:
        n = neighbourhood()
        n.engine.origin.fail()
        n.engine.origin.hold()
        tasks = [n.start() for _ in range(5)]
        await n.engine.settle()
        n.engine.origin.release()
        assert [found.status for found in await asyncio.gather(*tasks)] == [503] * 5
        assert len(n.paths) <= 5

    async def test_different_ones_are_not(self) -> None:
        n = publishing()
        n.engine.origin.hold()
        tasks = [n.start("example.com"), n.start("www.example.com"), n.start("example.com", "L0")]
        await n.engine.settle()
        n.engine.origin.release()
        answers = await asyncio.gather(*tasks)
        assert [found["domain"] for found in answers] == ["example.com", "www.example.com", "example.com"]
        assert [found["client"]["level"] for found in answers] == [None, None, "L0"]
        assert n.asked("example.com").count(MANIFEST_AT) == 1

    async def test_one_who_leaves_leaves_the_call(self) -> None:
        n = publishing()
        n.engine.origin.hold()
        leaver, stayer = n.start(), n.start()
        await n.engine.settle()
        leaver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaver
        n.engine.origin.release()
        assert (await stayer)["outcome"] == "found"
        assert len(n.paths) == len(set(n.paths))

    async def test_when_all_have_left_the_answer_is_there_for_the_next(self) -> None:
        n = publishing()
        n.engine.origin.hold()
        task = n.start()
        await n.engine.settle()
        task.cancel()
        n.engine.origin.release()
        await n.engine.settle()
        asked = len(n.paths)
        assert (await n.discover())["outcome"] == "found"
        assert len(n.paths) == asked and n.engine.origin.leaked == []


class TestOutage:
    """§9: an outage is no removal; what is stored counts as far as its origin allows."""

    @pytest.mark.parametrize(
        ("control", "seconds", "outcome"),
        [
            ("max-age=3600", 600, "found"),
            ("max-age=60, stale-if-error=3600", 600, "found"),
            ("max-age=60, stale-if-error=300", 600, "unavailable"),
            ("max-age=60", 600, "unavailable"),
            (None, 600, "found"),
            ("max-age=60, stale-if-error=3600, must-revalidate", 600, "unavailable"),
        ],
    )
    async def test_a_stored_manifest(self, control: str | None, seconds: int, outcome: str) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control=control)
        await n.discover()
        n.engine.clock += seconds
        n.engine.origin.fail()
        found = await n.discover()
        assert (found["outcome"], found["manifest"] is not None) == (outcome, outcome == "found")

    async def test_one_host_that_does_not_answer_is_no_trouble_to_the_rest(self) -> None:
        n = publishing()
        n.dns.txt("_index._agents.example.com", "url=https://down.example.com/list.json")

        def unreachable(_: object) -> Reply:
            raise OriginUnavailable(OriginFault.TIMEOUT, "simulated")

        n.engine.origin.answer("https://down.example.com/list.json", unreachable)
        found = await n.discover()
        assert found["outcome"] == "found"
        assert found.document("list.json")["reason"] == "origin-timeout"
        assert found.prepared.fresh_until == n.engine.clock()

    async def test_documents_of_a_host_that_is_down_come_from_the_store(self) -> None:
        n = publishing()
        for path in (MANIFEST_AT, CARD_AT, CATALOG_AT):
            body = {MANIFEST_AT: manifest(), CARD_AT: agent_card(), CATALOG_AT: catalog()}[path]
            n.publish(path, body, cache_control="max-age=60, stale-if-error=3600")
        await n.discover()
        n.engine.clock += 120
        n.engine.origin.requests.clear()
        n.engine.origin.fail()
        found = await n.discover()
        kinds = {document["class"] for document in found["documents"] if document["found"]}
        assert kinds == {"manifest", "agent-card", "ai-catalog"}
        assert found["source"]["cache"] == "stale"
        assert len(n.paths) <= 6

    async def test_it_is_asked_again_by_the_next_call(self) -> None:
        n = publishing()
        n.engine.origin.fail()
        await n.discover()
        n.engine.origin.recover()
        found = await n.discover()
        assert (found["outcome"], found["manifest"]["body"]) == ("found", manifest())

    async def test_a_refresh_that_fails_wipes_nothing(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control="max-age=60, stale-if-error=3600")
        await n.discover()
        for status, body in ((500, b""), (503, b""), (200, b""), (200, b"<html>"), (200, b'{"error":1}')):
            n.engine.clock += 61
            n.publish(MANIFEST_AT, body, status=status, etag=f'"{status}"')
            found = await n.discover()
            assert (found["manifest"]["body"], found["source"]["cache"]) == (manifest(), "stale"), (status, body)

    async def test_the_answer_says_the_same_of_a_stale_manifest(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control="max-age=60, stale-if-error=3600")
        fresh = await n.discover()
        n.engine.clock += 120
        n.engine.origin.fail()
        stale = await n.discover()
        assert json.dumps(fresh["manifest"]["body"]) == json.dumps(stale["manifest"]["body"])
        assert stale.prepared.fresh_until == n.engine.clock()
