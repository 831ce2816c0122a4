"""What a reload takes over of a new configuration."""

from __future__ import annotations

from typing import Final

from proxy.config import Settings

# What the sockets, the stores and the access log were opened with.
NEEDS_RESTART: Final = ("listen", "admin", "store", "memory", "log.format", "cache.max_variants")


def reloaded(new: Settings, old: Settings) -> tuple[Settings, tuple[str, ...]]:
    """`new` with what needs a restart as in `old`, so that what is shown is in force; and what differed there."""
    waiting = tuple(path for path in NEEDS_RESTART if _at(new, path) != _at(old, path))
    for path in waiting:
        name, _, key = path.partition(".")
        section = getattr(new, name)
        value = section.model_copy(update={key: _at(old, path)}) if key else getattr(old, name)
        new = new.model_copy(update={name: value})
    return new, waiting


def _at(settings: Settings, path: str) -> object:
    name, _, key = path.partition(".")
    section = getattr(settings, name)
    return getattr(section, key) if key else section
