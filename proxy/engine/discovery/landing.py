"""The landing page's Link field (LK-3): asked for by HEAD, remembered as long as the page is fresh.

HEAD brings nothing that the HTTP cache could keep, so the fields are kept here, with their validators: asked again,
an unchanged page costs a 304.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.caching.freshness import Exchange, born, freshness_lifetime
from proxy.caching.vary import parse_vary
from proxy.discovery.classes import DocumentClass
from proxy.engine.discovery.memory import Memory
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Admit, Manner, Reading, ReadOutcome
from proxy.http.fields import Fields
from proxy.http.targets import Target
from proxy.ports import Clock, Generations

# DISCOVERY_FORMATS §11, "pages"; and the field alone, without links, is a negative answer.
_SILENT_SECONDS: Final = 3600.0
_ROOM: Final = 16 * 2**20
_SIZE: Final = 1024
_MANNER: Final = Manner(method="HEAD", accept="text/markdown, text/html;q=0.9, */*;q=0.1")
# All that a page is asked for by, and validated by.
_OF_USE: Final = frozenset({"link", "etag", "last-modified"})
_LONGEST_FIELDS: Final = 8192


class Landing:
    """The landing pages of the origins that were asked about, the oldest forgotten first."""

    def __init__(self, reader: Reader, generations: Generations, clock: Clock, negative_ttl: float) -> None:
        self._reader = reader
        self._generations = generations
        self._clock = clock
        self._negative_ttl = negative_ttl
        self._kept: Memory[str, Reading] = Memory(generations, _ROOM)

    async def head(self, target: Target, *, stored_only: bool, admit: Admit | None = None) -> Reading:
        """The fields of the page at `target` that are of use; `stored_only` and `admit` as in `Manner`."""
        kept = self._kept.get(target.uri)
        if kept is not None and self._clock() < kept.fresh_until:
            return replace(kept, cache="hit")
        conditions = () if kept is None else _conditions(kept.fields)
        manner = replace(_MANNER, fields=Fields(conditions), stored_only=stored_only, admit=admit)
        generation = self._generations.latest
        reading = await self._reader.read(target, DocumentClass.OTHER, manner)
        if kept is not None and reading.status == 304:
            reading = self._timed(replace(kept, cache="revalidated"), reading.fields)
        elif reading.is_found:
            reading = self._timed(reading, reading.fields)
        elif reading.outcome is ReadOutcome.ABSENT:
            reading = replace(reading, fresh_until=self._clock() + self._negative_ttl)
        else:
            return reading
        reading = replace(reading, fields=reading.fields.where(lambda name, _: name.lower() in _OF_USE))
        octets = sum(len(value) for _, value in reading.fields)
        if octets <= _LONGEST_FIELDS:
            self._kept.put(target.uri, reading, reading.uris, generation, _SIZE + octets)
        return reading

    def _timed(self, reading: Reading, fields: Fields) -> Reading:
        """Until when the Link field holds; without one it is a negative answer."""
        now = self._clock()
        if "link" not in reading.fields:
            return replace(reading, fresh_until=now + self._negative_ttl)
        directives = parse_response_directives(fields)
        if directives.no_store or directives.private or directives.no_cache or parse_vary(fields) is None:
            return replace(reading, fresh_until=now)
        lifetime = freshness_lifetime(200, fields, directives, now, _SILENT_SECONDS)
        until = born(fields, Exchange(now, now)) + lifetime.seconds
        # Where the page is may change before the page does.
        return replace(reading, fresh_until=min(until, now + self._negative_ttl) if reading.hops else until)


def _conditions(fields: Fields) -> tuple[tuple[str, str], ...]:
    pairs = (("If-None-Match", fields.get("etag")), ("If-Modified-Since", fields.get("last-modified")))
    return tuple((name, value) for name, value in pairs if value is not None)
