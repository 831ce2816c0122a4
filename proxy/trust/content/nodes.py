"""Nodes of files: UnixFS in a dag-pb block (TRUST.md §7.3).

A node declares its size, and of each child the size of what is below it; here both have to agree. Whether a child
keeps to it shows when the child is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from proxy.trust.content.cid import Cid, MalformedCid, decode_cid
from proxy.trust.content.protobuf import MalformedProtobuf, fields, numbers, to_field
from proxy.trust.reasons import Reason, Untrusted

# PBNode.
_DATA: Final = 1
_LINKS: Final = 2
# PBLink; what it says of the size (3) is a hint and not used.
_HASH: Final = 1
_NAME: Final = 2
_TREE_SIZE: Final = 3
# UnixFS.
_TYPE: Final = 1
_OWN: Final = 2
_FILE_SIZE: Final = 3
_BLOCK_SIZES: Final = 4
_SINGLE_FIELDS: Final = {
    _TYPE: int,
    _OWN: bytes,
    _FILE_SIZE: int,
    5: int,  # hashType and fanout, of directories
    6: int,
    7: int,  # mode and mtime
    8: bytes,
}

_RAW: Final = 0
_FILE: Final = 2
_OTHER_TYPES: Final[dict[int | None, str]] = {
    1: "a directory",
    3: "metadata",
    4: "a symbolic link",
    5: "a shard of a directory",
}
# As many as a shard of a directory has, so that it is called what it is.
_MOST_LINKS: Final = 1024
# An identifier of the longest kind, a size, and no name.
_LONGEST_LINK: Final = 256


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a file: its own octets, then its children, each with the size of what is below it."""

    own: bytes
    children: tuple[tuple[Cid, int], ...] = ()

    @property
    def size(self) -> int:
        return len(self.own) + sum(size for _, size in self.children)


def read_node(block: bytes, most: int) -> Node:
    """The node of a file in a dag-pb block, with at most `most` children. Raises Untrusted.

    IPFS_NOT_A_FILE: it is something else, or broken. IPFS_LIMITS: it has more children.
    """
    try:
        data, links = _read_dag_pb(block)
        own, sizes = _read_unixfs(data, most)
        if len(links) > most:
            raise too_many_blocks(most)
        cids = tuple(_read_link(link) for link in links)
    except (MalformedProtobuf, MalformedCid):
        raise no_file("The block is no node of a file: its encoding is broken.") from None
    if len(sizes) != len(cids):
        raise no_file("A node states sizes for more or fewer parts than it has.")
    return Node(own, tuple(zip(cids, sizes, strict=True)))


def to_node(leaves: tuple[tuple[Cid, int], ...]) -> bytes:
    """The dag-pb block of a file of raw leaves and their sizes, as Kubo writes it."""
    links = (
        to_field(_HASH, cid.octets) + to_field(_NAME, b"") + to_field(_TREE_SIZE, size) for cid, size in leaves
    )
    sizes = b"".join(to_field(_BLOCK_SIZES, size) for _, size in leaves)
    data = to_field(_TYPE, _FILE) + to_field(_FILE_SIZE, sum(size for _, size in leaves)) + sizes
    return b"".join(to_field(_LINKS, link) for link in links) + to_field(_DATA, data)


def no_file(detail: str) -> Untrusted:
    """The error for content that is no file."""
    return Untrusted(Reason.IPFS_NOT_A_FILE, detail)


def too_many_blocks(most: int) -> Untrusted:
    """The error for a file of too many blocks."""
    return Untrusted(Reason.IPFS_LIMITS, f"The file is made of more than {most} blocks.")


def _read_dag_pb(block: bytes) -> tuple[bytes, list[bytes]]:
    """The data and the links of a node."""
    data: bytes | None = None
    links: list[bytes] = []
    for field, value in fields(block):
        if field == _LINKS and isinstance(value, bytes):
            links.append(value)
        elif field == _DATA and isinstance(value, bytes) and data is None:
            data = value
        else:
            raise no_file("The block is no node: it has a field of none.")
        if len(links) > _MOST_LINKS:
            raise too_many_blocks(_MOST_LINKS)
    if data is None:
        raise no_file("The node does not say what it is.")
    return data, links


def _read_link(link: bytes) -> Cid:
    """The child that a link names; a part of a file has no name of its own."""
    octets: bytes | None = None
    if len(link) > _LONGEST_LINK:
        raise no_file("A part of a file has a name.")
    for field, value in fields(link):
        if field == _HASH and isinstance(value, bytes) and octets is None:
            octets = value
        elif not (field == _TREE_SIZE and isinstance(value, int)) and (field, value) != (_NAME, b""):
            raise no_file("A part of a file has a name, or a field of none.")
    if octets is None:
        raise no_file("A part of a file has no identifier.")
    return decode_cid(octets)


def _read_unixfs(data: bytes, most: int) -> tuple[bytes, list[int]]:
    """A node's own octets, and the sizes of what is below its children."""
    sizes: list[int] = []
    single: dict[int, int | bytes] = {}
    for field, value in fields(data):
        if field == _BLOCK_SIZES:
            stated = list(islice((value,) if isinstance(value, int) else numbers(value), most + 1))
            if not stated:
                raise no_file("A node states no sizes where it states sizes.")
            sizes += stated
            if len(sizes) > most:
                raise too_many_blocks(most)
        elif field in single or type(value) is not _SINGLE_FIELDS.get(field):
            raise no_file("A node says something twice, or has a field of none.")
        else:
            single[field] = value
    kind = cast(int | None, single.get(_TYPE))
    if kind not in (_RAW, _FILE):
        raise no_file(f"The content is no file, but {_OTHER_TYPES.get(kind, 'of no known kind')}.")
    own = cast(bytes, single.get(_OWN, b""))
    if single.get(_FILE_SIZE, 0) != len(own) + sum(sizes):
        raise no_file("A node has another size than its parts.")
    return own, sizes
