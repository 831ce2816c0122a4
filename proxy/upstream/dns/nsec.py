"""What the NSEC or NSEC3 records of one zone say of a name, signatures aside.

A chain of them tells the types at each name that exists and the gaps between those names: by canonical order
(RFC 4034 §4) or by the order of hashes (RFC 5155). The records of a delegation say nothing of the zone below it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import dns.dnssec
from dns.dnssectypes import NSEC3Hash
from dns.name import Name
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.NSEC import NSEC
from dns.rdtypes.ANY.NSEC3 import NSEC3, OPTOUT


class Proof(StrEnum):
    """What is proven of a name, or of a type at it."""

    NOTHING = "nothing"
    NO_NAME = "no-name"
    NO_TYPE = "no-type"
    DELEGATION = "delegation"
    OPT_OUT = "opt-out"
    ITERATIONS = "iterations"


class Types:
    """The types that a record says are at a name."""

    def __init__(self, windows: Iterable[tuple[int, bytes]]) -> None:
        self._windows = dict(windows)

    def __contains__(self, rdtype: RdataType) -> bool:
        window, bit = divmod(rdtype, 256)
        bitmap = self._windows.get(window, b"")
        return bit // 8 < len(bitmap) and bool(bitmap[bit // 8] & 0x80 >> bit % 8)

    @property
    def is_delegation(self) -> bool:
        return RdataType.NS in self and RdataType.SOA not in self

    @property
    def ends_zone(self) -> bool:
        """Whether the zone says nothing of names below (RFC 6840 §4.1, RFC 6672 §5.3.4.1)."""
        return self.is_delegation or RdataType.DNAME in self


class NsecChain:
    """NSEC records of one zone."""

    def __init__(self, zone: Name, records: Mapping[Name, NSEC]) -> None:
        self._zone = zone
        self._records = records

    def types_at(self, name: Name) -> Types | None:
        record = self._records.get(name)
        if record is not None:
            return Types(record.windows)
        # A name that exists only because there is one below it (an empty non-terminal) has no record of its own.
        return Types(()) if any(after.is_subdomain(name) for _, after in self._covering(name)) else None

    def gap(self, name: Name) -> Proof:
        if any(not after.is_subdomain(name) for _, after in self._covering(name)):
            return Proof.NO_NAME
        return Proof.NOTHING

    def encloser(self, name: Name) -> tuple[Name, Proof]:
        depths = [name.fullcompare(end)[2] for ends in self._covering(name) for end in ends]
        return (name.split(max(depths))[1], self.gap(name)) if depths else (name, Proof.NOTHING)

    def _covering(self, name: Name) -> Iterator[tuple[Name, Name]]:
        """Owner and next name of the records between which `name` would stand; the last one leads to the apex."""
        for owner, record in self._records.items():
            after = record.next
            if not owner < name or not (name < after or after == self._zone):
                continue
            if not (name.is_subdomain(owner) and Types(record.windows).ends_zone):
                yield owner, after


class Nsec3Chain:
    """NSEC3 records of one zone, all with the parameters of the first; hashes are base32hex in upper case."""

    def __init__(self, zone: Name, records: Mapping[bytes, NSEC3]) -> None:
        self._zone = zone
        self._hashes: dict[Name, bytes] = {}
        first = next(iter(records.values()), None)
        self._salt: bytes = first.salt if first else b""
        self._iterations: int = first.iterations if first else 0
        self._records = {
            owner: record
            for owner, record in records.items()
            if (record.salt, record.iterations) == (self._salt, self._iterations)
        }

    def types_at(self, name: Name) -> Types | None:
        record = self._records.get(self._hash(name)) if self._records else None
        return None if record is None else Types(record.windows)

    def gap(self, name: Name) -> Proof:
        for owner, record in self._records.items():
            after = base64.b32hexencode(record.next)
            between = (owner < self._hash(name), self._hash(name) < after)
            if all(between) if owner < after else any(between):
                return Proof.OPT_OUT if record.flags & OPTOUT else Proof.NO_NAME
        return Proof.NOTHING

    def encloser(self, name: Name) -> tuple[Name, Proof]:
        """RFC 5155 §8.3: the closest ancestor that is there, and that the next name towards `name` is not."""
        for depth in range(len(name) - 1, len(self._zone) - 1, -1):
            ancestor = name.split(depth)[1]
            types = self.types_at(ancestor)
            if types is not None:
                gap = Proof.NOTHING if types.ends_zone else self.gap(name.split(depth + 1)[1])
                return ancestor, gap
        return name, Proof.NOTHING

    def _hash(self, name: Name) -> bytes:
        if name not in self._hashes:
            digest = dns.dnssec.nsec3_hash(name, self._salt, self._iterations, NSEC3Hash.SHA1)
            self._hashes[name] = digest.encode()
        return self._hashes[name]
