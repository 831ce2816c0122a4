"""An agent that asks through the proxy, and what it reads in the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final, cast

import http_sf
from aiohttp import ClientSession

from proxy.demo.documents import Document
from proxy.failover.attempts import Attempt, AttemptOutcome
from proxy.http.problems import MEDIA_TYPE, TYPE_PREFIX, Slug
from proxy.trust.verdict import CopySource

Parameters = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, with the time from asking to its last byte. Field names are in lower case.

    `attempts` are the places where the proxy looked for a copy that may stand in.
    """

    status: int
    fields: Mapping[str, str]
    body: bytes
    milliseconds: float
    attempts: tuple[Attempt, ...] = ()

    @property
    def cache_status(self) -> Parameters:
        """What the proxy says in Cache-Status (RFC 9211), without its own name."""
        members = http_sf.parse(self.fields.get("cache-status", "").encode(), tltype="list")
        return cast("list[tuple[object, Parameters]]", members)[-1][1] if members else {}

    @property
    def ttl(self) -> int | None:
        """Seconds of freshness left; negative when stale."""
        ttl = self.cache_status.get("ttl")
        return ttl if isinstance(ttl, int) else None

    @property
    def is_fresh_hit(self) -> bool:
        """Whether it came from the cache and is fresh."""
        return self.cache_status.get("hit") is True and self.ttl is not None and self.ttl >= 0

    @property
    def age(self) -> int | None:
        """Seconds since the origin vouched for it."""
        age = self.fields.get("age", "")
        return int(age) if age.isdigit() else None

    @property
    def trust(self) -> str | None:
        """The state in Discovery-Trust."""
        return self._trust[0] or None

    @property
    def vouched(self) -> Parameters:
        """What Discovery-Trust says beside the state: `did`, `source`, `kid`, `checked`."""
        return self._trust[1]

    @property
    def _trust(self) -> tuple[str, Parameters]:
        field = self.fields.get("discovery-trust")
        if field is None:
            return "", {}
        state, parameters = cast("tuple[object, Parameters]", http_sf.parse(field.encode(), tltype="item"))
        return str(state), {name: str(value) for name, value in parameters.items()}

    @property
    def problem(self) -> str | None:
        """The kind of the proxy's own refusal; None for an answer of the origin's."""
        if self.fields.get("content-type") != MEDIA_TYPE:
            return None
        kind = str(json.loads(self.body).get("type", ""))
        return kind.removeprefix(TYPE_PREFIX) if kind.startswith(TYPE_PREFIX) else None

    @property
    def no_op(self) -> tuple[str, str] | None:
        """The code of an answer by which nothing was done, and where a person decides; None for any other."""
        if self.status not in (400, 403) or self.fields.get("content-type", "").partition(";")[0] != _JSON:
            return None
        members = self.members
        return (members["code"], members["url"]) if members.keys() == {"code", "url"} else None

    @property
    def members(self) -> dict[str, Any]:
        """The members of an answer that is a JSON object."""
        told: dict[str, Any] = json.loads(self.body)
        return told

    @property
    def detail(self) -> str:
        """Why the answer is what it is, as Cache-Status tells it; empty where that goes without saying."""
        return str(self.cache_status.get("detail", ""))

    @property
    def source(self) -> str:
        """Where the body came from: origin, cache, mirror, ipfs, or the proxy itself."""
        if self.problem is not None:
            return "proxy"
        if self.detail.startswith(_OF_ITS_OWN):
            return "proxy"
        status = self.cache_status
        if "hit" not in status and self.vouched.get("source") in _ELSEWHERE:
            return str(self.vouched["source"])
        if "fwd" in status and "fwd-status" not in status:
            return "proxy"
        return "origin" if status.get("fwd-status") == self.status else "cache"

    def __str__(self) -> str:
        told = [f"{self.status}", *(f"{name}: {self.fields[name]}" for name in _TOLD if name in self.fields)]
        return ", ".join([*told, f"{len(self.body)} bytes"])


_JSON: Final = "application/json"
_TOLD: Final = ("cache-status", "discovery-trust", "age", "etag")
_ELSEWHERE: Final = (CopySource.MIRROR, CopySource.IPFS)
_OF_ITS_OWN: Final = ("no-op-", "local")


def parse_attempt(told: Mapping[str, Any]) -> Attempt:
    """An attempt as a problem or the log tells of it."""
    source, outcome = CopySource(told["source"]), AttemptOutcome(told["outcome"])
    return Attempt(source, told["url"], outcome, told.get("reason") or "", told["ms"])


class Agent:
    """Asks for documents and posts them, in gateway form. `last` is the latest answer, None before the first."""

    def __init__(self, session: ClientSession, data_address: str) -> None:
        self._session = session
        self._base = f"http://{data_address}/"
        self.last: Answer | None = None

    async def get(self, document: Document, fields: Mapping[str, str] | None = None) -> Answer:
        """The proxy's answer to a GET with these request fields. Raises aiohttp.ClientError."""
        return await self._get(_in_gateway_form(document), fields)

    async def post(self, document: Document, key: str, *, query: str = "", token: str | None = None) -> Answer:
        """The proxy's answer to a POST of the document under an Idempotency-Key. Raises aiohttp.ClientError.

        `token`: the agent's own for the proxy; None for an agent that nobody knows.
        """
        fields = {"Content-Type": document.media_type, "Idempotency-Key": f'"{key}"'}
        if token is not None:
            fields["Authorization"] = f"Bearer {token}"
        return await self._ask("POST", _in_gateway_form(document) + query, fields, document.body)

    async def evidence(self) -> Answer:
        """The proxy's answer to what it has held back. Raises aiohttp.ClientError."""
        return await self._get("v1/evidence", None)

    async def discover(self, domain: str, level: str) -> Answer:
        """The proxy's answer to what `domain` publishes. Raises aiohttp.ClientError."""
        return await self._get(f"v1/discover/{domain}?level={level}", None)

    async def catalog(self, document: Document) -> Answer:
        """The proxy's answer to a catalog, with the origins' word applied. Raises aiohttp.ClientError."""
        return await self._get(f"v1/catalogs?url={document.url}", None)

    async def _get(self, path: str, fields: Mapping[str, str] | None) -> Answer:
        return await self._ask("GET", path, fields, None)

    async def _ask(self, method: str, path: str, fields: Mapping[str, str] | None, content: bytes | None) -> Answer:
        url = self._base + path
        started = perf_counter()
        asking = self._session.request(method, url, headers=fields, data=content, allow_redirects=False)
        async with asking as response:
            body = await response.read()
        milliseconds = (perf_counter() - started) * 1000
        received = {name.lower(): value for name, value in response.headers.items()}
        answer = Answer(response.status, received, body, milliseconds)
        if answer.problem == Slug.NO_TRUSTED_COPY:
            attempts = tuple(map(parse_attempt, json.loads(body)["attempts"]))
            answer = replace(answer, attempts=attempts)
        self.last = answer
        return answer


def _in_gateway_form(document: Document) -> str:
    return document.url.replace("://", "/", 1)
