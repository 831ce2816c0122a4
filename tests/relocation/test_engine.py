"""The origin's word through the whole engine: recorded before it is passed on, answered from, asked for again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.engine.outcome import Served
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.problems import Slug
from proxy.ledgers import LedgerUnavailable
from proxy.ports import OriginFault
from proxy.relocation.records import Proof, Record, State
from proxy.relocation.rules import CrossDomain, RelocationRules
from tests.engine.samples import CARD, CARD_PATH, HTML
from tests.simulators.engine import SITE, Got, Simulation, engine
from tests.simulators.origin import Reply

NEW_PATH = "/new/card.json"
ELSEWHERE = "https://other.example"


def moved(e: Simulation, path: str = CARD_PATH, to: str = NEW_PATH, status: int = 308, **more: Any) -> None:
    """The origin's permanent redirect from `path`, and a card at its end."""
    e.origin.respond(path, status, fields=[("Location", to)], **more)
    e.origin.respond(to, max_age=600, content_type="application/json", body=CARD)


def recorded(e: Simulation, path: str = CARD_PATH) -> Record | None:
    return e.relocating.ledger.get(path if path.startswith("https:") else SITE + path)


async def asked(e: Simulation, path: str = CARD_PATH, **fields: str) -> Got:
    """The answer, and everything that it brought about behind the scenes."""
    got = await e.ask(path, fields)
    await e.settle()
    return got


async def test_a_308_is_recorded_and_answered_without_the_origin() -> None:
    e = engine()
    moved(e, max_age=3600)
    first = await e.ask(CARD_PATH)
    pending = recorded(e)
    assert (first.status, first.field("location")) == (308, NEW_PATH), "the origin's own answer"
    assert pending is not None and pending.state in (State.PENDING, State.MOVED), "before it was passed on"
    await e.settle()
    record = recorded(e)
    assert record is not None and (record.state, record.proof) == (State.MOVED, Proof.SAME_SITE)
    assert record.target == SITE + NEW_PATH
    e.origin.requests.clear()
    again = await asked(e)
    assert (again.status, again.field("location"), again.body) == (308, NEW_PATH, b"")
    assert again.cache_status == "discovery-proxy; hit; ttl=3600; detail=moved"
    assert again.field("cache-control") == "max-age=3600" and again.served is Served.FRESH
    assert (again.field("discovery-trust") or "").startswith("origin-tls")
    assert e.origin.requests == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
async def test_whatever_the_method(method: str) -> None:
    e = engine()
    moved(e, max_age=3600)
    await asked(e)
    e.origin.requests.clear()
    got = await e.ask(CARD_PATH, {}, method, b"body" if method != "HEAD" else None)
    assert (got.status, got.field("location")) == (308, NEW_PATH)
    assert e.origin.requests == []


async def test_a_410_is_recorded_and_answered_as_gone() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=3600, content_type="application/json", body=CARD)
    await e.ask(CARD_PATH)
    e.clock += 7200
    e.origin.respond(CARD_PATH, 410, max_age=600, body=b"gone since spring")
    first = await e.ask(CARD_PATH)
    assert (first.status, first.body) == (410, b"gone since spring"), "the origin's own answer"
    e.origin.requests.clear()
    e.clock += 60
    again = await asked(e)
    assert again.status == 410 and b'"since": "2027-' in (again.body or b"") and Slug.GONE in again.cache_status
    assert e.origin.requests == []


async def test_ov_6_a_gone_one_is_not_brought_back_by_anything_stored() -> None:
    """OV-6: neither another variant, nor stale-if-error, nor a time without an answer."""
    e = engine()
    e.origin.respond("/a", cache_control="max-age=10, stale-if-error=86400", vary="Accept-Language", body=b"kept")
    await e.ask("/a", {"Accept-Language": "de"})
    e.origin.respond("/a", 410)
    assert (await e.ask("/a", {"Accept-Language": "en"})).status == 410
    e.origin.fail()
    for fields in ({"Accept-Language": "de"}, {"Accept-Language": "de", "Cache-Control": "max-stale"}):
        assert (await e.ask("/a", fields)).status == 410
    e.clock += 200_000
    assert (await e.ask("/a", {"Accept-Language": "de"})).status == 410, "past its freshness as well"


async def test_ov_6_gone_is_asked_again_when_its_time_is_over_and_revived_by_a_document() -> None:
    """OV-6."""
    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=600)
    await asked(e)
    e.clock += 700
    e.origin.requests.clear()
    assert (await asked(e)).status == 410, "nobody waits for the origin"
    assert len(e.origin.requests) == 1 and e.origin.requests[0].request.is_ours
    e.clock += 700
    e.origin.respond(CARD_PATH, max_age=600, content_type="application/json", body=CARD)
    assert (await asked(e)).status == 410
    assert recorded(e) is None
    assert (await asked(e)).status == 200


async def test_a_web_page_revives_no_card() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=600)
    await asked(e)
    e.clock += 700
    e.origin.respond(CARD_PATH, content_type="text/html", body=HTML)
    await asked(e)
    assert (await asked(e)).status == 410


async def test_an_origin_that_is_down_leaves_the_record() -> None:
    e = engine()
    moved(e, max_age=600)
    await asked(e)
    e.clock += 700
    e.origin.fail()
    await asked(e)
    record = recorded(e)
    assert record is not None and record.state is State.MOVED and record.failures == 1


@pytest.mark.parametrize("status", [302, 303, 307, 300])
async def test_nothing_temporary_is_recorded(status: int) -> None:
    e = engine()
    moved(e, status=status, max_age=600)
    await asked(e)
    assert recorded(e) is None


async def test_301_is_recorded_with_a_warning() -> None:
    e = engine()
    moved(e, status=301)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.state is State.MOVED and "308" in record.history[0].note


async def test_ov_1_a_plain_http_origin_has_no_say() -> None:
    """OV-1."""
    e = engine()
    e.origin.respond(CARD_PATH, 410)
    assert (await asked(e, f"http://example.com{CARD_PATH}")).status == 410
    assert recorded(e) is None and not recorded(e, SITE + CARD_PATH)


FOR_ONE_CLIENT = {
    "by a field of its own": {"X-Preview": "1"},
    "by its cookie": {"Cookie": "session=1"},
    "by its language": {"Accept-Language": "xx"},
    "by its name": {"User-Agent": "odd"},
}


@pytest.mark.parametrize("status", [410, 308])
@pytest.mark.parametrize("fields", FOR_ONE_CLIENT.values(), ids=FOR_ONE_CLIENT)
async def test_what_one_client_brings_about_is_said_to_it_alone(fields: dict[str, str], status: int) -> None:
    e = engine()
    [(name, value)] = fields.items()

    def answer(request: Request) -> Reply:
        if request.fields.get(name) == value:
            return Reply(status, Fields([("Location", NEW_PATH), ("Cache-Control", "no-store")]))
        return Reply(200, Fields([("Content-Type", "application/json")]), CARD)

    e.origin.answer(CARD_PATH, answer)
    assert (await e.ask(CARD_PATH, fields)).status == status
    await e.settle()
    assert recorded(e) is None
    assert (await e.ask(CARD_PATH)).status == 200


async def test_an_origin_that_says_it_to_anybody_is_asked_once_for_that() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 410, cache_control="no-store")
    first, second = e.start(CARD_PATH, {"X-One": "1"}), e.start(CARD_PATH, {"X-Two": "2"})
    assert {(await first).status, (await second).status} == {410}
    assert [sent.request.is_ours for sent in e.origin.requests].count(True) == 1


async def test_one_that_falls_silent_has_said_it_to_one_client_alone() -> None:
    e = engine()

    def answer(request: Request) -> Reply:
        e.origin.fail(OriginFault.TIMEOUT)
        return Reply(410, Fields())

    e.origin.answer(CARD_PATH, answer)
    assert (await asked(e, Accept="application/json")).status == 410
    assert recorded(e) is None


@pytest.mark.parametrize("name", ["Accept", "Accept-Language", "User-Agent"])
@pytest.mark.parametrize("status", [308, 410])
async def test_what_depends_on_who_asks_is_nobodys_last_word(status: int, name: str) -> None:
    e = engine()

    def answer(request: Request) -> Reply:
        is_page = "html" in (request.fields.get("accept") or "")
        lines = [("Vary", name), ("Location", "/page" if is_page else NEW_PATH), ("Cache-Control", "max-age=600")]
        return Reply(status if not is_page else 308, Fields(lines))

    e.origin.answer(CARD_PATH, answer)
    assert (await asked(e)).status == status
    assert recorded(e) is None


@pytest.mark.parametrize("vary", ["Accept-Encoding, Origin", "Cookie", "Accept, User-Agent", "Accept-Language"])
@pytest.mark.parametrize("status", [308, 410])
async def test_what_might_depend_on_who_asks_and_does_not_is_recorded(status: int, vary: str) -> None:
    e = engine()
    moved(e, status=status, max_age=600, vary=vary)
    await asked(e)
    assert recorded(e) is not None


async def test_what_is_selected_by_everything_is_not() -> None:
    e = engine()
    moved(e, vary="*")
    await asked(e)
    assert recorded(e) is None


@pytest.mark.parametrize("status", [308, 410])
async def test_what_is_said_to_one_client_is_not_stored_for_others(status: int) -> None:
    e = engine()

    def answer(request: Request) -> Reply:
        kind = ("Content-Type", "application/json")
        if "x-preview" in request.fields:
            return Reply(status, Fields([("Cache-Control", "max-age=86400"), ("Location", NEW_PATH)]))
        return Reply(200, Fields([("Cache-Control", "max-age=60"), kind]), CARD)

    e.origin.answer(CARD_PATH, answer)
    assert (await asked(e, CARD_PATH, **{"X-Preview": "1"})).status == status
    assert (await asked(e)).status == 200


async def test_another_spelling_is_asked_for_under_the_name_it_is_recorded_by() -> None:
    e = engine()
    e.origin.respond("/ol%64", 410)
    e.origin.respond("/old", body=b"still there")
    assert (await asked(e, "/ol%64")).status == 410
    assert (await asked(e, "/old")).status == 200 and recorded(e, "/old") is None


async def test_a_strangers_redirect_changes_no_record_of_others() -> None:
    e = engine(relocation=RelocationRules(cross_domain=CrossDomain.PROOF))
    mine, new = f"https://b.example{CARD_PATH}", f"https://c.example{CARD_PATH}"
    e.origin.respond(mine, 308, fields=[("Location", new)])
    link = [("Link", f'<{mine}>; rel="canonical"')]
    e.origin.respond(new, content_type="application/json", body=CARD, fields=link)
    await asked(e, mine)
    before = recorded(e, mine)
    assert before is not None and before.state is State.MOVED
    e.origin.respond("https://evil.example/x", 308, fields=[("Location", mine)])
    await asked(e, "https://evil.example/x")
    assert recorded(e, mine) == before


async def test_a_move_taken_back_the_other_way_leads_nobody_round() -> None:
    e = engine()
    moved(e, CARD_PATH, "/b", max_age=86_400)
    await asked(e)
    e.clock += 120
    moved(e, "/b", CARD_PATH, max_age=86_400)
    e.origin.respond(CARD_PATH, content_type="application/json", body=CARD)
    await asked(e, "/b")
    await asked(e)
    assert (await asked(e)).status == 200


async def test_one_site_that_keeps_everybody_waiting_stops_nobody_else() -> None:
    e = engine()
    for n in range(100):
        e.origin.respond(f"https://evil.example/{n}", 308, fields=[("Location", f"https://evil.example/hang/{n}")])
        e.origin.hang(f"/hang/{n}")
        await e.ask(f"https://evil.example/{n}")
    moved(e)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.state is State.MOVED
    await e.relocating.close()


async def test_a_location_that_changes_each_time_is_asked_for_a_few_times_only() -> None:
    e = engine()
    count = iter(range(1000))
    e.origin.answer("/a", lambda request: Reply(308, Fields([("Location", f"/to/{next(count)}")])))
    for _ in range(50):
        await asked(e, "/a")
    assert sum(sent.request.is_ours and sent.path == "/a" for sent in e.origin.requests) <= 8


async def test_an_origin_that_answers_otherwise_is_asked_what_it_says_to_anybody() -> None:
    e = engine()
    moved(e, max_age=3600)
    await asked(e)
    e.clock += 120
    e.origin.respond(CARD_PATH, max_age=600, content_type="application/json", body=CARD)
    assert (await asked(e)).status == 308, "nobody has asked the origin yet"
    assert (await asked(e, CARD_PATH, **{"Cache-Control": "no-cache"})).status == 200
    assert recorded(e) is None and (await asked(e)).status == 200


async def test_what_is_said_to_another_method_is_asked_behind_the_answer() -> None:
    e = engine()
    moved(e, max_age=600)
    assert (await e.ask(CARD_PATH, {}, "POST", b"order")).status == 308
    await e.settle()
    record = recorded(e)
    assert record is not None and record.state is State.MOVED


async def test_a_link_that_may_do_something_is_asked_for_by_its_client_alone() -> None:
    e = engine()
    moved(e, "/unsubscribe?user=5", "/bye", 301)
    assert (await asked(e, "/unsubscribe?user=5")).status == 301
    assert e.origin.paths.count("/unsubscribe?user=5") == 1


async def test_what_led_to_nothing_is_not_looked_at_again_for_an_hour() -> None:
    e = engine()
    e.origin.respond("/a", 301, fields=[("Location", "/docs")])
    e.origin.respond("/docs", content_type="text/html", body=HTML)
    await asked(e, "/a")
    e.origin.requests.clear()
    for _ in range(10):
        e.clock += 300
        await asked(e, "/a")
    assert e.origin.paths == ["/a"] * 10


async def test_a_follow_that_failed_is_taken_up_by_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 308, fields=[("Location", NEW_PATH)])
    e.origin.respond(NEW_PATH, 503)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.state is State.PENDING
    moved(e)
    e.clock += 120
    e.relocating.rechecks.begin_rounds()
    await e.settle()
    await e.relocating.close()
    record = recorded(e)
    assert record is not None and record.state is State.MOVED


async def test_the_rounds_do_not_follow_a_chain_without_end() -> None:
    e = engine()
    e.origin.answer("/0", lambda request: Reply(308, Fields([("Location", "/1")])))
    for n in range(1, 60):
        e.origin.respond(f"/{n}", 308, fields=[("Location", f"/{n + 1}")])
    await asked(e, "/0")
    asked_before = len(e.origin.requests)
    e.clock += 120
    e.relocating.rechecks.begin_rounds()
    await e.settle()
    await e.relocating.close()
    assert len(e.origin.requests) == asked_before < 10


async def _full(record: Record) -> None:
    raise LedgerUnavailable("disk full")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/a", CARD_PATH])
@pytest.mark.parametrize("status", [301, 308, 410])
async def test_what_cannot_be_recorded_is_not_passed_on(
    status: int, path: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    e = engine()
    windows = "max-age=1, stale-if-error=600"
    e.origin.respond(path, cache_control=windows, content_type="application/json", body=CARD)
    await e.ask(path)
    e.clock += 30
    e.origin.respond(path, status, fields=[("Location", NEW_PATH)])
    monkeypatch.setattr(e.relocating.ledger, "put", _full)
    got = await e.ask(path, {}, method)
    assert got.status == 503 and b"cannot be recorded" in (got.body or b"")
    assert recorded(e, path) is None


async def test_while_records_cannot_be_read_nothing_lasting_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    e = engine()

    def unreadable(url: str) -> Record | None:
        raise LedgerUnavailable("not read yet")

    monkeypatch.setattr(e.relocating.ledger, "get", unreadable)
    e.origin.respond("/a", body=b"still there")
    assert (await e.ask("/a")).status == 200
    e.origin.respond("/b", 410)
    assert (await e.ask("/b")).status == 503


UNRECORDABLE = {
    "to itself": CARD_PATH,
    "to plain http": "http://example.com/new",
    "with userinfo": "https://me:secret@example.com/new",
    "to a private address": "https://10.0.0.5/x",
    "to a metadata address": "https://169.254.169.254/x",
    "to a script": "javascript:alert(1)",
    "to a file": "file:///etc/passwd",
    "nowhere": None,
}


@pytest.mark.parametrize("location", UNRECORDABLE.values(), ids=UNRECORDABLE)
async def test_a_redirect_that_says_nothing_usable_is_not_recorded(location: str | None) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 308, fields=[] if location is None else [("Location", location)])
    assert (await asked(e)).status == 308
    assert recorded(e) is None


async def test_two_locations_are_none() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 308, fields=[("Location", NEW_PATH), ("Location", "/other")])
    await asked(e)
    assert recorded(e) is None


async def test_ov_10_a_redirect_to_a_web_page_is_dropped() -> None:
    """OV-10."""
    for path in (CARD_PATH, "/plain"):
        e = engine()
        e.origin.respond(path, 308, fields=[("Location", "/docs")])
        e.origin.respond("/docs", content_type="text/html", body=HTML)
        assert (await asked(e, path)).status == 308
        assert recorded(e, path) is None


async def test_ov_2_a_chain_is_compressed_to_the_end_of_its_permanent_run() -> None:
    """OV-2."""
    e = engine()
    e.origin.respond(CARD_PATH, 308, fields=[("Location", "/b")])
    e.origin.respond("/b", 301, fields=[("Location", "/c")])
    e.origin.respond("/c", 302, fields=[("Location", "/d")])
    e.origin.respond("/d", content_type="application/json", body=CARD)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.target == f"{SITE}/c"
    assert recorded(e, "/c") is None


async def test_ov_4_chains_of_thirty_and_circles_are_not_followed() -> None:
    """OV-4."""
    e = engine()
    for n in range(30):
        e.origin.respond(f"/{n}", 308, fields=[("Location", f"/{n + 1}")])
    e.origin.respond("/30", body=b"{}")
    await asked(e, "/0")
    assert recorded(e, "/0") is None and len(e.origin.requests) < 12
    e = engine()
    e.origin.respond("/a", 308, fields=[("Location", "/b")])
    e.origin.respond("/b", 308, fields=[("Location", "/a")])
    await asked(e, "/a")
    assert recorded(e, "/a") is None


CROSS_DOMAIN = {
    ("proof", "none"): State.PENDING,
    ("proof", "canonical"): State.MOVED,
    ("operator", "canonical"): State.PENDING,
    ("never", "canonical"): None,
}


@pytest.mark.parametrize(("case", "state"), CROSS_DOMAIN.items(), ids=lambda value: str(value))
async def test_ov_3_another_domain_needs_proof(case: tuple[str, str], state: State | None) -> None:
    """OV-3."""
    policy, proof = case
    e = engine(relocation=RelocationRules(cross_domain=CrossDomain(policy)))
    target = f"{ELSEWHERE}{CARD_PATH}"
    e.origin.respond(f"{SITE}{CARD_PATH}", 308, fields=[("Location", target)])
    link = [("Link", f'<{SITE}{CARD_PATH}>; rel="canonical"')] if proof == "canonical" else []
    e.origin.respond(target, content_type="application/json", body=CARD, fields=link)
    await asked(e)
    record = recorded(e)
    assert (None if record is None else record.state) is state
    if record is not None and state is State.PENDING:
        from proxy.relocation.records import record_id

        settled = await e.relocating.control.confirm(record_id(record.url))
        assert settled is not None and settled.state is State.MOVED
        assert (await e.ask(CARD_PATH)).field("location") == target


async def test_records_of_one_move_after_another_are_answered_as_one() -> None:
    e = engine()
    moved(e, CARD_PATH, "/b", max_age=3600)
    await asked(e)
    moved(e, "/b", "/c", max_age=600)
    await e.ask("/b", {"Cache-Control": "no-cache"})
    await e.settle()
    got = await e.ask(CARD_PATH)
    assert (got.field("location"), got.field("cache-control")) == ("/c", "max-age=600")


async def test_a_client_that_insists_asks_the_origin_for_a_move_and_not_for_what_is_gone() -> None:
    e = engine()
    moved(e, max_age=600)
    e.origin.respond("/gone", 410, max_age=600)
    await asked(e)
    await asked(e, "/gone")
    e.origin.requests.clear()
    await asked(e, CARD_PATH, **{"Cache-Control": "no-cache"})
    await asked(e, "/gone", **{"Cache-Control": "no-cache"})
    assert e.origin.paths == [CARD_PATH]


async def test_purging_leaves_records() -> None:
    from proxy.engine.control import Everything

    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=600)
    await asked(e)
    await e.control.purge(Everything(), soft=False)
    e.origin.respond(CARD_PATH, content_type="application/json", body=CARD)
    assert (await asked(e)).status == 410


async def test_an_operator_withdraws_and_the_origin_is_heard_anew() -> None:
    from proxy.relocation.records import record_id

    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=600)
    await asked(e)
    url = f"{SITE}{CARD_PATH}"
    assert await e.relocating.control.withdraw(record_id(url)) is not None
    assert recorded(e) is None and await e.relocating.control.withdraw(record_id(url)) is None
    await e.ask(CARD_PATH, {"Cache-Control": "no-cache"})
    assert recorded(e) is not None


async def test_alternating_answers_leave_the_latest_word() -> None:
    e = engine()
    said: list[int] = []

    def answer(request: Request) -> Reply:
        said.append(410 if len(said) % 2 else 200)
        kind = Fields([("Content-Type", "application/json"), ("Cache-Control", "no-store")])
        return Reply(said[-1], kind, CARD if said[-1] == 200 else b"")

    e.origin.answer(CARD_PATH, answer)
    for _ in range(20):
        await asked(e)
        e.clock += 90_000
    await e.settle()
    record = recorded(e)
    # The last that the origin said to anybody is what counts, and it is not asked more than three times a request.
    to_anybody = [sent for sent in e.origin.requests if sent.request.is_ours]
    assert (record is None) is (said[e.origin.requests.index(to_anybody[-1])] == 200)
    assert len(said) <= 60


SPELLINGS: dict[str, tuple[Callable[[bytes], bytes], list[tuple[str, str]]]] = {
    "plain": (lambda card: card, []),
    "escaped": (lambda card: card.replace(b"/", rb"\/"), []),
    "gzip": (gzip.compress, [("Content-Encoding", "gzip")]),
}


@pytest.mark.parametrize(("spelling", "coding"), SPELLINGS.values(), ids=SPELLINGS)
async def test_ov_11_a_card_that_names_what_is_gone_is_validated(
    spelling: Callable[[bytes], bytes], coding: list[tuple[str, str]]
) -> None:
    """OV-11."""
    e = engine()
    named = f"{SITE}/a2a"
    card = spelling(CARD)
    e.origin.respond(CARD_PATH, max_age=3600, etag='"1"', content_type="application/json", body=card, fields=coding)
    await e.ask(CARD_PATH)
    e.origin.respond(named.removeprefix(SITE), 410)
    await asked(e, named)
    e.origin.requests.clear()
    assert (await asked(e)).status == 200
    assert e.origin.paths == [CARD_PATH]


async def test_explaining_tells_the_record_and_what_it_decides() -> None:
    e = engine()
    moved(e, max_age=600)
    e.origin.respond("/gone", 410)
    for path, answer, state in ((CARD_PATH, "moved", "moved"), ("/gone", "gone", "gone"), ("/else", "miss", None)):
        await asked(e, path)
        told = await e.control.explain(SITE + path)
        assert isinstance(told["decision"], dict) and told["decision"]["answer"] == answer
        record = told["relocation"]
        assert (record["state"] if isinstance(record, dict) else None) == state


async def test_an_operator_who_refreshes_has_the_origin_asked_whatever_is_due() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=3600)
    await asked(e)
    e.origin.respond(CARD_PATH, max_age=600, content_type="application/json", body=CARD)
    await e.control.refresh_uri(SITE + CARD_PATH)
    await e.settle()
    assert recorded(e) is None and (await asked(e)).status == 200


SECRET = "/login?token=4f8a1c2b9d7e6f5a4b3c2d1e0f9a8b7c"


@pytest.mark.parametrize("status", [301, 308, 410])
async def test_a_link_with_a_secret_is_asked_for_once_and_never_recorded(status: int) -> None:
    e = engine()
    e.origin.respond(SECRET, status, fields=[("Location", "/welcome")])
    assert (await asked(e, SECRET, Cookie="a=b")).status == status
    assert e.origin.paths.count(SECRET) == 1 and recorded(e, SITE + SECRET) is None


async def test_what_policy_refuses_is_no_failure_of_the_origin() -> None:
    e = engine()
    moved(e, max_age=600)
    await asked(e)
    e.clock += 700
    e.origin.fail(OriginFault.DENIED)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.failures == 0


async def test_ov_6_what_is_gone_tells_the_whole_tombstone() -> None:
    """OV-6."""
    e = engine()
    e.origin.respond(CARD_PATH, 410, max_age=600, body=b'{"code": 410, "url": "/agents/new.json"}')
    await asked(e)
    got = await asked(e)
    told = json.loads(got.body or b"")
    assert {"url", "since", "checked", "successor"} <= told.keys() and told["status"] == 410
    assert (told["url"], told["successor"]) == (SITE + CARD_PATH, f"{SITE}/agents/new.json")
    assert got.outcome.vouching is not None and got.outcome.vouching.state == "origin-tls"


FAR = {
    "AID, anywhere": ("/.well-known/agent", f"{SITE}/aid.json", False),
    "a DID document, to another host": ("/.well-known/did.json", "https://www.example.com/did.json", False),
    "a DID document, on its host": ("/.well-known/did.json", f"{SITE}/new/did.json", True),
    "an authorization server, to another origin": (
        "/.well-known/oauth-authorization-server",
        "https://www.example.com/as.json",
        False,
    ),
    "a card, within the site": (CARD_PATH, "https://www.example.com/card.json", True),
    "what has no format, anywhere within the site": ("/data", "https://www.example.com/data", True),
}
BODIES = {
    "/.well-known/did.json": b'{"id": "did:web:example.com"}',
    "/.well-known/oauth-authorization-server": b'{"issuer": "https://example.com"}',
    "/.well-known/agent": b'{"v": "aid2", "u": "https://example.com/a"}',
}


@pytest.mark.parametrize(("path", "target", "is_recorded"), FAR.values(), ids=FAR)
async def test_ov_9_each_format_goes_as_far_as_it_may(path: str, target: str, is_recorded: bool) -> None:
    e = engine()
    e.origin.respond(f"{SITE}{path}", 308, fields=[("Location", target)])
    e.origin.respond(target, content_type="application/json", body=BODIES.get(path, CARD))
    await asked(e, path)
    assert (recorded(e, path) is not None) is is_recorded


async def test_a_fill_that_began_before_the_410_brings_nothing_back() -> None:
    """OV-6: whatever becomes of it, stored or stale."""
    for ending in (200, 500, 304):
        e = engine()
        windows = "max-age=1, stale-if-error=86400"
        e.origin.respond("/a", cache_control=windows, etag='"1"', body=b"withdrawn")
        await e.ask("/a")
        e.clock += 10
        held = e.origin.answering("/a")

        def slow(request: Request, ending: int = ending, held: Callable[[Request], Reply] = held) -> Reply:
            return held(request) if ending != 500 else Reply(500)

        e.origin.answer("/a", slow)
        e.origin.hold()
        late = e.start("/a")
        await e.settle()
        waiting = e.origin.leave_held()
        e.origin.respond("/a", 410)
        assert (await e.ask("/a", {"Cache-Control": "no-cache"})).status == 410
        e.origin.answer("/a", slow)
        waiting.set()
        assert (await late).status == 410, ending
        assert not e.store.peek(f"{SITE}/a") or e.store.peek(f"{SITE}/a")[0].status == 410


async def test_the_old_domains_own_document_proves_nothing_for_a_stranger() -> None:
    """OV-3: a temporary redirect back from the new place is no word of the new place."""
    e = engine()
    stranger, mine = f"{ELSEWHERE}/x", f"{SITE}/real.json"
    e.origin.respond(f"{SITE}{CARD_PATH}", 308, fields=[("Location", stranger)])
    e.origin.respond(stranger, 302, fields=[("Location", mine)])
    link = [("Link", f'<{SITE}{CARD_PATH}>; rel="canonical"')]
    e.origin.respond(mine, content_type="application/json", body=CARD, fields=link)
    await asked(e)
    record = recorded(e)
    assert record is not None and record.state is State.PENDING
