"""The evidence of the boundary over HTTP: lists, JSON lines and single conflicts, and releases by operators."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from proxy.admin.boundary import BoundaryPages
from proxy.admin.guards import answer_errors
from proxy.boundaries import BoundaryDamaged, BoundaryUnavailable, NumberedConflict
from proxy.boundary.conflicts import Cause, Conflict, Settlement, State
from proxy.boundary.envelopes import Evidence, blocker_envelope
from proxy.boundary.telling import BadSelection, Selection, is_conflict_id, parse_selection, told
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code, Field, Rule, Trigger
from proxy.engine.boundary.control import AlreadyReleased, BoundaryControl
from proxy.engine.boundary.reading import read_page
from proxy.engine.outcome import Complete, Served
from proxy.http.fields import Fields
from proxy.http.problems import Problem
from proxy.server import evidencepages
from proxy.server.boundaryschema import BOUNDARY_PATHS, BOUNDARY_SCHEMAS
from proxy.server.evidencepages import EVIDENCE, EvidencePages
from proxy.server.own import Asked
from proxy.server.owndocuments import PATHS
from proxy.server.recordpages import NDJSON
from proxy.stores.memoryboundary import MemoryBoundary
from tests.simulators.clock import START, FakeClock

URL = "https://api.example.com/v1/orders"
REVIEW = "https://api.example.com/review"
ALICE, BOB = "alice", "192.0.2.7"
NO_ID = "f" * 32
CHECKER = jsonschema.FormatChecker(formats=())
DOCUMENT = {
    "openapi": "3.1.0",
    "paths": BOUNDARY_PATHS,
    "components": {"schemas": {**BOUNDARY_SCHEMAS, "Problem": {}}},
}


@CHECKER.checks("date-time", raises=ValueError)
def is_timestamp(value: object) -> bool:
    return not isinstance(value, str) or (value.endswith("Z") and bool(datetime.fromisoformat(value)))


@CHECKER.checks("uri", raises=ValueError)
def is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme and re.fullmatch(r"[!-~]+", value))


def matches(value: object, name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", **DOCUMENT}
    jsonschema.Draft202012Validator(schema, format_checker=CHECKER).validate(value)


def envelope_of(number: int, client: str) -> dict[str, object]:
    return blocker_envelope(
        Evidence(
            conflict_id=f"{number:032x}",
            observed_at=START,
            agent="proxy.example.com",
            operator="human-operator",
            client=client,
            method="POST",
            path="/v1/orders",
            cause=Cause.PROXY,
            code=Code.HUMAN_REVIEW_REQUIRED,
            review_url=REVIEW,
            rule=Rule.D10,
            reason="missing_auth",
            trigger=Trigger.UNSUPPORTED_CAPABILITY_LEVEL,
            level="L4",
            ladder="exec",
            atoms=frozenset({Atom.STATIC_GET}),
            missing=(Atom.AUTH,),
            manifest_url=None,
            manifest_sha256=None,
            manifest_trust=None,
            request_id="0" * 32,
            trace_id=None,
        )
    )


def conflict(number: int, client: str = ALICE, **others: Any) -> Conflict:
    plain = Conflict(
        id=f"{number:032x}",
        intent=f"{number:064x}",
        client=client,
        method="POST",
        url=URL,
        cause=Cause.PROXY,
        rule=Rule.D10,
        reason="missing_auth",
        code=Code.HUMAN_REVIEW_REQUIRED,
        review_url=REVIEW,
        observed_at=START + number,
        envelope=envelope_of(number, client),
        missing=(Atom.AUTH,),
    )
    return replace(plain, **others)


def released(number: int, client: str = ALICE) -> Conflict:
    return conflict(number, client).released(Settlement.PERSON, START + 100)


# Of these, 1 and 4 are Alice's, 2 and 3 are Bob's; 3 and 4 are released.
ALL = (conflict(1), conflict(2, BOB), released(3, BOB), released(4))


class Faulty(MemoryBoundary):
    """Cannot be read or written."""

    async def conflict(self, _: str) -> Conflict | None:
        raise BoundaryDamaged("/var/boundary.db: simulated")

    async def page(self, *_: object) -> tuple[NumberedConflict, ...]:
        raise BoundaryUnavailable("/var/boundary.db: simulated")


async def filled(*conflicts: Conflict) -> MemoryBoundary:
    records = MemoryBoundary()
    for one in conflicts or ALL:
        await records.put(one)
    return records


async def pages_of(*conflicts: Conflict) -> EvidencePages:
    return EvidencePages(await filled(*conflicts), FakeClock())


async def ask(
    pages: EvidencePages, request_target: str, client: str | None = None, accept: str | None = None
) -> Complete | Problem:
    path, _, query = request_target.partition("?")
    fields = Fields(() if accept is None else (("Accept", accept),))
    answer = await pages.answer(Asked(path, query, fields), client)
    if isinstance(answer, Complete):
        assert answer.head.status == 200 and answer.outcome.served is Served.LOCAL
        assert answer.head.fields.get("cache-control") == "no-store"
        assert answer.head.fields.get("access-control-allow-origin") == "*"
        assert answer.body.isascii()
    return answer


async def read(pages: EvidencePages, request_target: str, client: str | None = None) -> Any:
    answer = await ask(pages, request_target, client)
    assert isinstance(answer, Complete), answer
    assert answer.head.fields.get("content-type") == "application/json"
    return json.loads(answer.body)


async def refused(pages: EvidencePages, request_target: str, client: str | None = None) -> Problem:
    answer = await ask(pages, request_target, client)
    assert isinstance(answer, Problem), answer
    return answer


def numbers(answer: Mapping[str, Any]) -> list[int]:
    return [int(one["id"], 16) for one in answer["evidence"]]


def test_how_a_held_conflict_is_told() -> None:
    one = told(conflict(1))
    matches(one, "Evidence")
    assert one == {
        "id": f"{1:032x}",
        "client": ALICE,
        "method": "POST",
        "url": URL,
        "state": "held",
        "observed_at": "2027-01-15T08:00:01.000Z",
        "cause": "proxy",
        "rule": "D10",
        "reason": "missing_auth",
        "code": "human_review_required",
        "review_url": REVIEW,
        "released_at": None,
        "released_by": None,
        "envelope": envelope_of(1, ALICE),
    }
    assert type(one["rule"]) is str or json.dumps(one["rule"]) == '"D10"'


def test_how_a_released_conflict_is_told() -> None:
    one = told(released(1))
    matches(one, "Evidence")
    assert (one["state"], one["released_by"], one["released_at"]) == (
        "released",
        "person",
        "2027-01-15T08:01:40.000Z",
    )


SELECTIONS: dict[str, tuple[str, Selection]] = {
    "everything": ("", Selection()),
    "a client": ("client=alice", Selection("alice")),
    "a client that is encoded": ("client=2001%3Adb8%3A%3A1", Selection("2001:db8::1")),
    "held": ("state=held", Selection(state=State.HELD)),
    "released": ("state=released", Selection(state=State.RELEASED)),
    "a cursor": ("cursor=17", Selection(after=17)),
    "the highest cursor": (f"cursor={10**18 - 1}", Selection(after=10**18 - 1)),
    "as many as may be": ("limit=1000", Selection(limit=1000)),
    "all of them": ("limit=1&cursor=2&state=held&client=b", Selection("b", State.HELD, 2, 1)),
    "no parameter": ("&", Selection()),
}


@pytest.mark.parametrize(("query", "selection"), SELECTIONS.values(), ids=SELECTIONS)
def test_what_is_selected(query: str, selection: Selection) -> None:
    assert parse_selection(query) == selection


BAD_SELECTIONS: dict[str, tuple[str, str]] = {
    "unknown": ("host=a", "Parameters: client, state, cursor, limit, each once."),
    "twice": ("client=a&client=a", "each once"),
    "no client": ("client=", "client: "),
    "another state": ("state=moved", "state: one of held, released."),
    "no state": ("state", "state: one of"),
    "a state in capitals": ("state=HELD", "state: "),
    "no cursor": ("cursor=", "cursor: a whole number from 0"),
    "less than nothing": ("cursor=-1", "cursor: "),
    "an id for a cursor": (f"cursor={'a' * 32}", "cursor: "),
    "endless digits": (f"cursor={'9' * 5000}", "cursor: "),
    "nothing": ("limit=0", "limit: a whole number from 1 to 1000."),
    "too many": ("limit=1001", "limit: "),
    "other digits": ("limit=%D9%A3", "limit: "),
}


@pytest.mark.parametrize(("query", "detail"), BAD_SELECTIONS.values(), ids=BAD_SELECTIONS)
async def test_what_selects_nothing(query: str, detail: str) -> None:
    with pytest.raises(BadSelection) as caught:
        parse_selection(query)
    assert detail in caught.value.detail == str(caught.value)
    problem = await refused(await pages_of(), f"{EVIDENCE}?{query}")
    assert (problem.status, problem.slug.value, problem.detail) == (400, "bad-request", caught.value.detail)


@given(st.text(max_size=40))
def test_any_selection(query: str) -> None:
    try:
        selection = parse_selection(query)
    except BadSelection:
        return
    assert 0 <= selection.after < 10**18 and 1 <= selection.limit <= 1000


@pytest.mark.parametrize(
    ("text", "is_id"),
    [
        (f"{1:032x}", True),
        (NO_ID, True),
        (NO_ID.upper(), False),
        (NO_ID[1:], False),
        (f"{NO_ID}0", False),
        (f"{NO_ID}\n", False),
        ("", False),
        ("../release", False),
    ],
)
def test_ids(text: str, is_id: bool) -> None:
    assert is_conflict_id(text) is is_id


LISTS: dict[str, tuple[str, str | None, list[int]]] = {
    "everybody's": ("", None, [1, 2, 3, 4]),
    "one client's": (f"?client={ALICE}", None, [1, 4]),
    "a client that is not known": ("?client=carol", None, []),
    "held": ("?state=held", None, [1, 2]),
    "released, of a client": (f"?state=released&client={BOB}", None, [3]),
    "from a cursor on": ("?cursor=2", None, [3, 4]),
    "behind the last": ("?cursor=4", None, []),
    "her own": ("", ALICE, [1, 4]),
    "her own, by name": (f"?client={ALICE}", ALICE, [1, 4]),
    "her own that are held": ("?state=held", ALICE, [1]),
    "of one without any": ("", "carol", []),
}


@pytest.mark.parametrize(("query", "client", "expected"), LISTS.values(), ids=LISTS)
async def test_lists(query: str, client: str | None, expected: list[int]) -> None:
    answer = await read(await pages_of(), EVIDENCE + query, client)
    matches(answer, "EvidencePage")
    assert numbers(answer) == expected and answer["next"] is None


async def test_nobody_is_told_the_evidence_of_another() -> None:
    pages = await pages_of()
    problem = await refused(pages, f"{EVIDENCE}?client={BOB}", ALICE)
    assert (problem.status, problem.slug.value) == (403, "unauthorized") and "leave out client" in problem.detail
    unknown, others = (
        await refused(pages, f"{EVIDENCE}/{NO_ID}", ALICE),
        await refused(pages, f"{EVIDENCE}/{2:032x}", ALICE),
    )
    assert unknown.status == others.status == 404
    assert unknown.detail == others.detail, "that there is one is told to nobody else"
    assert (await read(pages, f"{EVIDENCE}/{4:032x}", ALICE))["client"] == ALICE


@pytest.mark.parametrize("lines", [False, True], ids=["json", "lines"])
@pytest.mark.parametrize("count", [2, 3, 4, 7, 250])
async def test_a_list_is_paged(count: int, lines: bool) -> None:
    pages = await pages_of(*(conflict(number) for number in range(1, count + 1)), conflict(9000, BOB))
    found: list[int] = []
    following: str | None = f"{EVIDENCE}?limit=3&client={ALICE}"
    while following is not None:
        answer = await ask(pages, following, accept=NDJSON if lines else None)
        assert isinstance(answer, Complete)
        rows = (
            [json.loads(line) for line in answer.body.splitlines()]
            if lines
            else json.loads(answer.body)["evidence"]
        )
        assert 0 < len(rows) <= 3
        found += [int(row["id"], 16) for row in rows]
        link = re.fullmatch('<([^>]+)>; rel="next"', answer.head.fields.get("link") or "")
        following = None if link is None else link[1]
        if not lines:
            assert json.loads(answer.body)["next"] == (None if link is None else link[1].rpartition("cursor=")[2])
    assert found == list(range(1, count + 1))


async def test_who_reads_on_reads_as_before() -> None:
    pages = await pages_of(*(conflict(number, "2001:db8::1") for number in range(1, 4)))
    answer = await ask(pages, f"{EVIDENCE}?limit=2&client=2001:db8::1&state=held")
    assert isinstance(answer, Complete)
    assert answer.head.fields.get("link") == (
        f'<{EVIDENCE}?client=2001%3Adb8%3A%3A1&state=held&limit=2&cursor=2>; rel="next"'
    )


ACCEPTS: dict[str, tuple[str | None, bool]] = {
    "nothing": (None, False),
    "anything": ("*/*", False),
    "JSON": ("application/json", False),
    "lines": (NDJSON, True),
    "lines in capitals": (NDJSON.upper(), True),
    "lines and anything": (f"{NDJSON}, */*;q=0.1", True),
    "lines, else JSON": (f"application/json;q=0.5, {NDJSON}", True),
    "both alike": (f"application/json, {NDJSON}", True),
    "JSON, else lines": (f"application/json, {NDJSON};q=0.9", False),
    "no lines": (f"{NDJSON};q=0", False),
    "no lines, at length": (f"{NDJSON};q=0.000", False),
    "with a parameter": (f"{NDJSON};charset=utf-8;q=0.5", True),
    "no weight": (f"{NDJSON};q=many", True),
    "an empty field": ("", False),
    "rubbish": (';,"', False),
}


@pytest.mark.parametrize(("accept", "lines"), ACCEPTS.values(), ids=ACCEPTS)
async def test_which_form(accept: str | None, lines: bool) -> None:
    answer = await ask(await pages_of(), EVIDENCE, accept=accept)
    assert isinstance(answer, Complete)
    assert answer.head.fields.get("content-type") == (NDJSON if lines else "application/json")
    assert answer.head.fields.get("vary") == "Accept"
    if lines:
        assert answer.body.endswith(b"\n") and answer.body.count(b"\n") == 4
        for line, one in zip(answer.body.splitlines(), ALL, strict=True):
            assert json.loads(line) == told(one)


async def test_no_lines_at_all() -> None:
    answer = await ask(await pages_of(), f"{EVIDENCE}?client=carol", accept=NDJSON)
    assert isinstance(answer, Complete) and answer.body == b"" and "link" not in answer.head.fields


@pytest.mark.parametrize("one", ALL, ids=lambda one: f"{one.client} {one.state}")
async def test_one_conflict(one: Conflict) -> None:
    answer = await read(await pages_of(), f"{EVIDENCE}/{one.id}")
    matches(answer, "Evidence")
    assert answer == told(one)


ONES: dict[str, tuple[str, int, str]] = {
    "unknown": (f"/{NO_ID}", 404, "lists those that are"),
    "nothing": ("/", 400, "an id has 32 hexadecimal digits"),
    "in capitals": (f"/{NO_ID.upper()}", 400, "an id has"),
    "below": (f"/{NO_ID}/envelope", 400, "an id has"),
    "a parameter": (f"/{NO_ID}?state=held", 400, "There are no parameters here."),
    "another page": ("s", 400, "an id has"),
}


@pytest.mark.parametrize(("rest", "status", "detail"), ONES.values(), ids=ONES)
async def test_what_is_no_conflict(rest: str, status: int, detail: str) -> None:
    problem = await refused(await pages_of(), EVIDENCE + rest)
    assert problem.status == status and detail in problem.detail
    assert problem.members == ({"id": NO_ID} if status == 404 else {})


@pytest.mark.parametrize("rest", ["", "?client=a", f"/{NO_ID}"])
async def test_records_that_cannot_be_read(rest: str) -> None:
    problem = await refused(EvidencePages(Faulty(), FakeClock()), EVIDENCE + rest)
    assert (problem.status, problem.slug.value) == (503, "internal")
    assert "Ask again in a few seconds" in problem.detail and "/var" not in problem.detail


class Slow(MemoryBoundary):
    """Reads when it is let, and notes how much at once."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.reading = self.most_reading = self.most_rows = 0

    async def page(
        self, client: str | None, state: State | None, after: int, limit: int
    ) -> tuple[NumberedConflict, ...]:
        self.reading += 1
        self.most_reading, self.most_rows = max(self.most_reading, self.reading), max(self.most_rows, limit)
        await self.may_read.wait()
        await asyncio.sleep(0)
        self.reading -= 1
        return await super().page(client, state, after, limit)


async def test_many_readers_leave_room_for_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Slow()
    await records.put(ALL[0])
    pages = EvidencePages(records, FakeClock())
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask(pages, EVIDENCE)) for _ in range(evidencepages.MOST_READING)]
        await asyncio.sleep(0)
        problem = await refused(pages, EVIDENCE)
        assert (problem.status, problem.slug.value) == (503, "overloaded")
        assert (await read(pages, f"{EVIDENCE}/{ALL[0].id}"))["client"] == ALICE, "one conflict is no list"
        asked.pop().cancel()
        await asyncio.sleep(0)
        records.may_read.set()
    assert all(isinstance(task.result(), Complete) for task in asked)
    assert records.most_reading == 2 and numbers(await read(pages, EVIDENCE)) == [1]


async def test_a_long_list_lets_others_have_their_turn() -> None:
    records = Slow()
    records.may_read.set()
    for number in range(1, 1002):
        await records.put(replace(ALL[0], id=f"{number:032x}", client=f"c{number % 3}"))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(other())
        answer = await read(EvidencePages(records, FakeClock()), f"{EVIDENCE}?limit=1000")
        assert turns >= 10 and records.most_rows <= 100
        task.cancel()
    assert len(answer["evidence"]) == 1000 and answer["next"] == "1000"


async def test_exactly_one_page() -> None:
    records = await filled(*(replace(ALL[0], id=f"{number:032x}") for number in range(1, 101)))
    page = await read_page(records, Selection(limit=100))
    assert (len(page.rows), page.following) == (100, None)
    page = await read_page(records, Selection(limit=99))
    assert (len(page.rows), page.following) == (99, "99")


class TestControl:
    async def test_a_release_is_a_persons(self) -> None:
        records, clock = await filled(), FakeClock(START + 50)
        control = BoundaryControl(records, clock)
        one = await control.release(ALL[0].id)
        assert one is not None and one == ALL[0].released(Settlement.PERSON, START + 50)
        assert one.permits(START + 60, seconds=60)
        assert records.latch(one.intent) == one == await control.records.conflict(one.id)

    @pytest.mark.parametrize("settlement", list(Settlement))
    async def test_what_is_released_is_not_released_again(self, settlement: Settlement) -> None:
        control = BoundaryControl(await filled(conflict(1).released(settlement, START)), FakeClock())
        with pytest.raises(AlreadyReleased):
            await control.release(f"{1:032x}")

    async def test_what_is_not_there(self) -> None:
        assert await BoundaryControl(await filled(), FakeClock()).release(NO_ID) is None

    async def test_what_cannot_be_read(self) -> None:
        with pytest.raises(BoundaryUnavailable):
            await BoundaryControl(Faulty(), FakeClock()).release(NO_ID)


class Unwritable(MemoryBoundary):
    """Keeps in memory what cannot be written."""

    async def put(self, conflict: Conflict) -> None:
        await super().put(conflict)
        raise BoundaryUnavailable("simulated")


async def admin(records: MemoryBoundary, method: str, path: str) -> tuple[int, Any]:
    control = BoundaryControl(records, FakeClock())
    pages = BoundaryPages(lambda: control)
    application = web.Application(middlewares=(answer_errors,))
    application.add_routes(
        [web.get("/admin/boundary", pages.conflicts), web.post("/admin/boundary/{id}/release", pages.release)]
    )
    async with TestClient(TestServer(application)) as client, client.request(method, path) as response:
        assert response.headers["Cache-Control"] == "no-store"
        return response.status, await response.json(content_type=None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", [1, 2, 3, 4]), ("?client=alice&state=held", [1]), ("?cursor=3", [4]), ("?client=192.0.2.7", [2, 3])],
)
async def test_an_operator_sees_everything(query: str, expected: list[int]) -> None:
    status, answer = await admin(await filled(), "GET", f"/admin/boundary{query}")
    matches(answer, "EvidencePage")
    assert status == 200 and numbers(answer) == expected


async def test_an_operator_pages() -> None:
    status, answer = await admin(await filled(), "GET", "/admin/boundary?limit=2")
    assert (status, numbers(answer), answer["next"]) == (200, [1, 2], "2")


async def test_an_operator_releases(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "proxy.admin")
    records = await filled()
    status, answer = await admin(records, "POST", f"/admin/boundary/{1:032x}/release")
    matches(answer["released"], "Evidence")
    assert status == 200 and answer["released"] == told(ALL[0].released(Settlement.PERSON, START))
    [line] = [line for line in caplog.records if line.name == "proxy.admin"]
    assert "released by the operator" in line.message and vars(line)["conflict"] == f"{1:032x}"
    latched = records.latch(ALL[0].intent)
    assert latched is not None and latched.state is State.RELEASED


ADMIN_REFUSALS: dict[str, tuple[str, str, int, str]] = {
    "a query": ("GET", "?state=moved", 400, "state: one of held, released."),
    "an encoded parameter": ("GET", "?state=held%26", 400, "state: one of"),
    "no id": ("POST", "/alice/release", 400, "32 hexadecimal digits"),
    "in capitals": ("POST", f"/{NO_ID.upper()}/release", 400, "32 hexadecimal digits"),
    "unknown": ("POST", f"/{NO_ID}/release", 404, "/admin/boundary lists those that are"),
    "released": ("POST", f"/{3:032x}/release", 409, "released already"),
}


@pytest.mark.parametrize(("method", "rest", "status", "detail"), ADMIN_REFUSALS.values(), ids=ADMIN_REFUSALS)
async def test_what_an_operator_is_refused(method: str, rest: str, status: int, detail: str) -> None:
    found, problem = await admin(await filled(), method, f"/admin/boundary{rest}")
    assert found == problem["status"] == status and detail in problem["detail"]
    assert problem.get("id") == (NO_ID if status == 404 else None)


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("POST", f"/{1:032x}/release")])
async def test_an_operator_of_records_that_cannot_be_used(method: str, rest: str) -> None:
    status, problem = await admin(Faulty(), method, f"/admin/boundary{rest}")
    assert status == 503 and "/readyz" in problem["detail"] and "simulated" in problem["detail"]


async def test_a_release_that_is_not_written_holds() -> None:
    records = Unwritable()
    with pytest.raises(BoundaryUnavailable):
        await records.put(ALL[0])
    path = f"/admin/boundary/{ALL[0].id}/release"
    assert (await admin(records, "POST", path))[0] == 503
    assert (await admin(records, "POST", path))[0] == 409


QUESTIONS: dict[str, tuple[dict[str, object], bool]] = {
    "a URL": ({"url": URL}, True),
    "everything": (
        {
            "url": URL,
            "method": "POST",
            "client": {"level": "L4", "ladder": "exec"},
            "route": None,
            "consent": False,
            "idempotency_key": None,
            "intent": None,
        },
        True,
    ),
    "a class": ({"url": URL, "client": {"class": "json_post_client"}}, True),
    "a profile": ({"url": URL, "client": {"profile": {"profile": "uai.capability.profile.v1", "body": {}}}}, True),
    "a bare level": ({"url": URL, "client": {"level": "L4"}}, True),
    "a route": ({"url": URL, "route": {"method": "GET"}}, True),
    "no URL": ({"method": "GET"}, False),
    "an unknown class": ({"url": URL, "client": {"class": "robot"}}, False),
    "two descriptions": ({"url": URL, "client": {"class": "unknown", "level": "L4"}}, False),
    "an unknown member": ({"url": URL, "ur1": 1}, False),
    "consent in words": ({"url": URL, "consent": "yes"}, False),
    "an empty key": ({"url": URL, "idempotency_key": ""}, False),
}


@pytest.mark.parametrize(("question", "is_valid"), QUESTIONS.values(), ids=QUESTIONS)
def test_the_description_of_questions(question: dict[str, object], is_valid: bool) -> None:
    if is_valid:
        matches(question, "ResolveRequest")
        return
    with pytest.raises(jsonschema.ValidationError):
        matches(question, "ResolveRequest")


NO_OP: dict[str, object] = {
    "decision": "no-op",
    "url": None,
    "method": None,
    "field": None,
    "code": "human_review_required",
    "review_url": REVIEW,
    "rule": "D10",
    "reason": "missing_auth",
    "missing": ["auth"],
    "manifest": {"url": URL, "sha256": "0" * 64, "found": True, "trust": "origin-tls"},
}
RESOLUTIONS: dict[str, tuple[dict[str, object], bool]] = {
    "a no-op": (NO_OP, True),
    "a fallback": ({**NO_OP, "decision": "fallback", "url": URL, "field": Field.AUTH_UNAVAILABLE_FALLBACK}, True),
    "no manifest looked for": ({**NO_OP, "manifest": None}, True),
    "none found": ({**NO_OP, "manifest": {"url": None, "sha256": None, "found": False, "trust": None}}, True),
    "another decision": ({**NO_OP, "decision": "retry"}, False),
    "another rule": ({**NO_OP, "rule": "D8"}, False),
    "another atom": ({**NO_OP, "missing": ["magic"]}, False),
    "a member less": ({name: value for name, value in NO_OP.items() if name != "reason"}, False),
}


@pytest.mark.parametrize(("resolution", "is_valid"), RESOLUTIONS.values(), ids=RESOLUTIONS)
def test_the_description_of_resolutions(resolution: dict[str, object], is_valid: bool) -> None:
    if is_valid:
        matches(resolution, "Resolution")
        return
    with pytest.raises(jsonschema.ValidationError):
        matches(resolution, "Resolution")


def test_the_description_of_these_resources() -> None:
    for name, schema in BOUNDARY_SCHEMAS.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name[0].isupper()
    paths: Any = BOUNDARY_PATHS
    assert paths.keys() == {
        EVIDENCE,
        f"{EVIDENCE}/{{id}}",
        "/v1/clients/{id}/profile",
        "/v1/resolve",
        *PATHS,
    }
    assert {one["name"] for one in paths[EVIDENCE]["get"]["parameters"]} == {"client", "state", "cursor", "limit"}
    assert {"get", "put", "delete"} == set(paths["/v1/clients/{id}/profile"])
    named = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(set(named)) == len(named)
    for path, operations in paths.items():
        for operation in operations.values():
            parameters = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert parameters == set(re.findall(r"{(\w+)}", path))
            for name in re.findall(r"#/components/schemas/(\w+)", json.dumps(operation)):
                assert name in {*BOUNDARY_SCHEMAS, "Problem"}
