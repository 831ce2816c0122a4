"""The field Agent-Capability, and what claims and proof come to (UAIX.md §2, CONTRACT §8)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.atoms import Atom
from proxy.capability.claims import AGENT_CAPABILITY, Claim, effective_atoms, parse_claim, wants_json
from proxy.capability.ladders import CLASSES, UNKNOWN, Atoms, ClientClass, Label, Ladder, atoms_of

READS = {Atom.STATIC_GET, Atom.JSON_GET, Atom.LIVE_GET, Atom.BROWSER_UI}
JSON = frozenset({Atom.STATIC_GET, Atom.JSON_GET})
LIVE = JSON | {Atom.LIVE_GET}
POST = CLASSES[ClientClass.JSON_POST_CLIENT]
OWNER = CLASSES[ClientClass.OWNER_AGENT]
BROWSER = CLASSES[ClientClass.BROWSER_AGENT]


def of(*names: str) -> Atoms:
    return frozenset(map(Atom, names))


def test_field_name() -> None:
    assert AGENT_CAPABILITY == "Agent-Capability"


def test_no_field_is_no_claim() -> None:
    assert parse_claim(()) is None


UNDERSTOOD: dict[str, tuple[str, str | None, Atoms]] = {
    "L4;ladder=exec": ("L4", "exec", OWNER),
    "L0;ladder=exec": ("L0", "exec", UNKNOWN),
    "L7;ladder=exec": ("L7", "exec", CLASSES[ClientClass.SITE_NEGOTIATED]),
    "L4": ("L4", None, LIVE),
    "L2": ("L2", None, JSON),
    "L1": ("L1", None, JSON),
    "L0": ("L0", None, UNKNOWN),
    "L4;ladder=autonomy": ("L4", "autonomy", UNKNOWN),
    "L2;ladder=profile": ("L2", "profile", BROWSER),
    "L7;ladder=profile": ("L7", "profile", UNKNOWN),
    "L4;ladder=surface": ("L4", "surface", LIVE),
    "L4; ladder=exec": ("L4", "exec", OWNER),
    "  L4;ladder=exec ": ("L4", "exec", OWNER),
    "L4;ladder=exec;v=1": ("L4", "exec", OWNER),
    "L4;ladder=autonomy;ladder=exec": ("L4", "exec", OWNER),
}


@pytest.mark.parametrize(("line", "expected"), UNDERSTOOD.items(), ids=[repr(line) for line in UNDERSTOOD])
def test_understood(line: str, expected: tuple[str, str | None, Atoms]) -> None:
    claim = parse_claim((line,))
    assert claim is not None and claim.is_understood
    assert (claim.label, claim.ladder, claim.atoms) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "l4",
        "L9",
        "L8;ladder=exec",
        "L-1",
        "L04;ladder=exec",
        "L4.0",
        "4",
        "?1",
        "1.5",
        "@1",
        ":TDQ=:",
        '%"L4"',
        '"L4"',
        '"L4";ladder=exec',
        "(L4);ladder=exec",
        "(L4 L5)",
        "L4 ;ladder=exec",
        "L4;Ladder=exec",
        "L4;ladder=",
        "L4,",
        "L4 exec",
        ";ladder=exec",
        "level=L4",
        "L4\x00",
        "L4\r\nX: y",
        "\x7f",
        "L4;ladder=exéc",
        "Ｌ4",  # noqa: RUF001
        "L4;ladder=exec" + " " * 65536,
        "L4," * 21845 + "L4",
        "(" * 65536,
        '"' * 65536,
    ],
    ids=lambda line: repr(line[:20]),
)
def test_malformed_or_unknown(line: str) -> None:
    assert parse_claim((line,)) == Claim(None, None, UNKNOWN, is_understood=False)


@pytest.mark.parametrize("ladder", ["nobody", "EXEC", '"exec"', "1", "?1", "?0"])
def test_ladder_of_nobody_is_a_bare_number(ladder: str) -> None:
    claim = parse_claim((f"L4;ladder={ladder}",))
    assert claim == Claim(Label.L4, None, LIVE, is_understood=False)


def test_ladder_without_value() -> None:
    assert parse_claim(("L4;ladder",)) == Claim(Label.L4, None, LIVE, is_understood=False)


REPEATED: dict[tuple[str, ...], Claim] = {
    ("L4;ladder=exec, L1;ladder=exec",): Claim(
        None, Ladder.EXEC, CLASSES[ClientClass.URL_SYNTHESIZER], is_understood=False
    ),
    ("L4;ladder=exec", "L4;ladder=exec"): Claim(Label.L4, Ladder.EXEC, OWNER, is_understood=True),
    ("L4;ladder=exec, L4;ladder=exec", "L4;ladder=exec"): Claim(Label.L4, Ladder.EXEC, OWNER, is_understood=True),
    ("L4;ladder=exec", "L4;ladder=autonomy"): Claim(Label.L4, None, UNKNOWN, is_understood=False),
    ("L4;ladder=exec", "L2;ladder=exec"): Claim(None, Ladder.EXEC, LIVE, is_understood=False),
    ("L2;ladder=exec", "L3;ladder=exec", "L2;ladder=exec"): Claim(None, Ladder.EXEC, LIVE, is_understood=False),
    ("L4;ladder=exec", "L4"): Claim(Label.L4, None, LIVE, is_understood=False),
    ("L4;ladder=exec", "L9;ladder=exec"): Claim(None, None, UNKNOWN, is_understood=False),
    ("L4;ladder=exec", ""): Claim(None, None, UNKNOWN, is_understood=False),
    ("L4;ladder=exec", "<"): Claim(None, None, UNKNOWN, is_understood=False),
    ("L4;lad", "der=exec"): Claim(None, None, UNKNOWN, is_understood=False),
}


@pytest.mark.parametrize(("lines", "expected"), REPEATED.items(), ids=[" + ".join(lines) for lines in REPEATED])
def test_repeated(lines: tuple[str, ...], expected: Claim) -> None:
    assert parse_claim(lines) == expected


@given(st.lists(st.text() | st.text(alphabet='L01234;ladeprofixc=", ()?:@"'), max_size=3))
def test_any_lines(lines: list[str]) -> None:
    claim = parse_claim(tuple(lines))
    assert (claim is None) == (not lines)
    if claim is not None:
        assert claim.atoms >= UNKNOWN


def test_hostile_lines_are_cheap() -> None:
    started = time.perf_counter()
    for line in ("L4;ladder=exec, " * 4096, "L4" * 32768, "(((" * 20000):
        parse_claim((line,) * 16)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("label", list(Label))
@pytest.mark.parametrize("ladder", [*Ladder, None])
def test_every_level_claims_its_column(label: Label, ladder: Ladder | None) -> None:
    claim = parse_claim((label if ladder is None else f"{label};ladder={ladder}",))
    assert claim == Claim(label, ladder, atoms_of(label, ladder), is_understood=True)


EVERYTHING = frozenset(Atom)
EFFECTIVE = [
    # id, proven, claims, wants JSON, outcome
    ("unknown-silent", None, (), False, UNKNOWN),
    ("unknown-silent-json", None, (), True, JSON),
    ("unknown-owner", None, (OWNER,), False, LIVE),
    ("unknown-everything", None, (EVERYTHING,), False, READS),
    ("unknown-everything-json", None, (EVERYTHING, EVERYTHING), True, READS),
    ("unknown-browser", None, (BROWSER,), False, BROWSER),
    ("unknown-lower-wins", None, (OWNER, UNKNOWN), False, UNKNOWN),
    ("unknown-lower-wins-json", None, (OWNER, UNKNOWN), True, JSON),
    ("unknown-in-common", None, (BROWSER, OWNER), False, LIVE),
    ("unknown-claims-nothing", None, (frozenset(),), False, UNKNOWN),
    ("proven-silent", OWNER, (), False, OWNER),
    ("proven-nothing", frozenset(), (), False, UNKNOWN),
    ("proven-nothing-claims-all", frozenset(), (EVERYTHING,), False, UNKNOWN),
    ("proven-nothing-json", frozenset(), (EVERYTHING,), True, JSON),
    ("proven-cut-down", OWNER, (POST,), False, POST),
    ("proven-cut-to-live", OWNER, (LIVE, OWNER), False, LIVE),
    ("proven-cut-by-all", OWNER, (POST, BROWSER), False, LIVE),
    ("proven-never-below-unknown", OWNER, (frozenset(),), False, UNKNOWN),
    ("proven-never-below-json", OWNER, (UNKNOWN,), True, JSON),
    ("proven-gains-nothing", POST, (EVERYTHING,), False, POST),
    ("proven-mcp", of("static_get", "mcp", "tools"), (EVERYTHING,), False, of("static_get", "mcp", "tools")),
]


@pytest.mark.parametrize(
    ("proven", "claims", "asks_json", "expected"),
    [row[1:] for row in EFFECTIVE],
    ids=[row[0] for row in EFFECTIVE],
)
def test_effective_atoms(proven: Atoms | None, claims: tuple[Atoms, ...], asks_json: bool, expected: Atoms) -> None:
    assert effective_atoms(proven, claims, wants_json=asks_json) == expected


ATOMS = st.frozensets(st.sampled_from(Atom))


@given(st.none() | ATOMS, st.lists(ATOMS, max_size=4), st.booleans())
def test_claims_grant_no_write(proven: Atoms | None, claims: list[Atoms], asks_json: bool) -> None:
    effective = effective_atoms(proven, tuple(claims), wants_json=asks_json)
    assert effective - READS <= (proven or frozenset())
    assert effective >= UNKNOWN
    # One more claim never makes more of a client, unless it is the first of an unknown one.
    if proven is not None or claims:
        more = effective_atoms(proven, (*claims, UNKNOWN), wants_json=asks_json)
        assert more <= effective


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, False),
        ("", False),
        ("application/json", True),
        ("Application/JSON", True),
        ("application/problem+json", True),
        ("text/html, application/json;q=0.1", True),
        ("text/html,application/ld+json ; q=0.001", True),
        ("application/json;q=0", False),
        ("application/json;q=0.000", False),
        ("application/json; Q=0.0", False),
        ("application/json;q=0, application/problem+json", True),
        ("application/json;charset=utf-8", True),
        ("application/json;q=1", True),
        ("application/json;q=1.000", True),
        ("application/json;q=0.5;ext=1", True),
        ("application/json;q=2", False),
        ("application/json;q=high", False),
        ("application/json;q=", False),
        ("application/json;q=0.0001", False),
        ("*/*", False),
        ("application/*", False),
        ("text/html", False),
        ("application/jsonp", False),
        ("application/json-seq", False),
        ("text/html;x=application/json", False),
        (", ,", False),
        ("\x00", False),
    ],
)
def test_wants_json(accept: str | None, expected: bool) -> None:
    assert wants_json(accept) is expected


@given(st.text())
def test_any_accept(accept: str) -> None:
    wants_json(accept)
