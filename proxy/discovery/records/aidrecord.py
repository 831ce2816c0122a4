"""One AID record, aid2 or the legacy aid1: its keys, what each may hold, and the specification's errors (AID-1).

What is remote is held to the rules for every URL that is found (C-10): those are ERR_SECURITY, not bad syntax.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from proxy.discovery.records.pairs import shown
from proxy.discovery.records.pkakeys import KeyReason, KeyRefused, PublicKey, parse_key
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.targets import Target

_MAX_DESC: Final = 60
_AUTH: Final = frozenset({"none", "pat", "apikey", "basic", "oauth2_device", "oauth2_code", "mtls", "custom"})
_ALIASES: Final[Mapping[str, str]] = {
    "v": "v",
    "u": "uri",
    "p": "proto",
    "a": "auth",
    "s": "desc",
    "d": "docs",
    "e": "dep",
    "k": "pka",
    "i": "kid",
}
_FULL_NAMES: Final = frozenset(_ALIASES.values())
_FREE_TEXT: Final = frozenset({"desc", "kid"})
KEYS: Final = frozenset(_ALIASES) | _FULL_NAMES
# Keys seen in published records in the place of the required ones.
_MISTAKEN_FOR: Final = {"uri": ("u", ("endpoint", "url")), "proto": ("p", ("protocol",))}
_URI: Final = re.compile(r"[!-~]+")
_DEP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_MULTIBASE_KEY: Final = re.compile(f"z[{_BASE58}]{{32,44}}")
_KEY_OCTETS: Final = 32


class AidCode(IntEnum):
    """The errors of the specification, by its numbers and names."""

    ERR_NO_RECORD = 1000
    ERR_INVALID_TXT = 1001
    ERR_UNSUPPORTED_PROTO = 1002
    ERR_SECURITY = 1003
    ERR_DNS_LOOKUP_FAILED = 1004
    ERR_FALLBACK_FAILED = 1005


@dataclass(frozen=True, slots=True)
class AidError:
    """No usable record; `detail` is for people and repeats nothing of it but a key."""

    code: AidCode
    detail: str

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def allows_document(self) -> bool:
        """Whether the document at `/.well-known/agent` may be asked for instead (AID-9)."""
        return self.code in (AidCode.ERR_NO_RECORD, AidCode.ERR_DNS_LOOKUP_FAILED)


class AidVersion(StrEnum):
    AID1 = "aid1"
    AID2 = "aid2"


_VERSIONS: Final = frozenset(version.value for version in AidVersion)


class Proto(StrEnum):
    """What is spoken at the endpoint."""

    MCP = "mcp"
    A2A = "a2a"
    OPENAPI = "openapi"
    GRPC = "grpc"
    GRAPHQL = "graphql"
    UCP = "ucp"
    WEBSOCKET = "websocket"
    LOCAL = "local"
    ZEROCONF = "zeroconf"


_HTTPS: Final = frozenset({"https"})
_SCHEMES: Final[Mapping[Proto, frozenset[str]]] = {
    **dict.fromkeys(Proto, _HTTPS),
    Proto.WEBSOCKET: frozenset({"wss"}),
    Proto.LOCAL: frozenset({"docker", "npx", "pip"}),
    Proto.ZEROCONF: frozenset({"zeroconf"}),
}


class Deprecation(StrEnum):
    """What the `dep` of a record says of it now."""

    NONE = "none"
    ANNOUNCED = "announced"
    PAST = "past"


@dataclass(frozen=True, slots=True)
class AidRecord:
    """A valid record.

    `fields` is what it says by full names, `uri` included as published. `target` is the https target of a remote
    endpoint, for `websocket` the one its handshake goes to; None for `local` and `zeroconf`, which are for a
    person to decide on and never offered to others. `key` is the one the endpoint can prove to hold: an aid1 key
    has another proof and only shows in `fields`. `deprecated_at` is in Unix seconds.
    """

    version: AidVersion
    proto: Proto
    fields: Mapping[str, str]
    target: Target | None
    key: PublicKey | None
    deprecated_at: float | None
    deprecation: Deprecation

    @property
    def uri(self) -> str:
        return self.fields["uri"]


class InvalidAid(ValueError):
    """The record is none; `error` says why."""

    def __init__(self, code: AidCode, detail: str) -> None:
        super().__init__(detail)
        self.error = AidError(code, detail)


def aid_record(pairs: Mapping[str, str], now: float) -> AidRecord:
    """The record of these keys, full names or aliases, all in lower case. `now` is in Unix seconds.

    Raises InvalidAid.
    """
    fields = _full_names(pairs)
    _require_names(pairs, fields)
    try:
        proto = Proto(fields["proto"])
    except ValueError:
        raise InvalidAid(AidCode.ERR_UNSUPPORTED_PROTO, "The protocol is none that AID knows.") from None
    version = AidVersion(fields["v"])
    _check_hints(fields)
    key = _key(version, fields)
    deprecated_at = _deprecated_at(fields.get("dep"))
    target = _target(proto, fields["uri"])
    said = {name: shown(value) if name in _FREE_TEXT else value for name, value in fields.items()}
    return AidRecord(version, proto, said, target, key, deprecated_at, _deprecation(deprecated_at, now))


def _full_names(pairs: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, value in pairs.items():
        name = _ALIASES.get(key, key)
        if name in fields:
            raise InvalidAid(AidCode.ERR_INVALID_TXT, f"{name} comes under its full name and its alias.")
        if name in _FULL_NAMES:
            fields[name] = value
    return fields


def _require_names(pairs: Mapping[str, str], fields: Mapping[str, str]) -> None:
    """Version and required keys; everything that is wrong with them is said at once."""
    problems = []
    version = fields.get("v", "")
    if version not in _VERSIONS:
        is_misspelt = version.lower() in _VERSIONS
        problems.append(
            f"The version is {version.lower()} in lower case."
            if is_misspelt
            else "The version is neither aid1 nor aid2."
        )
    for name, (alias, mistakes) in _MISTAKEN_FOR.items():
        if name not in fields:
            mistaken = next((f": {mistake} is no key of AID" for mistake in mistakes if mistake in pairs), "")
            problems.append(f"{name} (or {alias}) is missing{mistaken}.")
    if problems:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, " ".join(problems))


def _check_hints(fields: Mapping[str, str]) -> None:
    if "auth" in fields and fields["auth"] not in _AUTH:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, "auth is none of the known hints.")
    if len(fields.get("desc", "").encode()) > _MAX_DESC:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, f"desc is longer than {_MAX_DESC} octets.")
    if "docs" in fields:
        try:
            admit(fields["docs"])
        except UrlRefused as refused:
            raise InvalidAid(AidCode.ERR_INVALID_TXT, f"docs is no public https URL. {refused.detail}") from None


def _key(version: AidVersion, fields: Mapping[str, str]) -> PublicKey | None:
    pka = fields.get("pka")
    if version is AidVersion.AID1:
        if pka is not None and ("kid" not in fields or not _is_multibase_key(pka)):
            raise InvalidAid(AidCode.ERR_INVALID_TXT, "pka is no z-base58 key of 32 octets with a kid beside it.")
        return None
    if "kid" in fields:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, "kid is not allowed in aid2.")
    try:
        return None if pka is None else parse_key(pka)
    except KeyRefused as refused:
        is_weak = refused.reason is KeyReason.SMALL_ORDER
        code = AidCode.ERR_SECURITY if is_weak else AidCode.ERR_INVALID_TXT
        raise InvalidAid(code, f"pka: {refused.detail}") from None


def _is_multibase_key(text: str) -> bool:
    if _MULTIBASE_KEY.fullmatch(text) is None:
        return False
    digits = text[1:]
    number = 0
    for digit in digits:
        number = number * len(_BASE58) + _BASE58.index(digit)
    leading_zeros = len(digits) - len(digits.lstrip(_BASE58[0]))
    return leading_zeros + (number.bit_length() + 7) // 8 == _KEY_OCTETS


def _deprecated_at(dep: str | None) -> float | None:
    if dep is None:
        return None
    try:
        if _DEP.fullmatch(dep) is None:
            raise ValueError
        return datetime.fromisoformat(dep).timestamp()
    except ValueError:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, "dep is no time such as 2026-01-01T00:00:00Z.") from None


def _deprecation(deprecated_at: float | None, now: float) -> Deprecation:
    if deprecated_at is None:
        return Deprecation.NONE
    return Deprecation.ANNOUNCED if now < deprecated_at else Deprecation.PAST


def _target(proto: Proto, uri: str) -> Target | None:
    scheme, colon, rest = uri.partition(":")
    if not colon or not rest or _URI.fullmatch(uri) is None:
        raise InvalidAid(AidCode.ERR_INVALID_TXT, "uri is no absolute URI.")
    if scheme.lower() not in _SCHEMES[proto]:
        allowed = " or ".join(sorted(_SCHEMES[proto]))
        raise InvalidAid(AidCode.ERR_SECURITY, f"The scheme of uri is not {allowed}, as {proto} takes.")
    if proto in (Proto.LOCAL, Proto.ZEROCONF):
        return None
    try:
        return admit(f"https:{rest}")
    except UrlRefused as refused:
        is_malformed = refused.reason is UrlReason.MALFORMED
        code = AidCode.ERR_INVALID_TXT if is_malformed else AidCode.ERR_SECURITY
        raise InvalidAid(code, f"uri: {refused.detail}") from None
