"""Media types as entries of catalogs state them (CAT-5, CAT-6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.listings.mediatypes import LONGEST_TYPE, EntryKind, kind_of, parse_media_type

READ: list[tuple[str, str, tuple[tuple[str, str], ...]]] = [
    ("application/json", "application/json", ()),
    ("Application/AI-Catalog+JSON", "application/ai-catalog+json", ()),
    (" text/markdown ", "text/markdown", ()),
    (
        "application/vnd.oai.openapi+json;version=3.1",
        "application/vnd.oai.openapi+json",
        (("version", "3.1"),),
    ),
    (
        'text/markdown; profile="urn:air:agent-skills"',
        "text/markdown",
        (("profile", "urn:air:agent-skills"),),
    ),
    (r'a/b;X="a\"; c\\" ; y=Z', "a/b", (("x", 'a"; c\\'), ("y", "Z"))),
    ("a/b;;; c=d;", "a/b", (("c", "d"),)),
    ('a/b;x=""', "a/b", (("x", ""),)),
]
REFUSED = ["", "json", "a/", "/b", "a b/c", "a/b c", "a/b;c", "a/b;c=", 'a/b;c="d', "a/b/c", "a/b, c/d", "é/b", "*"]


@pytest.mark.parametrize(("text", "essence", "parameters"), READ, ids=[row[0] for row in READ])
def test_read(text: str, essence: str, parameters: tuple[tuple[str, str], ...]) -> None:
    media_type = parse_media_type(text)
    assert media_type is not None
    assert (media_type.essence, media_type.parameters) == (essence, parameters)


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refused(text: str) -> None:
    assert parse_media_type(text) is None


KINDS = [
    ("application/a2a-agent-card+json", EntryKind.AGENT_CARD),
    ("application/mcp-server-card+json", EntryKind.MCP_SERVER_CARD),
    ("application/ai-catalog+json", EntryKind.CATALOG),
    ("application/agent-skills+json", EntryKind.SKILL),
    ("application/agent-skills+md", EntryKind.SKILL),
    ("application/agent-skills+zip", EntryKind.SKILL),
    ("application/agent-skills+gzip", EntryKind.SKILL),
    ("application/ai-skill", EntryKind.SKILL),
    ("application/ai-skill+md", EntryKind.SKILL),
    ("text/markdown", EntryKind.SKILL),
    ("application/agent-plugins+zip", EntryKind.PLUGIN),
    ("application/agent-plugins+gzip", EntryKind.PLUGIN),
    ("application/ai-registry+json", EntryKind.REGISTRY),
    ("application/linkset+json", EntryKind.LINKSET),
    ("application/openapi+json", EntryKind.OPENAPI),
    ("application/vnd.oai.openapi+json", EntryKind.OPENAPI),
    ("application/json", EntryKind.OTHER),
    ("application/yaml", EntryKind.OTHER),
    ("", EntryKind.OTHER),
]


@pytest.mark.parametrize(("essence", "kind"), KINDS, ids=[row[0] for row in KINDS])
def test_kinds(essence: str, kind: EntryKind) -> None:
    assert kind_of(essence) is kind


@given(st.text(alphabet='a/;="\\ \t,', max_size=40) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    parse_media_type(text)


def test_hostile_text_takes_linear_time() -> None:
    for part in (";", ";a", ';a="', ';a="\\"', ' ;a="b"', "\\"):
        parse_media_type("a/b" + part * 100_000)


def test_a_long_text_is_no_media_type() -> None:
    assert parse_media_type("a/b;" + " " * (LONGEST_TYPE - 4)) is not None
    assert parse_media_type("a/b;" + " " * (LONGEST_TYPE - 3)) is None
