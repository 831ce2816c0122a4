"""Fresh hits over HTTP, of a host with a manifest and of one for which the boundary is off, by one proxy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import trustme

from benchmarks import documents
from benchmarks.client import fetch, plain
from benchmarks.load import checked, closed_loop
from benchmarks.processes import ProxyProcess, proxy_process
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import ratio
from proxy.demo.documents import CATCH_ALL, HOST, MANIFEST, Document
from proxy.demo.origin import LocalOrigin
from proxy.http.targets import gateway_form, parse_target

_CONNECTIONS: Final = 32
_LEAST: Final = 0.95
# Of one length, so that the requests are.
_WITHOUT: Final = "example.org"
_MANIFEST: Final = Document(MANIFEST.name, MANIFEST.path, MANIFEST.media_type, MANIFEST.body, documents.FRESH)
_CARD: Final = Document("card", documents.path(1), "application/json", documents.card(1), documents.FRESH)


async def serving(rounds: int, seconds: float) -> Table:
    """Answers a second, in turns of so many seconds."""
    hosts = {"boundary.mode: off": _WITHOUT, "enforce, a listed host": HOST}
    requests = {
        name: plain(gateway_form(parse_target(f"https://{host}{_CARD.path}"))) for name, host in hosts.items()
    }
    rates: dict[str, list[float]] = {name: [] for name in requests}
    async with _proxy() as (proxy, origin):
        for request in (_asking(_MANIFEST.url), *requests.values()):
            checked(await fetch(proxy.port, request), 200)
        asked = len(origin.seen)
        for _ in range(rounds):
            for name, request in requests.items():
                rates[name].append(await closed_loop(proxy.port, request, 200, _CONNECTIONS, seconds))
        if len(origin.seen) != asked:
            raise CannotMeasure(f"the origin was asked {len(origin.seen) - asked} times meanwhile")
    without, *_ = rates.values()
    rows: list[Row] = []
    for name, values in rates.items():
        share = ratio(values, without)
        within = {f"≥ {_LEAST}": "yes" if share >= _LEAST else "no"}
        rows.append({"a hit of 2 KB": name, "÷ off": share, **within, "requests/s": round(median(values))})
    title = f"Over HTTP: {_CONNECTIONS} connections, {rounds} rounds in turns of {seconds:g} s"
    return Table(title, rows, {f"{name}, requests/s": values for name, values in rates.items()})


def _asking(url: str) -> bytes:
    return plain(gateway_form(parse_target(url)))


@asynccontextmanager
async def _proxy() -> AsyncIterator[tuple[ProxyProcess, LocalOrigin]]:
    """A proxy, and an origin for both hosts over TLS."""
    authority = trustme.CA()
    origin = LocalOrigin((HOST, _WITHOUT), authority, CATCH_ALL)
    origin.publish(_MANIFEST, _CARD)
    await origin.start()
    with TemporaryDirectory() as directory:
        ca_file = Path(directory, "ca.pem")
        authority.cert_pem.write_to_path(str(ca_file))
        settings = {
            "UPSTREAM__CA_FILE": str(ca_file),
            "UPSTREAM__CONNECT_TO": json.dumps([f"::127.0.0.1:{origin.port}"]),
            "BOUNDARY__HOSTS": json.dumps({_WITHOUT: {"mode": "off"}}),
        }
        try:
            with proxy_process(settings) as proxy:
                yield proxy, origin
        finally:
            await origin.kill()
