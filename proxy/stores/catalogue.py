"""Which keys the persistent store holds, by host: what its storage cannot be asked.

A side file, written with every new key and read only for an operator. It may name what the store has dropped
since, never the other way round; when it is lost, listings are incomplete and nothing else.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from proxy.caching.generations import host_scopes

T = TypeVar("T")

_BUSY_SECONDS = 0.1
# Of several variants under a key the longest held counts.
_ADD = "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET until = max(until, excluded.until)"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, host TEXT NOT NULL, authority TEXT NOT NULL,"
    " until REAL NOT NULL) WITHOUT ROWID"
)
_log = logging.getLogger(__name__)


class Catalogue:
    """Keys in the SQLite file `path`, None for nowhere. No method fails: what cannot be written is left out."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: sqlite3.Connection | None = None
        self._has_failed = False

    def add(self, key: str, uri: str, until: float) -> None:
        """Responses for the target URI `uri` are held under `key` until the Unix time `until`."""
        host, authority = host_scopes(uri)
        row = (key, host, authority, until)
        self._with_file(lambda file: file.execute(_ADD, row), None)

    def forget(self, key: str) -> None:
        """`key` is not held any more."""
        self._with_file(lambda file: file.execute("DELETE FROM keys WHERE key = ?", (key,)), None)

    def forget_host(self, host: str | None) -> None:
        """Nothing of a host scope, or nothing at all, is held any more."""
        where, values = ("WHERE ? IN (host, authority)", (host,)) if host else ("", ())
        self._with_file(lambda file: file.execute(f"DELETE FROM keys {where}", values), None)

    def keys(self, host: str | None, limit: int, now: float) -> tuple[str, ...]:
        """At most `limit` keys, of a host scope or of all."""

        def read(file: sqlite3.Connection) -> tuple[str, ...]:
            file.execute("DELETE FROM keys WHERE until < ?", (now,))
            where, values = ("WHERE ? IN (host, authority)", (host, limit)) if host else ("", (limit,))
            rows = file.execute(f"SELECT key FROM keys {where} ORDER BY key LIMIT ?", values)
            return tuple(key for (key,) in rows)

        return self._with_file(read, ())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _with_file(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        if self._path is None:
            return otherwise
        try:
            return self._tried(self._path, work)
        except (sqlite3.Error, OSError) as error:
            self._failed(self._path, error)
        try:
            return self._tried(self._path, work)
        except (sqlite3.Error, OSError):
            return otherwise

    def _tried(self, path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._file is None:
            self._file = _opened(path)
        return work(self._file)

    def _failed(self, path: Path, error: Exception) -> None:
        self.close()
        if not self._has_failed:
            _log.warning("listings are incomplete: %s cannot be used (%s)", path, type(error).__name__)
        self._has_failed = True
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            path.unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("PRAGMA synchronous=OFF")  # it can be lost
        file.execute(_TABLE)
    except BaseException:
        file.close()
        raise
    return file
