"""Where the URLs of catalogs stand: by what their origins have said (DISCOVERY_FORMATS.md §9).

The records come first, then what is stored of the very URL, then, where that is wanted, what the origins say when
they are asked. Nothing is judged while the records cannot be read: a catalog with none of them applied would look
like one that has been checked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from proxy.caching.stored import StoredResponse
from proxy.catalogs.verdicts import NOTHING_KNOWN, Standing, Verdict, standing_of
from proxy.discovery.classes import POLICIES, DocumentClass, classify
from proxy.discovery.gate import is_of_kind
from proxy.engine.catalogs.aside import aside, weight
from proxy.engine.catalogs.probing import Prober, Rechecking, Round
from proxy.http.codings import CodingFault, decode_body
from proxy.http.targets import parse_target
from proxy.ports import Clock
from proxy.relocation.lookup import is_due
from proxy.relocation.records import Record
from proxy.relocation.sightings import Sighting, Source
from proxy.stores.tiered import Tiered

FOR_A_CLIENT: Final = Round(most=200, seconds=20.0)
BEHIND_THE_SCENES: Final = Round(most=20, seconds=60.0)
NOT_PROBED: Final = Standing(Verdict.UNCONFIRMED, None, {"source": NOTHING_KNOWN, "reason": "not-probed"})
_MOST_DUE: Final = 50
# Between two turns of everybody else.
_AT_A_STRETCH: Final = 500
# Of a stored body of no class, content coding removed.
_MOST_DECODED: Final = 8 * 2**20

Claims = Mapping[str, DocumentClass]
"""What catalogs say of URLs, by their keys: of which class the documents there are; of others they say nothing."""

_NO_CLAIMS: Final[Claims] = {}


class Judgement:
    """Judges URLs by their keys (see `record_url`). `record` looks a record up, and may raise LedgerUnavailable."""

    def __init__(
        self,
        record: Callable[[str], Record | None],
        rechecks: Rechecking,
        store: Tiered,
        clock: Clock,
        hosts_at_once: int = 2,
    ) -> None:
        self._record = record
        self._rechecks = rechecks
        self._prober = Prober(rechecks, hosts_at_once)
        self._store = store
        self._clock = clock

    async def standings(
        self,
        keys: Iterable[str | None],
        probes: Round | None = None,
        claims: Claims = _NO_CLAIMS,
        until: float | None = None,
    ) -> dict[str, Standing]:
        """Where each of these URLs stands; with `probes`, once those that nothing is known of have been asked.

        What is there confirms a URL only where it is of the class that is claimed (C-15). From `until` on, a time
        of the event loop, the records alone are looked at. Origins whose word is due are asked again behind the
        scenes. Raises LedgerUnavailable.
        """
        now = self._clock()
        due: set[str] = set()

        def record(url: str) -> Record | None:
            found = self._record(url)
            if found is not None and len(due) < _MOST_DUE and is_due(found, now):
                due.add(found.url)
            return found

        standings: dict[str, Standing] = {}
        for number, key in enumerate(dict.fromkeys(keys), 1):
            if key is not None:
                stored = self._stored(key, now) if _left(until) > 0 else None
                sighting = None if stored is None else await _sighting(stored, claims.get(key))
                standings[key] = standing_of(key, record, sighting, now)
            if number % _AT_A_STRETCH == 0:
                await asyncio.sleep(0)
        for url in due:
            self._rechecks.soon(parse_target(url))
        if probes is not None:
            bounds = replace(probes, seconds=max(0.0, min(probes.seconds, _left(until))))
            await self._probe(standings, bounds, claims)
        return standings

    async def _probe(self, standings: dict[str, Standing], probes: Round, claims: Claims) -> None:
        unknown = [key for key, standing in standings.items() if is_unknown(standing)]
        sightings = await self._prober.ask(unknown, probes, claims)
        now = self._clock()
        for number, key in enumerate(unknown, 1):
            # Whatever lasts is recorded by now.
            standing = standing_of(key, self._record, sightings.get(key), now)
            standings[key] = NOT_PROBED if is_unknown(standing) else standing
            if number % _AT_A_STRETCH == 0:
                await asyncio.sleep(0)

    def _stored(self, key: str, now: float) -> StoredResponse | None:
        """What the origin has answered that is still fresh."""
        for stored in reversed(self._store.peek(key)):
            if stored.status == 200 and stored.is_fresh(now):
                return stored
        return None


def _left(until: float | None) -> float:
    return math.inf if until is None else until - asyncio.get_running_loop().time()


async def _sighting(stored: StoredResponse, claimed: DocumentClass | None) -> Sighting:
    document_class = classify(parse_target(stored.uri).normal_path)
    if document_class is DocumentClass.OTHER and claimed is not None:
        document_class = claimed
    # What is stored as of a class has passed its gate.
    is_document = document_class is not DocumentClass.OTHER and stored.document_class == document_class
    if not is_document:
        octets = weight(stored.fields, stored.body)
        is_document = await aside(octets, lambda: _is_document(stored, document_class))
        await asyncio.sleep(0)
    return Sighting(200, stored.exchange.response_time, is_document, Source.CACHE)


def _is_document(stored: StoredResponse, document_class: DocumentClass) -> bool:
    most = POLICIES[document_class].max_body or _MOST_DECODED
    decoded = decode_body(stored.fields.get("content-encoding"), stored.body, most)
    if isinstance(decoded, CodingFault):
        return document_class is DocumentClass.OTHER and is_of_kind(
            document_class, stored.fields.get("content-type"), b""
        )
    return is_of_kind(document_class, stored.fields.get("content-type"), decoded)


def is_unknown(standing: Standing) -> bool:
    """Whether nobody has heard of the URL."""
    return standing.evidence.get("source") == NOTHING_KNOWN
