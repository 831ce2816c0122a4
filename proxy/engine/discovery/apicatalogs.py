"""API catalogs (RFC 9727): descriptions are located and not fetched, further catalogs are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.listings.linkset import Linkset, read_linkset
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.publications import HINT
from proxy.engine.discovery.reading import Manner, Reading, document_of
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.fields import essence
from proxy.http.targets import Target
from proxy.lint.linksets import linkset_findings

_STEP: Final = "api-catalog"
_MOST_DEPTH: Final = 4
_MOST_CATALOGS: Final = 16


class ApiCatalogs:
    """The API catalogs of one call; each is read once, whoever leads to it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._seen: set[Target] = set()

    async def read(self, start: Target) -> bool:
        """The APIs of the catalog at `start` and of those it leads to; whether there is one."""
        level, found = self._unseen([start]), False
        for _ in range(_MOST_DEPTH):
            linksets = [await self._read(target) for target in level]
            present = [linkset for linkset in linksets if linkset is not None]
            found = found or bool(present)
            level = self._unseen([target for linkset in present for target in linkset.nested])
            if not level:
                return found
        detail = f"Nested deeper than {_MOST_DEPTH} catalogs."
        self._call.steps.note(_STEP, level[0].uri, StepOutcome.SKIPPED, detail)
        return found

    def _unseen(self, targets: Iterable[Target]) -> list[Target]:
        """Those of `targets` that are to be read, each once."""
        new = [target for target in dict.fromkeys(targets) if target not in self._seen]
        room = max(_MOST_CATALOGS - len(self._seen), 0)
        self._seen.update(new[:room])
        if len(new) > room:
            self._call.published.limit(f"One discovery reads no more than {_MOST_CATALOGS} API catalogs.")
        return new[:room]

    async def _read(self, target: Target) -> Linkset | None:
        manner = Manner(site=self._call.domain)
        reading = await self._call.read(_STEP, target, DocumentClass.API_CATALOG, manner)
        if not reading.is_found:
            self._call.published.add_document(reading)
            return None
        return add_linkset(self._call, reading)


def add_linkset(call: Call, reading: Reading) -> Linkset:
    """A catalog that was read, and the descriptions that it locates."""
    document = document_of(reading)
    linkset = read_linkset(document.members, reading.target)
    call.published.add_document(reading, linkset_findings(document, linkset))
    for link in linkset.links:
        if link.rel == "service-desc" and link.target is not None:
            trust = HINT if link.is_claim else call.published.trust(reading)
            call.published.add_endpoint(
                description_protocol(link.type), link.target.uri, _STEP, trust, place=reading.place
            )
    return linkset


def description_protocol(media_type: str | None) -> str:
    """What a `service-desc` link leads to: an OpenAPI description, unless its type says another (RFC 8631)."""
    stated = essence(media_type)
    is_openapi = not stated or "openapi" in stated or stated.endswith(("json", "yaml"))
    return "openapi" if is_openapi else "service-desc"
