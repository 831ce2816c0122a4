"""Where the URLs of catalogs stand: by what their origins have said (DISCOVERY_FORMATS.md §9).

The records come first, then what is stored of the very URL, then, where that is wanted, what the origins say when
they are asked. Nothing is judged while the records cannot be read: a catalog with none of them applied would look
like one that has been checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from proxy.catalogs.verdicts import NOTHING_KNOWN, Sighting, Standing, Verdict, standing_of
from proxy.engine.catalogs.probing import Prober, Rechecking, Round
from proxy.engine.relocation.asking import PAGES
from proxy.http.fields import essence
from proxy.http.targets import parse_target
from proxy.ports import Clock
from proxy.relocation.lookup import is_due
from proxy.relocation.records import Record
from proxy.stores.tiered import Tiered

FOR_A_CLIENT: Final = Round(most=200, seconds=20.0)
BEHIND_THE_SCENES: Final = Round(most=20, seconds=60.0)
NOT_PROBED: Final = Standing(Verdict.UNCONFIRMED, None, {"source": NOTHING_KNOWN, "reason": "not-probed"})
_MOST_DUE: Final = 50
# Between two turns of everybody else.
_AT_A_STRETCH: Final = 2_000


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

    async def standings(self, keys: Iterable[str | None], probes: Round | None = None) -> dict[str, Standing]:
        """Where each of these URLs stands; with `probes`, once those that nothing is known of have been asked.

        Origins whose word is due are asked again behind the scenes. Raises LedgerUnavailable.
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
                standings[key] = standing_of(key, record, self._stored(key, now), now)
            if number % _AT_A_STRETCH == 0:
                await asyncio.sleep(0)
        for url in due:
            self._rechecks.soon(parse_target(url))
        if probes is not None:
            await self._probe(standings, probes)
        return standings

    async def _probe(self, standings: dict[str, Standing], probes: Round) -> None:
        unknown = [key for key, standing in standings.items() if is_unknown(standing)]
        sightings = await self._prober.ask(unknown, probes)
        now = self._clock()
        for number, key in enumerate(unknown, 1):
            # Whatever lasts is recorded by now.
            standing = standing_of(key, self._record, sightings.get(key), now)
            standings[key] = NOT_PROBED if is_unknown(standing) else standing
            if number % _AT_A_STRETCH == 0:
                await asyncio.sleep(0)

    def _stored(self, key: str, now: float) -> Sighting | None:
        """What the origin has answered that is still fresh."""
        for stored in reversed(self._store.peek(key)):
            if stored.status == 200 and stored.is_fresh(now):
                is_document = essence(stored.fields.get("content-type")) not in PAGES
                return Sighting(200, stored.exchange.response_time, is_document, "cache")
        return None


def is_unknown(standing: Standing) -> bool:
    """Whether nobody has heard of the URL."""
    return standing.evidence.get("source") == NOTHING_KNOWN
