"""The TXT records at `_agent.<host>`, which UAIX and AID share (U-T1, U-T8, C-20 to C-23).

The version in front decides whose a record is, and each partition is read by its own rules as if the others were
not there. Every record is listed with what came of it; none is dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proxy.discovery.records.aid import choose_aid, parse_aid
from proxy.discovery.records.aidrecord import AidCode, AidError, AidRecord, Deprecation
from proxy.discovery.records.dnsvalues import Record, Txt
from proxy.discovery.records.pairs import decoded, joined, shown, version_of
from proxy.discovery.records.uaix1 import Uaix1, Uaix1Error, Uaix1Reason, choose_uaix1, parse_uaix1


class TxtKind(StrEnum):
    """Whose a record is. `aid-like`: a version that AID does not know, such as `aid3` or `AID1`."""

    UAIX1 = "uaix1"
    AID1 = "aid1"
    AID2 = "aid2"
    AID_LIKE = "aid-like"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class TxtRecord:
    """One record as listed: `text` and `value` may be shown to anyone.

    `reason` begins with its name and a colon, "duplicate_key: A key comes twice."; of an accepted record it is a
    remark.
    """

    kind: TxtKind
    text: str
    accepted: bool
    reason: str | None
    value: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentTxt:
    """What the name says: every record in the order of the answer, and what holds for each of the two formats."""

    records: tuple[TxtRecord, ...]
    uaix1: Uaix1 | Uaix1Error
    aid: AidRecord | AidError


_Reading = Uaix1 | Uaix1Error | AidRecord | AidError | None


def read_agent_txt(records: Iterable[Record], domain: str, *, secure: bool, now: float) -> AgentTxt:
    """The reading of an answer for `_agent.` and a canonical domain.

    `secure`: DNSSEC vouches for the answer. `now` is in Unix seconds. Never raises.
    """
    read = [_read(record, domain, secure=secure, now=now) for record in records if isinstance(record, Txt)]
    readings = [reading for _, _, reading in read]
    uaix1 = choose_uaix1([reading for reading in readings if isinstance(reading, Uaix1 | Uaix1Error)])
    aid = choose_aid([reading for reading in readings if isinstance(reading, AidRecord | AidError)])
    listed = tuple(_listed(kind, text, reading, uaix1, aid) for kind, text, reading in read)
    return AgentTxt(listed, uaix1, aid)


def kind_of(text: str) -> TxtKind:
    """The partition of a record by the version in front of it."""
    version = version_of(text) or ""
    if version in (TxtKind.UAIX1, TxtKind.AID1, TxtKind.AID2):
        return TxtKind(version)
    return TxtKind.AID_LIKE if version.lower().startswith("aid") else TxtKind.FOREIGN


def _read(record: Txt, domain: str, *, secure: bool, now: float) -> tuple[TxtKind, str, _Reading]:
    octets = joined(record)
    text = decoded(octets)
    readable = octets.decode("utf-8", "replace")
    kind = kind_of(readable)
    if kind is TxtKind.FOREIGN:
        return kind, readable, None
    if kind is TxtKind.UAIX1:
        unreadable = Uaix1Error(Uaix1Reason.NOT_UTF_8, "The record is not UTF-8.")
        return kind, readable, unreadable if text is None else parse_uaix1(text, domain, secure=secure)
    malformed = AidError(AidCode.ERR_INVALID_TXT, "The record is not UTF-8.")
    return kind, readable, malformed if text is None else parse_aid(text, now)


def _listed(
    kind: TxtKind, text: str, reading: _Reading, uaix1: Uaix1 | Uaix1Error, aid: AidRecord | AidError
) -> TxtRecord:
    if reading is None:
        return TxtRecord(kind, shown(text), False, _foreign(text))
    choice = uaix1 if kind is TxtKind.UAIX1 else aid
    # A valid record can still be one of several, or be withdrawn; then the choice says so.
    error = next((word for word in (reading, choice) if isinstance(word, Uaix1Error | AidError)), None)
    if isinstance(reading, Uaix1):
        value, remark = reading.value, _uaix1_remark(reading)
    elif isinstance(reading, AidRecord):
        value, remark = reading.fields, _aid_remark(reading, choice)
    else:
        value, remark = {}, None
    return TxtRecord(kind, shown(text), error is None, _words(error) if error else remark, value)


def _words(error: Uaix1Error | AidError) -> str:
    return f"{error.reason if isinstance(error, Uaix1Error) else error.name}: {error.detail}"


def _uaix1_remark(reading: Uaix1) -> str | None:
    if reading.is_did_ignored:
        return "did_ignored: The DID is none of this host, so it vouches for nothing."
    if reading.needs_proof:
        return "needs_proof: The endpoint is on another host, and nothing vouches for that yet."
    return None


def _aid_remark(reading: AidRecord, choice: object) -> str | None:
    if reading is not choice:
        return "superseded: There is a record of a newer version."
    if reading.deprecation is Deprecation.ANNOUNCED:
        return "deprecated: The record says when its endpoint goes away."
    return None


def _foreign(text: str) -> str:
    if not text:
        return "empty: The record is empty, as where somebody blocks a wildcard."
    if (version_of(text) or "").lower().startswith("uaix"):
        return "unknown_version: The version is not uaix1, in lower case."
    return "foreign: The record is for something else."
