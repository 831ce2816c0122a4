"""Links by which a page leads to discovery documents: the Link field and HTML's `link` (LK-1, LK-2).

A *link* has a context, a relation type and a target (RFC 8288 §2). Only links whose context is of the page's own
origin count: nobody speaks for another origin. Relation types compare in lower case; those that lead to no
discovery document are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from proxy.discovery.notes import admit_bounded
from proxy.discovery.pages.htmlhead import head_elements
from proxy.discovery.urls import UrlReason, UrlRefused
from proxy.http.fields import unquote
from proxy.http.targets import MalformedTarget, Target, resolve

MOST_LINKS: Final = 64
"""Of one relation type at one place."""
HTML_LIMIT: Final = 512 * 1024
"""Octets of a page that are read."""

RELATIONS: Final = frozenset(
    {"ai-catalog", "alternate", "api-catalog", "ard", "canonical", "describedby"}
    | {"service-desc", "service-doc", "successor-version"}
)

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_SEPARATORS: Final = " \t,"
_REFERENCE: Final = re.compile(r"<([^<>]*+)>")
_PARAMETER: Final = re.compile(
    rf'[ \t]*+;[ \t]*+(?:({_TOKEN}++)[ \t]*+(?:=[ \t]*+("(?:[^"\\]|\\.)*+"|[^ \t;,"]*+))?+)?+', re.DOTALL
)
_EXTENDED_VALUE: Final = re.compile(r"utf-8'[^']*+'(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class WebLink:
    """One link of one relation type; `type`, `title` and `hreflang` are hints of whoever wrote it."""

    rel: str
    href: str
    """As written."""
    target: Target | None
    """None where it may not be fetched."""
    refusal: UrlReason | None
    """Why it may not."""
    type: str | None
    title: str | None
    hreflang: str | None
    context: Target
    """What it is a link of: the page, unless it says otherwise."""


def parse_link_fields(values: Iterable[str], base: Target) -> tuple[WebLink, ...]:
    """The links of the Link field lines of a response from `base` (RFC 8288 §3). Never raises.

    What is not a link is passed over up to the next comma. Of parameters given twice the first counts.
    """
    found = _Found()
    for value in values:
        for reference, parameters in _link_values(value):
            context = _context(parameters.get("anchor"), base)
            if context is not None:
                title = _extended_text(parameters.get("title*")) or parameters.get("title", "")
                found.add(reference, base, context, {**parameters, "title": title})
    return found.links()


def parse_html_links(body: bytes, base: Target, limit: int = HTML_LIMIT) -> tuple[WebLink, ...]:
    """The links in the head of an HTML page at `base`, of which `limit` octets are read. Never raises.

    References are relative to the first `base` element with a href. Where that is nothing that may be fetched, no
    relative one is either: to read them against the page would be a guess.
    """
    place: Target | None = base
    has_base = False
    elements = []
    for name, attributes in head_elements(body[:limit].decode("utf-8-sig", "replace")):
        if name == "link":
            elements.append(attributes)
        elif not has_base and "href" in attributes:
            has_base, place = True, _base_of_references(attributes["href"], base)
    found = _Found()
    for attributes in elements:
        if "href" in attributes:
            found.add(attributes["href"].strip("\t\n\f\r "), place, base, attributes)
    return found.links()


class _Found:
    """Links in order, a bounded number of each relation type."""

    def __init__(self) -> None:
        self._links: list[WebLink] = []
        self._count = dict.fromkeys(RELATIONS, 0)

    def add(self, href: str, base: Target | None, context: Target, attributes: Mapping[str, str]) -> None:
        """One link for each known relation type in the attribute `rel`."""
        named = RELATIONS.intersection(attributes.get("rel", "").lower().split())
        relations = sorted(name for name in named if self._count[name] < MOST_LINKS)
        if not relations or not href:
            return
        target, refusal = None, None
        try:
            target = admit_bounded(href, base)
        except UrlRefused as error:
            refusal = error.reason
        type_, title, language = (attributes.get(name) or None for name in ("type", "title", "hreflang"))
        for relation in relations:
            self._count[relation] += 1
            self._links.append(WebLink(relation, href, target, refusal, type_, title, language, context))

    def links(self) -> tuple[WebLink, ...]:
        return tuple(self._links)


def _link_values(value: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    position = 0
    while position < len(value):
        match = _REFERENCE.match(value, position)
        if match is None:
            skipped = value[position] in _SEPARATORS
            position = position + 1 if skipped else value.find(",", position) + 1 or len(value)
            continue
        reference = match[1].strip()
        parameters: dict[str, str] = {}
        while (parameter := _PARAMETER.match(value, match.end())) is not None:
            match = parameter
            name, text = parameter.groups()
            if name is not None:
                parameters.setdefault(name.lower(), unquote(text or ""))
        position = value.find(",", match.end()) + 1 or len(value)
        yield reference, parameters


def _context(anchor: str | None, base: Target) -> Target | None:
    """What a link is of; None where that is of another origin."""
    if anchor is None:
        return base
    try:
        context = resolve(base, anchor)
    except MalformedTarget:
        return None
    return context if context.origin == base.origin else None


def _extended_text(value: str | None) -> str | None:
    """The text of an extended value (RFC 8187 §3.2); None in any other encoding than UTF-8."""
    match = _EXTENDED_VALUE.fullmatch(value or "")
    return unquote_to_bytes(match[1]).decode("utf-8", "replace") if match else None


def _base_of_references(href: str, page: Target) -> Target | None:
    try:
        return admit_bounded(href.strip("\t\n\f\r "), page)
    except UrlRefused:
        return None
