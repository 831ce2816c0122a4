"""Whose a database is, and reading one without a trace."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.stores.files import Claim, StoreInUse, open_read_only, set_aside


def test_one_claim_at_a_time(tmp_path: Path) -> None:
    database = tmp_path / "new" / "cache.db"
    first, second = Claim(database), Claim(database)
    first.take()
    first.take()
    with pytest.raises(StoreInUse, match=f"cache.db is in use by process {os.getpid()}, which holds .*db.lock"):
        second.take()
    first.release()
    first.release()
    second.take()
    second.release()


def test_a_claim_by_who_has_not_said_so_yet(tmp_path: Path) -> None:
    first, second = Claim(tmp_path / "cache.db"), Claim(tmp_path / "cache.db")
    first.take()
    (tmp_path / "cache.db.lock").write_text("")
    with pytest.raises(StoreInUse, match="in use by another process"):
        second.take()
    first.release()


def test_a_place_that_cannot_be_claimed(tmp_path: Path) -> None:
    (tmp_path / "cache.db.lock").mkdir()
    with pytest.raises(OSError):
        Claim(tmp_path / "cache.db").take()


def test_a_claim_that_cannot_be_written_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError("simulated")

    with monkeypatch.context() as broken:
        broken.setattr(os, "getpid", refuse)
        with pytest.raises(OSError, match="simulated"):
            Claim(tmp_path / "cache.db").take()
    claim = Claim(tmp_path / "cache.db")
    claim.take()
    claim.release()


CLAIM_AND_WAIT = """
import sys
from pathlib import Path
from proxy.stores.files import Claim
claim = Claim(Path(sys.argv[1]))
claim.take()
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    database = tmp_path / "cache.db"
    command = [sys.executable, "-c", CLAIM_AND_WAIT, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"taken\n"
        with pytest.raises(StoreInUse, match=f"process {process.pid}"):
            Claim(database).take()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    claim = Claim(database)
    claim.take()
    claim.release()


def closed(file: sqlite3.Connection) -> None:
    file.close()


def open_still(file: sqlite3.Connection) -> None:
    """Somebody else writes to it."""


@pytest.mark.parametrize("writer", [closed, open_still])
def test_reading_leaves_no_trace(tmp_path: Path, writer: Callable[[sqlite3.Connection], None]) -> None:
    database = tmp_path / "a ? # b.db"
    file = sqlite3.connect(database, isolation_level=None)
    file.execute("PRAGMA journal_mode=WAL")
    file.execute("CREATE TABLE held (value)")
    file.execute("INSERT INTO held VALUES (1)")
    writer(file)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".db-shm"}
    names = sorted(path.name for path in tmp_path.iterdir())
    reader = open_read_only(database)
    assert reader.execute("SELECT value FROM held").fetchall() == [(1,)]
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("INSERT INTO held VALUES (2)")
    reader.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".db-shm"} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    file.close()


def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        open_read_only(tmp_path / "cache.db").execute("SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_setting_aside_takes_what_lies_beside_it(tmp_path: Path) -> None:
    for name in ("cache.db", "cache.db-wal", "cache.db.lock"):
        (tmp_path / name).write_text(name)
    assert set_aside(tmp_path / "cache.db") == tmp_path / "cache.db.damaged"
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {
        "cache.db.damaged": "cache.db",
        "cache.db.damaged-wal": "cache.db-wal",
        "cache.db.lock": "cache.db.lock",
    }
