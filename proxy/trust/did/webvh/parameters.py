"""The parameters of a did:webvh log: who may extend it, and under which rules.

An entry states what changes; what it leaves out stays as it was. Which keys an entry needs, and which witnesses,
depends on the entry before it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from proxy.trust.did.key import parse_did_key
from proxy.trust.did.webvh.entries import invalid, multihash
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType

METHOD: Final = "did:webvh:1.0"
MOST_WITNESSES: Final = 100

_LONGEST_TTL: Final = 2**31


@dataclass(frozen=True, slots=True)
class WitnessRule:
    """So many of these did:keys have to approve an entry."""

    threshold: int
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters as they stand after an entry, their names as in the log. Keys are multikeys; `ttl` in seconds.

    `witness` is None where nobody has to approve.
    """

    update_keys: frozenset[str] = frozenset()
    next_key_hashes: frozenset[str] = frozenset()
    witness: WitnessRule | None = None
    watchers: tuple[str, ...] = ()
    portable: bool = False
    deactivated: bool = False
    ttl: int = 3600


def first_parameters(stated: JsonObject, scid: str) -> Parameters:
    """The parameters after the first entry, of a log that is asked for by `scid`. Raises Untrusted."""
    if stated.get("scid") != scid:
        raise invalid("The log is of another identifier.")
    if "method" not in stated or "updateKeys" not in stated:
        raise invalid("It states no method, or no keys.")
    return _applied(Parameters(), {name: value for name, value in stated.items() if name != "scid"})


def next_parameters(previous: Parameters, stated: JsonObject) -> Parameters:
    """The parameters after an entry that states so much. Raises Untrusted."""
    if stated.get("portable") is True:
        raise invalid("It makes the identifier portable, which only the first entry may.")
    parameters = _applied(previous, stated)
    if previous.next_key_hashes:
        if not {"updateKeys", "nextKeyHashes"} <= stated.keys():
            raise invalid("It does not state its keys and the next ones, though their hashes were committed to.")
        if not {multihash(key.encode()) for key in parameters.update_keys} <= previous.next_key_hashes:
            raise invalid("It has a key whose hash was not committed to.")
    return parameters


def signers(previous: Parameters | None, current: Parameters) -> frozenset[str]:
    """The keys that may sign an entry: its own if it is the first or they were committed to, else those before."""
    return current.update_keys if previous is None or previous.next_key_hashes else previous.update_keys


def approvers(previous: Parameters | None, current: Parameters) -> WitnessRule | None:
    """Who has to approve an entry: the witnesses before it, or its own if there were none."""
    return current.witness if previous is None or previous.witness is None else previous.witness


def _applied(parameters: Parameters, stated: JsonObject) -> Parameters:
    changes: dict[str, Any] = {}
    for name, value in stated.items():
        if name == "method":
            if value != METHOD:
                raise invalid(f"It is by another method than {METHOD}.")
            continue
        if name not in _MEMBERS:
            raise invalid("It states a parameter of another method, or one that only the first entry may.")
        field, read = _MEMBERS[name]
        # Early programs wrote null for the default.
        is_default = value is None and name in _NULLABLE
        changes[field] = getattr(_DEFAULTS, field) if is_default else read(value)
    return replace(parameters, **changes)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise invalid("A parameter that is a list of texts is none.")
    return tuple(value)


def _text_set(value: object) -> frozenset[str]:
    return frozenset(_texts(value))


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise invalid("A parameter that is true or false is neither.")
    return value


def _ttl(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LONGEST_TTL:
        raise invalid("The lifetime is no number of seconds.")
    return value


def _witness(value: object) -> WitnessRule | None:
    if not isinstance(value, dict):
        raise invalid("The rule for witnesses is no object.")
    if not value:
        return None
    threshold, listed = value.get("threshold"), value.get("witnesses")
    if not isinstance(listed, list) or len(listed) > MOST_WITNESSES:
        raise invalid(f"The witnesses are no list, or more than {MOST_WITNESSES}.")
    ids = frozenset(_witness_id(one) for one in listed)
    if len(ids) < len(listed):
        raise invalid("A witness is listed twice.")
    if not isinstance(threshold, int) or isinstance(threshold, bool) or not 1 <= threshold <= len(ids):
        raise invalid("The threshold is no number from 1 to that of the witnesses.")
    return WitnessRule(threshold, ids)


def _witness_id(listed: object) -> str:
    text = listed.get("id") if isinstance(listed, dict) else None
    if not isinstance(text, str) or "#" in text or parse_did_key(text).type is not KeyType.ED25519:
        raise invalid("A witness is no did:key of type Ed25519.")
    return text


_DEFAULTS: Final = Parameters()
_NULLABLE: Final = frozenset({"updateKeys", "nextKeyHashes", "witness", "watchers", "ttl"})
_MEMBERS: Final[Mapping[str, tuple[str, Callable[[object], object]]]] = {
    "updateKeys": ("update_keys", _text_set),
    "nextKeyHashes": ("next_key_hashes", _text_set),
    "witness": ("witness", _witness),
    "watchers": ("watchers", _texts),
    "portable": ("portable", _truth),
    "deactivated": ("deactivated", _truth),
    "ttl": ("ttl", _ttl),
}
