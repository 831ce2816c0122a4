"""The side file that lists keys by host: complete while it lives, harmless when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.caching.generations import host_scope
from proxy.stores.catalogue import Catalogue

NOW = 1_800_000_000.0
HELD = ("https://a.example/1", "https://a.example/2", "https://a.example:8443/1", "https://b.example/1")


def catalogue(folder: Path) -> Catalogue:
    made = Catalogue(folder / "store.db.keys")
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
def test_keys(tmp_path: Path, host: str | None, limit: int, expected: tuple[str, ...]) -> None:
    found = catalogue(tmp_path).keys(None if host is None else host_scope(host), limit, NOW)
    assert found == expected


def test_what_is_forgotten_or_over_is_not_listed(tmp_path: Path) -> None:
    made = catalogue(tmp_path)
    made.forget(HELD[0])
    made.add(HELD[1], HELD[1], NOW - 1)
    assert made.keys(None, 9, NOW) == HELD[2:]


def test_it_outlives_the_process_that_wrote_it(tmp_path: Path) -> None:
    catalogue(tmp_path).close()
    assert Catalogue(tmp_path / "store.db.keys").keys(None, 9, NOW) == HELD


def test_a_damaged_file_is_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "store.db.keys").write_bytes(b"no database at all" * 100)
    made = Catalogue(tmp_path / "store.db.keys")
    assert made.keys(None, 9, NOW) == ()
    made.add(HELD[0], HELD[0], NOW + 60)
    assert made.keys(None, 9, NOW) == HELD[:1]
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_made_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = Catalogue(tmp_path / "file" / "store.db.keys")
    made.add(HELD[0], HELD[0], NOW)
    assert made.keys(None, 9, NOW) == ()
