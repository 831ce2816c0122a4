"""example.com, which signs its manifest, with two mirrors and two IPFS gateways, each a server on loopback.

    async with World(tmp_path) as world, world.proxy() as proxy:
        body = world.publish(signed_manifest(*MIRRORS))
        await world.mirrored(body)
        assert source_of(await world.manifest(proxy)) == "origin"
        await world.origin.down()
        assert source_of(await world.manifest(proxy)) == "mirror"

Origin and mirrors speak TLS and are connected to in place of port 443; the gateways are asked without TLS.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.http.timestamps import timestamp
from proxy.server.wiring import wall_clock
from tests.end_to_end.running import Reply, Running, Wire, request, running
from tests.end_to_end.site import Answering, Asked, Site, reply
from tests.simulators.gateway import TrustlessGateway
from tests.simulators.nameserver import ScriptedNameserver, records
from tests.simulators.wire import Authority
from tests.trust.publisher import DID, Json, did_document, manifest, method, signed

HOST: Final = "example.com"
PATH: Final = "/.well-known/uaix-agent-access.json"
DID_PATH: Final = "/.well-known/did.json"
URI: Final = f"https://{HOST}{PATH}"
GATEWAY_FORM: Final = f"/https/{HOST}{PATH}"
COPY_PATH: Final = "/manifest.json"
FIRST_HOST: Final = "mirror1.example.net"
SECOND_HOST: Final = "mirror2.example.org"
FIRST: Final = f"https://{FIRST_HOST}{COPY_PATH}"
SECOND: Final = f"https://{SECOND_HOST}{COPY_PATH}"
MIRRORS: Final = (FIRST, SECOND)
# Its address is this machine's, as the name server has it.
INSIDE_HOST: Final = "inside.example.net"
JSON: Final = ("Content-Type", "application/json")
# Stale at once, and never to be served so: whoever asks again asks the origin.
NEVER_STALE: Final = "max-age=0"

Attempt = tuple[str, str, str, str]
"""Where a copy was looked for, in what kind of place, and how and why it ended so."""


def now_text() -> str:
    """This moment, as a proof has it."""
    return timestamp(int(wall_clock()))


def signed_manifest(*mirrors: str, sequence: int = 42, created: str | None = None, **members: Any) -> bytes:
    """A manifest of example.com that lists these mirrors, signed now by the key that its DID document has."""
    listed = {"x-independent-mirrors": [*mirrors], "x-sequence": sequence, **members}
    return octets(signed(manifest(**listed), created=created or now_text()))


def octets(document: Json) -> bytes:
    """A document in no canonical form."""
    return json.dumps(document, indent=3, ensure_ascii=False).encode() + b"\r\n"


def answers(body: bytes, cache_control: str | None = NEVER_STALE, *fields: tuple[str, str]) -> Answering:
    """Always `body`, as JSON, with an entity tag."""
    whole = reply(body, cache_control, JSON, ("ETag", f'"{sha256(body).hexdigest()[:16]}"'), *fields)
    return lambda asked: whole


class World:
    """See the module's text. `asked_mirrors` are the requests that reached the mirrors."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority()
        self.ca_file = self.authority.write(folder / "ca.pem")
        self.origin, self.first, self.second = (
            Site(self.authority.server(host)) for host in (HOST, FIRST_HOST, SECOND_HOST)
        )
        self.gateways = TrustlessGateway(), TrustlessGateway()
        addresses = {HOST: "127.0.0.1", INSIDE_HOST: "127.0.0.1"}
        self.nameserver = ScriptedNameserver(
            {(name, "A"): records(f"{name}. 300 IN A {address}") for name, address in addresses.items()}
        )
        self.publish_keys(method("key-1"))

    def publish(self, body: bytes, cache_control: str = NEVER_STALE, *fields: tuple[str, str]) -> bytes:
        """From now on the origin has this manifest."""
        self.origin.on(PATH, answers(body, cache_control, *fields))
        return body

    def publish_keys(self, *methods: Json, did: str = DID) -> None:
        """From now on the origin has a DID document with these methods."""
        body = octets(did_document(*methods, did=did))
        self.origin.on(DID_PATH, lambda asked: reply(body, "max-age=300", ("Content-Type", "application/did+json")))

    def mirrored(self, body: bytes) -> bytes:
        """From now on both mirrors have this copy."""
        for site in (self.first, self.second):
            site.on(COPY_PATH, answers(body, "max-age=300"))
        return body

    @property
    def asked_mirrors(self) -> list[Asked]:
        return [*self.first.asked, *self.second.asked]

    @property
    def connect_to(self) -> list[str]:
        """What leads a proxy to the sites, each rule beginning with the name that it is for."""
        sites = {HOST: self.origin, FIRST_HOST: self.first, SECOND_HOST: self.second}
        return [f"{host}:443:127.0.0.1:{site.port}" for host, site in sites.items()]

    @property
    def sections(self) -> dict[str, object]:
        """The configuration of a proxy in this world."""
        return {
            "upstream__ca_file": str(self.ca_file),
            "upstream__connect_to": self.connect_to,
            "dns__resolvers": [f"127.0.0.1:{self.nameserver.port}"],
            "dns__dnssec": "off",
            "discovery__deadline": 4,
            "failover__ipfs_gateways": [gateway.url for gateway in self.gateways],
        }

    def document(self, **sections: object) -> dict[str, dict[str, object]]:
        """The same as sections of a configuration file."""
        document: dict[str, dict[str, object]] = {}
        for name, value in {**self.sections, **sections}.items():
            section, _, key = name.partition("__")
            document.setdefault(section, {})[key] = value
        return document

    @asynccontextmanager
    async def proxy(self, **sections: object) -> AsyncIterator[Running]:
        """A proxy in this world; `sections` are laid over its configuration."""
        async with running(**{**self.sections, **sections}) as proxy:
            yield proxy

    async def known(self, proxy: Running, body: bytes) -> bytes:
        """The proxy has seen this manifest at the origin, which is refused connections from then on."""
        self.publish(body)
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body) == (200, body)
        await self.origin.down()
        return body

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            for server in (self.origin, self.first, self.second, *self.gateways, self.nameserver):
                await opened.enter_async_context(server)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()


async def ask_manifest(proxy: Running, *lines: str) -> Reply:
    """The manifest of example.com through the gateway form."""
    return await proxy.get(GATEWAY_FORM, *lines)


def trust_of(answer: Reply) -> tuple[str, dict[str, str]]:
    """State and parameters of Discovery-Trust, but the time."""
    state, *rest = (answer.get("discovery-trust") or "").split(";")
    parameters = dict(one.split("=", 1) for one in rest)
    parameters.pop("checked", None)
    return state, parameters


def verified_from(source: str) -> tuple[str, dict[str, str]]:
    """What Discovery-Trust says of a document that the domain's first key has signed."""
    return "verified", {"did": f'"{DID}"', "source": source, "kid": '"#key-1"'}


def source_of(answer: Reply) -> str | None:
    """Whence a verified document came; None for any other."""
    state, parameters = trust_of(answer)
    return parameters.get("source") if state == "verified" else None


def attempts(answer: Reply) -> list[Attempt]:
    """What a problem says of each place but the origin."""
    told = [one for one in json.loads(answer.body)["attempts"] if one["source"] != "origin"]
    return [_attempt(one) for one in told]


def looked_for(caplog: pytest.LogCaptureFixture) -> list[Attempt]:
    """What the log says of each place."""
    return [_attempt(vars(record)) for record in _events(caplog.records, "copy looked for")]


def told_reasons(caplog: pytest.LogCaptureFixture, message: str) -> list[str]:
    """The reason in each event with this message."""
    return [str(vars(record)["reason"]) for record in _events(caplog.records, message)]


def _events(events: Iterable[logging.LogRecord], message: str) -> list[logging.LogRecord]:
    return [event for event in events if event.getMessage() == message]


def _attempt(told: dict[str, Any]) -> Attempt:
    return told["source"], told["url"], told["outcome"], told.get("reason") or ""


async def metrics(proxy: Running) -> str:
    """The text of /metrics."""
    async with Wire.open(proxy.admin_port) as wire:
        return (await wire.ask(request("GET", "/metrics", "Host: 127.0.0.1"))).body.decode()


async def counted(proxy: Running, name: str, **labels: str) -> dict[str, float]:
    """The samples of a counter with these labels, by the value of its label `result`."""
    samples = [
        sample
        for family in text_string_to_metric_families(await metrics(proxy))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return {sample.labels["result"]: sample.value for sample in samples if sample.value}
