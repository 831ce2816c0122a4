"""Ladders, levels and client classes, and the atoms that each stands for (UAIX.md §2, §4.2, §4.4).

Several published ladders share the names L0 to L7 and mean different things by them, so a level is recorded with
its ladder. What neither a level nor a class grants, an unknown client does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from proxy.capability.atoms import Atom

Atoms = frozenset[Atom]


class Ladder(StrEnum):
    EXEC = "exec"
    """Executability: `abilityLevel` of a manifest, `capabilities=` of an mDNS record."""
    SURFACE = "surface"
    """Rows of the capability surface matrix."""
    PROFILE = "profile"
    """`client_level` of a capability profile."""
    AUTONOMY = "autonomy"
    """`declared_level` of an ability profile: says nothing of what a client can do."""


class Label(StrEnum):
    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"
    L5 = "L5"
    L6 = "L6"
    L7 = "L7"


class ClientClass(StrEnum):
    UNKNOWN = "unknown"
    UNKNOWN_JSON = "unknown_json"
    URL_CHATBOT = "url_chatbot"
    URL_SYNTHESIZER = "url_synthesizer"
    INDEXED_FETCHER = "indexed_fetcher"
    BROWSER_AGENT = "browser_agent"
    JSON_POST_CLIENT = "json_post_client"
    OWNER_AGENT = "owner_agent"
    RESTORE_AGENT = "restore_agent"
    MULTI_AGENT_RUNTIME = "multi_agent_runtime"
    A2A_PEER = "a2a_peer"
    MCP_CLIENT = "mcp_client"
    MCP_SERVER_CAPABLE = "mcp_server_capable"
    SITE_NEGOTIATED = "site_negotiated"


@dataclass(frozen=True, slots=True)
class Level:
    """A level as somebody stated it; `ladder` None: a bare number, or one of a ladder nobody knows."""

    label: Label
    ladder: Ladder | None = None


UNKNOWN: Final[Atoms] = frozenset({Atom.STATIC_GET})
"""What every client can do; all that holds for one of which nothing is known."""

_JSON: Final = UNKNOWN | {Atom.JSON_GET}
_LIVE: Final = _JSON | {Atom.LIVE_GET}
_SYNTH: Final = _LIVE | {Atom.URL_SYNTH}
_BROWSER: Final = _LIVE | {Atom.BROWSER_UI}
_POST: Final = _SYNTH | {Atom.JSON_POST}
_OWNER: Final = _POST | {Atom.AUTH}
_RESTORE: Final = _OWNER | {Atom.READBACK}
_RUNTIME: Final = _RESTORE | {Atom.COORDINATE}
_NEGOTIATED: Final = _RUNTIME | {Atom.NEGOTIATE}

CLASSES: Final[Mapping[ClientClass, Atoms]] = MappingProxyType(
    {
        ClientClass.UNKNOWN: UNKNOWN,
        ClientClass.UNKNOWN_JSON: _JSON,
        ClientClass.URL_CHATBOT: UNKNOWN | {Atom.LIVE_GET},
        ClientClass.URL_SYNTHESIZER: _SYNTH,
        ClientClass.INDEXED_FETCHER: _JSON,
        ClientClass.BROWSER_AGENT: _BROWSER,
        ClientClass.JSON_POST_CLIENT: _POST,
        ClientClass.OWNER_AGENT: _OWNER,
        ClientClass.RESTORE_AGENT: _RESTORE,
        ClientClass.MULTI_AGENT_RUNTIME: _RUNTIME,
        ClientClass.A2A_PEER: _POST | {Atom.A2A},
        ClientClass.MCP_CLIENT: _LIVE | {Atom.MCP, Atom.TOOLS},
        ClientClass.MCP_SERVER_CAPABLE: _POST | {Atom.MCP, Atom.TOOLS},
        ClientClass.SITE_NEGOTIATED: _NEGOTIATED,
    }
)

_EXEC: Final[Mapping[Label, Atoms]] = {
    Label.L0: UNKNOWN,
    Label.L1: _SYNTH,
    Label.L2: _BROWSER,
    Label.L3: _POST,
    Label.L4: _OWNER,
    Label.L5: _RESTORE,
    Label.L6: _RUNTIME,
    Label.L7: _NEGOTIATED,
}

# From L3 on the flags of the profile itself decide what more there is. The ladder has no L7.
_PROFILE: Final[Mapping[Label, Atoms]] = {
    Label.L0: UNKNOWN,
    Label.L1: _JSON,
    Label.L2: _BROWSER,
    Label.L3: _LIVE,
    Label.L4: _LIVE,
    Label.L5: _LIVE,
    Label.L6: _LIVE,
}

# The least that any ladder gives the label.
_BARE: Final[Mapping[Label, Atoms]] = {
    Label.L0: UNKNOWN,
    Label.L1: _JSON,
    Label.L2: _JSON,
    **dict.fromkeys((Label.L3, Label.L4, Label.L5, Label.L6, Label.L7), _LIVE),
}

_LABELS: Final[Mapping[str, Label]] = {label.value: label for label in Label}
_LADDERS: Final[Mapping[str, Ladder]] = {ladder.value: ladder for ladder in Ladder}

# No column is published for the surface matrix, which speaks of sites: its levels count as bare numbers.
_COLUMNS: Final[Mapping[Ladder | None, Mapping[Label, Atoms]]] = {
    Ladder.EXEC: _EXEC,
    Ladder.SURFACE: _BARE,
    Ladder.PROFILE: _PROFILE,
    Ladder.AUTONOMY: {},
    None: _BARE,
}


def parse_level(label: str | None, ladder: str | None) -> Level | None:
    """The level of two stated texts, both case-sensitive; None when `label` is none of L0 to L7."""
    known = _LABELS.get(label or "")
    return None if known is None else Level(known, _LADDERS.get(ladder or ""))


def atoms_of(label: str | None, ladder: str | None) -> Atoms:
    """What a client may claim by stating this level; an unknown client's atoms where the level says nothing.

    Write atoms among them are a claim like the rest: whether they are proven is decided elsewhere.
    """
    level = parse_level(label, ladder)
    return UNKNOWN if level is None else _COLUMNS[level.ladder].get(level.label, UNKNOWN)
