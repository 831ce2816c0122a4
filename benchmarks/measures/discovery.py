"""Discovery of a domain: how fast when everything is at hand, and how many round trips when nothing is."""

from __future__ import annotations

import asyncio
import json
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme
import uvloop

from benchmarks.client import Connection, Reply, fetch, plain
from benchmarks.distance import Distance
from benchmarks.processes import proxy_process
from benchmarks.registry import CannotMeasure, benchmark
from benchmarks.tables import Table, Value
from proxy.demo.documents import AUTHORIZATION_HOST, CATCH_ALL, HOST, MANIFEST, PUBLISHED, ZONE, Document
from proxy.demo.nameserver import NameServer
from proxy.demo.origin import LocalOrigin

_DISCOVER = f"/v1/discover/{HOST}?level=L4"
_HIT = f"/https/{HOST}/.well-known/agent-card.json"
_CONNECTIONS = 32
_LONG_LIVED = "public, max-age=3600"


@dataclass(frozen=True, slots=True)
class _Effort:
    """Rounds of each table, seconds of a batch of warm requests, seconds of a round trip."""

    rounds: int
    batch: float
    round_trip: float


_FULL = _Effort(rounds=5, batch=1.0, round_trip=0.2)
_QUICK = _Effort(rounds=1, batch=0.2, round_trip=0.05)


@benchmark("discovery", "a domain's discovery: warm beside a plain hit, cold in round trips")
def discovery(quick: bool) -> Iterator[Table]:
    """Two tables."""
    effort = _QUICK if quick else _FULL
    yield uvloop.run(_warm(effort))
    yield uvloop.run(_cold(effort))


@dataclass(frozen=True, slots=True)
class _Internet:
    """What the proxy is told of its surroundings, and how far away the origin is."""

    settings: dict[str, str]
    port: int
    tls: ssl.SSLContext


@asynccontextmanager
async def _internet(round_trip: float) -> AsyncIterator[_Internet]:
    authority = trustme.CA()
    origin = LocalOrigin((HOST, AUTHORIZATION_HOST), authority, CATCH_ALL)
    origin.publish(*(_kept_long(document) for document in PUBLISHED))
    await origin.start()
    distance, nameserver = Distance(origin.port, round_trip), NameServer(ZONE)
    await distance.start()
    await nameserver.start()
    with TemporaryDirectory() as directory:
        ca_file = Path(directory, "ca.pem")
        authority.cert_pem.write_to_path(str(ca_file))
        places = [f"{host}:443:127.0.0.1:{distance.port}" for host in (HOST, AUTHORIZATION_HOST)]
        settings = {
            "UPSTREAM__CA_FILE": str(ca_file),
            "UPSTREAM__CONNECT_TO": json.dumps(places),
            "DNS__RESOLVERS": json.dumps([f"127.0.0.1:{nameserver.port}"]),
            "DNS__TRUST_ANCHORS": "none",
        }
        try:
            yield _Internet(settings, distance.port, ssl.create_default_context(cafile=str(ca_file)))
        finally:
            nameserver.stop()
            await distance.stop()
            await origin.kill()


def _kept_long(document: Document) -> Document:
    return Document(document.name, document.path, document.media_type, document.body, _LONG_LIVED)


async def _warm(effort: _Effort) -> Table:
    async with _internet(0.0) as internet:
        with proxy_process(internet.settings) as proxy:
            requests = {"a plain hit": plain(_HIT), "a discovery": plain(_DISCOVER)}
            for request in requests.values():
                _checked(await fetch(proxy.port, request))
            rates: dict[str, list[float]] = {name: [] for name in requests}
            for _ in range(effort.rounds):
                for name, request in requests.items():
                    rates[name].append(await _rate(proxy.port, request, effort.batch))
            told = json.loads((await fetch(proxy.port, requests["a discovery"])).body)
    if told["overhead"]["http_requests"] or told["overhead"]["dns_queries"]:
        raise CannotMeasure("the discovery was not warm")
    ratios = [second / first for first, second in zip(*rates.values(), strict=True)]
    rows: list[dict[str, Value]] = [
        {"answered": name, "requests/s": round(statistics.median(values))} for name, values in rates.items()
    ]
    rows[0]["of a plain hit"] = 1.0
    rows[1]["of a plain hit"] = round(statistics.median(ratios), 3)
    return Table(
        f"warm: {_CONNECTIONS} connections, {effort.rounds} rounds in turns of {effort.batch:g} s",
        rows,
        {"ratio": ratios, **{f"{name}, requests/s": values for name, values in rates.items()}},
    )


async def _rate(port: int, request: bytes, seconds: float) -> float:
    """Requests answered in a second, each connection asking again as soon as it is answered."""
    connections = [await Connection.open(port) for _ in range(_CONNECTIONS)]
    started = time.perf_counter()
    counts = await asyncio.gather(*(_asking(one, request, started + seconds) for one in connections))
    elapsed = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return sum(counts) / elapsed


async def _asking(connection: Connection, request: bytes, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        _checked(await connection.ask(request))
        count += 1
    return count


async def _cold(effort: _Effort) -> Table:
    alone, manifests, whole, requests = [], [], [], 0
    for _ in range(effort.rounds):
        async with _internet(effort.round_trip) as internet:
            with proxy_process(internet.settings) as proxy:
                alone.append(await _by_itself(internet) / effort.round_trip)
                told = json.loads(_checked(await fetch(proxy.port, plain(_DISCOVER))).body)
        step = next(step for step in told["steps"] if step["step"] == "manifest")
        manifests.append(step["ms"] / 1000 / effort.round_trip)
        whole.append(told["overhead"]["elapsed_ms"] / 1000 / effort.round_trip)
        requests = told["overhead"]["http_requests"]
    rows: list[dict[str, Value]] = [
        {
            "until": "a client by itself has the manifest",
            "requests": 1,
            "round trips": round(statistics.median(alone), 2),
        },
        {
            "until": "the proxy has the manifest",
            "requests": 1,
            "round trips": round(statistics.median(manifests), 2),
        },
        {"until": "the whole answer", "requests": requests, "round trips": round(statistics.median(whole), 2)},
    ]
    return Table(
        f"cold: an origin {effort.round_trip * 1000:g} ms away, connections included, {effort.rounds} rounds",
        rows,
        {
            "a client by itself, round trips": alone,
            "manifest, round trips": manifests,
            "whole answer, round trips": whole,
        },
    )


async def _by_itself(internet: _Internet) -> float:
    """Seconds in which a client of its own has the manifest, connection included."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", internet.port, ssl=internet.tls, server_hostname=HOST
    )
    writer.write(f"GET {MANIFEST.path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    await reader.read()
    elapsed = time.perf_counter() - started
    writer.close()
    return elapsed


def _checked(reply: Reply) -> Reply:
    if reply.status != 200:
        raise CannotMeasure(f"an answer was {reply}")
    return reply
