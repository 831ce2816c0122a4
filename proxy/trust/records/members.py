"""Members of a record, by name and type. What is of another raises Untrusted: trust_record_damaged."""

from __future__ import annotations

import base64
import re
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.ijson import JsonObject

# As long as the longest number that a manifest can have as its sequence.
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,308}")


def damaged(detail: str) -> Untrusted:
    """The error for a record that nobody wrote like this."""
    return Untrusted(Reason.TRUST_RECORD_DAMAGED, detail)


def base64_of(octets: bytes) -> str:
    """Octets as a record holds them."""
    return base64.b64encode(octets).decode()


def time_of(members: JsonObject, name: str) -> float:
    """Unix seconds."""
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise damaged(f"Its {name} is no time.")
    return float(value)


def flag_of(members: JsonObject, name: str) -> bool:
    """True or false."""
    value = members.get(name)
    if not isinstance(value, bool):
        raise damaged(f"Its {name} is neither true nor false.")
    return value


def text_of(members: JsonObject, name: str) -> str:
    """A text."""
    value = members.get(name)
    if not isinstance(value, str):
        raise damaged(f"Its {name} is no text.")
    return value


def optional_text_of(members: JsonObject, name: str) -> str | None:
    """A text, or None."""
    return None if members.get(name) is None else text_of(members, name)


def integer_of(members: JsonObject, name: str) -> int:
    """A number that a record holds as text, for it may have more digits than a JSON number keeps."""
    digits = text_of(members, name)
    if not _INTEGER.fullmatch(digits):
        raise damaged(f"Its {name} is no whole number.")
    return int(digits)


def object_of(members: JsonObject, name: str) -> JsonObject:
    """An object."""
    value = members.get(name)
    if not isinstance(value, dict):
        raise damaged(f"Its {name} is no object.")
    return value


def objects_of(members: JsonObject, name: str, most: int) -> list[JsonObject]:
    """A list of `most` objects or fewer."""
    values = members.get(name)
    if not isinstance(values, list) or len(values) > most or not all(isinstance(value, dict) for value in values):
        raise damaged(f"Its {name} are no list of objects, or too many.")
    return values


def octets_of(members: JsonObject, name: str) -> bytes:
    """Octets in base64."""
    try:
        return base64.b64decode(text_of(members, name), validate=True)
    except ValueError:
        raise damaged(f"Its {name} is not in base64.") from None
