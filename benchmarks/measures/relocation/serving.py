"""Answers from the ledger over HTTP, beside a fresh hit of 2 KB of the same proxy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import trustme

from benchmarks import documents
from benchmarks.client import fetch, plain
from benchmarks.load import checked, closed_loop
from benchmarks.measures.relocation.recorded import fill, gone, moved
from benchmarks.processes import ProxyProcess, proxy_process
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import ratio
from proxy.demo.documents import CATCH_ALL, HOST, Document
from proxy.demo.origin import LocalOrigin
from proxy.http.targets import gateway_form, parse_target
from proxy.server.keeping import ledger_of

_CONNECTIONS: Final = 32
_CARD: Final = Document("card", documents.path(1), "application/json", documents.card(1), documents.FRESH)
_MOVED: Final = f"https://{HOST}{documents.path(2)}"
_GONE: Final = f"https://{HOST}{documents.path(3)}"
_ASKED: Final = {"a hit of 2 KB": (_CARD.url, 200), "308": (_MOVED, 308), "410": (_GONE, 410)}


async def serving(now: float, rounds: int, seconds: float) -> Table:
    """Answers a second to each, in turns of so many seconds; `now` in Unix seconds."""
    requests = {name: (plain(gateway_form(parse_target(url))), status) for name, (url, status) in _ASKED.items()}
    rates: dict[str, list[float]] = {name: [] for name in requests}
    async with _proxy(now) as (proxy, origin):
        for request, status in requests.values():
            checked(await fetch(proxy.port, request), status)
        for _ in range(rounds):
            for name, (request, status) in requests.items():
                rates[name].append(await closed_loop(proxy.port, request, status, _CONNECTIONS, seconds))
        if len(origin.seen) != 1:
            raise CannotMeasure(f"the origin was asked {len(origin.seen)} times, and not only for the card")
    hits, *_ = rates.values()
    rows: list[Row] = [
        {"answer": name, "of a hit": ratio(values, hits), "requests/s": round(median(values))}
        for name, values in rates.items()
    ]
    title = f"Over HTTP: {_CONNECTIONS} connections, {rounds} rounds in turns of {seconds:g} s"
    return Table(title, rows, {f"{name}, requests/s": values for name, values in rates.items()})


@asynccontextmanager
async def _proxy(now: float) -> AsyncIterator[tuple[ProxyProcess, LocalOrigin]]:
    """A proxy that knows what has moved and is gone, and the origin that says so, over TLS."""
    authority = trustme.CA()
    origin = LocalOrigin((HOST,), authority, CATCH_ALL)
    origin.publish(_CARD)
    await origin.start()
    with TemporaryDirectory() as directory:
        database, ca_file = Path(directory, "cache.db"), Path(directory, "ca.pem")
        authority.cert_pem.write_to_path(str(ca_file))
        fill(ledger_of(database), (moved(_MOVED, f"{_MOVED}/v2", now - 60), gone(_GONE, now - 60)))
        settings: Mapping[str, str] = {
            "STORE__URL": f"sqlite:///{database}",
            "UPSTREAM__CA_FILE": str(ca_file),
            "UPSTREAM__CONNECT_TO": json.dumps([f"{HOST}:443:127.0.0.1:{origin.port}"]),
        }
        try:
            with proxy_process(settings) as proxy:
                yield proxy, origin
        finally:
            await origin.kill()
