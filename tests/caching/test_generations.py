"""What purge marks make of a stored response."""

from __future__ import annotations

import time

import pytest

from proxy.caching.generations import (
    EVERYTHING,
    Mark,
    MarkedStale,
    Purged,
    Standing,
    Valid,
    host_scope,
    is_touched,
    scopes,
    softly,
    standing,
    tag_scope,
    uri_scope,
)
from proxy.stores.generations import MemoryGenerations
from tests.caching.samples import NOW, request, stored

URI = "https://example.com:8443/a?b"


@pytest.mark.parametrize(
    ("uri", "tags", "expected"),
    [
        pytest.param(
            "https://example.com/a",
            (),
            ["all", "uri:https://example.com/a", "host:example.com", "host:example.com:443"],
            id="default-port",
        ),
        pytest.param(
            URI,
            ("t", "u"),
            ["all", f"uri:{URI}", "host:example.com", "host:example.com:8443", "tag:t", "tag:u"],
            id="port-and-tags",
        ),
        pytest.param("http://[::1]/", (), ["all", "uri:http://[::1]/", "host:[::1]", "host:[::1]:80"], id="ipv6"),
    ],
)
def test_scopes(uri: str, tags: tuple[str, ...], expected: list[str]) -> None:
    assert list(scopes(uri, tags)) == expected


def made(generation: int) -> Mark:
    return Mark(generation, NOW + generation)


# The response was fetched in generation 5.
STANDINGS: dict[str, tuple[dict[str, Mark], Standing]] = {
    "no-marks": ({}, Valid()),
    "fetched-after": ({EVERYTHING: made(4)}, Valid()),
    "fetched-in-its-generation": ({EVERYTHING: made(5)}, Valid()),
    "fetched-before": ({EVERYTHING: made(6)}, Purged("all")),
    "uri": ({uri_scope(URI): made(6)}, Purged(f"uri:{URI}")),
    "another-uri": ({uri_scope(URI + "c"): made(6)}, Valid()),
    "14.17-host-means-every-port": ({host_scope("example.com"): made(6)}, Purged("host:example.com")),
    "host-and-port": ({host_scope("example.com:8443"): made(6)}, Purged("host:example.com:8443")),
    "host-and-another-port": ({host_scope("example.com:443"): made(6)}, Valid()),
    "tag": ({tag_scope("t"): made(6)}, Purged("tag:t")),
    "another-tag": ({tag_scope("x"): made(6)}, Valid()),
    "soft": ({softly(tag_scope("t")): made(6)}, MarkedStale(NOW + 6)),
    "soft-before": ({softly(tag_scope("t")): made(5)}, Valid()),
    "first-of-two-soft": ({softly(EVERYTHING): made(8), softly(tag_scope("t")): made(7)}, MarkedStale(NOW + 7)),
    "first-of-two-soft-the-other-way": (
        {softly(EVERYTHING): made(7), softly(tag_scope("t")): made(8)},
        MarkedStale(NOW + 7),
    ),
    "hard-outweighs-soft": ({softly(EVERYTHING): made(8), tag_scope("t"): made(6)}, Purged("tag:t")),
    "old-hard-does-not": ({softly(EVERYTHING): made(8), tag_scope("t"): made(5)}, MarkedStale(NOW + 8)),
}


@pytest.mark.parametrize(("marks", "expected"), STANDINGS.values(), ids=STANDINGS)
def test_standing(marks: dict[str, Mark], expected: Standing) -> None:
    kept = stored("Cache-Control: max-age=60", "Cache-Tag: t", asked=request(uri=URI), generation=5)
    assert standing(kept, marks) == expected


TOUCHES: dict[str, tuple[str, bool]] = {
    "everything": (EVERYTHING, True),
    "one-of-them": (uri_scope("https://b.example/y"), True),
    "none-of-them": (uri_scope("https://b.example/z"), False),
    "a-host": (host_scope("b.example"), True),
    "a-host-and-port": (host_scope("b.example:443"), True),
    "another-port": (host_scope("b.example:444"), False),
    "another-host": (host_scope("c.example"), False),
    "any-tag": (tag_scope("t"), True),
}


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(("scope", "touched"), TOUCHES.values(), ids=TOUCHES)
def test_is_touched(scope: str, touched: bool, soft: bool) -> None:
    uris = ["https://a.example/x", "https://b.example/y"]
    purges = MemoryGenerations()
    purges.mark((scope,), NOW, soft=soft)
    assert is_touched(purges, purges.latest - 1, uris) is touched
    assert not is_touched(purges, purges.latest, uris)


def test_is_touched_does_not_go_through_all_marks() -> None:
    purges = MemoryGenerations()
    purges.mark(tuple(uri_scope(f"https://c.example/{number}") for number in range(90_000)), NOW, soft=False)
    started = time.perf_counter()
    for _ in range(1000):
        assert not is_touched(purges, 0, ["https://a.example/x"])
    assert time.perf_counter() - started < 1
