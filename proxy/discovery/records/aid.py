"""AID: which endpoint a domain names for agents (AID-1 to AID-5, AID-9).

Malformed AID is an error of its own and not absence: it forbids the document at `/.well-known/agent`, which only
stands in for a record that is not there. That some record at the name is no AID at all is absence (U-T8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proxy.discovery.jsontext import MalformedJson, read_json
from proxy.discovery.records.aidrecord import (
    KEYS,
    AidCode,
    AidError,
    AidRecord,
    Deprecation,
    InvalidAid,
    aid_record,
)
from proxy.discovery.records.pairs import MalformedPairs, parse_pairs

MAX_DOCUMENT: Final = 64 * 1024
_MEDIA_TYPE: Final = "application/json"


def parse_aid(text: str, now: float) -> AidRecord | AidError:
    """The reading of one record's text. `now` is in Unix seconds. Never raises."""
    try:
        return aid_record(parse_pairs(text.split(";")), now)
    except MalformedPairs as error:
        return AidError(AidCode.ERR_INVALID_TXT, error.detail)
    except InvalidAid as invalid:
        return invalid.error


def choose_aid(readings: Sequence[AidRecord | AidError]) -> AidRecord | AidError:
    """The one record that holds among all that claim to be AID, in whatever order they came (AID-4, AID-5)."""
    valid = [reading for reading in readings if isinstance(reading, AidRecord)]
    newest = max((record.version for record in valid), default=None)
    chosen = [record for record in valid if record.version is newest]
    if len(chosen) > 1:
        return AidError(AidCode.ERR_INVALID_TXT, f"{len(chosen)} valid {newest} records: exactly one is allowed.")
    if chosen and chosen[0].deprecation is Deprecation.PAST:
        return AidError(AidCode.ERR_INVALID_TXT, "The record's dep is past: the endpoint is withdrawn.")
    if chosen:
        return chosen[0]
    return _common_error([reading for reading in readings if isinstance(reading, AidError)])


def _common_error(errors: Sequence[AidError]) -> AidError:
    if not errors:
        return AidError(AidCode.ERR_NO_RECORD, "There is no AID record.")
    if len(errors) == 1:
        return errors[0]
    codes = {error.code for error in errors}
    code = codes.pop() if len(codes) == 1 else AidCode.ERR_INVALID_TXT
    return AidError(code, f"None of the {len(errors)} AID records is valid.")


def parse_aid_document(body: bytes, media_type: str | None, now: float) -> AidRecord | AidError:
    """The record in the document at `/.well-known/agent` (AID-9), from a 200 that came without redirects.

    Members are the keys of a record, in lower case; null is absence. What is malformed is ERR_FALLBACK_FAILED.
    `media_type` is the Content-Type value. Never raises.
    """
    try:
        return aid_record(_document_fields(body, media_type), now)
    except InvalidAid as invalid:
        if invalid.error.code is AidCode.ERR_INVALID_TXT:
            return AidError(AidCode.ERR_FALLBACK_FAILED, invalid.error.detail)
        return invalid.error


def _document_fields(body: bytes, media_type: str | None) -> dict[str, str]:
    if media_type is None or not media_type.strip().lower().startswith(_MEDIA_TYPE):
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, f"The document is not declared as {_MEDIA_TYPE}.")
    if len(body) > MAX_DOCUMENT:
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, f"The document is longer than {MAX_DOCUMENT} octets.")
    try:
        text = read_json(body)
    except MalformedJson as error:
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, f"Unusable document: {error.detail}.") from None
    document = text.value
    if text.has_repeated_names:
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, "An object of the document names a member twice.")
    if not isinstance(document, dict):
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, "The document is not an object.")
    known = {name: value for name, value in document.items() if name in KEYS and value is not None}
    return {name: _text(name, value) for name, value in known.items()}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidAid(AidCode.ERR_FALLBACK_FAILED, f"{name} is not a non-empty string.")
    return value.strip()
