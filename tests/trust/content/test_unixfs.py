"""Files of blocks: those of other implementations, and trees made to mislead (TRUST.md §7.3)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.trust.content import unixfs
from proxy.trust.content.blocks import LARGEST_BLOCK, check_block
from proxy.trust.content.cid import DAG_PB, RAW, Cid, cid_of, decode_cid, parse_cid
from proxy.trust.content.nodes import Node, read_node, to_node
from proxy.trust.content.protobuf import to_field
from proxy.trust.content.unixfs import CHUNK, LARGEST_FILE, Walk, WalkLimits, add_file
from proxy.trust.content.varints import to_varint
from proxy.trust.reasons import Reason, Untrusted
from tests.simulators.gateway import read_car

VECTORS = Path(__file__).resolve().parents[4] / "shared/vectors/ipfs"
ABSENT = pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))

Blocks = dict[bytes, bytes]


def fixtures() -> list[dict[str, Any]]:
    return json.loads((VECTORS / "fixtures.json").read_bytes()) if VECTORS.exists() else []


def blocks_of(file: str) -> Blocks:
    return {cid.digest: octets for cid, octets in read_car((VECTORS / file).read_bytes())}


def walked(cid: Cid, blocks: Blocks) -> bytes:
    """The file, its blocks taken in the order in which they are wanted; raises KeyError where one is missing."""
    walk = Walk(cid)
    while walk.file is None:
        wanted = walk.wanted[0]
        walk.received(wanted, blocks[wanted.digest])
    return walk.file


def entries() -> list[Any]:
    rows = [(one["file"], entry) for one in fixtures() for entry in one.get("entries", ())]
    absent = pytest.param(None, None, marks=ABSENT.marks, id=ABSENT.id)
    return [pytest.param(*row, id=f"{Path(row[0]).stem}-{row[1]['cid'][-6:]}") for row in rows] or [absent]


@pytest.mark.parametrize(("file", "entry"), entries())
def test_what_other_gateways_serve(file: str, entry: dict[str, Any]) -> None:
    cid, blocks = parse_cid(entry["cid"]), blocks_of(file)
    check_block(cid, blocks[cid.digest])
    assert (cid.codec, len(blocks[cid.digest])) == (entry["codec"], entry["blockSize"])
    error = entry.get("error", "")
    if error == "missing block":
        with pytest.raises(KeyError):
            walked(cid, blocks)
    elif error.startswith("not a file"):
        with pytest.raises(Untrusted) as refusal:
            walked(cid, blocks)
        assert refusal.value.reason is Reason.IPFS_NOT_A_FILE
    elif error.startswith("codec"):
        assert walked(cid, blocks) == blocks[cid.digest], "one block of JSON is a file"
    else:
        octets = walked(cid, blocks)
        assert len(octets) == entry["file"]["size"]
        assert hashlib.sha256(octets).hexdigest() == entry["file"]["sha256"]


def cars() -> list[Any]:
    rows = [one["file"] for one in fixtures() if one.get("file", "").endswith(".car")]
    return [pytest.param(file, id=Path(file).stem) for file in rows] or [ABSENT]


@pytest.mark.parametrize("file", cars())
def test_every_block_is_what_its_identifier_names(file: str) -> None:
    allowed = {True: 0, False: 0}
    for cid, octets in read_car((VECTORS / file).read_bytes()):
        allowed[cid.names_content] += 1
        if cid.names_content:
            check_block(cid, octets)
        else:
            with pytest.raises(Untrusted) as refusal:
                check_block(cid, octets)
            assert refusal.value.reason is Reason.CID_UNSUPPORTED
    assert allowed[True] and (not allowed[False] or "subdomain" in file)


def test_another_hash_than_sha256() -> None:
    if not VECTORS.exists():
        pytest.skip("the vectors are not on this machine")
    car = (VECTORS / "gateway-conformance/subdomain_gateway__fixtures.car").read_bytes()
    others = [cid for cid, _ in read_car(car) if not cid.names_content]
    assert others
    for cid in others:
        with pytest.raises(Untrusted) as refusal:
            Walk(cid)
        assert refusal.value.reason is Reason.CID_UNSUPPORTED


def made_by_js() -> list[Any]:
    return [pytest.param(one, id=Path(one["file"]).stem) for one in fixtures() if "root" in one] or [ABSENT]


@pytest.mark.parametrize("fixture", made_by_js())
def test_what_a_publisher_adds(fixture: dict[str, Any]) -> None:
    cid = parse_cid(fixture["root"])
    if fixture["file"].endswith(".block"):
        octets = (VECTORS / fixture["file"]).read_bytes()
        assert walked(cid, {cid.digest: octets}) == octets
        return
    blocks = blocks_of(fixture["file"])
    assert len(blocks) == fixture.get("blocks", 1)
    if fixture["expect"] == "content":
        assert walked(cid, blocks) == (VECTORS / "manifest.json").read_bytes()
    else:
        with pytest.raises(Untrusted) as refusal:
            walked(cid, blocks)
        assert refusal.value.reason is Reason.IPFS_NOT_A_FILE


def test_adds_a_file_as_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {one["name"]: one["root"] for one in fixtures() if "name" in one}
    if not roots:
        pytest.skip("the vectors are not on this machine")
    manifest = (VECTORS / "manifest.json").read_bytes()
    assert add_file(manifest)[0].text == roots["single-raw"]
    monkeypatch.setattr(unixfs, "CHUNK", 256)
    assert add_file(manifest)[0].text == roots["multi-raw"]


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK, LARGEST_FILE])
def test_adds_and_reads_back(size: int) -> None:
    octets = hashlib.shake_128(b"seed").digest(size)
    cid, blocks = add_file(octets)
    assert cid == blocks[-1][0] and cid.codec == (RAW if size <= CHUNK else DAG_PB)
    assert walked(cid, {one.digest: block for one, block in blocks}) == octets


def test_adds_no_file_that_would_not_be_read() -> None:
    with pytest.raises(Untrusted) as refusal:
        add_file(bytes(LARGEST_FILE + 1))
    assert refusal.value.reason is Reason.IPFS_LIMITS


def test_blocks_in_any_order_and_more_than_once() -> None:
    octets = hashlib.shake_128(b"seed").digest(3 * CHUNK)
    cid, blocks = add_file(octets)
    walk = Walk(cid)
    assert walk.wanted == (cid,) and walk.file is None
    walk.received(*blocks[-1])
    assert walk.wanted == tuple(one for one, _ in blocks[:-1])
    for block in (blocks[2], blocks[0], blocks[0], blocks[-1], blocks[1]):
        assert walk.file is None
        walk.received(*block)
    assert walk.wanted == () and walk.file == octets


def test_wrong_octets_leave_the_walk_as_it_was() -> None:
    cid, blocks = add_file(bytes(CHUNK + 1))
    walk = Walk(cid)
    for octets in (b"", b"<!doctype html>", blocks[-1][1][:-1], blocks[-1][1] + b"\0"):
        with pytest.raises(Untrusted) as refusal:
            walk.received(cid, octets)
        assert refusal.value.reason is Reason.CID_MISMATCH
    assert walk.wanted == (cid,)
    walk.received(*blocks[-1])
    assert len(walk.wanted) == 2


# Nodes put together here apart from the code under test.


def link(cid: bytes | Cid, *more: bytes) -> bytes:
    return to_field(2, to_field(1, cid if isinstance(cid, bytes) else cid.octets) + b"".join(more))


def data(*more: bytes, kind: int | None = 2, size: int = 0, own: bytes = b"", sizes: tuple[int, ...] = ()) -> bytes:
    fields = [] if kind is None else [to_field(1, kind)]
    fields += [to_field(2, own)] if own else []
    fields += [to_field(3, size)] if size else []
    return to_field(1, b"".join([*fields, *(to_field(4, one) for one in sizes), *more]))


LEAF = cid_of(b"leaf")
IDENTITY_LEAF = decode_cid(b"\x01\x55\x00\x04leaf")
SHA1 = b"\x01\x55\x11\x14" + bytes(20)
SHA512 = b"\x01\x55\x13\x40" + bytes(64)

ACCEPTED = {
    "own octets": (data(own=b"leaf", size=4), b"leaf"),
    "empty": (data(), b""),
    "empty, its size stated": (data(to_field(3, 0)), b""),
    "of type Raw": (data(kind=0, own=b"leaf", size=4), b"leaf"),
    "one child": (link(LEAF) + data(size=4, sizes=(4,)), b"leaf"),
    "data before the links": (data(size=4, sizes=(4,)) + link(LEAF), b"leaf"),
    "own octets before a child's": (link(LEAF) + data(own=b"a", size=5, sizes=(4,)), b"aleaf"),
    "a child twice": (link(LEAF) * 2 + data(size=8, sizes=(4, 4)), b"leafleaf"),
    "packed sizes": (link(LEAF) * 2 + data(to_field(4, b"\x04\x04"), size=8), b"leafleaf"),
    "empty name and a hint": (link(LEAF, to_field(2, b""), to_field(3, 99)) + data(size=4, sizes=(4,)), b"leaf"),
    "mode and mtime": (data(to_field(7, 0o644), to_field(8, to_field(1, 1)), own=b"a", size=1), b"a"),
    "child in its identifier": (link(IDENTITY_LEAF) + data(size=4, sizes=(4,)), b"leaf"),
    "node in its identifier": (
        link(b"\x01\x70\x00" + to_varint(len(data(own=b"a", size=1))) + data(own=b"a", size=1))
        + data(size=1, sizes=(1,)),
        b"a",
    ),
    "child by version 0": (
        link(b"\x12\x20" + cid_of(data(own=b"v0", size=2), DAG_PB).digest) + data(size=2, sizes=(2,)),
        b"v0",
    ),
}


@pytest.mark.parametrize(("block", "file"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(block: bytes, file: bytes) -> None:
    root, child = cid_of(block, DAG_PB), data(own=b"v0", size=2)
    known = {root.digest: block, LEAF.digest: b"leaf", cid_of(child, DAG_PB).digest: child}
    assert walked(root, known) == file


NOT_A_FILE = {
    "nothing": b"",
    "no node": b"plain text",
    "no data": link(LEAF),
    "data twice": data() * 2,
    "data as a number": to_field(1, 7),
    "link as a number": to_field(2, 7) + data(),
    "another field": data() + to_field(3, b""),
    "fixed-width field": data() + b"\x1d\0\0\0\0",
    "group": b"\x0b" + data(),
    "field number 0": b"\x02\x00" + data(),
    "endless tag": b"\xff" * 100_000,
    "endless length": b"\x0a" + b"\xff" * 100_000,
    "length beyond the block": b"\x0a\x7f",
    "huge length": b"\x0a" + to_varint(2**63),
    "data breaks off": to_field(1, b"\x08"),
    "no type": data(kind=None),
    "type twice": data(to_field(1, 2)),
    "type as text": to_field(1, to_field(1, b"\x02")),
    "directory": data(kind=1),
    "metadata": data(kind=3),
    "symbolic link": data(kind=4, own=b"target"),
    "shard of a directory": data(to_field(5, 0x22), to_field(6, 256), kind=5),
    "unknown type": data(kind=6),
    "unknown field": data(to_field(9, 1)),
    "own octets as a number": data(to_field(2, 5)),
    "size too small": data(own=b"leaf", size=3),
    "size too large": data(own=b"leaf", size=2**64 - 1),
    "size missing": data(own=b"leaf"),
    "size is not that of the children": link(LEAF) + data(size=5, sizes=(4,)),
    "fewer sizes than links": link(LEAF) * 2 + data(size=4, sizes=(4,)),
    "more sizes than links": link(LEAF) + data(size=8, sizes=(4, 4)),
    "packed sizes without any": link(LEAF) + data(*[to_field(4, b"")] * 10**6, size=4, sizes=(4,)),
    "packed sizes break off": link(LEAF) + data(to_field(4, b"\x84"), size=4),
    "link without identifier": to_field(2, to_field(3, 4)) + data(size=4, sizes=(4,)),
    "link with two identifiers": link(LEAF, to_field(1, LEAF.octets)) + data(size=4, sizes=(4,)),
    "link with a name": link(LEAF, to_field(2, b"a.json")) + data(size=4, sizes=(4,)),
    "link with a long name": link(LEAF, to_field(2, bytes(2**20))) + data(size=4, sizes=(4,)),
    "link with another field": link(LEAF, to_field(4, 1)) + data(size=4, sizes=(4,)),
    "link to no identifier": link(b"abc") + data(size=4, sizes=(4,)),
    "link to an identity too long": link(b"\x01\x55\x00\x81\x01" + bytes(129)) + data(size=129, sizes=(129,)),
    "child of JSON": link(cid_of(b"{}", 0x0200)) + data(size=2, sizes=(2,)),
    "child of DAG-CBOR": link(cid_of(b"\xa0", 0x71)) + data(size=1, sizes=(1,)),
    "identity of another size": link(IDENTITY_LEAF) + data(size=5, sizes=(5,)),
}


@pytest.mark.parametrize("block", NOT_A_FILE.values(), ids=NOT_A_FILE)
def test_not_a_file(block: bytes) -> None:
    refused(Reason.IPFS_NOT_A_FILE, block)


def refused(reason: Reason, *blocks: bytes) -> Untrusted:
    """What comes of a tree whose root is the last of its blocks; the others are found by their hash."""
    known = {hashlib.sha256(block).digest(): block for block in blocks}
    with pytest.raises(Untrusted) as refusal:
        walked(cid_of(blocks[-1], DAG_PB), known)
    assert refusal.value.reason is reason and refusal.value.detail
    return refusal.value


@pytest.mark.parametrize("hash_", [SHA1, SHA512], ids=["sha1", "sha2-512"])
def test_child_by_another_hash(hash_: bytes) -> None:
    refused(Reason.CID_UNSUPPORTED, link(hash_) + data(size=4, sizes=(4,)))


@pytest.mark.parametrize("leaf", [b"lea", b"leaves"], ids=["shorter", "longer"])
def test_child_of_another_size(leaf: bytes) -> None:
    refused(Reason.IPFS_NOT_A_FILE, leaf, link(cid_of(leaf)) + data(size=4, sizes=(4,)))


def test_inner_node_of_another_size() -> None:
    inner = data(own=b"leaf", size=4)
    refused(Reason.IPFS_NOT_A_FILE, inner, link(cid_of(inner, DAG_PB)) + data(size=5, sizes=(5,)))


BOMBS = {
    "declared beyond the limit": link(LEAF) + data(size=LARGEST_FILE + 1, sizes=(LARGEST_FILE + 1,)),
    "declared beyond all measure": link(LEAF) + data(size=2**63, sizes=(2**63,)),
    "own octets beyond the limit": data(own=bytes(LARGEST_FILE + 1), size=LARGEST_FILE + 1),
    "64 children": link(LEAF) * 64 + data(size=256, sizes=(4,) * 64),
    "10,000 children": link(LEAF) * 10_000 + data(size=40_000, sizes=(4,) * 10_000),
    "65 children": link(LEAF) * 65 + data(size=260, sizes=(4,) * 65),
    "65 unsized children": link(LEAF) * 65 + data(),
    "65 sizes": link(LEAF) + data(sizes=(0,) * 65),
    "a million packed sizes": link(LEAF) + data(to_field(4, bytes(10**6))),
}


@pytest.mark.parametrize("block", BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused_at_their_root(block: bytes) -> None:
    root = cid_of(block, DAG_PB)
    walk = Walk(root)
    with pytest.raises(Untrusted) as refusal:
        walk.received(root, block)
    assert refusal.value.reason is Reason.IPFS_LIMITS


def test_most_children() -> None:
    block = link(LEAF) * 63 + data(size=252, sizes=(4,) * 63)
    root = cid_of(block, DAG_PB)
    walk = Walk(root)
    walk.received(root, block)
    assert walk.wanted == (LEAF,), "the same block is fetched once"
    walk.received(LEAF, b"leaf")
    assert walk.file == b"leaf" * 63


def tower(levels: int, fan: int = 1) -> list[bytes]:
    """The blocks of a file of so many levels below its root, each node above `fan` times the same one."""
    blocks, size = [b"leaf"], 4
    for _ in range(levels):
        child = cid_of(blocks[-1], RAW if len(blocks) == 1 else DAG_PB)
        blocks.append(to_node(((child, size),) * fan))
        size *= fan
    return blocks


def test_deepest() -> None:
    blocks = tower(8)
    known = {hashlib.sha256(block).digest(): block for block in blocks}
    assert walked(cid_of(blocks[-1], DAG_PB), known) == b"leaf"


def test_deeper_or_wider_trees() -> None:
    assert "levels" in refused(Reason.IPFS_LIMITS, *tower(9)).detail
    assert "blocks" in refused(Reason.IPFS_LIMITS, *tower(6, fan=2)).detail
    assert "blocks" in refused(Reason.IPFS_LIMITS, *tower(3, fan=60)).detail


def test_narrower_limits() -> None:
    cid, blocks = add_file(bytes(CHUNK + 1))
    for limits in (WalkLimits(blocks=2), WalkLimits(depth=0), WalkLimits(block=10), WalkLimits(file=CHUNK)):
        with pytest.raises(Untrusted) as refusal:
            Walk(cid, limits).received(*blocks[-1])
        assert refusal.value.reason is Reason.IPFS_LIMITS


def test_largest_block() -> None:
    largest = bytes(LARGEST_BLOCK)
    check_block(cid_of(largest), largest)
    with pytest.raises(Untrusted) as refusal:
        check_block(cid_of(largest + b"\0"), largest + b"\0")
    assert refusal.value.reason is Reason.IPFS_LIMITS
    with pytest.raises(Untrusted) as refusal:
        Walk(cid_of(largest)).received(cid_of(largest), largest)
    assert refusal.value.reason is Reason.IPFS_LIMITS, "a block may be larger than a file"


@pytest.mark.parametrize(
    "text",
    [
        "bafkqaaa",
        "bafyaabakaieac",
        "bafkrcfeq2ybn4rgeqvcnrrw47vckcmwltysbmwy",
        "k51qzi5uqu5diamp7qnnvs1p1gzmku3eijkeijs3418j23j077zrkok63xdm8c",
    ],
    ids=["identity", "identity of a directory", "sha1", "key"],
)
def test_roots_of_no_content(text: str) -> None:
    with pytest.raises(Untrusted) as refusal:
        Walk(parse_cid(text))
    assert refusal.value.reason is Reason.CID_UNSUPPORTED


@given(st.binary(max_size=300))
@settings(max_examples=500)
def test_any_octets_are_a_node_or_refused(octets: bytes) -> None:
    try:
        assert isinstance(read_node(octets, 64), Node)
    except Untrusted as error:
        assert error.reason in (Reason.IPFS_NOT_A_FILE, Reason.IPFS_LIMITS)


@given(st.sampled_from([block for block, _ in ACCEPTED.values()]), st.data())
@settings(max_examples=500)
def test_any_change_of_a_node_is_read_or_refused(block: bytes, draws: st.DataObject) -> None:
    at = draws.draw(st.integers(0, len(block) - 1))
    octet = draws.draw(st.binary(max_size=3))
    try:
        read_node(block[:at] + octet + block[at + 1 :], 64)
    except Untrusted as error:
        assert error.reason in (Reason.IPFS_NOT_A_FILE, Reason.IPFS_LIMITS)
