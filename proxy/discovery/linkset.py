"""API catalogs as JSON linksets (RFC 9727, RFC 9264; DISCOVERY_FORMATS §5.4).

A *context object* has an anchor and, under each relation type, *target objects*. What publishers write instead is
brought into that form and flagged. An anchor of another origin is a claim and no authority (LS-3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.gate import NotADocument, gate
from proxy.discovery.jsontext import JsonObject, parse_json
from proxy.discovery.reading import Reading
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

MOST_LINKS: Final = 5000

_NESTED: Final = "api-catalog"


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


def parse_linkset(body: bytes, base: Target | None) -> Linkset | NotADocument:
    """The linkset in the body of a 200 from `base` (None: of unknown place). Never raises."""
    verdict = gate(DocumentClass.API_CATALOG, None, body)
    if isinstance(verdict, NotADocument):
        return verdict
    root = cast(JsonObject, parse_json(body))
    reading = Reading(base)
    if len(root) > 1:
        reading.fail("LS-2", "", "The document has members beside linkset, which is to be its only one.")
    links: list[Link] = []
    for number, context in enumerate(cast(list[object], root["linkset"])):
        for link in _context_links(context, pointer("linkset", number), reading):
            if len(links) == MOST_LINKS:
                reading.warn("LS-1", "/linkset", f"Only the first {MOST_LINKS} links are read.")
                return Linkset(tuple(links), reading.findings())
            links.append(link)
    return Linkset(tuple(links), reading.findings())


def _context_links(context: object, path: str, reading: Reading) -> Iterator[Link]:
    if not isinstance(context, dict):
        reading.fail("LS-1", path, "The context is no object and is passed over.")
        return
    anchor = reading.text(context.get("anchor"), "LS-1", f"{path}/anchor")
    is_claim = anchor is not None and reading.is_elsewhere(anchor)
    if is_claim:
        reading.warn("LS-3", f"{path}/anchor", "The anchor is of another origin: a claim and no authority.")
    for rel, target, where in _target_objects(context, path, reading):
        href = reading.text(target.get("href"), "LS-1", f"{where}/href", "The link has no href and is passed over.")
        if href is not None:
            target_uri = _target(href, f"{where}/href", reading)
            media_type = reading.text(target.get("type"), "LS-1", f"{where}/type")
            yield Link(anchor, is_claim, rel.lower(), href, target_uri, media_type, _title(target), where)


def _target(href: str, path: str, reading: Reading) -> Target | None:
    try:
        return reading.target(href)
    except UrlRefused as error:
        reading.fail("LS-4", path, error.detail)
        return None


def _title(target: JsonObject) -> str | None:
    """`title`, or the first value of the internationalised `title*`."""
    title = target.get("title")
    several = target.get("title*")
    if not title and isinstance(several, list) and several and isinstance(several[0], dict):
        title = several[0].get("value")
    return title if isinstance(title, str) and title else None


def _target_objects(context: JsonObject, path: str, reading: Reading) -> Iterator[tuple[str, JsonObject, str]]:
    """Relation type, target object and its path; of the shapes of LS-2 as well, each of them flagged."""
    if isinstance(context.get("rel"), str):
        reading.fail("LS-2", path, "The context is a flat link with rel and href.")
        yield from _with_own_relation(context, path)
        return
    for name, value in context.items():
        where = path + pointer(name)
        if name == "anchor":
            continue
        targets = value
        if isinstance(value, dict):
            reading.fail("LS-1", where, "The relation type has one target object and not a list of them.")
            targets = [value]
        if not isinstance(targets, list):
            reading.fail("LS-1", where, "The member is no list of target objects and is passed over.")
            continue
        if name == "links" and any(isinstance(target, dict) and "rel" in target for target in targets):
            reading.fail("LS-2", where, "The links are a list and not under their relation types.")
        for number, target in enumerate(targets):
            place = where if targets is not value else f"{where}/{number}"
            if not isinstance(target, dict):
                reading.fail("LS-1", place, "The target is no object and is passed over.")
            elif name == "links" and isinstance(target.get("rel"), str):
                yield from _with_own_relation(target, place)
            else:
                yield name, target, place


def _with_own_relation(link: JsonObject, path: str) -> Iterator[tuple[str, JsonObject, str]]:
    for rel in dict.fromkeys(cast(str, link["rel"]).split()):
        yield rel, link, path
