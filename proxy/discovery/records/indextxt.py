"""The TXT tier of DNS-AID: what publishers write who cannot publish SVCB (DA-8, C-20).

Three forms are met: a list of agents, `agents=chat:mcp,billing:a2a`; a link to a document, `registry=` or `url=`;
and the proposed `v=1 target=… port=… alpn=…`, which says what an SVCB record would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.discovery.records.dnsvalues import Record, Txt
from proxy.discovery.records.pairs import MalformedPairs, decoded, joined, parse_pairs, shown
from proxy.discovery.records.svcb import Place, Pointer, PointerRefused, service_pointer
from proxy.discovery.records.svcparams import ALL_KEYS, Service
from proxy.discovery.urls import UrlRefused, admit
from proxy.http.targets import Target

MAX_AGENTS: Final = 500
_LINKS: Final = ("registry=", "url=")
_AGENTS: Final = "agents="
_VERSION: Final = "v=1"
_AGENT: Final = re.compile(r"([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?):([a-z0-9]{1,32})")
_PARAMETERS: Final = frozenset(ALL_KEYS.values())
_LAST_PORT: Final = 65535
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")


class IndexReason(StrEnum):
    """Why a text of the index is left out of account; a pointer's own reason is a PointerReason."""

    FOREIGN = "foreign"
    NOT_UTF_8 = "not_utf_8"
    MALFORMED = "malformed"
    BAD_URL = "bad_url"
    OFF_DOMAIN = "off_domain"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent of the list: a label below the domain, and the protocol it is said to speak."""

    name: str
    protocol: str


@dataclass(frozen=True, slots=True)
class IndexText:
    """One text as listed: at most one of `agents`, `link` and `pointer`, or the `reason` why none.

    `reason` beside agents: some were left out. A pointer has a verdict of its own. `text` may be shown to anyone.
    """

    text: str
    agents: tuple[NamedAgent, ...] = ()
    link: Target | None = None
    pointer: Pointer | None = None
    reason: IndexReason | None = None
    detail: str | None = None

    @property
    def accepted(self) -> bool:
        return bool(self.agents) or self.link is not None or (self.pointer is not None and self.pointer.accepted)


def read_index_txt(records: Iterable[Record], place: Place) -> tuple[IndexText, ...]:
    """The texts of an answer, in its order: the strings of a record, or their join if only that makes sense.

    Never raises.
    """
    return tuple(text for record in records if isinstance(record, Txt) for text in _texts(record, place))


def _texts(record: Txt, place: Place) -> list[IndexText]:
    if len(record.strings) > 1:
        # A list that is cut anywhere leaves a second string that is none of the three forms.
        each = [_text(octets, place) for octets in record.strings]
        if not any(text.reason in (IndexReason.FOREIGN, IndexReason.NOT_UTF_8) for text in each):
            return each
    return [_text(joined(record), place)]


def _text(octets: bytes, place: Place) -> IndexText:
    text = decoded(octets)
    if text is None:
        readable = shown(octets.decode("utf-8", "replace"))
        return IndexText(readable, reason=IndexReason.NOT_UTF_8, detail="The record is not UTF-8.")
    text = text.strip()
    if text.startswith(_AGENTS):
        return _agents(text)
    for prefix in _LINKS:
        if text.startswith(prefix):
            return _link(text, text.removeprefix(prefix), place)
    if text.partition(" ")[0] == _VERSION:
        return _service(text, place)
    return IndexText(shown(text), reason=IndexReason.FOREIGN, detail="The record is for something else.")


def _agents(text: str) -> IndexText:
    entries = [
        entry.strip().lower() for entry in text.removeprefix(_AGENTS).split(",", MAX_AGENTS) if entry.strip()
    ]
    matches = [match for entry in entries[:MAX_AGENTS] if (match := _AGENT.fullmatch(entry))]
    agents = tuple(dict.fromkeys(NamedAgent(match[1], match[2]) for match in matches))
    if len(entries) > MAX_AGENTS:
        return _listed(text, agents, IndexReason.TOO_MANY, f"Only the first {MAX_AGENTS} agents count.")
    if len(matches) < len(entries):
        missing = len(entries) - len(matches)
        return _listed(text, agents, IndexReason.MALFORMED, f"{missing} entries are no name:protocol.")
    return IndexText(shown(text), agents)


def _listed(text: str, agents: tuple[NamedAgent, ...], reason: IndexReason, detail: str) -> IndexText:
    return IndexText(shown(text), agents, reason=reason, detail=detail)


def _link(text: str, url: str, place: Place) -> IndexText:
    try:
        target = admit(url.strip())
    except UrlRefused as refused:
        return IndexText(shown(text), reason=IndexReason.BAD_URL, detail=refused.detail)
    if not place.admits(target.host):
        detail = "A link out of the domain needs DNSSEC or a signature."
        return IndexText(shown(text), reason=IndexReason.OFF_DOMAIN, detail=detail)
    return IndexText(shown(text), link=target)


def _service(text: str, place: Place) -> IndexText:
    try:
        pairs = parse_pairs(text.split())
    except MalformedPairs as error:
        return IndexText(shown(text), reason=IndexReason.MALFORMED, detail=error.detail)
    port = pairs.get("port", "443")
    if "target" not in pairs or _PORT.fullmatch(port) is None or int(port) > _LAST_PORT:
        detail = "The record has no target, or a port that is no number from 1 to 65535."
        return IndexText(shown(text), reason=IndexReason.MALFORMED, detail=detail)
    alpn = tuple(name for name in pairs.get("alpn", "").split(",") if name)
    parameters = {name: value for name, value in pairs.items() if name in _PARAMETERS}
    said = Service(pairs["target"].removesuffix("."), int(port), alpn, parameters)
    try:
        pointer = service_pointer(said, place, priority=1)
    except PointerRefused as refused:
        pointer = Pointer(place.kind, shown(said.host), 1, reason=refused.reason, detail=refused.detail)
    return IndexText(shown(text), pointer=pointer)
