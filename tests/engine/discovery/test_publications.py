"""Endpoints as an answer lists them: each once, the best word first, and in the order of whoever names them."""

from __future__ import annotations

from itertools import permutations

import pytest

from proxy.engine.discovery.publications import Endpoint, best_of

URL = "https://example.com/mcp"
PROOF: dict[str, object] = {"verdict": "verified"}


def named(source: str, trust: str, place: str = "", **members: object) -> Endpoint:
    proof = PROOF if members.get("proved") else None
    return Endpoint("mcp", str(members.get("url", URL)), source, trust, place, proof)


CARD = named("mcp-server-card", "origin-tls", "https://example.com/card")
LINK = named("mdns", "unverified-local", "Printer")
RECORD = named("aid2", "hint")
PROVED = named("aid2", "hint", proved=True)
INDEX = named("svcb", "hint", "chat")

ONE = [
    ([RECORD], RECORD),
    ([RECORD, CARD], CARD),
    ([LINK, CARD], CARD),
    ([RECORD, LINK], LINK),
    ([RECORD, INDEX], RECORD),
    ([RECORD, LINK, CARD], CARD),
    ([PROVED, CARD], named("mcp-server-card", "origin-tls", CARD.place, proved=True)),
    ([PROVED, INDEX], PROVED),
    ([named("svcb", "hint", "b"), INDEX], named("svcb", "hint", "b")),
]


@pytest.mark.parametrize(("endpoints", "best"), ONE)
def test_of_one_the_best_word_counts_whoever_came_first(endpoints: list[Endpoint], best: Endpoint) -> None:
    assert {tuple(best_of(order)) == (best,) for order in permutations(endpoints)} == {True}


def test_of_one_place_the_order_is_that_in_which_it_names_them() -> None:
    urls = [f"https://example.com/{name}" for name in ("z", "a", "m")]
    first = [named("agent-card", "origin-tls", "https://example.com/1", url=url) for url in urls]
    second = [named("agent-card", "origin-tls", "https://example.com/2", url=f"{url}2") for url in urls]
    interleaved = [one for pair in zip(second, first, strict=True) for one in pair]
    assert best_of(interleaved) == first + second


def test_a_lesser_word_that_came_before_changes_nothing_about_it() -> None:
    urls = [f"https://example.com/{name}" for name in ("z", "a")]
    listed = [named("agent-card", "origin-tls", "https://example.com/1", url=url) for url in urls]
    assert best_of([named("aid2", "hint", url=urls[1]), *listed]) == listed


def test_protocols_are_kept_apart() -> None:
    other = Endpoint("a2a", URL, "aid2", "hint")
    assert best_of([CARD, other]) == [other, CARD]
