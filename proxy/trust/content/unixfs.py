"""Files made of blocks (UnixFS over dag-pb): read from whoever has the blocks, and made to publish (TRUST.md §7.3).

A file is one raw block, or a tree of nodes: a node's own octets, then those of its children in order. Sizes are
declared from the top down and have to agree, so that nothing is asked for that the limits could not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from proxy.trust.content.blocks import LARGEST_BLOCK, check_block
from proxy.trust.content.cid import DAG_PB, IDENTITY, RAW, Cid, cid_of
from proxy.trust.content.nodes import Node, no_file, read_node, to_node, too_many_blocks
from proxy.trust.reasons import Reason, Untrusted

CHUNK: Final = 256 * 2**10
LARGEST_FILE: Final = 2**20


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """How large a file may be: in blocks, each reference counted; levels below its root; octets a block; octets."""

    blocks: int = 64
    depth: int = 8
    block: int = LARGEST_BLOCK
    file: int = LARGEST_FILE


LIMITS: Final = WalkLimits()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The place of a block in the file; `size` is what its parent says, None for the root."""

    cid: Cid
    size: int | None
    depth: int


class Walk:
    """Collects a file block by block; whoever drives it fetches what is `wanted`, from anywhere and in any order.

    An Untrusted with CID_MISMATCH leaves the walk as it was: the block may come from elsewhere. Any other says
    that the content itself is no file that is accepted, wherever it comes from.
    """

    __slots__ = ("_limits", "_parts", "_references")

    def __init__(self, cid: Cid, limits: WalkLimits = LIMITS) -> None:
        """Begin at the root of a file. Raises Untrusted with CID_UNSUPPORTED."""
        if not cid.names_content:
            raise Untrusted(Reason.CID_UNSUPPORTED, "The identifier is not of a block by its SHA-256.")
        self._limits = limits
        self._references = 1
        self._parts: tuple[bytes | _Wanted, ...] = (_Wanted(cid, None, 0),)

    @property
    def wanted(self) -> tuple[Cid, ...]:
        """The blocks to fetch next, each once, in the order of the file; empty when the file is complete."""
        unique = {part.cid.text: part.cid for part in self._parts if isinstance(part, _Wanted)}
        return tuple(unique.values())

    @property
    def file(self) -> bytes | None:
        """The file, None as long as blocks are missing."""
        octets = [part for part in self._parts if isinstance(part, bytes)]
        return b"".join(octets) if len(octets) == len(self._parts) else None

    def received(self, cid: Cid, octets: bytes) -> None:
        """Take a block that came for `cid`; one that is no longer wanted is checked and dropped. Raises Untrusted.

        CID_MISMATCH, CID_UNSUPPORTED, IPFS_NOT_A_FILE, IPFS_LIMITS.
        """
        check_block(cid, octets, self._limits.block)
        parts: list[bytes | _Wanted] = []
        for part in self._parts:
            if isinstance(part, _Wanted) and part.cid.text == cid.text:
                parts.extend(self._opened(part, octets))
            else:
                parts.append(part)
        self._parts = tuple(parts)

    def _opened(self, place: _Wanted, octets: bytes) -> Iterator[bytes | _Wanted]:
        node = read_node(octets, self._limits.blocks) if place.cid.codec == DAG_PB else Node(octets)
        if place.size is not None and node.size != place.size:
            raise no_file("A part has another size than the node above it says.")
        if node.size > self._limits.file:
            raise Untrusted(Reason.IPFS_LIMITS, f"The file has more than {self._limits.file} octets.")
        self._references += len(node.children)
        if self._references > self._limits.blocks:
            raise too_many_blocks(self._limits.blocks)
        if node.children and place.depth == self._limits.depth:
            raise Untrusted(Reason.IPFS_LIMITS, f"The file has more than {self._limits.depth} levels.")
        yield node.own
        for cid, size in node.children:
            yield from self._child(_Wanted(cid, size, place.depth + 1))

    def _child(self, place: _Wanted) -> Iterator[bytes | _Wanted]:
        """A part to be fetched, or opened at once where the identifier holds the block itself."""
        if place.cid.codec not in (RAW, DAG_PB):
            raise no_file("A part of the file is of another kind than raw and dag-pb.")
        if place.cid.hash_function == IDENTITY:
            yield from self._opened(place, place.cid.digest)
        elif place.cid.names_content:
            yield place
        else:
            raise Untrusted(Reason.CID_UNSUPPORTED, "A part of the file is named by another hash than SHA-256.")


def add_file(octets: bytes) -> tuple[Cid, tuple[tuple[Cid, bytes], ...]]:
    """The identifier of a file and its blocks, the root last. Raises Untrusted: IPFS_LIMITS beyond LARGEST_FILE.

    Up to CHUNK octets are one raw block; more are a node above raw blocks of that size, as Kubo lays them out with
    CIDv1 and raw leaves.
    """
    if len(octets) > LARGEST_FILE:
        raise Untrusted(Reason.IPFS_LIMITS, f"A file has at most {LARGEST_FILE} octets.")
    chunks = [octets[start : start + CHUNK] for start in range(0, len(octets), CHUNK)] or [b""]
    leaves = tuple((cid_of(chunk), chunk) for chunk in chunks)
    if len(leaves) == 1:
        return leaves[0][0], leaves
    root = to_node(tuple((cid, len(chunk)) for cid, chunk in leaves))
    cid = cid_of(root, DAG_PB)
    return cid, (*leaves, (cid, root))
