"""llms.txt: a site's guide for language models, in Markdown (TX-1).

A title (H1) comes first, then a summary (block quote) and free text, then sections (H2) with lists of links. Only
this outline is read; what is inside a fenced code block is none of it. The text is the publisher's and is
never followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument, gate
from proxy.discovery.notes import Notes
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

OUTLINE_LIMIT: Final = 512 * 1024
"""Octets that are read for the outline; `llms-full.txt` goes on for megabytes of text."""
MOST_LINES: Final = 20_000
MOST_SECTIONS: Final = 100
MOST_LINKS: Final = 1000

_RULE: Final = "TX-1"
_PLAIN: Final = 0
_QUOTED: Final = -1
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]++(.*)")
_CLOSING_MARKS: Final = re.compile(r"(?:^|[ \t])#++\Z")
_FENCE: Final = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
_ITEM: Final = re.compile(
    r"[ \t]*+[-*+][ \t]++\[([^\]]*+)\]\([ \t]*+<?([^ \t()<>]++)>?[^)]*+\)(?:[ \t]*+:[ \t]*+(.*))?"
)
# What servers write where a page is missing, in a template that turns every text into Markdown.
_ERROR_TITLE: Final = re.compile(
    r"(?:error\b|[45][0-9]{2}\b|.{0,40}\bnot (?:be )?found\b|access denied|forbidden|unauthorized|bad gateway"
    r"|internal server error|service unavailable|something went wrong|oops)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GuideLink:
    """One item of a section; `target` is None where it may not be fetched."""

    title: str
    href: str
    target: Target | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Section:
    """A section by its heading."""

    name: str
    links: tuple[GuideLink, ...]


@dataclass(frozen=True, slots=True)
class Guide:
    """The outline of an llms.txt."""

    title: str | None
    summary: str | None
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...]


def parse_llms(body: bytes, base: Target) -> Guide | NotADocument:
    """The outline of the llms.txt in the body of a 200 from `base`. Never raises."""
    verdict = gate(DocumentClass.LLMS, None, body)
    if isinstance(verdict, NotADocument):
        return verdict
    notes = Notes(base)
    title: str | None = None
    summary: list[str] = []
    sections: list[tuple[str, list[GuideLink]]] = []
    count = 0
    lines = body[:OUTLINE_LIMIT].decode("utf-8-sig", "replace").splitlines()
    if len(lines) > MOST_LINES:
        notes.warn(_RULE, "", f"Only the first {MOST_LINES} lines are read.")
    for number, (level, text) in enumerate(_outline(lines[:MOST_LINES])):
        if level == 1 and title is None:
            title = text
            if number:
                notes.fail(_RULE, "", "The title (H1) does not come first.")
        elif level == 2 and len(sections) < MOST_SECTIONS:
            sections.append((text, []))
        elif level == _QUOTED and not sections:
            summary.append(text)
        elif level == _PLAIN and sections and count < MOST_LINKS:
            link = _link(text, notes)
            if link is not None:
                sections[-1][1].append(link)
                count += 1
    if title is None:
        notes.fail(_RULE, "", "There is no title (H1).")
    elif not count and _ERROR_TITLE.match(title):
        notes.warn(_RULE, "", "The text reads like an error message under a heading.")
    read = tuple(Section(name, tuple(links)) for name, links in sections)
    return Guide(title, " ".join(summary) or None, read, notes.findings())


def _outline(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Every line that is not blank and not in a code block: its heading level, _QUOTED or _PLAIN, and its text."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence):
                fence = ""
        elif mark is not None:
            fence = mark[1]
            yield _PLAIN, ""
        elif (heading := _HEADING.fullmatch(line.rstrip())) is not None:
            yield len(heading[1]), _CLOSING_MARKS.sub("", heading[2]).strip()
        elif line.startswith(">"):
            yield _QUOTED, line[1:].strip()
        elif line.strip():
            yield _PLAIN, line


def _link(line: str, notes: Notes) -> GuideLink | None:
    match = _ITEM.match(line)
    if match is None:
        return None
    title, href, note = match.groups()
    try:
        target = notes.target(href)
    except UrlRefused:
        target = None
    return GuideLink(title, href, target, (note or "").strip() or None)
