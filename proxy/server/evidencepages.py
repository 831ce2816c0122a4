"""The evidence of the boundary, for clients: the conflicts on record as a list, JSON lines, or one (CONTRACT §8).

They are told as they are at the moment and kept by nobody: every answer is `no-store`.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from proxy.boundaries import BoundaryRecords, BoundaryUnavailable
from proxy.boundary.telling import BadSelection, Selection, is_conflict_id, parse_selection, told
from proxy.caching.serving import CacheStatus
from proxy.engine.boundary.reading import read_page
from proxy.engine.outcome import Complete, Served
from proxy.http.fields import essence, split_list
from proxy.http.problems import Problem, Slug
from proxy.ports import Clock
from proxy.server.own import JSON, Asked, Own
from proxy.server.recordpages import NDJSON
from proxy.server.slots import NoSlot, Slots

EVIDENCE: Final = "/v1/evidence"

# Lists that are read at once, and those that wait for their turn; what has to be written waits behind the first.
_AT_ONCE: Final = 2
MOST_READING: Final = 64

_QUALITY: Final = re.compile(r";[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*(?:;|\Z)", re.IGNORECASE)
_NOT_FOUND: Final = f"No conflict is on record under this id: {EVIDENCE} lists those that are."
_BAD_ID: Final = Problem(Slug.BAD_REQUEST, f"{EVIDENCE}/ID: an id has 32 hexadecimal digits in lower case.")
_NOT_YOURS: Final = Problem(
    Slug.UNAUTHORIZED, "A client is told its own evidence alone: leave out client, or name yourself.", at_status=403
)
_NO_PARAMETERS: Final = Problem(Slug.BAD_REQUEST, "There are no parameters here.")
_TOO_MANY: Final = Problem(
    Slug.OVERLOADED, "Too many are reading the evidence already. Ask again in a few seconds."
)
_UNAVAILABLE: Final = Problem(
    Slug.INTERNAL,
    "The evidence cannot be read now, which says nothing of any request. Ask again in a few seconds; "
    "/readyz on the admin port and the log say why.",
    at_status=503,
)


class EvidencePages:
    """Answers for what is on record."""

    def __init__(self, records: BoundaryRecords, clock: Clock) -> None:
        self._records = records
        self._own = Own(clock)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._slots = Slots(MOST_READING, MOST_READING)

    async def answer(self, asked: Asked, client: str | None) -> Complete | Problem:
        """The answer to a request for `EVIDENCE` or what is below it.

        `client`: whose evidence alone is told, that of the authenticated client that asks; None: everybody's.
        """
        try:
            if asked.path == EVIDENCE:
                return await self._list(asked, client)
            return await self._one(asked, client)
        except BadSelection as error:
            return Problem(Slug.BAD_REQUEST, error.detail)
        except NoSlot:
            return _TOO_MANY
        except BoundaryUnavailable:
            return _UNAVAILABLE

    async def _list(self, asked: Asked, client: str | None) -> Complete | Problem:
        selection = parse_selection(asked.query)
        if client is not None:
            if selection.client not in (None, client):
                return _NOT_YOURS
            selection = replace(selection, client=client)
        with self._slots.slot(()):
            async with self._places:
                page = await read_page(self._records, selection)
        links = () if page.following is None else (("Link", _next_link(selection, page.following)),)
        vary = ("Vary", "Accept")
        if _takes_lines(asked.fields.get_all("accept")):
            return self._told(page.lines, NDJSON, vary, *links)
        return self._told(page.listed, JSON, vary, *links)

    async def _one(self, asked: Asked, client: str | None) -> Complete | Problem:
        if asked.query:
            return _NO_PARAMETERS
        wanted = asked.path.removeprefix(f"{EVIDENCE}/")
        if not is_conflict_id(wanted):
            return _BAD_ID
        conflict = await self._records.conflict(wanted)
        if conflict is None or client not in (None, conflict.client):
            return Problem(Slug.NOT_FOUND, _NOT_FOUND, {"id": wanted})
        return self._told(json.dumps(told(conflict)).encode("ascii"), JSON)

    def _told(self, body: bytes, media_type: str, *extra: tuple[str, str]) -> Complete:
        fields = (("Content-Type", media_type), *extra)
        return self._own.complete(200, body, "no-store", fields, CacheStatus(detail="local"), Served.LOCAL, "other")


def _next_link(selection: Selection, following: str) -> str:
    """Who reads on reads as before."""
    given = {"client": selection.client, "state": selection.state, "limit": selection.limit, "cursor": following}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    return f'<{EVIDENCE}?{query}>; rel="next"'


def _takes_lines(accept: tuple[str, ...]) -> bool:
    """Whether JSON lines are asked for by name, and one JSON value is not preferred (RFC 9110 §12.5.1)."""
    weights = {essence(one): _weight(one) for value in accept for one in split_list(value)}
    return weights.get(NDJSON, 0.0) > 0 and weights[NDJSON] >= weights.get(JSON, 0.0)


def _weight(media_range: str) -> float:
    quality = _QUALITY.search(media_range)
    return 1.0 if quality is None else float(quality[1])
