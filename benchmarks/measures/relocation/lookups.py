"""What a request pays for the question whether its URL has moved or is gone, when nobody has to be asked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks import documents
from benchmarks.measures.relocation.recorded import endpoint, endpoint_gone, endpoint_moved, fill
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import Call, Turns, in_turns, ratio, require
from proxy.config import load
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Complete, Refusal
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target, parse_target
from proxy.metrics import Metrics
from proxy.relocation.lookup import ASK, Gone, Relocated, answer_of
from proxy.relocation.records import record_url
from proxy.server.keeping import keep, passing
from proxy.server.network import open_network
from proxy.server.wiring import build_engine, wall_clock
from proxy.stores.ledger import SqliteLedger
from proxy.upstream.addresses import OwnListeners

_MOVED, _GONE, _UNKNOWN = (parse_target(endpoint(number)) for number in range(3))
_NUMBER: Final = 1
_WANTED_MICROSECONDS: Final = 2
# Of one length, so that the two requests are, and a URL of http is never looked up.
_HOSTS: Final = ("http://agents1.example.com", "https://agents.example.com")


async def lookups(now: float, turns: Turns) -> list[Table]:
    """The look-up by itself, and as a part of an answer; `now` in Unix seconds."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "ledger")
        fill(path, (endpoint_moved(0, now), endpoint_gone(1, now)))
        ledger = SqliteLedger(path)
        await ledger.open()
        tables = [_alone(ledger, now, turns), await _handled(ledger, now, turns)]
        await ledger.close()
    return tables


def _alone(ledger: SqliteLedger, now: float, turns: Turns) -> Table:
    def look_up(target: Target) -> object:
        return answer_of(ledger.get(record_url(target)), now)

    wanted = {"it has moved": (_MOVED, Relocated), "it is gone": (_GONE, Gone), "nothing": (_UNKNOWN, type(ASK))}
    calls: dict[str, Call] = {}
    for name, (target, expected) in wanted.items():
        calls[name] = partial(look_up, target)
        require(name, calls[name], partial(_is_a, expected))
    calls["nothing; record_url alone"] = partial(record_url, _UNKNOWN)
    timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
    rows: list[Row] = [
        {
            "recorded": name,
            "µs": median(figures),
            f"≤ {_WANTED_MICROSECONDS} µs": "yes" if median(figures) <= _WANTED_MICROSECONDS else "no",
        }
        for name, figures in timed.items()
    ]
    title = f"record_url, SqliteLedger.get and answer_of, the record at hand: {turns}"
    return Table(title, rows, {f"{name}, µs": figures for name, figures in timed.items()})


async def _handled(ledger: SqliteLedger, now: float, turns: Turns) -> Table:
    settings = load(None, {}, {"store.url": "memory://"})
    # The network is never reached; the engine is put together as in service all the same.
    network = open_network(settings, OwnListeners(), wall_clock)
    kept = keep(settings, Metrics(), wall_clock, None, replace(passing(), ledger=ledger))
    gateway = build_engine(settings, kept, network).gateway
    requests = [documents.request(_NUMBER, host=host) for host in _HOSTS]
    for request in requests:
        kept.store.put(request.target.uri, documents.stored(_NUMBER, now, asked=request))
    usual = Fields(documents.REQUEST_LINES)
    requests += [Request("GET", target, usual) for target in (_MOVED, _GONE)]
    names = ("a hit of 2 KB over http: no look-up", "a hit of 2 KB", "308 from the record", "410 from the record")
    calls = [partial(_answer, gateway, request) for request in requests]
    for name, call, status in zip(names, calls, (200, 200, 308, 410), strict=True):
        require(name, call, partial(_is_of, status))
    timed = dict(zip(names, in_turns(calls, turns), strict=True))
    await network.close()
    without = timed[names[0]]
    rows: list[Row] = [
        {"answer": name, "÷ a hit without a look-up": ratio(figures, without), "µs": median(figures)}
        for name, figures in timed.items()
    ]
    return Table(f"Gateway.handle: {turns}", rows, {f"{name}, µs": figures for name, figures in timed.items()})


def _answer(gateway: Gateway, request: Request) -> object:
    """What is answered at once: it never waits, so it ends where it is begun."""
    try:
        gateway.handle(request).send(None)
    except StopIteration as end:
        return end.value
    raise CannotMeasure("an answer had to be waited for")


def _is_a(expected: type[object], came_to: object) -> bool:
    return isinstance(came_to, expected)


def _is_of(status: int, came_to: object) -> bool:
    return isinstance(came_to, Complete | Refusal) and came_to.outcome.status == status
