"""The side file that lists keys by host: complete while it lives, harmless when it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxy.caching.generations import host_scope
from proxy.stores.catalogue import Catalogue

NOW = 1_800_000_000.0
HELD = ("https://a.example/1", "https://a.example/2", "https://a.example:8443/1", "https://b.example/1")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Catalogue]]:
    """Opens the catalogue of a store in the folder; every one is closed in the end."""
    made: list[Catalogue] = []

    def open_one(store: str = "store.db") -> Catalogue:
        made.append(Catalogue(tmp_path / f"{store}.keys"))
        return made[-1]

    yield open_one
    for each in made:
        each.close()


@pytest.fixture
def catalogue(opened: Callable[..., Catalogue]) -> Catalogue:
    made = opened()
    for key in HELD:
        made.add(key, key, NOW + 60)
    return made


@pytest.mark.parametrize(
    ("host", "limit", "expected"),
    [
        pytest.param(None, 9, HELD, id="all"),
        pytest.param(None, 2, HELD[:2], id="no-more-than-asked-for"),
        pytest.param("a.example", 9, HELD[:3], id="every-port"),
        pytest.param("a.example:443", 9, HELD[:2], id="the-default-port"),
        pytest.param("a.example:8443", 9, HELD[2:3], id="one-port"),
        pytest.param("c.example", 9, (), id="unknown"),
    ],
)
def test_keys(catalogue: Catalogue, host: str | None, limit: int, expected: tuple[str, ...]) -> None:
    assert catalogue.keys(None if host is None else host_scope(host), limit, NOW) == expected


def test_what_is_forgotten_or_over_is_not_listed(catalogue: Catalogue) -> None:
    catalogue.forget(HELD[0])
    catalogue.add("https://a.example/over", "https://a.example/over", NOW - 1)
    assert catalogue.keys(None, 9, NOW) == HELD[1:]


def test_it_outlives_the_process_that_wrote_it(catalogue: Catalogue, opened: Callable[..., Catalogue]) -> None:
    catalogue.close()
    assert opened().keys(None, 9, NOW) == HELD


def test_a_damaged_file_is_begun_anew(
    tmp_path: Path, opened: Callable[..., Catalogue], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store.db.keys").write_bytes(b"no database at all" * 100)
    made = opened()
    assert made.keys(None, 9, NOW) == ()
    made.add(HELD[0], HELD[0], NOW + 60)
    assert made.keys(None, 9, NOW) == HELD[:1]
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_made_fails_nothing(tmp_path: Path, opened: Callable[..., Catalogue]) -> None:
    (tmp_path / "file").write_text("")
    made = opened("file/store.db")
    made.add(HELD[0], HELD[0], NOW)
    assert made.keys(None, 9, NOW) == ()


def test_of_several_variants_the_longest_held_counts(catalogue: Catalogue) -> None:
    catalogue.add(HELD[0], HELD[0], NOW + 1)
    assert HELD[0] in catalogue.keys(None, 9, NOW + 30)


@pytest.mark.parametrize(("host", "left"), [("a.example", HELD[3:]), (None, ())], ids=["host", "all"])
def test_what_was_purged_is_listed_no_more(catalogue: Catalogue, host: str | None, left: tuple[str, ...]) -> None:
    catalogue.forget_host(None if host is None else host_scope(host))
    assert catalogue.keys(None, 9, NOW) == left
