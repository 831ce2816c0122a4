"""Database files: whose they are, reading them without a trace, and what becomes of those that cannot be used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import TextIO


class StoreInUse(Exception):
    """Another process has the store; the text says which."""


class Claim:
    """The right to a database and what lies beside it. It ends with the process, however that ends."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(database.name + ".lock")
        self._file: TextIO | None = None

    def take(self) -> None:
        """Hold it from here on. Raises StoreInUse, or OSError when the file that says so cannot be made."""
        if self._file is not None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+", encoding="ascii")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        except BlockingIOError:
            with file:
                raise StoreInUse(self._told(file)) from None
        except BaseException:
            file.close()
            raise
        self._file = file

    def release(self) -> None:
        """Leave it to others. The file stays: removing it could take it from under who has just opened it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _told(self, file: TextIO) -> str:
        file.seek(0)
        holder = file.read(20).strip()
        process = f"process {holder}" if holder.isdigit() else "another process"
        return f"{self._database} is in use by {process}, which holds {self._path}"


def open_read_only(database: Path) -> sqlite3.Connection:
    """Connect to an SQLite file without changing it or anything beside it. Raises sqlite3.Error.

    Without a log beside it nobody writes to it, and a reader that did not know that would leave one.
    """
    has_log = database.with_name(database.name + "-wal").exists()
    options = "mode=ro" if has_log else "mode=ro&immutable=1"
    return sqlite3.connect(f"{database.absolute().as_uri()}?{options}", uri=True)


def set_aside(database: Path) -> Path:
    """Rename an SQLite file and its side files to make room for a new one; its new path. Raises OSError."""
    aside = database.with_name(f"{database.name}.damaged")
    for suffix in ("", "-wal", "-shm"):
        file = database.with_name(database.name + suffix)
        if file.exists():
            file.replace(aside.with_name(aside.name + suffix))
    return aside
