"""The rules for UAI-1 envelopes, whoever wrote them (UAIX.md §6.4, E1 to E11).

The conditions are published for `uai.agent.*` and asked of every profile. What is not there breaks E2 and each rule
that asks for something in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

from proxy.boundary.envelopes import ALGORITHM, BLOCKER, CANONICALIZATION, FIELDS, VERSION, checksum_of
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import MAX_DEPTH, JsonObject
from proxy.discovery.notes import Notes

UNDECLARED: Final = "local.E1_undeclared_field"
REQUIRED: Final = "local.E2_required_field"
VERSION_RULE: Final = "local.E3_version"
IDENTITY: Final = "local.E4_identity"
CORRELATION: Final = "local.E5_correlation"
DELIVERY: Final = "local.E6_delivery"
UTC_TIME: Final = "local.E7_utc"
EXPIRED: Final = "local.E8_expired"
BODY: Final = "local.E9_body_required"
REVIEW: Final = "local.E10_blocker_review"
INTEGRITY: Final = "local.E11_integrity"

Steps = tuple[str | int, ...]

# Of the other profiles it is not published how their members are spelled.
_BODIES: Final = {
    BLOCKER: (
        "blocker_id",
        "blocker_type",
        "description",
        "human_review_required",
        "proposed_resolution",
        "support_boundary",
    ),
    "uai.agent.handoff.v1": (
        "task_id",
        "target_agent_id",
        "context_summary",
        "handoff_reason",
        "exact_next_action",
        "delegated_authorization",
        "support_boundary",
    ),
    "uai.agent.memory-proposal.v1": (
        "proposal_id",
        "source_type",
        "proposed_facts",
        "proposed_status",
        "task_execution_separation",
        "review_required",
        "support_boundary",
    ),
    "uai.error.v1": ("status", "code", "detail"),
    "uai.task.status.v1": ("task_id", "state"),
}
_TEXTS: Final = ("profile", "message_id")
_REVIEWED: Final = frozenset({"authorization", "secret", "destructive", "boundary"})

_IDENTIFIER: Final = re.compile(r"[^\s\x00-\x1f\x7f]{1,256}")
_UTC: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,18})?Z")
_A_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r" ?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)
_NAMES_OF_TIMES: Final = ("_at", "_utc")


def envelope_findings(value: JsonObject, now: float) -> tuple[Finding, ...]:
    """What an envelope gets wrong; `now` in Unix seconds. Never raises, whatever the values in it."""
    notes = Notes(None)
    for rule in _RULES:
        notes.add(rule(value))
    notes.add(_expiry(value, now))
    notes.add(_times(value))  # last, since there can be any number
    return notes.findings()


def places(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Every value within a value, itself first, each with the way to it; nothing below the depth of a JSON text."""
    yield steps, value
    if len(steps) >= MAX_DEPTH:
        return
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in inner:
        yield from places(part, (*steps, step))


def _undeclared(value: JsonObject) -> Iterator[Finding]:
    names = [name for name in value if name not in FIELDS]
    if names:
        yield Finding(UNDECLARED, pointer(names[0]), f"{len(names)} members are none of an envelope, from here on.")


def _required(value: JsonObject) -> Iterator[Finding]:
    for name in FIELDS:
        if value.get(name) is None:
            yield Finding(REQUIRED, pointer(name), f"An envelope has {name}.")
    for name in _TEXTS:
        if value.get(name) is not None and not _is_text(value[name]):
            yield Finding(REQUIRED, pointer(name), f"{name} is no text or an empty one.")
    for name in ("trust", "provenance", "extensions"):
        if value.get(name) is not None and not isinstance(value[name], dict):
            yield Finding(REQUIRED, pointer(name), f"{name} is no object.")


def _version(value: JsonObject) -> Iterator[Finding]:
    if value.get("uai_version") != VERSION:
        yield Finding(VERSION_RULE, "/uai_version", f"The version is not {VERSION}.")


def _identities(value: JsonObject) -> Iterator[Finding]:
    for name in ("source", "target"):
        if not _is_identifier(_part(value, name).get("agent_id")):
            yield Finding(IDENTITY, pointer(name, "agent_id"), f"The {name} has no agent_id of one word.")


def _correlation(value: JsonObject) -> Iterator[Finding]:
    if not _is_identifier(_part(value, "conversation").get("correlation_id")):
        yield Finding(CORRELATION, "/conversation/correlation_id", "There is no correlation id of one word.")


def _delivery(value: JsonObject) -> Iterator[Finding]:
    delivery = _part(value, "delivery")
    if not _is_identifier(delivery.get("idempotency_key")):
        yield Finding(DELIVERY, "/delivery/idempotency_key", "There is no idempotency key of one word.")
    if not _is_text(delivery.get("fallback_directive")):
        yield Finding(DELIVERY, "/delivery/fallback_directive", "Nothing says what to do when it fails.")


def _expiry(value: JsonObject, now: float) -> Iterator[Finding]:
    """A packet that had ended when it was issued has ended whatever the clock here says."""
    ends = _moment(_part(value, "delivery").get("expires_at"))
    issued = _moment(_part(value, "provenance").get("issued_at"))
    if ends is not None and ends <= (now if issued is None else max(now, issued)):
        yield Finding(EXPIRED, "/delivery/expires_at", "The packet has expired.")


def _body(value: JsonObject) -> Iterator[Finding]:
    body, profile = value.get("body"), value.get("profile")
    if not isinstance(body, dict):
        yield Finding(BODY, "/body", "The body is no object.")
        return
    for name in _BODIES.get(profile, ()) if isinstance(profile, str) else ():
        field = body.get(name)
        if field is None or field == "":
            yield Finding(BODY, pointer("body", name), f"The body of this profile has {name}.")


def _review(value: JsonObject) -> Iterator[Finding]:
    body = _part(value, "body")
    kind = body.get("blocker_type")
    is_reviewed = value.get("profile") == BLOCKER and isinstance(kind, str) and kind.strip().lower() in _REVIEWED
    if is_reviewed and body.get("human_review_required") is not True:
        yield Finding(REVIEW, "/body/human_review_required", "A blocker of this type is for a person to review.")


def _integrity(value: JsonObject) -> Iterator[Finding]:
    integrity = _part(value, "integrity")
    checksum = integrity.get("checksum")
    if not _is_text(checksum):
        yield Finding(INTEGRITY, "/integrity/checksum", "There is no checksum.")
        return
    for name, expected in (("algorithm", ALGORITHM), ("canonicalization", CANONICALIZATION)):
        if integrity.get(name, expected) != expected:
            yield Finding(INTEGRITY, pointer("integrity", name), f"Only {expected} can be checked.")
            return
    try:
        is_true = checksum == checksum_of(value)
    except ValueError:
        yield Finding(INTEGRITY, "/integrity", "The envelope has no canonical form, so no checksum is true of it.")
        return
    if not is_true:
        yield Finding(INTEGRITY, "/integrity/checksum", "The checksum is not that of the envelope.")


def _times(value: JsonObject) -> Iterator[Finding]:
    for steps, part in places(value):
        if len(steps) == MAX_DEPTH and isinstance(part, dict | list):
            yield Finding(UTC_TIME, pointer(*steps), f"What is nested deeper than {MAX_DEPTH} is not looked at.")
        elif _holds_a_time(steps, part) and _moment(part) is None:
            yield Finding(UTC_TIME, pointer(*steps), "This is no time in UTC such as 2026-07-01T00:00:00Z.")


def _holds_a_time(steps: Steps, value: object) -> bool:
    """By its name or by its look; a member without a value holds none."""
    if value is None:
        return False
    name = steps[-1] if steps else None
    if isinstance(name, str) and name.endswith(_NAMES_OF_TIMES):
        return True
    return isinstance(value, str) and _A_TIME.fullmatch(value) is not None


def _moment(value: object) -> float | None:
    """Unix seconds of a time in UTC that ends in Z; None for anything else."""
    match = _UTC.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp() + float(match[2] or 0)
    except ValueError:
        return None


def _part(value: JsonObject, name: str) -> JsonObject:
    """An object within the envelope; an empty one stands for what is none."""
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_identifier(value: object) -> bool:
    return isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None


_RULES: Final[tuple[Callable[[JsonObject], Iterator[Finding]], ...]] = (
    _undeclared,
    _required,
    _version,
    _identities,
    _correlation,
    _delivery,
    _body,
    _review,
    _integrity,
)
