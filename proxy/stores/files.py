"""Database files that cannot be used."""

from __future__ import annotations

from pathlib import Path


def set_aside(database: Path) -> None:
    """Rename an SQLite file and its side files, so that a new one can take its place. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):
        file = database.with_name(database.name + suffix)
        if file.exists():
            file.replace(file.with_name(f"{database.name}.damaged{suffix}"))
