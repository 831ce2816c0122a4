"""What a caching decision costs, in microseconds and beside hishel's on the same request.

The two are timed in turns within one process, a batch each, so that whatever slows the machine slows both; the
ratio is the median of the rounds' ratios. Both are made to decide before they are timed, and must agree.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from statistics import median

import hishel

from benchmarks import documents
from benchmarks.registry import benchmark
from benchmarks.tables import Row, Table
from benchmarks.turns import Call, Turns, in_turns, ratio, require
from proxy.caching.directives import NO_REQUEST_DIRECTIVES, parse_request_directives
from proxy.caching.freshness import Exchange
from proxy.caching.preconditions import NotModified, evaluate
from proxy.caching.reuse import Hit, decide
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import Storable, may_store
from proxy.caching.validation import Freshened, conditional_request, freshen
from proxy.config import load
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Complete
from proxy.engine.settings import EngineSettings, Rules
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.metrics import Metrics
from proxy.server.keeping import open_kept
from proxy.server.network import open_network
from proxy.server.wiring import build_engine, wall_clock
from proxy.upstream.addresses import OwnListeners

_LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "sv")
_OPTIONS = hishel.CacheOptions(shared=True, allow_stale=False)
_NUMBER = 1
_FULL = Turns(rounds=61, batch=0.01)
_QUICK = Turns(rounds=3, batch=0.001)


@dataclass(frozen=True, slots=True)
class _Case:
    """The same decision by both, and the types that both must come to."""

    name: str
    ours: Call
    ours_is: type[object]
    hishel: Call
    hishel_is: type[object]


@benchmark("policy", "the microseconds of a caching decision, and how many times as long hishel takes")
def policy(quick: bool) -> Iterator[Table]:
    """One table, a row a decision."""
    yield asyncio.run(_table(_QUICK if quick else _FULL))


async def _table(turns: Turns) -> Table:
    settings = load(None, {}, {"store.url": "memory://"})
    # The network is never reached; the engine is put together as in service all the same.
    network = open_network(settings, OwnListeners(), wall_clock)
    shared = open_kept(settings, Metrics(), wall_clock)
    gateway = build_engine(settings, shared, network).gateway
    now = wall_clock()
    kept = documents.stored(_NUMBER, now)
    shared.store.put(kept.uri, kept)
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    theirs = f"hishel {version('hishel')}"
    for case in (*_hits(now), _conditional(now), _whole(gateway, now), _storing(now), _freshening(now)):
        ours, other = _timed(case, turns)
        rows.append(
            {
                "decision": case.name,
                "ours µs": median(ours),
                f"{theirs} µs": median(other),
                "hishel ÷ ours": ratio(other, ours),
            }
        )
        raw[f"{case.name}, ours, µs"], raw[f"{case.name}, hishel, µs"] = ours, other
    await network.close()
    return Table(str(turns).capitalize(), rows, raw)


def _timed(case: _Case, turns: Turns) -> tuple[list[float], list[float]]:
    """Microseconds a call, a figure a round, of ours and of hishel's."""
    for call, expected in ((case.ours, case.ours_is), (case.hishel, case.hishel_is)):
        require(case.name, call, partial(_is_a, expected))
    ours, hishels = in_turns((case.ours, case.hishel), turns)
    return ours, hishels


def _is_a(expected: type[object], came_to: object) -> bool:
    return isinstance(came_to, expected)


def _hits(now: float) -> Iterator[_Case]:
    """Fresh hits: one response, then several among which a language chooses, then with directives."""
    for count in (1, 3, 8):
        vary = ("Accept-Language",) if count > 1 else ()
        asking = [_asking(language) for language in _LANGUAGES[:count]]
        variants = tuple(documents.stored(_NUMBER, now, *vary, asked=request) for request in asking)
        wanted = asking[count // 2]
        yield _case(f"fresh hit, {count} variant{'s'[: count - 1]}", wanted, variants, asking, now)
    wanted = documents.request(_NUMBER, ("Cache-Control", "max-age=7200, min-fresh=10"))
    variants = (documents.stored(_NUMBER, now),)
    yield _Case(
        "fresh hit, directives parsed",
        lambda: decide(wanted, parse_request_directives(wanted.fields), variants, now),
        Hit,
        _their_decision(wanted, variants, [wanted]),
        hishel.FromCache,
    )


def _asking(language: str) -> Request:
    usual = documents.request(_NUMBER)
    return Request("GET", usual.target, usual.fields.with_value("Accept-Language", language))


def _case(
    name: str, wanted: Request, variants: tuple[StoredResponse, ...], asking: list[Request], now: float
) -> _Case:
    return _Case(
        name,
        lambda: decide(wanted, NO_REQUEST_DIRECTIVES, variants, now),
        Hit,
        _their_decision(wanted, variants, asking),
        hishel.FromCache,
    )


def _conditional(now: float) -> _Case:
    """The client's own condition: hishel leaves answering it to whoever embeds it, so it does less here."""
    wanted = documents.request(_NUMBER, ("If-None-Match", documents.etag(_NUMBER)))
    kept = documents.stored(_NUMBER, now)
    variants = (kept,)

    def ours() -> object:
        decision = decide(wanted, NO_REQUEST_DIRECTIVES, variants, now)
        assert isinstance(decision, Hit)
        return evaluate(wanted.method, wanted.fields, decision.stored, now)

    theirs = _their_decision(wanted, variants, [wanted])
    return _Case("fresh hit, then If-None-Match", ours, NotModified, theirs, hishel.FromCache)


def _whole(gateway: Gateway, now: float) -> _Case:
    """From field lines to the fields of the answer, the look-up included."""
    usual = documents.request(_NUMBER)
    lines = usual.fields.lines
    entries = _entries((documents.stored(_NUMBER, now),), [usual])
    machine = hishel.IdleClient(options=_OPTIONS)

    def theirs() -> object:
        headers = hishel.Headers(dict(lines))
        return machine.next(hishel.Request("GET", usual.target.uri, headers), entries)

    return _Case(
        "the whole hit (Gateway.hit)",
        lambda: gateway.hit(Request("GET", usual.target, Fields(lines))),
        Complete,
        theirs,
        hishel.FromCache,
    )


def _storing(now: float) -> _Case:
    """May this response be stored, and as what."""
    asked, lines = documents.request(_NUMBER), documents.response_lines(_NUMBER, now)
    storage = Rules(EngineSettings()).of(asked).storage
    exchange = Exchange(now, now)
    machine = hishel.CacheMiss(request=_their_request(asked), options=_OPTIONS)
    return _Case(
        "store",
        lambda: may_store(asked, ResponseHead(200, "OK", Fields(lines)), exchange, storage, 0),
        Storable,
        lambda: machine.next(hishel.Response(200, hishel.Headers(dict(lines)))),
        hishel.StoreAndUse,
    )


def _freshening(now: float) -> _Case:
    """What a 304 makes of the stored response."""
    asked, kept = documents.request(_NUMBER), documents.stored(_NUMBER, now)
    lines = [line for line in documents.response_lines(_NUMBER, now) if line[0] != "Content-Type"]
    settings = EngineSettings()
    storage = Rules(settings).of(asked).storage
    sent, exchange = conditional_request(asked, kept), Exchange(now, now)
    machine = hishel.NeedRevalidation(
        request=_their_request(sent),
        original_request=_their_request(asked),
        revalidating_entries=_entries((kept,), [asked]),
        options=_OPTIONS,
    )

    def ours() -> object:
        head = ResponseHead(304, "Not Modified", Fields(lines))
        return freshen(kept, sent, head, exchange, storage, 0, settings.max_fields)

    return _Case(
        "freshen by 304",
        ours,
        Freshened,
        lambda: machine.next(hishel.Response(304, hishel.Headers(dict(lines)))),
        hishel.NeedToBeUpdated,
    )


def _their_decision(wanted: Request, variants: tuple[StoredResponse, ...], asking: list[Request]) -> Call:
    request, entries = _their_request(wanted), _entries(variants, asking)
    machine = hishel.IdleClient(options=_OPTIONS)
    return lambda: machine.next(request, entries)


def _their_request(request: Request) -> hishel.Request:
    return hishel.Request(request.method, request.target.uri, hishel.Headers(dict(request.fields.lines)))


def _entries(variants: tuple[StoredResponse, ...], asking: list[Request]) -> list[hishel.Entry]:
    return [
        hishel.Entry(
            uuid.uuid4(),
            _their_request(asked),
            hishel.Response(kept.status, hishel.Headers(dict(kept.fields.lines))),
        )
        for kept, asked in zip(variants, asking, strict=True)
    ]
