"""The parameters of SVCB and HTTPS records in their wire forms, and DNS-AID's private ones (RFC 9460, DA-1)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.discovery.records.dnsvalues import Svcb

# The parameters have no registered numbers, so publishers use those of the text or program they followed.
SEED_KEYS: Final[Mapping[int, str]] = {65280: "well-known-path"}
CORE_KEYS: Final[Mapping[int, str]] = {
    65400: "cap",
    65401: "cap-sha256",
    65402: "bap",
    65403: "policy",
    65404: "realm",
    65405: "sig",
    65406: "connect-class",
    65407: "connect-meta",
    65408: "enroll-uri",
    65409: "well-known",
}
DRAFT_01_KEYS: Final[Mapping[int, str]] = {
    65001: "cap",
    65002: "cap-sha256",
    65003: "bap",
    65004: "policy",
    65005: "realm",
    65006: "sig",
}
ALL_KEYS: Final[Mapping[int, str]] = {**SEED_KEYS, **CORE_KEYS, **DRAFT_01_KEYS}

_MANDATORY, _ALPN, _NO_DEFAULT_ALPN, _PORT, _IPV4HINT, _IPV6HINT = 0, 1, 2, 3, 4, 6
# What this module acts on, or what may be left out of account as a mere hint.
_IMPLEMENTED: Final = frozenset({_ALPN, _NO_DEFAULT_ALPN, _PORT, _IPV4HINT, _IPV6HINT})
_PLACES: Final = frozenset({"well-known", "well-known-path"})


class ParamsReason(StrEnum):
    """Why the parameters of a record make it unusable."""

    MALFORMED_PARAMETER = "malformed_parameter"
    UNSUPPORTED_MANDATORY = "unsupported_mandatory"


class ParamsRefused(ValueError):
    """The record is unusable; `detail` repeats nothing of it."""

    def __init__(self, reason: ParamsReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Service:
    """What a record says of a service: its host, and how to reach it.

    `parameters` are DNS-AID's own by name, as published: nothing has looked at their values.
    """

    host: str
    port: int
    alpn: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


def service(record: Svcb, host: str, keys: Mapping[int, str]) -> Service:
    """The service of a record in ServiceMode (RFC 9460 §7, §8). Raises ParamsRefused.

    `keys` names the private parameters that count; of two numbers for one name the first wins.
    """
    params = record.params
    known = _IMPLEMENTED | {number for number, name in keys.items() if name in _PLACES}
    if _MANDATORY in params:
        _check_mandatory(params, known)
    own: dict[str, str] = {}
    for number, name in keys.items():
        if number in params:
            own.setdefault(name, params[number].decode("utf-8", "replace"))
    alpn = _alpn(params[_ALPN]) if _ALPN in params else ()
    port = _port(params[_PORT]) if _PORT in params else 443
    return Service(host, port, alpn, own)


def _check_mandatory(params: Mapping[int, bytes], known: frozenset[int]) -> None:
    octets = params[_MANDATORY]
    listed = [int.from_bytes(octets[index : index + 2]) for index in range(0, len(octets), 2)]
    is_ascending = all(first < second for first, second in itertools.pairwise(listed))
    if not listed or len(octets) % 2 or not is_ascending or _MANDATORY in listed or not set(listed) <= set(params):
        raise ParamsRefused(ParamsReason.MALFORMED_PARAMETER, "The list of mandatory keys is malformed.")
    if not set(listed) <= known:
        raise ParamsRefused(ParamsReason.UNSUPPORTED_MANDATORY, "A mandatory key is not supported.")


def _alpn(octets: bytes) -> tuple[str, ...]:
    names: list[str] = []
    position = 0
    while position < len(octets):
        end = position + 1 + octets[position]
        names.append(octets[position + 1 : end].decode("ascii", "backslashreplace"))
        if end > len(octets) or end == position + 1:
            raise ParamsRefused(ParamsReason.MALFORMED_PARAMETER, "The list of protocols is malformed.")
        position = end
    if not names:
        raise ParamsRefused(ParamsReason.MALFORMED_PARAMETER, "The list of protocols is empty.")
    return tuple(names)


def _port(octets: bytes) -> int:
    port = int.from_bytes(octets)
    if len(octets) != 2 or port == 0:
        raise ParamsRefused(ParamsReason.MALFORMED_PARAMETER, "The port is no number from 1 to 65535.")
    return port
