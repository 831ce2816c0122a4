"""Reading content identifiers and base58: our own code beside `multiformats`.

Ours takes less and refuses more: only canonical texts, and none longer than it must be. Both are made to agree
before they are timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Final

from multiformats import CID, multibase

from benchmarks.measures.trust.verification import SMALL, from_mirror
from benchmarks.publisher import Publisher
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table, Value
from benchmarks.turns import Call, Turns, in_turns, ratio
from proxy.trust.content.blocks import check_block
from proxy.trust.content.cid import cid_of, parse_cid, to_base36
from proxy.trust.signatures import base58

_WANTED_MICROSECONDS: Final = 30
_SIGNATURE: Final = bytes(range(64))
_MULTIKEY: Final = b"\xed\x01" + bytes(range(32))


@dataclass(frozen=True, slots=True)
class _Case:
    """The same done by both. `wanted`: microseconds that ours may take."""

    name: str
    ours: Call
    theirs: Call
    wanted: int | None = None


def identifiers(publisher: Publisher, turns: Turns) -> Table:
    """A row a text that is read or written."""
    theirs = f"multiformats {version('multiformats')}"
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for case in _cases(from_mirror(publisher, SMALL).body):
        if case.ours() != case.theirs():
            raise CannotMeasure(f"{case.name}: the two do not agree")
        ours, other = in_turns((case.ours, case.theirs), turns)
        row: dict[str, Value] = {
            "what": case.name,
            "ours µs": median(ours),
            f"{theirs} µs": median(other),
            "multiformats ÷ ours": ratio(other, ours),
            "wanted": "" if case.wanted is None else _held(median(ours), case.wanted),
        }
        rows.append(row)
        raw[f"{case.name}, ours, µs"], raw[f"{case.name}, multiformats, µs"] = ours, other
    return Table(f"Content identifiers and base58: {turns}", rows, raw)


def _held(microseconds: float, wanted: int) -> str:
    return f"≤ {wanted} µs: {'yes' if microseconds <= wanted else 'no'}"


def _cases(block: bytes) -> list[_Case]:
    cid = cid_of(block)
    version_0 = base58.encode(b"\x12\x20" + cid.digest)
    signature, multikey = base58.encode(_SIGNATURE), base58.encode(_MULTIKEY)
    return [
        _Case("CID in base32", partial(_digest, cid.text), partial(_their_digest, cid.text)),
        _Case("CID in base36", partial(_digest, to_base36(cid)), partial(_their_digest, to_base36(cid))),
        _Case("CID of version 0", partial(_digest, version_0), partial(_their_digest, version_0)),
        _Case(
            "CID in base32 and its block of 1.5 KB",
            partial(_checked, cid.text, block),
            partial(_their_checked, cid.text, block),
            _WANTED_MICROSECONDS,
        ),
        _Case(
            "base58, a signature read",
            partial(base58.decode, signature, len(_SIGNATURE)),
            partial(multibase.decode, base58.MULTIBASE + signature),
        ),
        _Case(
            "base58, a key read",
            partial(base58.decode, multikey, len(_MULTIKEY)),
            partial(multibase.decode, base58.MULTIBASE + multikey),
        ),
        _Case(
            "base58, a key written",
            lambda: base58.MULTIBASE + base58.encode(_MULTIKEY),
            partial(multibase.encode, _MULTIKEY, "base58btc"),
        ),
    ]


def _digest(text: str) -> bytes:
    return parse_cid(text).digest


def _their_digest(text: str) -> bytes:
    return CID.decode(text).raw_digest


def _checked(text: str, block: bytes) -> bool:
    check_block(parse_cid(text), block)
    return True


def _their_checked(text: str, block: bytes) -> bool:
    cid = CID.decode(text)
    return cid.hashfun.digest(block) == cid.digest
