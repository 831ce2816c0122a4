"""The data port's own resources. They answer only where no site does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import Final
from urllib.parse import parse_qs

from proxy.caching.preconditions import matches_any
from proxy.caching.reuse import Forward
from proxy.caching.serving import CacheStatus
from proxy.discovery.names import BadDomain, parse_domain
from proxy.engine.discovery.discoverer import Discoverer
from proxy.engine.discovery.results import Prepared, Question, question_of
from proxy.engine.outcome import Complete, Outcome, Refusal, Served
from proxy.http.problems import Problem, Slug
from proxy.ports import Clock
from proxy.server.boundedpages import BoundedPages
from proxy.server.catalogpages import CATALOGS, MERGE, CatalogPages
from proxy.server.own import JSON, Asked, Own
from proxy.server.owndocuments import PATHS, OwnDocuments
from proxy.server.recordpages import RECORDS, RecordPages
from proxy.server.schema import openapi

_USAGE = """\
discovery-proxy: a caching discovery reverse proxy for agents.

Ask for any document through it, or for everything a domain publishes for agents:

  GET /https/example.com/.well-known/agent-card.json   gateway form: scheme, host, path
  http_proxy, https_proxy                              forward form and CONNECT tunnels
  GET /v1/discover/example.com                         documents, endpoints and routes of a domain, checked
  GET /v1/catalogs?url=https://registry.example/list   a catalog of others, with the origins' word applied
  GET /v1/merge?url=...&url=...                        several of them as one
  GET /v1/records?host=example.com                     what origins said has moved or is gone; /v1/records/feed
  POST /v1/resolve                                     which route of a site a client may use, as advice
  GET /v1/evidence                                     what was held back at the no-op boundary, and why
  PUT /v1/clients/ID/profile                           what a client can do, by its own word
  GET /openapi.json                                    what these answers look like

Cache-Status in each answer says where it came from. Health, metrics and purging are on the admin port.
"""

MOST_BODY: Final = 64 * 1024
"""Bytes of a request body that any of these resources takes."""

_ASKED_FOR: Final = "/v1/"
_READS: Final = ("GET", "HEAD")
_DISCOVER: Final = "/v1/discover/"
_DISCOVERY_CLASS: Final = "discovery"


class Api:
    """Answers for what the proxy itself has; `discoverer` does the discovering."""

    def __init__(
        self,
        discoverer: Discoverer,
        records: RecordPages,
        catalogs: CatalogPages,
        bounded: BoundedPages,
        documents: OwnDocuments,
        clock: Clock,
    ) -> None:
        self._discoverer = discoverer
        self._records = records
        self._catalogs = catalogs
        self._bounded = bounded
        self._documents = documents
        self._clock = clock
        self._own = Own(clock)

    def is_open(self, path: str) -> bool:
        """Whether what is at `path` is for everybody: what the proxy says of itself."""
        return not path.startswith(_ASKED_FOR)

    def takes_body(self, method: str, path: str) -> bool:
        """Whether the request has a body that is of use at `path`."""
        return method in ("POST", "PUT") and method in self._bounded.methods(path)

    async def answer(self, asked: Asked) -> Complete | Refusal | Problem:
        """What the proxy itself has at the path that is asked for."""
        answering = self._at(asked.path)
        if answering is None:
            return Problem(
                Slug.NOT_FOUND,
                "The proxy has no resource of its own here. To reach an origin write /https/HOST/PATH, "
                "send an absolute-form request, or configure a site for this Host.",
            )
        methods = self._bounded.methods(asked.path) or _READS
        if asked.method not in methods:
            allow = ", ".join(methods)
            detail = f"Only {allow.replace(', ', ' and ') if len(methods) == 2 else allow} is answered here."
            return Problem(Slug.BAD_REQUEST, detail, {"allow": allow}, at_status=405)
        return await answering(asked)

    def _at(self, path: str) -> Callable[[Asked], Awaitable[Complete | Refusal | Problem]] | None:
        if path.startswith(_DISCOVER):
            return self._discover
        if path == RECORDS or path.startswith(f"{RECORDS}/"):
            return self._records.answer
        if path in (CATALOGS, MERGE):
            return self._catalogs.answer
        if path in PATHS:
            return self._own_document
        if self._bounded.methods(path):
            return self._bounded.answer
        return {"/": self._usage, "/openapi.json": self._openapi}.get(path)

    async def _own_document(self, asked: Asked) -> Complete:
        return self._documents.answer(asked)

    async def _usage(self, _: Asked) -> Complete:
        return self._own.local(_USAGE.encode(), "text/plain; charset=utf-8", "no-store")

    async def _openapi(self, _: Asked) -> Complete:
        return self._own.local(_openapi_body(), JSON, "max-age=300")

    async def _discover(self, asked: Asked) -> Complete | Refusal | Problem:
        started = perf_counter()
        try:
            question = self._question(asked)
        except BadDomain as error:
            return Problem(Slug.BAD_TARGET, error.detail)
        prepared = self._discoverer.warm(question)
        status = CacheStatus(forward=Forward.URI_MISS, detail="discovery")
        if prepared is None:
            found = await self._discoverer.discover(question)
            if isinstance(found, Problem):
                return found
            prepared = found
        else:
            status = CacheStatus(hit=True, ttl=self._left(prepared))
        milliseconds = (perf_counter() - started) * 1000
        if prepared.problem is not None:
            return self._refused(_timed(prepared.problem, milliseconds), status)
        return self._described(asked, prepared, status, milliseconds)

    def _refused(self, problem: Problem, status: CacheStatus) -> Refusal:
        """Nothing found is an answer like another: it is counted by how it came about."""
        served = Served.FRESH if status.hit else Served.MISS
        outcome = Outcome(
            served,
            problem.status,
            document_class=_DISCOVERY_CLASS,
            cache_status=status.serialise(),
            ttl=status.ttl,
            detail=problem.slug,
        )
        return Refusal(problem, outcome)

    def _question(self, asked: Asked) -> Question:
        """Raises BadDomain."""
        domain = parse_domain(asked.path.removeprefix(_DISCOVER), isolated=self._discoverer.is_isolated)
        self._discoverer.check(domain)
        proven = None if asked.identity is None else asked.identity.proven
        if not asked.query:
            return question_of(domain, None, None, proven)
        given = parse_qs(asked.query)
        level, ladder = given.get("level"), given.get("ladder")
        return question_of(domain, level[-1] if level else None, ladder[-1] if ladder else None, proven)

    def _left(self, prepared: Prepared) -> int:
        return max(int(prepared.fresh_until - self._clock()), 0)

    def _described(self, asked: Asked, prepared: Prepared, status: CacheStatus, milliseconds: float) -> Complete:
        left = self._left(prepared)
        # What may not be kept may still be validated: the tag tells whether the domain says the same.
        control = f"max-age={left}" if left else "no-cache"
        if asked.identity is not None and asked.identity.is_proven:
            control = f"private, {control}"
        extra: tuple[tuple[str, str], ...] = (("ETag", prepared.etag),)
        none_match = asked.fields.get("if-none-match")
        served = Served.FRESH if status.hit else Served.MISS
        if none_match is not None and matches_any(none_match, prepared.etag):
            return self._own.complete(304, b"", control, extra, status, served, _DISCOVERY_CLASS)
        extra = (("Content-Type", JSON), *extra)
        return self._own.complete(
            200, prepared.body(milliseconds), control, extra, status, served, _DISCOVERY_CLASS
        )


def _timed(problem: Problem, milliseconds: float) -> Problem:
    """The problem with the time that the call took, which is known only now."""
    cost = problem.members["overhead"]
    assert isinstance(cost, dict)
    return replace(problem, members={**problem.members, "overhead": {**cost, "elapsed_ms": round(milliseconds, 2)}})


@cache
def _openapi_body() -> bytes:
    return json.dumps(openapi(), indent=1).encode()
