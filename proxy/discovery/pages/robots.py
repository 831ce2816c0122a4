"""What robots.txt says besides which paths crawlers may fetch (RFC 9309; LK-4).

`Agentmap` and `Sitemap` lines stand outside the groups of user agents. Access rules are for crawlers and are not
read: what is fetched here, a user asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.notes import Notes, admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

ROBOTS_LIMIT: Final = 500 * 1024
"""Octets that are read (RFC 9309 §2.5)."""
MOST_LINES: Final = 100
"""Of one field."""

_RULE: Final = "LK-4"
_LINE: Final = re.compile(
    r"(?:\A|(?<=[\r\n]))[ \t]*+(agentmap|sitemap)[ \t]*+:[ \t]*+([^#\r\n]*+)", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True)
class Robots:
    """Each list in the order of the file, without repetition."""

    agentmaps: tuple[Target, ...]
    sitemaps: tuple[Target, ...]
    findings: tuple[Finding, ...]


def parse_robots(body: bytes) -> Robots:
    """The lines of a robots.txt that lead on. Never raises; what is no line is passed over (RFC 9309 §2.2)."""
    notes = Notes(None)
    if len(body) > ROBOTS_LIMIT:
        notes.warn(_RULE, "", f"Only the first {ROBOTS_LIMIT} octets are read.")
    places: dict[str, dict[Target, None]] = {"agentmap": {}, "sitemap": {}}
    lines: Counter[str] = Counter()
    for line in _LINE.finditer(body[:ROBOTS_LIMIT].decode("utf-8-sig", "replace")):
        field = line[1].lower()
        lines[field] += 1
        target = _absolute(line[2].rstrip(" \t"), field, notes) if lines[field] <= MOST_LINES else None
        if target is not None:
            places[field][target] = None
    for field, count in lines.items():
        if count > MOST_LINES:
            notes.warn(_RULE, "", f"Only the first {MOST_LINES} {field} lines are read.")
    return Robots(tuple(places["agentmap"]), tuple(places["sitemap"]), notes.findings())


def _absolute(value: str, field: str, notes: Notes) -> Target | None:
    try:
        return admit_bounded(value, None)
    except UrlRefused as error:
        notes.warn(_RULE, "", f"A {field} line names no absolute https URL: {error.detail}")
        return None
