"""What is recorded of one URL (CONTRACT.md §7).

Invariants: a record is of an https URL in normal form; `moved` and `pending` have a location and a target, and no
other state has; the history has its newest observation last and is bounded. All times are Unix seconds.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.http.secrets import masked
from proxy.http.targets import Target
from proxy.http.timestamps import timestamp

_ID: Final = re.compile(r"[0-9a-f]{64}")
MOST_OBSERVATIONS: Final = 32
LONGEST_URL: Final = 2048
"""Characters of a URL that is recorded. Every record is kept in memory, so a publisher does not set its size."""


class State(StrEnum):
    """What the origin says of the URL."""

    MOVED = "moved"
    GONE = "gone"
    PENDING = "pending"
    """Moved, but it is not settled yet that a document of the same publisher is there."""
    MISSING = "missing"
    UNCONFIRMED = "unconfirmed"
    """Not found, but not often or not long enough to be missing. Counted, and in no listing."""


class Proof(StrEnum):
    """Why the new location may speak for the old one (OV-3)."""

    SAME_SITE = "same-site"
    PROVEN = "proven"
    OPERATOR = "operator"
    NONE = "none"
    """It was looked for and not found."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that was seen. `state` and `target` are those of the record from then on, None once withdrawn.

    `note` is a sentence for people, or empty. `fresh_until` is None where nothing was said that could be kept.
    """

    at: float
    status: int
    state: State | None
    target: str | None
    note: str = ""
    fresh_until: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of `url`, which is as `record_url` makes it.

    `status` is the answer that led to the state, first given at `observed_at` and last at `checked_at`. It holds
    until `fresh_until`; the origin is to be asked again at `due_at`. `location` is what the origin itself names,
    `target` where the permanent redirects from there end. `proof` is None while nobody has followed them.
    `failures` counts re-checks in a row that brought nothing, `misses` 404s in a row, of which the first was at
    `missing_since`. `successor` is what a 410 suggests instead, for people and programs to consider (OV-7).
    """

    url: str
    state: State
    status: int
    observed_at: float
    checked_at: float
    fresh_until: float
    due_at: float
    location: str | None = None
    target: str | None = None
    proof: Proof | None = None
    failures: int = 0
    misses: int = 0
    missing_since: float | None = None
    successor: str | None = None
    history: tuple[Observation, ...] = ()

    @property
    def is_listed(self) -> bool:
        """Whether listings and catalogs know of it."""
        return self.state is not State.UNCONFIRMED


def record_url(target: Target) -> str:
    """The URL under which `target` is recorded: its RFC 3986 normal form (CONTRACT.md §14.5)."""
    query = "" if target.query is None else f"?{target.query}"
    return f"{target.origin}{target.normal_path}{query}"


def record_id(url: str) -> str:
    """The id of the record of `url`: SHA-256 in hex."""
    return hashlib.sha256(url.encode()).hexdigest()


def is_record_id(text: str) -> bool:
    """Whether a record could have this id."""
    return _ID.fullmatch(text) is not None


def with_observation(history: tuple[Observation, ...], seen: Observation) -> tuple[Observation, ...]:
    """The history with `seen` at its end, unless that says the same again as the observation before it."""
    if history:
        last = history[-1]
        said, before = ((one.status, one.state, one.target, one.note) for one in (seen, last))
        if said == before:
            return history
    return (*history, seen)[-MOST_OBSERVATIONS:]


def told(record: Record) -> dict[str, object]:
    """The record as an answer has it: a row of `GET /v1/records`."""
    return {
        "id": record_id(record.url),
        "url": masked(record.url),
        "state": record.state.value,
        "target": _shown(record.target),
        "status": record.status,
        "observed_at": timestamp(record.observed_at),
        "checked_at": timestamp(record.checked_at),
        "fresh_until": timestamp(record.fresh_until),
        "evidence": {
            "host": _host(record.url),
            "location": _shown(record.location),
            "proof": None if record.proof is None else record.proof.value,
            "successor": _shown(record.successor),
            "failures": record.failures,
            "misses": record.misses,
            "missing_since": _moment(record.missing_since),
            "note": record.history[-1].note if record.history else "",
        },
    }


def told_with_history(record: Record) -> dict[str, object]:
    """The record with everything that was seen, oldest first: `GET /v1/records/{id}`."""
    host = _host(record.url)
    return {**told(record), "history": [told_observation(seen, host) for seen in record.history]}


def told_observation(seen: Observation, host: str) -> dict[str, object]:
    """An observation as an answer has it; `host` is the one that the certificate was for."""
    return {
        "at": timestamp(seen.at),
        "host": host,
        "status": seen.status,
        "state": None if seen.state is None else seen.state.value,
        "target": _shown(seen.target),
        "fresh_until": _moment(seen.fresh_until),
        "note": seen.note,
    }


def _host(url: str) -> str:
    """Host and port: only the origin itself over TLS is recorded, so its certificate is for this host (OV-1)."""
    return url.split("/", 3)[2]


def _shown(url: str | None) -> str | None:
    return None if url is None else masked(url)


def _moment(moment: float | None) -> str | None:
    return None if moment is None else timestamp(moment)
