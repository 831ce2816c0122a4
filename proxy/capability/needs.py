"""What a client must be able to do to execute a route (UAIX.md §4.1, §4.4, §2 rule 4).

The route's own members decide. Its ability level may add a need and never takes one away.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from proxy.capability.atoms import Atom
from proxy.capability.effects import side_effect, token
from proxy.capability.ladders import Atoms, Label
from proxy.discovery.access.routes import RouteRecord
from proxy.http.fields import essence
from proxy.http.messages import SAFE_METHODS


class FetchClass(StrEnum):
    """`fetch_execution_class`: in which way a route is used."""

    STATIC = "static"
    CACHED_OR_INDEXED = "cached_or_indexed"
    COMPACT_JSON = "compact_json"
    LIVE_DYNAMIC_GET = "live_dynamic_get"
    BROWSER_FORM = "browser_form"
    HTTP_JSON_POST = "http_json_post"
    RESTORE_READBACK = "restore_readback"
    MCP_TOOL = "mcp_tool"
    A2A_TASK = "a2a_task"
    MULTI_AGENT_HANDOFF = "multi_agent_handoff"
    SITE_SPECIFIC = "site_specific"


_WAYS: Final[Mapping[FetchClass, Atoms]] = {
    FetchClass.STATIC: frozenset({Atom.STATIC_GET}),
    FetchClass.CACHED_OR_INDEXED: frozenset({Atom.STATIC_GET}),
    FetchClass.COMPACT_JSON: frozenset({Atom.JSON_GET}),
    FetchClass.LIVE_DYNAMIC_GET: frozenset({Atom.LIVE_GET}),
    FetchClass.BROWSER_FORM: frozenset({Atom.BROWSER_UI}),
    FetchClass.HTTP_JSON_POST: frozenset({Atom.JSON_POST}),
    FetchClass.RESTORE_READBACK: frozenset({Atom.READBACK}),
    FetchClass.MCP_TOOL: frozenset({Atom.MCP, Atom.TOOLS}),
    FetchClass.A2A_TASK: frozenset({Atom.A2A}),
    FetchClass.MULTI_AGENT_HANDOFF: frozenset({Atom.COORDINATE}),
    FetchClass.SITE_SPECIFIC: frozenset({Atom.NEGOTIATE}),
}
# Plain HTTP reads by name: when such a route sends a body or changes something, that is a need of its own.
_READS: Final = frozenset(
    {
        FetchClass.STATIC,
        FetchClass.CACHED_OR_INDEXED,
        FetchClass.COMPACT_JSON,
        FetchClass.LIVE_DYNAMIC_GET,
        FetchClass.RESTORE_READBACK,
    }
)
_GET_ACTION: Final = frozenset({Atom.LIVE_GET, Atom.URL_SYNTH})
# The last four are shorter words for the same ways, in use beside the published ones.
_FETCH_CLASSES: Final[Mapping[str, FetchClass]] = {
    **{way.value: way for way in FetchClass},
    "cached": FetchClass.CACHED_OR_INDEXED,
    "live": FetchClass.LIVE_DYNAMIC_GET,
    "dynamic": FetchClass.LIVE_DYNAMIC_GET,
    "live_dynamic": FetchClass.LIVE_DYNAMIC_GET,
}
_FORM_TYPES: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})

# The ability that each step of the exec ladder brings in.
_ABILITIES: Final[Mapping[str, Atom]] = {
    Label.L0: Atom.STATIC_GET,
    Label.L1: Atom.JSON_GET,
    Label.L2: Atom.BROWSER_UI,
    Label.L3: Atom.JSON_POST,
    Label.L4: Atom.AUTH,
    Label.L5: Atom.READBACK,
    Label.L6: Atom.COORDINATE,
    Label.L7: Atom.NEGOTIATE,
}


def needs(route: RouteRecord) -> Atoms:
    """The atoms without which a client cannot execute the route's highest supported path."""
    way = fetch_class(route)
    needed = set(_WAYS[way])
    if way in _READS and route.method not in SAFE_METHODS:
        needed.add(Atom.JSON_POST)
    elif way in _READS and side_effect(route).is_change:
        needed |= _GET_ACTION
    if is_template(route.highest_supported_path or ""):
        needed.add(Atom.URL_SYNTH)
    if route.requires_authentication:
        needed.add(Atom.AUTH)
    ability = _ABILITIES.get(route.ability_level or "")
    if ability is not None:
        needed.add(ability)
    return frozenset(needed)


def fetch_class(route: RouteRecord) -> FetchClass:
    """The way the route states; one that is missing or unknown follows from method, query and content type."""
    stated = _FETCH_CLASSES.get(token(route.fetch_execution_class or ""))
    if stated is not None:
        return stated
    if route.method in ("GET", "HEAD"):
        has_query = "?" in (route.highest_supported_path or "")
        return FetchClass.LIVE_DYNAMIC_GET if has_query else FetchClass.STATIC
    return FetchClass.BROWSER_FORM if essence(route.content_type) in _FORM_TYPES else FetchClass.HTTP_JSON_POST


def is_template(url: str) -> bool:
    """Whether parts of the URL are left for the client to fill in (RFC 6570 braces)."""
    return "{" in url
