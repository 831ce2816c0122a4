"""Capability atoms: what a client can reliably do, one thing each (UAIX.md §2).

Decisions are taken on atoms and never on the number of a level. An atom describes and permits nothing: consent,
authorisation and policy are asked for beside it.
"""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum
from typing import Final


class Atom(StrEnum):
    STATIC_GET = "static_get"
    """Opens a URL whose answer is the same for everybody."""
    JSON_GET = "json_get"
    """Reads JSON."""
    LIVE_GET = "live_get"
    """Has a GET executed now and not answered from an index."""
    URL_SYNTH = "url_synth"
    """Fills in the parameters of a listed URL."""
    BROWSER_UI = "browser_ui"
    """Uses a visible page and its forms."""
    JSON_POST = "json_post"
    """Sends a request with a body."""
    AUTH = "auth"
    """Presents a credential of its own."""
    READBACK = "readback"
    """Reads back or restores what was written."""
    COORDINATE = "coordinate"
    """Works as one of several agents."""
    NEGOTIATE = "negotiate"
    """Agrees with a site on that site's own terms."""
    MCP = "mcp"
    TOOLS = "tools"
    A2A = "a2a"


# The first missing one names the cause (D8).
_CAUSES: Final = (
    Atom.MCP,
    Atom.TOOLS,
    Atom.A2A,
    Atom.AUTH,
    Atom.JSON_POST,
    Atom.URL_SYNTH,
    Atom.BROWSER_UI,
    Atom.READBACK,
    Atom.COORDINATE,
    Atom.NEGOTIATE,
    Atom.LIVE_GET,
    Atom.JSON_GET,
    Atom.STATIC_GET,
)


def in_cause_order(atoms: Set[Atom]) -> tuple[Atom, ...]:
    """`atoms` in the order in which D8 looks for the cause of a missing capability."""
    return tuple(atom for atom in _CAUSES if atom in atoms)
