"""Which atoms a level of a ladder and a client class stand for (UAIX.md §2, §4.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.atoms import Atom, in_cause_order
from proxy.capability.ladders import (
    CLASSES,
    UNKNOWN,
    Atoms,
    ClientClass,
    Label,
    Ladder,
    Level,
    atoms_of,
    parse_level,
)

LABELS = ["L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"]
JSON = "static_get json_get"
LIVE = f"{JSON} live_get"
SYNTH = f"{LIVE} url_synth"
BROWSER = f"{LIVE} browser_ui"
POST = f"{SYNTH} json_post"
OWNER = f"{POST} auth"
RESTORE = f"{OWNER} readback"
RUNTIME = f"{RESTORE} coordinate"
NEGOTIATED = f"{RUNTIME} negotiate"

# ladder: what L0 to L7 stand for
COLUMNS: dict[str, list[str]] = {
    "exec": ["static_get", SYNTH, BROWSER, POST, OWNER, RESTORE, RUNTIME, NEGOTIATED],
    "profile": ["static_get", JSON, BROWSER, LIVE, LIVE, LIVE, LIVE, "static_get"],
    "surface": ["static_get", JSON, JSON, LIVE, LIVE, LIVE, LIVE, LIVE],
    "autonomy": ["static_get"] * 8,
    "unheard-of": ["static_get", JSON, JSON, LIVE, LIVE, LIVE, LIVE, LIVE],
    "": ["static_get", JSON, JSON, LIVE, LIVE, LIVE, LIVE, LIVE],
}
ROWS = [
    pytest.param(label, ladder, atoms, id=f"{ladder or 'bare'}-{label}")
    for ladder, column in COLUMNS.items()
    for label, atoms in zip(LABELS, column, strict=True)
]

CLASS_ATOMS: dict[str, str] = {
    "unknown": "static_get",
    "unknown_json": JSON,
    "url_chatbot": "static_get live_get",
    "url_synthesizer": SYNTH,
    "indexed_fetcher": JSON,
    "browser_agent": BROWSER,
    "json_post_client": POST,
    "owner_agent": OWNER,
    "restore_agent": RESTORE,
    "multi_agent_runtime": RUNTIME,
    "a2a_peer": f"{POST} a2a",
    "mcp_client": f"{LIVE} mcp tools",
    "mcp_server_capable": f"{POST} mcp tools",
    "site_negotiated": NEGOTIATED,
}

NO_LEVELS = [None, "", "L8", "L-1", "l4", "L04", "4", " L4", "L4 ", "L٤", "L10"]


def atoms(text: str) -> Atoms:
    return frozenset(Atom(name) for name in text.split())


@pytest.mark.parametrize(("label", "ladder", "expected"), ROWS)
def test_atoms_of_a_level(label: str, ladder: str, expected: str) -> None:
    assert atoms_of(label, ladder or None) == atoms(expected)


@pytest.mark.parametrize("ladder", ["exec", "surface", "profile", "autonomy", None])
@pytest.mark.parametrize("label", NO_LEVELS)
def test_a_text_that_is_no_level_leaves_an_unknown_client(label: str | None, ladder: str | None) -> None:
    assert parse_level(label, ladder) is None
    assert atoms_of(label, ladder) == UNKNOWN


@pytest.mark.parametrize("ladder", list(Ladder))
@pytest.mark.parametrize("label", list(Label))
def test_a_level_keeps_its_ladder(label: Label, ladder: Ladder) -> None:
    assert parse_level(label.value, ladder.value) == Level(label, ladder)


@pytest.mark.parametrize("ladder", [None, "", "Exec", "executability", "L4"])
def test_a_ladder_nobody_knows_makes_a_bare_number(ladder: str | None) -> None:
    assert parse_level("L4", ladder) == Level(Label.L4)


@pytest.mark.parametrize("ladder", list(Ladder))
@pytest.mark.parametrize("label", LABELS)
def test_a_bare_number_grants_no_more_than_the_ladders_that_grant_anything(label: str, ladder: Ladder) -> None:
    stated = atoms_of(label, ladder)
    assert stated == UNKNOWN or atoms_of(label, None) <= stated


@pytest.mark.parametrize("name", list(ClientClass))
def test_atoms_of_a_class(name: ClientClass) -> None:
    assert CLASSES[name] == atoms(CLASS_ATOMS[name])


def test_every_class_has_a_row_and_every_atom_a_class() -> None:
    assert set(CLASS_ATOMS) == set(CLASSES) == set(ClientClass)
    assert frozenset().union(*CLASSES.values()) == frozenset(Atom)


def test_cause_order_has_every_atom_once() -> None:
    assert sorted(in_cause_order(frozenset(Atom))) == sorted(Atom)
    assert in_cause_order({Atom.STATIC_GET, Atom.TOOLS, Atom.JSON_POST, Atom.AUTH}) == (
        Atom.TOOLS,
        Atom.AUTH,
        Atom.JSON_POST,
        Atom.STATIC_GET,
    )


@given(st.none() | st.text(max_size=8), st.none() | st.text(max_size=8))
def test_no_text_raises(label: str | None, ladder: str | None) -> None:
    assert atoms_of(label, ladder) >= UNKNOWN
