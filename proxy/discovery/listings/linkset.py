"""API catalogs as JSON linksets (RFC 9727, RFC 9264; DISCOVERY_FORMATS §5.4).

A *context object* has an anchor and, under each relation type, *target objects*. What publishers write instead is
brought into that form and flagged. An anchor of another origin is a claim and no authority (LS-3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import Notes
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

MOST_CONTEXTS: Final = 2000
MOST_LINKS: Final = 2000
"""Links and what stands in their place, of the whole document."""

_NESTED: Final = "api-catalog"
_MOST_RELATIONS: Final = 16
"""Relation types of one link that names its own."""


@dataclass(frozen=True, slots=True)
class Link:
    """One link; texts are the publisher's, None where absent or no text."""

    anchor: str | None
    """The context as written; None: the document itself (LS-1)."""
    is_claim: bool
    """The anchor is of another origin than the document."""
    rel: str
    """In lower case."""
    href: str
    """As written."""
    target: Target | None
    """None where it may not be fetched."""
    type: str | None
    title: str | None
    path: str
    """JSON pointer to the target object."""


@dataclass(frozen=True, slots=True)
class Linkset:
    links: tuple[Link, ...]
    findings: tuple[Finding, ...]

    @property
    def nested(self) -> tuple[Target, ...]:
        """The further API catalogs it names, each once, in order; how deep to go, the caller decides (LS-3)."""
        targets = [link.target for link in self.links if link.rel == _NESTED and link.target is not None]
        return tuple(dict.fromkeys(targets))


def read_linkset(root: JsonObject, base: Target | None) -> Linkset:
    """The linkset in an object that has a list of that name."""
    return _Reader(base).linkset(root)


class _Reader:
    """One linkset on its way from an object to a value."""

    def __init__(self, base: Target | None) -> None:
        self._notes = Notes(base)
        self._room = MOST_LINKS

    def linkset(self, root: JsonObject) -> Linkset:
        if len(root) > 1:
            self._notes.fail("LS-2", "", "The document has members beside linkset, which is to be its only one.")
        listed = cast(list[object], root["linkset"])
        if len(listed) > MOST_CONTEXTS:
            self._notes.warn("LS-1", "/linkset", f"Only the first {MOST_CONTEXTS} contexts are read.")
        links: list[Link] = []
        for number, context in enumerate(islice(listed, MOST_CONTEXTS)):
            if self._room < 0:
                break
            links += self._context_links(context, f"/linkset/{number}")
        if self._room < 0:
            self._notes.warn("LS-1", "/linkset", f"Only the first {MOST_LINKS} links are read.")
        return Linkset(tuple(links), self._notes.findings())

    def _context_links(self, context: object, path: str) -> Iterator[Link]:
        notes = self._notes
        if not isinstance(context, dict):
            notes.fail("LS-1", path, "The context is no object and is passed over.")
            return
        anchor = notes.text(context, "anchor", "LS-1", path)
        is_claim = anchor is not None and notes.is_elsewhere(anchor)
        if is_claim:
            notes.warn("LS-3", f"{path}/anchor", "The anchor is of another origin: a claim and no authority.")
        for rel, target, where in self._target_objects(context, path):
            href = notes.text(target, "href", "LS-1", where, "The link has no href and is passed over.")
            if href is not None:
                media_type = notes.text(target, "type", "LS-1", where)
                uri = self._target(href, f"{where}/href")
                yield Link(anchor, is_claim, rel, href, uri, media_type, _title(target), where)

    def _target(self, href: str, path: str) -> Target | None:
        try:
            return self._notes.target(href)
        except UrlRefused as error:
            self._notes.fail("LS-4", path, error.detail)
            return None

    def _has_room(self) -> bool:
        self._room -= 1
        return self._room >= 0

    def _target_objects(self, context: JsonObject, path: str) -> Iterator[tuple[str, JsonObject, str]]:
        """Relation type in lower case, target object and its path; of the shapes of LS-2 too, each flagged."""
        if isinstance(context.get("rel"), str):
            self._notes.fail("LS-2", path, "The context is a flat link with rel and href.")
            yield from self._with_own_relation(context, path)
            return
        for name, value in context.items():
            if name == "anchor":
                continue
            where, rel = path + pointer(name), name.lower()
            if isinstance(value, dict):
                self._notes.fail("LS-1", where, "The relation type has one target object and not a list of them.")
                yield from self._targets(rel, value, where)
            elif isinstance(value, list) and value:
                yield from self._listed_targets(rel, value, where)
            elif not self._has_room():
                return
            elif not isinstance(value, list):
                self._notes.fail("LS-1", where, "The member is no list of target objects and is passed over.")

    def _listed_targets(self, rel: str, listed: list[object], path: str) -> Iterator[tuple[str, JsonObject, str]]:
        targets = listed[: max(self._room, 0) + 1]
        if rel == "links" and any(isinstance(target, dict) and "rel" in target for target in targets):
            self._notes.fail("LS-2", path, "The links are a list and not under their relation types.")
        for number, target in enumerate(targets):
            yield from self._targets(rel, target, f"{path}/{number}")

    def _targets(self, rel: str, target: object, path: str) -> Iterator[tuple[str, JsonObject, str]]:
        if isinstance(target, dict) and rel == "links" and isinstance(target.get("rel"), str):
            yield from self._with_own_relation(target, path)
        elif not self._has_room():
            return
        elif isinstance(target, dict):
            yield rel, target, path
        else:
            self._notes.fail("LS-1", path, "The target is no object and is passed over.")

    def _with_own_relation(self, link: JsonObject, path: str) -> Iterator[tuple[str, JsonObject, str]]:
        relations = cast(str, link["rel"]).lower().split(None, _MOST_RELATIONS)[:_MOST_RELATIONS]
        for rel in dict.fromkeys(relations):
            if self._has_room():
                yield rel, link, path


def _title(target: JsonObject) -> str | None:
    """`title`, or the first value of the internationalised `title*`."""
    title = target.get("title")
    several = target.get("title*")
    if not title and isinstance(several, list) and several and isinstance(several[0], dict):
        title = several[0].get("value")
    return title if isinstance(title, str) and title else None
