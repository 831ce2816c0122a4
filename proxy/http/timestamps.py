"""RFC 3339 timestamps, always UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(moment: float, timespec: str = "milliseconds") -> str:
    """Unix seconds as "2026-11-30T12:00:00.000Z"; `timespec` as in datetime.isoformat, cut and not rounded."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
