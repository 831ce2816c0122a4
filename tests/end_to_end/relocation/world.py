"""Origins over TLS that move documents, withdraw them and have them again, and registries that list them.

    async with World(tmp_path) as world, world.proxy() as proxy:
        world.moves(CARD, NEW)
        assert (await get(proxy, CARD)).status == 308
        await settled(proxy, CARD, "moved")

Each host of `HOSTS` is a site on a loopback port of its own, which is connected to in place of its port 443.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

from tests.end_to_end.running import PATIENCE, Reply, Running, Wire, request, running
from tests.end_to_end.site import Answering, Asked, Site, reply
from tests.end_to_end.test_process import Child
from tests.engine.discovery.documents import AGENT_TYPE, CARD_AT, agent_card
from tests.simulators.nameserver import ScriptedNameserver, records
from tests.simulators.wire import Authority

HOST: Final = "example.com"
WWW: Final = "www.example.com"
OTHER: Final = "other.example.net"
REGISTRY: Final = "registry.example.org"
SECOND_REGISTRY: Final = "catalogs.example.org"
HOSTS: Final = (HOST, WWW, OTHER, REGISTRY, SECOND_REGISTRY)

CARD: Final = f"https://{HOST}{CARD_AT}"
NEW: Final = f"https://{HOST}/new/card.json"
ABROAD: Final = f"https://{OTHER}/card.json"
CATALOG: Final = f"https://{REGISTRY}/catalog.json"
SECOND_CATALOG: Final = f"https://{SECOND_REGISTRY}/catalog.json"
JSON: Final = ("Content-Type", "application/json")
CATALOG_TYPE: Final = "application/ai-catalog+json"
HTML: Final = b"<!doctype html><title>Welcome</title>"
AN_HOUR: Final = "max-age=3600"
# Stale at once, and never to be served so: whoever asks again asks the origin.
NEVER_STALE: Final = "max-age=0"

AnyProxy = Running | Child


class World:
    """See the module's text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority()
        self.ca_file = self.authority.write(folder / "ca.pem")
        tls = self.authority.server(*HOSTS)
        self.sites = {host: Site(tls) for host in HOSTS}
        self.nameserver = ScriptedNameserver(
            {(host, "A"): records(f"{host}. 300 IN A 127.0.0.1") for host in self.sites}
        )

    def on(self, url: str, answering: Answering) -> None:
        """From now on `answering` makes each answer for `url`."""
        self._site(url).on(_request_target(url), answering)

    def answers(
        self,
        url: str,
        status: int,
        *fields: tuple[str, str],
        body: bytes = b"",
        cache_control: str | None = AN_HOUR,
    ) -> None:
        """From now on `url` is always answered so."""
        whole = reply(body, cache_control, *fields, status=status)
        self.on(url, lambda asked: whole)

    def has(
        self,
        url: str,
        document: object | None = None,
        media_type: str = "application/json",
        cache_control: str | None = AN_HOUR,
    ) -> bytes:
        """From now on this is at `url`: octets, or what is written as JSON; an agent card where nothing is said."""
        value = agent_card() if document is None else document
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answers(url, 200, ("Content-Type", media_type), body=body, cache_control=cache_control)
        return body

    def moves(self, url: str, to: str, status: int = 308, cache_control: str | None = AN_HOUR) -> None:
        """From now on `url` leads to `to`, where a card is."""
        self.answers(url, status, ("Location", to), cache_control=cache_control)
        self.has(to)

    def withdraws(
        self, url: str, *fields: tuple[str, str], body: bytes = b"", cache_control: str = AN_HOUR
    ) -> None:
        """From now on `url` is gone."""
        self.answers(url, 410, *fields, body=body, cache_control=cache_control)

    def asked(self, url: str) -> list[Asked]:
        """The requests for `url`."""
        return self._site(url).to(_request_target(url))

    @property
    def all_asked(self) -> list[str]:
        """What was asked for of all sites, by URL."""
        return [f"https://{host}{asked.path}" for host, site in self.sites.items() for asked in site.asked]

    def forget(self) -> None:
        """Count from here."""
        for site in self.sites.values():
            site.asked.clear()

    def _site(self, url: str) -> Site:
        return self.sites[urlsplit(url).netloc]

    @property
    def sections(self) -> dict[str, object]:
        """The configuration of a proxy in this world, with its stores in memory."""
        return {
            "upstream__ca_file": str(self.ca_file),
            "upstream__connect_to": [f"{host}:443:127.0.0.1:{site.port}" for host, site in self.sites.items()],
            "dns__resolvers": [f"127.0.0.1:{self.nameserver.port}"],
            "dns__dnssec": "off",
            "discovery__deadline": 4,
        }

    def document(self, **sections: object) -> dict[str, dict[str, object]]:
        """The same as sections of a configuration file, with the stores on disk; `sections` are laid over it."""
        document: dict[str, dict[str, object]] = {}
        for name, value in {**self.on_disk, **self.sections, **sections}.items():
            section, _, key = name.partition("__")
            document.setdefault(section, {})[key] = value
        return document

    @property
    def on_disk(self) -> dict[str, object]:
        """The part of the configuration that puts the stores on disk."""
        return {"store__url": f"sqlite:///{self.folder / 'store.db'}"}

    @property
    def ledger_file(self) -> Path:
        """Where a proxy with its stores on disk keeps its records."""
        return self.folder / "store.db.ledger"

    @asynccontextmanager
    async def proxy(self, **sections: object) -> AsyncIterator[Running]:
        """A proxy in this world; `sections` are laid over its configuration."""
        async with running(**{**self.sections, **sections}) as proxy:
            yield proxy

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            for site in self.sites.values():
                await opened.enter_async_context(site)
            await opened.enter_async_context(self.nameserver)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()


def _request_target(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def gateway(url: str) -> str:
    """The request target of `url` in gateway form."""
    return f"/{url.replace('://', '/', 1)}"


async def ask(
    proxy: AnyProxy, request_target: str, *lines: str, method: str = "GET", body: bytes = b"", port: int = 0
) -> Reply:
    """A request on a connection of its own, of the data port unless another is given."""
    lines = (*lines, f"Content-Length: {len(body)}") if body else lines
    async with Wire.open(port or proxy.port) as wire:
        return await wire.ask(request(method, request_target, *lines, body=body), method)


async def get(proxy: AnyProxy, url: str, *lines: str, method: str = "GET") -> Reply:
    """`url` through the gateway form."""
    return await ask(proxy, gateway(url), *lines, method=method)


async def order(proxy: AnyProxy, path: str, body: bytes = b"") -> Reply:
    """What the admin port answers to an order."""
    return await ask(proxy, path, "Host: 127.0.0.1", method="POST", body=body or b"{}", port=proxy.admin_port)


async def catalog(proxy: AnyProxy, url: str, *lines: str, flags: str = "", method: str = "GET") -> Reply:
    """The catalog at `url` with the origins' word applied."""
    return await ask(proxy, f"/v1/catalogs?url={quote(url, safe='')}{flags}", *lines, method=method)


def id_of(url: str) -> str:
    """The id of the record of a URL in normal form."""
    return hashlib.sha256(url.encode()).hexdigest()


async def listed(proxy: AnyProxy, query: str = "") -> list[dict[str, Any]]:
    """The records of `GET /v1/records`."""
    answer = await ask(proxy, f"/v1/records{query}")
    assert answer.status == 200, answer.body
    records: list[dict[str, Any]] = json.loads(answer.body)["records"]
    return records


async def record_of(proxy: AnyProxy, url: str) -> dict[str, Any] | None:
    """The record of `url` with its history, None without one."""
    answer = await ask(proxy, f"/v1/records/{id_of(url)}")
    assert answer.status in (200, 404), answer.body
    return dict(json.loads(answer.body)) if answer.status == 200 else None


async def settled(proxy: AnyProxy, url: str, state: str | None) -> dict[str, Any] | None:
    """The record of `url` once it is in this state, None for none; within 5 seconds (contract §14.1)."""
    found: dict[str, Any] | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await record_of(proxy, url)
                if (None if found is None else found["state"]) == state:
                    return found
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not {state} within {PATIENCE} seconds, but {found}") from None


async def nothing_recorded(proxy: AnyProxy) -> None:
    """Wait until nothing is under way that could be recorded; nothing is."""
    async with asyncio.timeout(PATIENCE):
        while await listed(proxy):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.05)
    assert await listed(proxy) == []


async def moved(world: World, proxy: AnyProxy, url: str = CARD, to: str = NEW) -> dict[str, Any]:
    """The record of a move, settled; the sites have been asked nothing since."""
    world.moves(url, to)
    assert (await get(proxy, url)).status == 308
    record = await settled(proxy, url, "moved")
    assert record is not None
    world.forget()
    return record


async def gone(world: World, proxy: AnyProxy, url: str = CARD) -> dict[str, Any]:
    """The record of a withdrawal; the sites have been asked nothing since."""
    world.withdraws(url)
    assert (await get(proxy, url)).status == 410
    record = await record_of(proxy, url)
    assert record is not None and record["state"] == "gone"
    world.forget()
    return record


async def feed(proxy: AnyProxy, query: str = "") -> tuple[list[dict[str, Any]], str]:
    """The lines of the feed, and where it goes on."""
    answer = await ask(proxy, f"/v1/records/feed{query}")
    assert (answer.status, answer.get("content-type")) == (200, "application/x-ndjson"), answer.body
    link = answer.get("link") or ""
    assert link.startswith("</v1/records/feed?") and link.endswith('>; rel="next"')
    return [json.loads(line) for line in answer.body.splitlines()], link[1:].partition(">")[0]


def entry(url: str, name: str, **members: Any) -> dict[str, Any]:
    """An entry of an AI Catalog, of an agent's card."""
    return {"identifier": f"urn:air:{HOST}:{name}", "displayName": name, "type": AGENT_TYPE, "url": url, **members}


def ai_catalog(*entries: dict[str, Any], **members: Any) -> dict[str, Any]:
    """An AI Catalog."""
    return {"specVersion": "1.0", "entries": [*entries], **members}


def urls_in(answer: Reply) -> list[str]:
    """The URLs of the entries of an AI Catalog that was answered."""
    return [one["url"] for one in json.loads(answer.body)["entries"]]


def verdicts(answer: Reply) -> dict[str, str]:
    """The verdicts of a report, by URL."""
    return {row["url"]: row["verdict"] for row in json.loads(answer.body)["entries"]}
