"""What rests on a URL that stands otherwise than before (OV-11): what is stored of it, documents that name it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from proxy.caching.generations import uri_scope
from proxy.caching.stored import StoredResponse
from proxy.discovery.classes import WELL_KNOWN_PATHS
from proxy.engine.state import EngineState
from proxy.http.codings import CodingFault, decode_body
from proxy.http.targets import parse_target
from proxy.ports import StoreUnavailable
from proxy.relocation.changes import Change, Event
from proxy.relocation.records import State

_OVER: Final = frozenset({Event.REVIVED, Event.WITHDRAWN})
_MOST_DECODED: Final = 256 * 2**10


class Dependents:
    """Ends what may not be used any more, and has what may have changed validated."""

    def __init__(self, state: EngineState) -> None:
        self._store = state.store
        self._copies = state.copies
        self._generations = state.generations
        self._clock = state.clock

    def told(self, url: str, change: Change) -> None:
        """Implements writing.Told."""
        is_gone = change.record is not None and change.record.state is State.GONE
        # What was recorded and is so no more is not to be told from the store either.
        if is_gone or change.event in _OVER:
            self._store.remove(url)
            self._copies.answered(url)
        named = tuple(uri_scope(uri) for uri in self._naming(url))
        if named:
            # A mark that cannot be written still holds here.
            with suppress(StoreUnavailable):
                self._generations.mark(named, self._clock(), soft=True)

    def _naming(self, url: str) -> list[str]:
        """The documents of the same origin, in memory, that name `url`."""
        origin, octets = parse_target(url).origin, url.encode()
        spellings = octets, octets.replace(b"/", rb"\/")
        uris = (f"{origin}{path}" for path in WELL_KNOWN_PATHS)
        return [uri for uri in uris if uri != url and _may_name(self._store.peek(uri), spellings)]


def _may_name(variants: Sequence[StoredResponse], spellings: tuple[bytes, bytes]) -> bool:
    """Whether the newest of these names it; what would take long to look into may do so."""
    if not variants:
        return False
    body = decode_body(variants[-1].fields.get("content-encoding"), variants[-1].body, _MOST_DECODED)
    return isinstance(body, CodingFault) or any(spelling in body for spelling in spellings)
