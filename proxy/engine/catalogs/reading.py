"""Reading a catalog through the cache, as ourselves: with no field of a client's.

A catalog is a hint (DISCOVERY_FORMATS.md §4.4), so wherever its own host says that it is will do; nothing is
recorded here. What cannot be read is a refusal and never an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote_plus

from proxy.caching.serving import CacheStatus
from proxy.catalogs.catalog import Catalog, NotACatalog
from proxy.catalogs.reading import read_catalog
from proxy.discovery.classes import DocumentClass
from proxy.discovery.redirects import POLICIES, REDIRECTS, Hop, NotFollowed, next_hop
from proxy.engine.acceptance import OF_DOCUMENTS
from proxy.engine.answers import refusal
from proxy.engine.catalogs.aside import aside, weight
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Complete, Outcome, Refusal, Streaming
from proxy.http.codings import CodingFault, decode_body
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.targets import Target
from proxy.http.timestamps import timestamp
from proxy.ports import Clock, OriginUnavailable

MOST_OCTETS: Final = 16 * 2**20
"""Of one catalog or page, content coding removed."""
MOST_PAGES: Final = 200
MOST_OF_PAGES: Final = 50_000
"""Entries of all pages together."""
# Servers of a further page, where the URL of the first says nothing: as many as registries give.
_OF_A_PAGE: Final = "100"
_LONGEST_CURSOR: Final = 2_048
_ACCEPT: Final = "application/ai-catalog+json, application/linkset+json, application/json;q=0.9, */*;q=0.1"
_READABLE: Final = "AI Catalogs, API catalogs (linksets), lists of MCP registries and of agent cards, and of ANP"
_SLUGS: Final = {404: Slug.NOT_FOUND, 410: Slug.GONE}


@dataclass(frozen=True, slots=True)
class CatalogRead:
    """A catalog as it was read. `body` is the document that `catalog` was read from, content coding removed.

    With all pages read, `catalog` has the entries of all of them and `body` is the first page. `outcomes` tell how
    each page came. What it says was so at `as_of`, Unix seconds. `note` says what is left out; `fault` is why a
    further page could not be read.
    """

    asked: Target
    catalog: Catalog
    body: bytes
    outcomes: tuple[Outcome, ...]
    as_of: float
    note: str | None = None
    fault: Refusal | None = None


class CatalogReader:
    """Reads catalogs through the gateway; `agent` is the User-Agent."""

    def __init__(self, gateway: Gateway, clock: Clock, agent: str) -> None:
        self._gateway = gateway
        self._clock = clock
        self._fields = Fields(
            (("User-Agent", agent), ("Accept", _ACCEPT), ("Accept-Encoding", "gzip, deflate")),
        )

    async def read(self, target: Target, until: float | None = None) -> CatalogRead | Refusal:
        """The catalog, or the page of one, at `target` alone, by `until`, a time of the event loop."""
        try:
            async with asyncio.timeout_at(until):
                return await self._read(target)
        except TimeoutError:
            return _refused(Request("GET", target, self._fields, is_ours=True), _LATE)

    async def _read(self, target: Target) -> CatalogRead | Refusal:
        place, hops = target, list[Hop]()
        while True:
            # A redirect is a publisher's word, and leads to nowhere that a client could not have named elsewhere.
            realm = Realm.ANY if place.origin == target.origin else Realm.PUBLIC
            request = Request("GET", place, self._fields, realm, is_ours=True)
            answer = await self._gateway.handle(request)
            if isinstance(answer, Refusal):
                return answer
            assert isinstance(answer, Complete | Streaming)
            if answer.head.status not in REDIRECTS:
                body = await _body(answer)
                got = body if isinstance(body, Problem) else await self._judged(target, place, answer, body)
                return _refused(request, got) if isinstance(got, Problem) else got
            _let_go(answer)
            policy, location = POLICIES[DocumentClass.OTHER], answer.head.fields.get("location")
            step = next_hop(policy, target, hops, place, answer.head.status, location)
            if isinstance(step, NotFollowed):
                detail = f"The catalog redirects where it is not followed. {step.detail}"
                return _refused(
                    request, Problem(Slug.ORIGIN_INVALID_RESPONSE, detail, {"reason": str(step.reason)})
                )
            hops.append(step.hop)
            place = step.hop.target

    async def read_all(
        self, target: Target, since: float | None = None, until: float | None = None
    ) -> CatalogRead | Refusal:
        """The catalog at `target` with all its further pages; of a registry, what has changed since then.

        A page that repeats an earlier cursor ends it, and so does one that cannot be read, or not by `until`.
        """
        if since is not None:
            target = with_parameter(target, "updated_since", timestamp(since, "seconds"))
        first = await self.read(target, until)
        if isinstance(first, Refusal):
            return first
        if "limit" not in _parameters(target):
            target = with_parameter(target, "limit", _OF_A_PAGE)
        # Of the further pages their entries alone are kept.
        entries, outcomes, as_of = list(first.catalog.entries), list(first.outcomes), first.as_of
        cursor, seen = first.catalog.next_cursor, set[str]()
        note, fault = first.note, None
        while cursor and note is None:
            note = _end(cursor, seen, len(outcomes), len(entries))
            # Pages that are at hand end no wait, and take their time all the same.
            if note is None and until is not None and asyncio.get_running_loop().time() >= until:
                note = _time_is_over(len(outcomes) + 1)
            if note is not None:
                break
            seen.add(cursor)
            page = await self.read(with_parameter(target, "cursor", cursor), until)
            if isinstance(page, Refusal):
                note, fault = _unread(len(outcomes) + 1, page)
                break
            entries += page.catalog.entries
            outcomes += page.outcomes
            as_of = min(as_of, page.as_of)
            cursor, note = page.catalog.next_cursor, page.note
            await asyncio.sleep(0)
        whole = replace(first.catalog, entries=tuple(entries[:MOST_OF_PAGES]), next_cursor=cursor)
        return replace(first, catalog=whole, outcomes=tuple(outcomes), as_of=as_of, note=note, fault=fault)

    async def _judged(
        self, asked: Target, place: Target, answer: Complete | Streaming, body: bytes
    ) -> CatalogRead | Problem:
        head, as_of = answer.head, self._clock() - (answer.outcome.age or 0)
        if head.status not in OF_DOCUMENTS:
            slug = _SLUGS.get(head.status, Slug.NOT_A_DOCUMENT)
            slug = Slug.ORIGIN_UNREACHABLE if head.status >= 500 else slug
            return Problem(slug, f"The origin of the catalog answered {head.status}.")
        got = await aside(weight(head.fields, body), lambda: _catalog(head, body, place))
        if isinstance(got, Problem):
            return got
        decoded, catalog = got
        return CatalogRead(asked, catalog, decoded, (answer.outcome,), as_of, catalog.limit_note)


_TOO_LARGE: Final = Problem(
    Slug.TOO_LARGE, f"The catalog is larger than {MOST_OCTETS} bytes.", {"limit": MOST_OCTETS}
)
_LATE: Final = Problem(Slug.ORIGIN_TIMEOUT, "The catalog has not come in the time that there is for it.")


def _catalog(head: ResponseHead, body: bytes, place: Target) -> tuple[bytes, Catalog] | Problem:
    """The body, content coding removed, and the catalog in it."""
    decoded = decode_body(head.fields.get("content-encoding"), body, MOST_OCTETS)
    if decoded is CodingFault.TOO_LARGE:
        return _TOO_LARGE
    if isinstance(decoded, CodingFault):
        detail = "The body of the catalog does not decode by its Content-Encoding."
        return Problem(Slug.NOT_A_DOCUMENT, detail, {"reason": decoded.value})
    try:
        return decoded, read_catalog(decoded, head.fields.get("content-type"), place)
    except NotACatalog as error:
        detail = f"What is there is no catalog: {error.detail}. What can be read: {_READABLE}."
        return Problem(Slug.NOT_A_DOCUMENT, detail, {"expected": _READABLE})


def with_parameter(target: Target, name: str, value: str) -> Target:
    """`target` with one query parameter set, whatever it was before; the others are left as they are."""
    parts = (target.query or "").split("&")
    kept = [part for part in parts if part and _name(part) != name]
    return replace(target, query="&".join([*kept, f"{name}={quote(value, safe='', errors='replace')}"]))


def _parameters(target: Target) -> Iterator[str]:
    return map(_name, (target.query or "").split("&"))


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _unread(page: int, end: Refusal) -> tuple[str, Refusal | None]:
    """What is to be said of pages from this one on, and whether that is a fault of somebody's."""
    if end.problem.detail == _LATE.detail:
        return _time_is_over(page), None
    return f"Page {page} cannot be read: {end.problem.detail}", end


def _time_is_over(page: int) -> str:
    return f"The time is over: page {page} and those after it are not read."


def _end(cursor: str, seen: set[str], pages: int, entries: int) -> str | None:
    """Why a page with a next one is the last that is read; None where it is not."""
    if cursor in seen:
        return f"Page {pages} names an earlier page as the next one; nothing is read after it."
    if len(cursor) > _LONGEST_CURSOR:
        return f"The cursor on page {pages} is longer than {_LONGEST_CURSOR} characters; nothing is read after it."
    if pages >= MOST_PAGES:
        return f"There are more than {MOST_PAGES} pages; those after them are not read."
    if entries >= MOST_OF_PAGES:
        return f"There are more than {MOST_OF_PAGES} entries; those after them are not read."
    return None


async def _body(answer: Complete | Streaming) -> bytes | Problem:
    """The body of a document; that of anything else tells nothing."""
    if isinstance(answer, Complete):
        return answer.body
    read = bytearray(answer.read)
    try:
        if answer.head.status not in OF_DOCUMENTS:
            return b""
        async for chunk in answer.response.chunks():
            read += chunk
            if len(read) > MOST_OCTETS:
                return _TOO_LARGE
    except OriginUnavailable as error:
        return Problem(Slug(error.fault.value), error.detail)
    finally:
        answer.response.close()
    return bytes(read)


def _let_go(answer: Complete | Streaming) -> None:
    if isinstance(answer, Streaming):
        answer.response.close()


def _refused(request: Request, problem: Problem) -> Refusal:
    return refusal(request, problem, CacheStatus(detail=problem.slug), DocumentClass.OTHER)
