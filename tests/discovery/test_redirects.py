"""How far each format follows redirects, and what they say of a move: the format's row of OV-9."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.discovery.classes import DocumentClass
from proxy.discovery.redirects import POLICIES, Follow, Hop, NotFollowed, moves, next_hop
from proxy.http.targets import parse_target

START = parse_target("https://example.com/x.json")
WWW, OTHER, PORT = "https://www.example.com/x.json", "https://other.example.net/x", "https://example.com:8443/x"
FOLLOWED, PROOF, REFUSED = "followed", "with proof", "cross-domain"

ROWS = [
    (DocumentClass.AID, "/y", "redirect-refused"),
    (DocumentClass.DID, "/y", FOLLOWED),
    (DocumentClass.DID, PORT, FOLLOWED),
    (DocumentClass.DID, WWW, REFUSED),
    (DocumentClass.OAUTH_AS, "/y", FOLLOWED),
    (DocumentClass.OAUTH_AS, PORT, REFUSED),
    (DocumentClass.OAUTH_AS, WWW, REFUSED),
    (DocumentClass.OAUTH_PR, WWW, FOLLOWED),
    (DocumentClass.OAUTH_PR, OTHER, REFUSED),
    (DocumentClass.MANIFEST, WWW, FOLLOWED),
    (DocumentClass.MANIFEST, OTHER, PROOF),
    (DocumentClass.AI_CATALOG, OTHER, PROOF),
    (DocumentClass.AGENT_CARD, OTHER, PROOF),
    (DocumentClass.MCP_SERVER_CARD, OTHER, PROOF),
    (DocumentClass.API_CATALOG, OTHER, FOLLOWED),
    (DocumentClass.AGENT_SKILLS, OTHER, FOLLOWED),
    (DocumentClass.LLMS, OTHER, FOLLOWED),
    (DocumentClass.OTHER, OTHER, FOLLOWED),
    (DocumentClass.MANIFEST, "http://example.com/y", "https_required"),
    (DocumentClass.MANIFEST, "https://10.0.0.5/y", "ssrf"),
    (DocumentClass.MANIFEST, "https://u:p@example.com/y", "userinfo"),
    (DocumentClass.MANIFEST, "https://example.com:22/y", "port"),
    (DocumentClass.MANIFEST, "https://exa mple.com/y", "malformed"),
    (DocumentClass.MANIFEST, "/x.json", "redirect_loop"),
    (DocumentClass.MANIFEST, "", "no-location"),
    (DocumentClass.MANIFEST, None, "no-location"),
]


@pytest.mark.parametrize(("document_class", "location", "expected"), ROWS)
def test_one_hop(document_class: DocumentClass, location: str | None, expected: str) -> None:
    step = next_hop(POLICIES[document_class], START, (), START, 308, location)
    if isinstance(step, NotFollowed):
        assert step.reason == expected
    else:
        assert (PROOF if step.needs_proof else FOLLOWED) == expected


@pytest.mark.parametrize(
    ("document_class", "most"),
    [
        (DocumentClass.DID, 3),
        (DocumentClass.OAUTH_AS, 3),
        (DocumentClass.OAUTH_PR, 3),
        (DocumentClass.MANIFEST, 5),
        (DocumentClass.API_CATALOG, 5),
        (DocumentClass.OTHER, 5),
    ],
)
def test_the_most_hops(document_class: DocumentClass, most: int) -> None:
    hops: list[Hop] = []
    step: Any = None
    for number in range(10):
        current = hops[-1].target if hops else START
        step = next_hop(POLICIES[document_class], START, hops, current, 302, f"/{number}")
        if isinstance(step, NotFollowed):
            break
        hops.append(step.hop)
    assert step.reason == "too_many_redirects"
    assert len(hops) == most


def test_a_circle_through_others() -> None:
    policy = POLICIES[DocumentClass.MANIFEST]
    first = next_hop(policy, START, (), START, 308, "/b")
    assert isinstance(first, Follow)
    second = next_hop(policy, START, (first.hop,), first.hop.target, 308, "/c")
    assert isinstance(second, Follow)
    third = next_hop(policy, START, (first.hop, second.hop), second.hop.target, 308, "/b")
    assert isinstance(third, NotFollowed) and third.reason == "redirect_loop"


MOVES = [
    ((), None),
    (((308, "/a"),), "/a"),
    (((301, "/a"),), "/a"),
    (((302, "/a"),), None),
    (((307, "/a"), (308, "/b")), None),
    (((308, "/a"), (302, "/b")), "/a"),
    (((308, "/a"), (301, "/b"), (303, "/c"), (308, "/d")), "/b"),
]


@pytest.mark.parametrize(("hops", "expected"), MOVES)
def test_where_it_moved(hops: tuple[tuple[int, str], ...], expected: str | None) -> None:
    moved = moves([Hop(START, status, parse_target(f"https://example.com{path}")) for status, path in hops])
    assert (moved[-1].target.path if moved else None) == expected
