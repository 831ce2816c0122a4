"""Catalogs and what they list: nested ones, cards and other documents, each checked as it asks (§10, phase 4).

Bounded on all sides: depth, catalogs, entries and documents. A document that is listed twice is read once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from proxy.discovery.cards.a2a import is_plainly_card
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument, gate
from proxy.discovery.jsontext import parse_json
from proxy.discovery.listings.catalog import (
    MOST_ENTRIES,
    Catalog,
    OpaqueCatalog,
    inline_verdict,
    parse_catalog,
    read_catalog,
)
from proxy.discovery.listings.catalogentries import Entry
from proxy.discovery.listings.digests import DataVerdict, Digest, matches
from proxy.discovery.listings.mediatypes import EntryKind
from proxy.engine.discovery.apicatalogs import ApiCatalogs, add_linkset
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.cards import Leads, add_agent_card, add_server_card
from proxy.engine.discovery.provenance import is_usable
from proxy.engine.discovery.publications import HINT, REJECTED
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome
from proxy.engine.discovery.skills import find_skills
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.lint.catalogs import catalog_findings, digest_findings, lint_catalog

_MOST_DEPTH: Final = 4
_MOST_CATALOGS: Final = 16
_MOST_DOCUMENTS: Final = 32
_MOST_LOCATED: Final = 64
_STEP: Final = "catalog"
_SKILLS_INDEX: Final = "application/agent-skills+json"
_LOCATED: Final = {EntryKind.OPENAPI: "openapi", EntryKind.REGISTRY: "ard-registry"}
_CLASSES: Final = {
    EntryKind.AGENT_CARD: DocumentClass.AGENT_CARD,
    EntryKind.MCP_SERVER_CARD: DocumentClass.MCP_SERVER_CARD,
    EntryKind.LINKSET: DocumentClass.API_CATALOG,
}


class Expansion:
    """What the catalogs of one call list."""

    def __init__(self, call: Call, leads: Leads, apis: ApiCatalogs) -> None:
        self._call = call
        self._leads = leads
        self._apis = apis
        self._visited: set[str] = set()
        self._subjects: dict[str, tuple[Catalog, set[Target | None]]] = {}
        self._digests: dict[Target, list[Digest]] = {}
        self._entries = 0
        self._documents = 0
        self._located = 0
        self.kinds: set[EntryKind] = set()
        """What documents were found behind entries."""

    async def read(self, step: str, target: Target, entry: Entry | None = None) -> Catalog | None:
        """The catalog at `target`, which `entry` lists; None where there is none, or none to be read further."""
        if target.uri in self._visited:
            return None
        if len(self._visited) >= _MOST_CATALOGS:
            self._call.steps.note(step, target.uri, StepOutcome.SKIPPED, f"More than {_MOST_CATALOGS} catalogs.")
            return None
        self._visited.add(target.uri)
        manner = Manner(site=self._call.domain)
        reading = await self._call.read(step, target, DocumentClass.AI_CATALOG, manner)
        if not is_usable(self._call, reading):
            return None
        self._visited.add(reading.place)
        if entry is not None and not self._is_as_listed(entry, reading):
            return None
        catalog = parse_catalog(reading.body, reading.target)
        if not isinstance(catalog, Catalog):
            self._call.published.add_document(reading, lint_catalog(reading.body, self._call.clock()))
            return None
        # Canonical JSON of much data takes long, so not on the loop.
        of_digests = await asyncio.to_thread(lambda: tuple(digest_findings(catalog)))
        self._call.published.add_document(reading, (*catalog_findings(catalog), *of_digests))
        return catalog

    async def expand(self, catalogs: Iterable[Catalog | None]) -> None:
        """Follow the entries of catalogs of the domain, the first catalog to name a subject deciding."""
        level = [catalog for catalog in catalogs if catalog is not None]
        for depth in range(1, _MOST_DEPTH + 1):
            entries = [(catalog, entry) for catalog in level for entry in self._admitted(catalog)]
            found = await asyncio.gather(*(self._follow(catalog, entry, depth) for catalog, entry in entries))
            level = [catalog for catalog in found if catalog is not None]
            if not level:
                return
        self._skip(f"Nested deeper than {_MOST_DEPTH} catalogs.")

    def _admitted(self, catalog: Catalog) -> list[Entry]:
        """The entries of subjects that no catalog named before, within the bounds."""
        admitted, contested = [], []
        room = MOST_ENTRIES - self._entries
        for entry in catalog.entries[:room]:
            holder, urls = self._subjects.setdefault(entry.identifier, (catalog, set()))
            if holder is catalog:
                urls.add(entry.url)
                admitted.append(entry)
                if entry.url is not None and entry.digest is not None:
                    self._digests.setdefault(entry.url, []).append(entry.digest)
            elif entry.url not in urls:
                contested.append(entry.identifier[:100])
        self._entries += min(room, len(catalog.entries))
        if len(contested) == 1:
            self._skip(f"{contested[0]} is listed with another URL before: that one holds.")
        elif contested:
            self._skip(f"{contested[0]} and {len(contested) - 1} more had other URLs before: those hold.")
        if len(catalog.entries) > room:
            self._skip(f"More than {MOST_ENTRIES} entries are listed.")
        return admitted

    def _skip(self, detail: str) -> None:
        self._call.steps.note(_STEP, self._call.domain, StepOutcome.SKIPPED, detail)

    async def _follow(self, catalog: Catalog, entry: Entry, depth: int) -> Catalog | None:
        if entry.kind is EntryKind.CATALOG:
            return await self._nested(catalog, entry, depth)
        document_class = _CLASSES.get(entry.kind)
        if entry.kind is EntryKind.SKILL and entry.type == _SKILLS_INDEX and entry.url is not None:
            await find_skills(self._call, entry.url)
            return None
        if document_class is None:
            self._note_other(entry)
            return None
        self._documents += 1
        if self._documents > _MOST_DOCUMENTS:
            if self._documents == _MOST_DOCUMENTS + 1:
                self._skip(f"More than {_MOST_DOCUMENTS} documents are listed.")
        elif entry.url is None:
            await self._read_inline(catalog, entry, document_class)
        else:
            await self._read_entry(entry, entry.url, document_class)
        return None

    async def _nested(self, catalog: Catalog, entry: Entry, depth: int) -> Catalog | None:
        if entry.url is not None and depth < _MOST_DEPTH:
            return await self.read(_STEP, entry.url, entry)
        if entry.url is not None:
            detail = f"Nested deeper than {_MOST_DEPTH} catalogs."
            self._call.steps.note(_STEP, entry.url.uri, StepOutcome.SKIPPED, detail)
            return None
        if not await _is_as_digested(catalog, entry):
            return None
        nested = read_catalog(entry.data, entry.listed_by)
        return None if isinstance(nested, OpaqueCatalog | NotADocument) else nested

    async def _read_entry(self, entry: Entry, target: Target, document_class: DocumentClass) -> None:
        manner = Manner(site=self._call.domain)
        reading = await self._call.read(entry.kind.value, target, document_class, manner)
        if not is_usable(self._call, reading):
            return
        if not self._is_as_listed(entry, reading):
            return
        if entry.kind is EntryKind.LINKSET:
            await self._apis.read(target)
        else:
            self._add(entry, reading)

    def _is_as_listed(self, entry: Entry, reading: Reading) -> bool:
        """Whether a document is the one that every digest listed for its place is over (CAT-9)."""
        if all(matches(digest, reading.body) for digest in self._digests.get(reading.asked, ())):
            return True
        finding = Finding("CAT-9", entry.path, "The document is not the one whose digest the catalog has.")
        self._call.published.add_document(reading, (finding,), trust=REJECTED)
        return False

    async def _read_inline(self, catalog: Catalog, entry: Entry, document_class: DocumentClass) -> None:
        """A document that the catalog holds itself: shown by its place in there."""
        assert entry.listed_by is not None  # every catalog here was read from somewhere
        body = json.dumps(entry.data).encode()
        place = Reading(entry.listed_by, entry.listed_by, document_class, ReadOutcome.FOUND, body=body)
        reading = replace(place, fragment=entry.path)
        if not await _is_as_digested(catalog, entry):
            finding = Finding("CAT-9", entry.path, "The data is not what its digest is over.")
            self._call.published.add_document(reading, (finding,), trust=REJECTED)
        elif isinstance(gate(document_class, None, body), NotADocument):
            detail = "The data is not the kind of document that its type says."
            self._call.steps.note(entry.kind.value, reading.url, StepOutcome.WRONG_KIND, detail)
        else:
            self._add(entry, reading)

    def _add(self, entry: Entry, reading: Reading) -> None:
        kind = entry.kind
        if kind is EntryKind.MCP_SERVER_CARD and is_plainly_card(parse_json(reading.body)):
            kind, reading = EntryKind.AGENT_CARD, replace(reading, document_class=DocumentClass.AGENT_CARD)
        self.kinds.add(kind)
        match kind:
            case EntryKind.AGENT_CARD:
                add_agent_card(self._call, self._leads, reading, "ai-catalog")
            case EntryKind.MCP_SERVER_CARD:
                add_server_card(self._call, self._leads, reading, "ai-catalog")
            case _:
                add_linkset(self._call, reading)

    def _note_other(self, entry: Entry) -> None:
        """What is located and not fetched."""
        if entry.url is None:
            return
        protocol = _LOCATED.get(entry.kind)
        if protocol is not None:
            self._call.published.add_endpoint(protocol, entry.url.uri, "ai-catalog", HINT)
        elif self._located < _MOST_LOCATED:
            self._located += 1
            self._call.published.add_located(entry.url, entry.kind.value)
        elif self._located == _MOST_LOCATED:
            self._located += 1
            self._skip(f"More than {_MOST_LOCATED} artifacts of other kinds are listed.")


async def _is_as_digested(catalog: Catalog, entry: Entry) -> bool:
    """Whether the data of an entry may be used; not told on the loop either."""
    verdict = await asyncio.to_thread(inline_verdict, catalog, entry)
    return verdict in (None, DataVerdict.MATCHES)
