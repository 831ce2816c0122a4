"""`cid`: the identifiers that IPFS software gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.trust.content.cid import DAG_PB, cid_of, parse_cid
from proxy.trust.content.unixfs import add_file
from tests.cli.desk import Desk

VECTORS = Path(__file__).resolve().parents[3] / "shared/vectors/ipfs"
EMPTY = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
TWO_CHUNKS = bytes(300_000)


def test_an_empty_file(desk: Desk) -> None:
    desk.write("empty", b"")
    assert desk.run("cid", "empty").out == f"{EMPTY}\n"


def test_standard_input(desk: Desk) -> None:
    ran = desk.run("cid", "-", "--json")
    assert ran.json == {"cid": EMPTY, "size": 0, "blocks": 1}


def singles() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    fixtures = json.loads((VECTORS / "fixtures.json").read_bytes())
    raw = [one for one in fixtures if one.get("root", "").startswith("bafkrei") and one["expect"] == "content"]
    return [pytest.param(one["root"], id=Path(one["file"]).stem) for one in raw]


@pytest.mark.parametrize("root", singles())
def test_what_other_software_says(root: str, desk: Desk) -> None:
    desk.write("m.json", (VECTORS / "manifest.json").read_bytes())
    assert desk.run("cid", "m.json", "--json").json["cid"] == root


def test_more_than_one_block(desk: Desk) -> None:
    desk.write("two", TWO_CHUNKS)
    told = desk.run("cid", "two", "--json").json
    assert told == {"cid": add_file(TWO_CHUNKS)[0].text, "size": 300_000, "blocks": 3}
    assert parse_cid(told["cid"]).codec == DAG_PB


def test_one_block_of_a_codec(desk: Desk) -> None:
    desk.write("two", TWO_CHUNKS)
    assert desk.run("cid", "two", "--codec", "raw").out.strip() == cid_of(TWO_CHUNKS).text
    assert desk.run("cid", "two", "--codec", "dag-pb").out.strip() == cid_of(TWO_CHUNKS, DAG_PB).text


@pytest.mark.parametrize(
    ("octets", "codec", "problem"),
    [
        (2**20 + 1, [], "big: no proxy would take it from IPFS: A file has at most"),
        (
            2**21 + 1,
            ["--codec", "raw"],
            "big: no proxy would take it from IPFS: A block has at most",
        ),
        (2**26 + 1, [], "big: larger than 67108864 bytes"),
    ],
    ids=["file", "block", "anything"],
)
def test_what_is_too_large(octets: int, codec: list[str], problem: str, desk: Desk) -> None:
    with (desk.folder / "big").open("wb") as file:
        file.truncate(octets)
    ran = desk.run("cid", "big", *codec)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err


def test_no_file(desk: Desk) -> None:
    assert "none: cannot be read: No such file" in desk.run("cid", "none").err
