"""What is recorded, over HTTP: lists, histories and the feed on the data port, decisions on the admin port."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlsplit

import jsonschema
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from proxy.admin.guards import answer_errors
from proxy.admin.records import RecordPages as AdminPages
from proxy.engine.outcome import Complete, Served
from proxy.engine.relocation.control import NothingPending, RelocationControl
from proxy.http.fields import NO_FIELDS
from proxy.http.problems import Problem
from proxy.http.targets import parse_target
from proxy.ledgers import LedgerChange, LedgerDamaged, LedgerUnavailable
from proxy.relocation.confirmation import confirm, withdraw
from proxy.relocation.records import Observation, Proof, Record, State, record_id, told_with_history
from proxy.relocation.rules import Seen, observe
from proxy.server import recordfeed
from proxy.server.own import Asked
from proxy.server.recordfeed import told_change
from proxy.server.recordpages import FEED, NDJSON, RECORDS, RecordPages
from proxy.server.schema import openapi
from proxy.stores.memoryledger import MemoryLedger
from tests.end_to_end.running import until
from tests.simulators.clock import FakeClock

NOW = 1_700_000_000.0
URL = "https://example.com/agent.json"
NO_ID = "0" * 64
CHECKER = jsonschema.FormatChecker(formats=())


@CHECKER.checks("date-time", raises=ValueError)
def is_timestamp(value: object) -> bool:
    return not isinstance(value, str) or (value.endswith("Z") and bool(datetime.fromisoformat(value)))


@CHECKER.checks("uri", raises=ValueError)
def is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme and re.fullmatch(r"[!-~]+", value))


def matches(value: object, name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", **openapi()}
    jsonschema.Draft202012Validator(schema, format_checker=CHECKER).validate(value)


def answered(url: str, status: int, at: float = NOW) -> Record:
    """What is recorded once the origin has answered so."""
    seen = Seen(parse_target(url), status, at, is_origin=True, locations=(f"{url}/new",) if status == 308 else ())
    record = observe(None, seen).record
    assert record is not None
    return record


def pending(url: str = URL) -> Record:
    """Somebody has been where it moved to, which proves nothing."""
    return replace(answered(url, 308), proof=Proof.NONE)


def moved(url: str = URL) -> Record:
    record = confirm(pending(url), NOW + 1).record
    assert record is not None
    return record


def gone(url: str) -> Record:
    return answered(url, 410)


def missing(url: str) -> Record:
    return replace(answered(url, 404), state=State.MISSING)


REVIVED = Observation(NOW + 9, 200, None, None, "The origin has the document.")
ALL: tuple[tuple[Callable[[str], Record], str], ...] = (
    (moved, URL),
    (gone, "https://example.com/gone.json"),
    (pending, "https://example.com:8443/pending.json"),
    (missing, "https://other.example/missing.json"),
)


class Faulty(MemoryLedger):
    """Cannot be read."""

    def by_id(self, record_id: str) -> Record | None:
        raise LedgerDamaged("/var/records.db: simulated")

    async def of_host(self, *_: object) -> tuple[Record, ...]:
        raise LedgerUnavailable("/var/records.db: simulated")

    async def last_change(self) -> int:
        raise LedgerUnavailable("/var/records.db: simulated")


async def filled(*records: Record) -> MemoryLedger:
    ledger = MemoryLedger()
    for record in records or [make(url) for make, url in ALL]:
        await ledger.put(record)
    return ledger


async def ask(pages: RecordPages, request_target: str) -> Complete | Problem:
    path, _, query = request_target.partition("?")
    answer = await pages.answer(Asked(path, query, NO_FIELDS))
    if isinstance(answer, Complete):
        assert answer.head.status == 200 and answer.outcome.served is Served.LOCAL
        assert answer.head.fields.get("cache-control") == "no-store"
        assert answer.head.fields.get("access-control-allow-origin") == "*"
        assert "Link" in (answer.head.fields.get("access-control-expose-headers") or "")
        assert answer.body.isascii()
    return answer


async def read(pages: RecordPages, request_target: str) -> Any:
    answer = await ask(pages, request_target)
    assert isinstance(answer, Complete), answer
    assert answer.head.fields.get("content-type") == "application/json"
    return json.loads(answer.body)


@dataclass(frozen=True)
class Fed:
    """An answer of the feed."""

    lines: Sequence[Any]
    next: str

    @property
    def cursors(self) -> list[int]:
        return [line["cursor"] for line in self.lines]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(line["event"], line["url"]) for line in self.lines]


async def feed(pages: RecordPages, request_target: str = FEED) -> Fed:
    answer = await ask(pages, request_target)
    assert isinstance(answer, Complete), answer
    assert answer.head.fields.get("content-type") == NDJSON
    link = re.fullmatch('<([^>]+)>; rel="next"', answer.head.fields.get("link") or "")
    assert link is not None
    assert answer.body == b"" or answer.body.endswith(b"\n")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    for line in lines:
        matches(line, "RecordChange")
    return Fed(lines, link[1])


async def pages_of(*records: Record) -> RecordPages:
    return RecordPages(await filled(*records), FakeClock(NOW))


def urls(told: Any) -> set[str]:
    return {record["url"] for record in told["records"]}


LISTS: dict[str, tuple[str, set[str]]] = {
    "all": ("", {url for _, url in ALL}),
    "a host on all ports": ("?host=example.com", {URL, *(url for _, url in ALL[1:3])}),
    "a host in capitals": ("?host=EXAMPLE.com.", {URL, *(url for _, url in ALL[1:3])}),
    "a host that is encoded": ("?host=%65xample.com", {URL, *(url for _, url in ALL[1:3])}),
    "a host that is not known": ("?host=never.example", set()),
    "an address": ("?host=%5B2001:db8::1%5D", set()),
    **{make.__name__: (f"?state={make.__name__}", {url}) for make, url in ALL},
    "a host and a state": ("?host=other.example&state=missing", {ALL[3][1]}),
    "nothing of a state": ("?host=other.example&state=gone", set()),
    "as many as may be": ("?limit=1000", {url for _, url in ALL}),
    "from the last id on": (f"?cursor={'f' * 64}", set()),
    "no parameter": ("?&", {url for _, url in ALL}),
}


@pytest.mark.parametrize(("query", "expected"), LISTS.values(), ids=LISTS)
async def test_lists(query: str, expected: set[str]) -> None:
    told = await read(await pages_of(), RECORDS + query)
    matches(told, "Records")
    assert urls(told) == expected and told["next"] is None


async def test_a_list_is_paged() -> None:
    everything = {f"https://host{number}.example/" for number in range(7)}
    pages = await pages_of(*map(gone, everything))
    found: list[str] = []
    query, sizes = "?limit=3", []
    while True:
        told = await read(pages, RECORDS + query)
        sizes.append(len(told["records"]))
        found += [record["id"] for record in told["records"]]
        if told["next"] is None:
            break
        query = f"?limit=3&cursor={told['next']}"
    assert sizes == [3, 3, 1] and found == sorted(map(record_id, everything))
    assert (await read(pages, f"{RECORDS}?limit=7"))["next"] is None, "a full page may be the last one"


async def test_a_long_list_lets_others_have_their_turn() -> None:
    pages = await pages_of(*(gone(f"https://host{number}.example/") for number in range(1000)))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(other())
        assert len((await read(pages, f"{RECORDS}?limit=1000"))["records"]) == 1000
        assert turns >= 9
        answer = await ask(pages, f"{FEED}?limit=1000")
        assert isinstance(answer, Complete) and answer.body.count(b"\n") == 1000
        assert turns >= 18
        task.cancel()


async def test_what_is_only_counted_is_told_nowhere() -> None:
    counted = answered(URL, 404)
    pages = await pages_of(counted)
    assert counted.state is State.UNCONFIRMED
    assert await read(pages, RECORDS) == {"records": [], "next": None}
    answer = await ask(pages, f"{RECORDS}/{record_id(URL)}")
    assert isinstance(answer, Problem) and answer.status == 404
    assert (await feed(pages)).lines == []


@pytest.mark.parametrize(("make", "url"), ALL, ids=[make.__name__ for make, _ in ALL])
async def test_one_record(make: Callable[[str], Record], url: str) -> None:
    told = await read(await pages_of(), f"{RECORDS}/{record_id(url)}")
    matches(told, "RecordWithHistory")
    assert told == told_with_history(make(url)) and told["url"] == url and told["history"]


BAD: dict[str, tuple[str, str]] = {
    "list: an unknown parameter": (
        "?hosts=a",
        "Parameters: host, state, cursor, limit, each once.",
    ),
    "list: wait": ("?wait=1", "Parameters: "),
    "list: twice": ("?host=a.example&host=a.example", "each once"),
    "list: a host with a port": ("?host=example.com:443", "host: "),
    "list: a URL for a host": ("?host=https://example.com/", "without a port"),
    "list: no host": ("?host=", "host: "),
    "list: a host that is no UTF-8": ("?host=%ff", "host: "),
    "list: another state": ("?state=lost", "state: one of moved, gone, pending, missing."),
    "list: counted": ("?state=unconfirmed", "state: one of "),
    "list: no state": ("?state", "state: one of "),
    "list: a cursor of the feed": ("?cursor=1", "cursor: the next of the answer before"),
    "list: a cursor in capitals": (f"?cursor={'A' * 64}", "cursor: "),
    "list: nothing": ("?limit=0", "limit: a whole number from 1 to 1000."),
    "list: too many": ("?limit=1001", "limit: "),
    "list: less than nothing": ("?limit=-1", "limit: "),
    "list: no number": ("?limit=ten", "limit: "),
    "list: other digits": ("?limit=%D9%A3", "limit: "),
    "list: endless digits": (f"?limit={'9' * 5000}", "limit: "),
    "one: a URL": ("/https://example.com/", "an id has 64 hexadecimal digits"),
    "one: nothing": ("/", "an id has"),
    "one: too short": (f"/{NO_ID[1:]}", "an id has"),
    "one: a line feed": (f"/{NO_ID}\n", "an id has"),
    "one: below": (f"/{NO_ID}/history", "an id has"),
    "one: another page": ("ish", "an id has"),
    "one: a parameter": (f"/{NO_ID}?history=1", "There are no parameters here."),
    "feed: an unknown parameter": (
        "/feed?host=a",
        "Parameters: cursor, limit, wait, each once.",
    ),
    "feed: twice": ("/feed?cursor=1&cursor=1", "each once"),
    "feed: a cursor of a list": (f"/feed?cursor={'a' * 64}", "cursor: a whole number"),
    "feed: before the beginning": ("/feed?cursor=-1", "cursor: a whole number"),
    "feed: a cursor from elsewhere": ("/feed?cursor=5", "Read from cursor=0."),
    "feed: beyond all numbers": (f"/feed?cursor={10**18 - 1}", "Read from cursor=0."),
    "feed: endless digits": (f"/feed?cursor={'9' * 5000}", "cursor: a whole number"),
    "feed: waits for what cannot come": ("/feed?cursor=5&wait=30", "Read from cursor=0."),
    "feed: no cursor": ("/feed?cursor=", "cursor: a whole number"),
    "feed: too many": ("/feed?limit=1001", "limit: "),
    "feed: too long": ("/feed?wait=31", "wait: a whole number from 0 to 30."),
    "feed: a part of a second": ("/feed?wait=0.5", "wait: "),
}


@pytest.mark.parametrize(("rest", "detail"), BAD.values(), ids=BAD)
async def test_what_is_not_answered(rest: str, detail: str) -> None:
    answer = await ask(await pages_of(), RECORDS + rest)
    assert isinstance(answer, Problem)
    assert (answer.status, answer.slug.value) == (400, "bad-request") and detail in answer.detail


async def test_a_record_that_is_none() -> None:
    answer = await ask(await pages_of(), f"{RECORDS}/{NO_ID}")
    assert isinstance(answer, Problem)
    assert (answer.status, answer.slug.value, answer.members) == (404, "not-found", {"id": NO_ID})


WORDS = st.sampled_from(["host", "state", "cursor", "limit", "wait", "=", "&", "%", "%ff", "0", "1", ";", "gone"])


@given(st.sampled_from(["", "/", "/feed", f"/{NO_ID}"]), st.lists(WORDS | st.text(max_size=3)).map("".join))
def test_any_query(below: str, query: str) -> None:
    pages = RecordPages(MemoryLedger(), FakeClock(NOW))
    pages.end_waits()
    answer = asyncio.run(pages.answer(Asked(RECORDS + below, query, NO_FIELDS)))
    assert isinstance(answer, Complete) or answer.status in (400, 404)


@pytest.mark.parametrize("rest", ["", "?host=example.com", f"/{NO_ID}", "/feed", "/feed?wait=1"])
async def test_a_ledger_that_cannot_be_read(rest: str) -> None:
    answer = await ask(RecordPages(Faulty(), FakeClock(NOW)), RECORDS + rest)
    assert isinstance(answer, Problem)
    assert (answer.status, answer.slug.value) == (503, "internal")
    assert "Ask again in a few seconds" in answer.detail and "/var" not in answer.detail


async def test_secrets_are_told_nowhere() -> None:
    secret = "hunter2hunter2"
    url = f"https://example.com/a?password={secret}"
    pages = RecordPages(await filled(replace(gone(URL), url=url)), FakeClock(NOW), lambda _: (url,))
    for request_target in (RECORDS, f"{RECORDS}/{record_id(url)}", FEED):
        answer = await ask(pages, request_target)
        assert isinstance(answer, Complete) and b"https://example.com/" in answer.body
        assert secret.encode() not in answer.body


async def test_the_feed_tells_each_url_once_at_its_latest_change() -> None:
    ledger = await filled()
    pages = RecordPages(ledger, FakeClock(NOW))
    begun = await feed(pages)
    assert begun.events == [(make.__name__, url) for make, url in ALL]
    assert begun.cursors == [1, 2, 3, 4] and begun.next == f"{FEED}?cursor=4"
    assert begun == await feed(pages, f"{FEED}?cursor=0")
    assert await feed(pages, begun.next) == Fed([], begun.next), "nothing new: the same cursor again"

    await ledger.put(moved("https://example.com:8443/pending.json"))
    await ledger.put(replace(moved(), checked_at=NOW + 5))  # confirmed anew
    later = await feed(pages, begun.next)
    assert later.events == [("moved", "https://example.com:8443/pending.json")]
    assert later.cursors == [5]
    assert (await feed(pages)).cursors == [1, 2, 4, 5]


async def test_a_change_tells_what_stands() -> None:
    pages = await pages_of(moved())
    [line] = (await feed(pages)).lines
    assert line == {
        "cursor": 1,
        "event": "moved",
        "id": record_id(URL),
        "url": URL,
        "state": "moved",
        "target": f"{URL}/new",
        "status": 308,
        "observed_at": "2023-11-14T22:13:20.000Z",
        "checked_at": "2023-11-14T22:13:20.000Z",
        "note": "Confirmed by an operator.",
    }


async def test_a_withdrawal_tells_why_and_when() -> None:
    ledger = await filled(moved())
    pages = RecordPages(ledger, FakeClock(NOW))
    await ledger.remove(URL, REVIVED)
    [line] = (await feed(pages, f"{FEED}?cursor=1")).lines
    assert (line["cursor"], line["event"], line["url"], line["id"]) == (2, "withdrawn", URL, record_id(URL))
    assert (line["state"], line["target"], line["status"]) == (None, None, 200)
    assert line["observed_at"] == line["checked_at"] == "2023-11-14T22:13:29.000Z"
    assert line["note"] == "The origin has the document."
    await ledger.put(gone(URL))
    again = await feed(pages)
    assert again.events == [("gone", URL)] and again.cursors == [3]


def test_a_withdrawal_without_a_history() -> None:
    line = told_change(LedgerChange(7, replace(moved(), history=()), is_withdrawn=True))
    matches(line, "RecordChange")
    assert (line["event"], line["state"], line["status"], line["note"]) == ("withdrawn", None, 308, "")


async def test_the_feed_is_paged() -> None:
    everything = [f"https://host{number}.example/" for number in range(7)]
    pages = await pages_of(*map(gone, everything))
    found: list[str] = []
    following = f"{FEED}?limit=3"
    for size in (3, 3, 1, 0):
        fed = await feed(pages, following)
        assert len(fed.lines) == size and fed.next.endswith("&limit=3"), "who reads on reads as before"
        found += [line["url"] for line in fed.lines]
        following = fed.next
    assert found == everything


async def test_which_catalogs_list_the_url() -> None:
    ledger = await filled(gone(URL), gone("https://other.example/"))
    lists = {URL: ("https://catalog.example/a.json", "https://catalog.example/b.json")}
    pages = RecordPages(ledger, FakeClock(NOW), lambda url: lists.get(url, ()))
    assert [line["catalogs"] for line in (await feed(pages)).lines] == [[*lists[URL]], []]


class Watched(MemoryLedger):
    """Counts how often it is asked for its newest change."""

    looks = 0

    async def last_change(self) -> int:
        self.looks += 1
        return await super().last_change()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come one after the other: each is a wait of its own."""
    monkeypatch.setattr(recordfeed, "_PAUSE", 0.005)


@pytest.mark.usefixtures("quick")
async def test_who_waits_is_told_as_it_comes() -> None:
    ledger = Watched()
    pages = RecordPages(ledger, FakeClock(NOW))
    waiting = asyncio.gather(*(feed(pages, f"{FEED}?wait=30&limit=1") for _ in range(50)))
    await until(lambda: ledger.looks > 52)
    # What is only counted is not in the feed, and no reason to answer.
    await ledger.put(answered("https://counted.example/", 404))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    await ledger.put(gone(URL))
    for fed in await waiting:
        assert fed.events == [("gone", URL)] and fed.next == f"{FEED}?cursor=1&limit=1&wait=30"
    assert (await feed(pages, f"{FEED}?cursor=0&wait=30")).events == [("gone", URL)], "nothing to wait for"


@pytest.mark.usefixtures("quick")
async def test_many_who_wait_look_once() -> None:
    ledger = Watched()
    pages = RecordPages(ledger, FakeClock(NOW))
    await asyncio.gather(*(feed(pages, f"{FEED}?wait=2") for _ in range(200)))
    # Each for itself once, and at most one look for each of eight pauses and for those that fell between two.
    assert ledger.looks <= 200 + 2 * 8 + 2


@pytest.mark.usefixtures("quick")
async def test_waiting_ends() -> None:
    pages = RecordPages(Watched(), FakeClock(NOW))
    assert await feed(pages, f"{FEED}?wait=1") == Fed([], f"{FEED}?cursor=0&wait=1")


async def test_a_wait_is_as_long_as_it_says() -> None:
    pages = await pages_of()
    began = asyncio.get_running_loop().time()
    await feed(pages, f"{FEED}?cursor=4&wait=1")
    assert 0.9 <= asyncio.get_running_loop().time() - began < 5


@pytest.mark.usefixtures("quick")
async def test_nobody_waits_while_the_proxy_stops() -> None:
    ledger = Watched()
    pages = RecordPages(ledger, FakeClock(NOW))
    waiting = asyncio.gather(feed(pages, f"{FEED}?wait=30"))
    await until(lambda: ledger.looks > 2)
    pages.end_waits()
    async with asyncio.timeout(1):
        await waiting
        assert (await feed(pages, f"{FEED}?wait=30")).lines == []


@pytest.mark.usefixtures("quick")
async def test_not_everybody_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordfeed, "MOST_WAITING", 2)
    ledger = Watched()
    pages = RecordPages(ledger, FakeClock(NOW))
    waiting = asyncio.gather(*(feed(pages, f"{FEED}?wait=30") for _ in range(2)))
    await until(lambda: ledger.looks > 3)
    answer = await ask(pages, f"{FEED}?wait=1")
    assert isinstance(answer, Problem) and answer.status == 503 and "Ask without wait" in answer.detail
    assert (await feed(pages)).lines == [], "who does not wait is answered"
    await ledger.put(gone(URL))
    await waiting
    assert len((await feed(pages, f"{FEED}?wait=1")).lines) == 1


@pytest.mark.usefixtures("quick")
async def test_a_ledger_that_fails_while_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Watched()
    pages = RecordPages(ledger, FakeClock(NOW))
    waiting = asyncio.gather(ask(pages, f"{FEED}?wait=30"))
    await until(lambda: ledger.looks > 2)
    monkeypatch.setattr(ledger, "last_change", Faulty().last_change)
    [answer] = await waiting
    assert isinstance(answer, Problem) and answer.status == 503


class Slow(Watched):
    """Reads lists when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.reading = 0
        self.most_reading = 0

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        await self._read()
        return await super().of_host(host, state, after, limit)

    async def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        await self._read()
        return await super().changes(after, limit)

    async def _read(self) -> None:
        self.reading += 1
        self.most_reading = max(self.most_reading, self.reading)
        try:
            await self.may_read.wait()
            await asyncio.sleep(0)
        finally:
            self.reading -= 1


async def test_the_ledger_is_read_by_few_at_a_time() -> None:
    """What has to be written before it is answered waits behind two of them and no more."""
    ledger = Slow()
    await ledger.put(gone(URL))
    pages = RecordPages(ledger, FakeClock(NOW))
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(ask(pages, target)) for target in [RECORDS, FEED] * 33]
    await until(lambda: ledger.reading == 2)
    await asyncio.sleep(0.01)
    for target in (RECORDS, FEED, f"{FEED}?wait=1"):
        answer = await ask(pages, target)
        assert isinstance(answer, Problem) and (answer.status, answer.slug.value) == (503, "overloaded")
    answer = await ask(pages, f"{RECORDS}/{record_id(URL)}")
    assert isinstance(answer, Complete), "one record is in memory"
    tasks[5].cancel()
    await asyncio.gather(tasks[5], return_exceptions=True)
    tasks[5] = loop.create_task(ask(pages, RECORDS))
    ledger.may_read.set()
    assert all(isinstance(answer, Complete) for answer in await asyncio.gather(*tasks))
    assert ledger.most_reading == 2 and ledger.reading == 0
    assert len((await read(pages, RECORDS))["records"]) == 1


@pytest.mark.usefixtures("quick")
async def test_who_waits_and_gets_no_turn_waits_on() -> None:
    ledger = Slow()
    ledger.may_read.set()
    pages = RecordPages(ledger, FakeClock(NOW))
    waiting = [asyncio.get_running_loop().create_task(feed(pages, f"{FEED}?wait=30")) for _ in range(200)]
    await until(lambda: ledger.looks > 202)
    ledger.may_read.clear()
    await ledger.put(gone(URL))
    await until(lambda: ledger.reading == 2)
    await asyncio.sleep(0.05)
    ledger.may_read.set()
    async with asyncio.timeout(5):
        for fed in await asyncio.gather(*waiting):
            assert fed.events == [("gone", URL)]
    assert ledger.most_reading == 2


def test_the_description_of_these_resources() -> None:
    described = cast(dict[str, Any], openapi())
    for path, parameters in {
        RECORDS: {"host", "state", "cursor", "limit"},
        f"{RECORDS}/{{id}}": {"id"},
        FEED: {"cursor", "limit", "wait"},
    }.items():
        operation = described["paths"][path]["get"]
        assert {parameter["name"] for parameter in operation["parameters"]} == parameters
        assert {"200", "400", "503"} <= set(operation["responses"])
        assert ("Link" in operation["responses"]["200"].get("headers", {})) is (path == FEED)
    for name in ("Record", "RecordWithHistory", "Records", "RecordChange"):
        jsonschema.Draft202012Validator.check_schema(described["components"]["schemas"][name])


@dataclass
class Deciding:
    """Stands in for the control: decides of what is in the ledger, and asks nobody."""

    ledger: MemoryLedger
    fault: Exception | None = None
    asked: list[str] = field(default_factory=list)

    async def confirm(self, record_id: str) -> Record | None:
        record = self._record(record_id)
        if record is not None and record.state is not State.PENDING:
            raise NothingPending
        return None if record is None else confirm(record, NOW).record

    async def withdraw(self, record_id: str) -> Record | None:
        record = self._record(record_id)
        if record is not None:
            observation = withdraw(record, NOW).observation
            assert observation is not None
            await self.ledger.remove(record.url, observation)
        return record

    def _record(self, record_id: str) -> Record | None:
        self.asked.append(record_id)
        if self.fault is not None:
            raise self.fault
        return self.ledger.by_id(record_id)


async def order(control: Deciding, path: str) -> tuple[int, Any]:
    pages = AdminPages(lambda: cast(RelocationControl, control))
    application = web.Application(middlewares=(answer_errors,))
    application.add_routes(
        [
            web.post("/admin/records/{id}/confirm", pages.confirm),
            web.post("/admin/records/{id}/withdraw", pages.withdraw),
        ]
    )
    async with TestClient(TestServer(application)) as client, client.post(path) as response:
        assert response.headers["Cache-Control"] == "no-store"
        return response.status, await response.json(content_type=None)


async def test_confirming(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "proxy.admin")
    url = "https://example.com:8443/pending.json?q=words"
    status, answer = await order(Deciding(await filled(pending(url))), f"/admin/records/{record_id(url)}/confirm")
    matches(answer, "RecordWithHistory")
    assert (status, answer["state"], answer["evidence"]["proof"]) == (200, "moved", "operator")
    assert answer["history"][-1]["note"] == "Confirmed by an operator."
    [line] = caplog.records
    assert line.message == "a relocation confirmed by the operator"
    assert (line.__dict__["host"], line.__dict__["state"]) == ("example.com:8443", "moved")
    assert "words" not in str(line.__dict__)


async def test_withdrawing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "proxy.admin")
    control = Deciding(await filled(gone(URL)))
    status, answer = await order(control, f"/admin/records/{record_id(URL)}/withdraw")
    matches(answer["withdrawn"], "Record")
    assert (status, answer["withdrawn"]["state"], control.ledger.get(URL)) == (200, "gone", None)
    assert [line.message for line in caplog.records] == ["a relocation withdrawn by the operator"]


REFUSED: dict[str, tuple[str, Exception | None, int, str, str]] = {
    "confirm what is none": (f"{NO_ID}/confirm", None, 404, "not-found", "Nothing is recorded under this id"),
    "withdraw what is none": (f"{NO_ID}/withdraw", None, 404, "not-found", "Nothing is recorded under this id"),
    "confirm what is not pending": (f"{record_id(URL)}/confirm", None, 409, "bad-request", "Only a pending record"),
    "confirm no id": ("example.com/confirm", None, 400, "bad-request", "64 hexadecimal digits"),
    "withdraw no id": (f"{NO_ID[1:]}g/withdraw", None, 400, "bad-request", "64 hexadecimal digits"),
    "confirm a damaged one": (f"{NO_ID}/confirm", LedgerDamaged("torn"), 503, "internal", "cannot be used: torn"),
    "withdraw from what is away": (f"{NO_ID}/withdraw", LedgerUnavailable("away"), 503, "internal", "used: away"),
}


@pytest.mark.parametrize(("path", "fault", "status", "slug", "detail"), REFUSED.values(), ids=REFUSED)
async def test_what_is_not_decided(
    path: str, fault: Exception | None, status: int, slug: str, detail: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "proxy.admin")
    control = Deciding(await filled(moved()), fault)
    answered, problem = await order(control, f"/admin/records/{path}")
    assert (answered, problem["type"]) == (status, f"urn:discovery-proxy:problem:{slug}")
    assert detail in problem["detail"] and caplog.records == []
    assert (problem.get("id") == NO_ID) == (status == 404), "a missing record is told from a missing page by its id"
