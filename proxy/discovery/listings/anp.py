"""ANP agent descriptions: a paged collection in JSON-LD that lists a domain's agents (AN-1).

Read as plain JSON: no context is ever loaded, so terms count only as ANP writes them. How many pages are followed,
and that none is followed twice, is for who fetches them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.gate import GateReason, NotADocument
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.discovery.notes import Notes
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

RULE: Final = "AN-1"
WELL_KNOWN: Final = "/.well-known/agent-descriptions"
# What is read of one page; a hostile one lists more.
MOST_ITEMS: Final = 1000
_MOST_TYPES: Final = 16


@dataclass(frozen=True, slots=True)
class Description:
    """An agent listed: its description document, and its name where one is given."""

    url: Target
    name: str | None


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """One page; `next` is the page after it, always on the same origin."""

    items: tuple[Description, ...]
    next: Target | None
    findings: tuple[Finding, ...]


def parse_collection_page(body: bytes, base: Target) -> CollectionPage | NotADocument:
    """The page in the body of a 200 from `base`. Never raises."""
    try:
        page = parse_json(body)
    except MalformedJson as error:
        return NotADocument(GateReason(error.reason), error.detail)
    if not isinstance(page, dict):
        return NotADocument(GateReason.NOT_AN_OBJECT, "the JSON text is not an object")
    listed = page.get("items")
    if not isinstance(listed, list) or not _is_typed(page, "CollectionPage"):
        return NotADocument(GateReason.MEMBERS_MISSING, "expected a CollectionPage with items")
    notes = Notes(base)
    following = _next(page, base, notes)
    if len(listed) > MOST_ITEMS:
        notes.fail(RULE, "/items", f"Only the first {MOST_ITEMS} items of a page are read.")
    items: dict[Target, Description] = {}
    for index, item in enumerate(listed[:MOST_ITEMS]):
        found = _description(item, pointer("items", index), base, notes)
        if found is not None:
            items.setdefault(found.url, found)
    return CollectionPage(tuple(items.values()), following, notes.findings())


def _description(item: object, path: str, base: Target, notes: Notes) -> Description | None:
    if not isinstance(item, dict) or not _is_typed(item, "AgentDescription"):
        notes.fail(RULE, path, "The item is no AgentDescription.")
        return None
    url = _elsewhere(item, "@id", path, base, notes)
    if url is None:
        return None
    name = item.get("name")
    return Description(url, name if isinstance(name, str) and name else None)


def _next(page: JsonObject, base: Target, notes: Notes) -> Target | None:
    following = None if page.get("next") is None else _elsewhere(page, "next", "", base, notes)
    if following is None or following.origin == base.origin:
        return following
    notes.fail(RULE, "/next", "The next page is on another origin.")
    return None


def _elsewhere(members: JsonObject, name: str, path: str, base: Target, notes: Notes) -> Target | None:
    """The target of a member that leads to another document."""
    reference = notes.text(members, name, RULE, path, "There is no URL.")
    if reference is None:
        return None
    try:
        url = notes.target(reference)
    except UrlRefused as error:
        notes.fail(RULE, f"{path}/{name}", error.detail)
        return None
    if url == base:
        notes.fail(RULE, f"{path}/{name}", "The URL leads back to the page.")
        return None
    return url


def _is_typed(value: JsonObject, name: str) -> bool:
    """Whether `@type` holds the term, with any prefix or none."""
    types = value.get("@type")
    listed = types[:_MOST_TYPES] if isinstance(types, list) else [types]
    return any(isinstance(term, str) and term.rpartition(":")[2] == name for term in listed)
