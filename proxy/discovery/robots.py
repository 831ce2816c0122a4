"""What robots.txt says besides which paths crawlers may fetch (RFC 9309; LK-4).

`Agentmap` and `Sitemap` lines stand outside the groups of user agents; a `Content-Signal` line belongs to the group
in which it stands. Access rules are for crawlers and are not read: what is fetched here, a user asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.reading import Reading, admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

ROBOTS_LIMIT: Final = 500 * 1024
"""Octets that are read (RFC 9309 §2.5)."""
MOST_LINES: Final = 100
"""Of one sort that are kept."""

_LINE_END: Final = re.compile(r"\r\n?|\n")
_SIGNAL: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+=[ \t]*+([A-Za-z][A-Za-z0-9-]*+)")
_RULE: Final = "LK-4"


@dataclass(frozen=True, slots=True)
class ContentSignal:
    """What one line says to the user agents of its group, by lower-case name; () for a line before any group."""

    user_agents: tuple[str, ...]
    signals: tuple[tuple[str, str], ...]
    """Name and value, such as ("ai-train", "no"), both in lower case."""


@dataclass(frozen=True, slots=True)
class Robots:
    """Each list in the order of the file, without repetition."""

    agentmaps: tuple[Target, ...]
    sitemaps: tuple[Target, ...]
    content_signals: tuple[ContentSignal, ...]
    findings: tuple[Finding, ...]


def parse_robots(body: bytes) -> Robots:
    """The lines of a robots.txt that lead on. Never raises; what is no line is passed over (RFC 9309 §2.2)."""
    reading = Reading(None)
    if len(body) > ROBOTS_LIMIT:
        reading.warn(_RULE, "", f"Only the first {ROBOTS_LIMIT} octets are read.")
    places: dict[str, dict[Target, None]] = {"agentmap": {}, "sitemap": {}}
    signals: dict[ContentSignal, None] = {}
    for field, value, user_agents in _lines(body[:ROBOTS_LIMIT].decode("utf-8-sig", "replace")):
        if field == "content-signal":
            signal = ContentSignal(user_agents, _signals(value, reading))
            if signal.signals and len(signals) < MOST_LINES:
                signals[signal] = None
        elif len(places[field]) < MOST_LINES:
            target = _absolute(value, field, reading)
            if target is not None:
                places[field][target] = None
    return Robots(tuple(places["agentmap"]), tuple(places["sitemap"]), tuple(signals), reading.findings())


def _lines(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Field in lower case, value and the user agents of the group, of those lines that are read here."""
    user_agents: tuple[str, ...] = ()
    naming: list[str] | None = None
    for line in _LINE_END.split(text):
        field, colon, value = line.partition("#")[0].partition(":")
        field, value = field.strip(" \t").lower(), value.strip(" \t")
        if not colon:
            continue
        if field == "user-agent":
            naming = [] if naming is None else naming
            if len(naming) < MOST_LINES:
                naming.append(value.lower())
        elif field in ("agentmap", "sitemap"):
            yield field, value, ()
        else:
            # Any rule ends the naming of user agents: the next one named begins another group.
            if naming is not None:
                user_agents, naming = tuple(dict.fromkeys(naming)), None
            if field == "content-signal":
                yield field, value, user_agents


def _absolute(value: str, field: str, reading: Reading) -> Target | None:
    try:
        return admit_bounded(value, None)
    except UrlRefused as error:
        reading.warn(_RULE, "", f"A {field} line names no absolute https URL: {error.detail}")
        return None


def _signals(value: str, reading: Reading) -> tuple[tuple[str, str], ...]:
    signals: dict[str, str] = {}
    for part in value.split(",")[:MOST_LINES]:
        match = _SIGNAL.fullmatch(part.strip(" \t"))
        if match is None:
            reading.warn(_RULE, "", "A content-signal line has a part that is not name=value.")
        else:
            signals.setdefault(match[1].lower(), match[2].lower())
    return tuple(signals.items())
