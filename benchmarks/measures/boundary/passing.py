"""What a request pays at the boundary, the manifest of its host being stored and parsed."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks import documents
from benchmarks.measures.boundary.published import REVIEW_URL, manifest
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import Call, Turns, in_turns, ratio, require
from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, may_store
from proxy.capability.ladders import UNKNOWN, Atoms, atoms_of
from proxy.capability.resolution import Execute, Fallback, NoOp, Resolution
from proxy.capability.resolve import Context, resolve
from proxy.config import load
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.identity import Identity
from proxy.engine.boundary.listings import Listings
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Complete
from proxy.engine.settings import EngineSettings, Rules
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.targets import Target, parse_target
from proxy.metrics import Metrics
from proxy.server.keeping import open_kept
from proxy.server.network import open_network
from proxy.server.wiring import Engine, build_engine, wall_clock
from proxy.upstream.addresses import OwnListeners

_MANIFEST: Final = parse_target(f"{documents.HOST}/.well-known/uaix-agent-access.json")
_HOSTS: Final = {"listed": documents.HOST, "unlisted": "https://simple.example.com"}
_NUMBER: Final = 1
_PATHS: Final = {"of no class": "/data.json", "an agent card": documents.path(_NUMBER)}
_CHANGES: Final = 25
_PROVEN: Final = atoms_of("L4", "exec")
_CLIENT: Final = Identity("agent", _PROVEN, "L4", "exec")
_MOST_MICROSECONDS: Final = 20
_MOST_ADDED: Final = 1.05


async def passing(now: float, turns: Turns) -> list[Table]:
    """Routes resolved, then hits; `now` in Unix seconds."""
    settings = load(None, {}, {"store.url": "memory://"})
    # The network is never reached; the engine is put together as in service all the same.
    network = open_network(settings, OwnListeners(), wall_clock)
    kept = open_kept(settings, Metrics(), wall_clock)
    engine = build_engine(settings, kept, network)
    kept.store.put(_MANIFEST.uri, _stored_manifest(now))
    hits = {
        f"{listed} host, {kind}": Request("GET", parse_target(host + path), Fields(documents.REQUEST_LINES))
        for listed, host in _HOSTS.items()
        for kind, path in _PATHS.items()
    }
    for request in hits.values():
        kept.store.put(request.target.uri, documents.stored(_NUMBER, now, asked=request))
    tables = [_resolved(engine.bounding.listings, turns), _handled(engine, hits, turns)]
    await network.close()
    return tables


def _stored_manifest(now: float) -> StoredResponse:
    asked = Request("GET", _MANIFEST, Fields(documents.REQUEST_LINES))
    head = ResponseHead(200, "OK", Fields(documents.response_lines(_NUMBER, now)))
    verdict = may_store(asked, head, Exchange(now, now), Rules(EngineSettings()).of(asked).storage, 0)
    assert not isinstance(verdict, NotStored), verdict
    return verdict.with_body(manifest(_CHANGES))


def _resolved(listings: Listings, turns: Turns) -> Table:
    """From a target to what its client may do there. The first call, which is not timed, parses the manifest."""
    asked: Mapping[str, tuple[str, str, Atoms, type[Resolution]]] = {
        "POST of a known client: execute": ("POST", "/api/v1/do0", _PROVEN, Execute),
        "the same at a template": ("POST", "/api/v1/acme/orders1", _PROVEN, Execute),
        "GET of a known client: execute": ("GET", "/api/v1/orders7", _PROVEN, Execute),
        "POST of an unknown client: fallback": ("POST", "/api/v1/do0", UNKNOWN, Fallback),
        "POST without a route record: no-op": ("POST", "/api/v1/nowhere", _PROVEN, NoOp),
    }
    calls: dict[str, Call] = {}
    for name, (method, path, atoms, expected) in asked.items():
        calls[name] = partial(_resolution, listings, method, parse_target(documents.HOST + path), atoms)
        require(name, calls[name], partial(_is_a, expected))
    timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
    rows: list[Row] = [
        {
            "resolved": name,
            "µs": median(figures),
            f"≤ {_MOST_MICROSECONDS} µs": "yes" if median(figures) <= _MOST_MICROSECONDS else "no",
        }
        for name, figures in timed.items()
    ]
    title = f"A route looked for and resolved, {2 * _CHANGES} in the manifest, which is parsed: {turns}"
    return Table(title, rows, {f"{name}, µs": figures for name, figures in timed.items()})


def _resolution(listings: Listings, method: str, target: Target, atoms: Atoms) -> Resolution:
    listing = listings.known(listings.place_of(target))
    covered = listing.covering(method, target)
    context = Context(REVIEW_URL, listing.review_url, idempotency_key="key")
    return resolve(None if covered is None else covered.record, listing.site, atoms, context)


def _handled(engine: Engine, hits: Mapping[str, Request], turns: Turns) -> Table:
    """Each hit by the gateway alone and with the boundary before it."""
    calls: list[Call] = []
    for name, request in hits.items():
        asking = Asking(request, _CLIENT)
        calls += [partial(_by_gateway, engine.gateway, request), partial(_by_boundary, engine, asking)]
        for call in calls[-2:]:
            require(name, call, _is_hit)
    timed = in_turns(calls, turns)
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for name, alone, bounded in zip(hits, timed[::2], timed[1::2], strict=True):
        added = ratio(bounded, alone)
        rows.append(
            {
                "a hit of 2 KB": name,
                "gateway µs": median(alone),
                "with the boundary µs": median(bounded),
                "÷ gateway": added,
                f"≤ {_MOST_ADDED}": "yes" if added <= _MOST_ADDED else "no",
            }
        )
        raw |= {f"{name}, gateway, µs": alone, f"{name}, with the boundary, µs": bounded}
    return Table(f"Boundary.handle beside Gateway.handle: {turns}", rows, raw)


def _by_gateway(gateway: Gateway, request: Request) -> object:
    return _at_once(gateway.handle(request))


def _by_boundary(engine: Engine, asking: Asking) -> object:
    return _at_once(engine.front.boundary.handle(asking))


def _at_once(answering: Coroutine[Any, Any, object]) -> object:
    """What is answered at once: it never waits, so it ends where it is begun."""
    try:
        answering.send(None)
    except StopIteration as end:
        return end.value
    raise CannotMeasure("an answer had to be waited for")


def _is_a(expected: type[object], came_to: object) -> bool:
    return isinstance(came_to, expected)


def _is_hit(came_to: object) -> bool:
    return isinstance(came_to, Complete) and "hit" in (came_to.head.fields.get("cache-status") or "")
