"""DNS answers as values: what a resolver said, how far it can be believed, and until when (C-20 to C-26)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class DnsOutcome(StrEnum):
    """The four ends of a query (C-24)."""

    ANSWER = "answer"
    NODATA = "nodata"
    NXDOMAIN = "nxdomain"
    FAILURE = "failure"


class Security(StrEnum):
    """The DNSSEC state of an answer (RFC 4033 §5)."""

    SECURE = "secure"
    INSECURE = "insecure"
    BOGUS = "bogus"
    INDETERMINATE = "indeterminate"

    @property
    def rank(self) -> int:
        """From the worst, 0, to the best: a chain of answers is worth what its weakest link is."""
        return _FROM_WORST_TO_BEST.index(self)


_FROM_WORST_TO_BEST: Final = (Security.BOGUS, Security.INDETERMINATE, Security.INSECURE, Security.SECURE)


@dataclass(frozen=True, slots=True)
class Txt:
    """A TXT record: its character-strings, as octets."""

    strings: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Svcb:
    """A SVCB or HTTPS record (RFC 9460). `target` is a host name or "." for the owner; `params` are wire values."""

    priority: int
    target: str
    params: Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class AddressRecord:
    """An A or AAAA record."""

    address: str


Record = Txt | Svcb | AddressRecord


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """What came of one query. Names are lower case, without a trailing dot; times are Unix seconds.

    `owner` is the name that holds the records, at the end of any CNAME chain; `ttl` the smallest of the chain, in
    seconds, as received; `reason` tells of a failure; `resolver` names who was asked ("system", "127.0.0.1:53");
    `dropped` counts the records that were left out as malformed.
    """

    name: str
    type: str
    outcome: DnsOutcome
    owner: str
    records: tuple[Record, ...]
    ttl: int
    expires: float
    security: Security
    resolver: str
    reason: str | None = None
    cached: bool = False
    dropped: int = 0
