"""What is told of every request when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proxy.engine.outcome import Outcome
from proxy.server.forms import Form


class Journal(Protocol):
    """Told of every request when it has ended."""

    def ended(self, entry: Entry, outcome: Outcome, seconds: float, body_bytes: int) -> None:
        """Log and count it."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a request before it is answered."""

    request_id: str
    method: str
    request_target: str
    form: Form
    traceparent: str | None
