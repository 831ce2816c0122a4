"""What a publisher's commands write, published: the origin is killed, then the mirrors, then it is back."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import pytest

from tests.end_to_end.site import reply
from tests.end_to_end.trust.world import (
    DID_PATH,
    HOST,
    MIRRORS,
    World,
    ask_manifest,
    looked_for,
    trust_of,
    verified_from,
)
from tests.trust.publisher import DID, manifest, without

ROOT: Final = Path(__file__).resolve().parents[3]
# The pauses between probes of a dead origin grow to eight seconds.
BACK_SECONDS: Final = 12.0


def command(*argv: str | Path) -> str:
    """Run a command of the proxy; what it prints."""
    whole = [sys.executable, "-m", "proxy", *map(str, argv)]
    return subprocess.run(whole, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Publication:
    """What is to be published: the DID document, the signed manifest, and its copy for IPFS with the CID."""

    did_document: bytes
    manifest: bytes
    copy: bytes
    cid: str


@pytest.fixture(scope="module")
def publication(tmp_path_factory: pytest.TempPathFactory) -> Publication:
    folder = tmp_path_factory.mktemp("publisher")
    key, did, unsigned, signed, copy = (
        folder / name for name in ("key.pem", "did.json", "manifest.json", "signed.json", "signed.ipfs.json")
    )
    unsigned.write_text(json.dumps(without(manifest(), "x-independent-mirrors", "x-sequence")), encoding="utf-8")
    command("keygen", "--out", key)
    command("did-document", "--domain", HOST, "--key", key, "--out", did)
    mirrors = [argument for url in MIRRORS for argument in ("--mirror", url)]
    command(
        "sign", unsigned, "--key", key, "--did", DID, "--sequence", "auto", "--expires", "90d",
        "--ipfs", *mirrors, "--out", signed,
    )  # fmt: skip
    cid = command("cid", copy).split()[0]
    return Publication(did.read_bytes(), signed.read_bytes(), copy.read_bytes(), cid)


def publish(world: World, publication: Publication) -> None:
    world.origin.on(DID_PATH, lambda asked: reply(publication.did_document, "max-age=300"))
    world.publish(publication.manifest)
    world.mirrored(publication.manifest)
    assert world.gateways[0].add_file(publication.copy).text == publication.cid


def test_the_manifest_lists_the_mirrors_and_the_copy(publication: Publication) -> None:
    listed = json.loads(publication.manifest)["x-independent-mirrors"]
    assert listed == [*MIRRORS, f"ipfs://{publication.cid}"]
    assert json.loads(publication.copy)["x-independent-mirrors"] == [*MIRRORS]


async def test_origin_killed_then_mirror_then_ipfs_then_origin_again(
    world: World, publication: Publication, log: pytest.LogCaptureFixture
) -> None:
    publish(world, publication)
    async with world.proxy() as proxy:
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (publication.manifest, verified_from("origin"))

        await world.origin.down()
        answer = await ask_manifest(proxy)
        assert answer.status == 200
        assert (answer.get("discovery-trust") or "").startswith(f'verified;did="{DID}";source=mirror')
        assert (answer.body, trust_of(answer)) == (publication.manifest, verified_from("mirror"))

        await world.first.down()
        await world.second.down()
        await proxy.purge()
        log.clear()
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body) == (200, publication.copy)
        assert trust_of(answer) == verified_from("ipfs")
        assert looked_for(log)[-1] == ("ipfs", f"ipfs://{publication.cid}", "served", "")

        await world.origin.up()
        began = perf_counter()
        while trust_of(answer) != verified_from("origin"):
            assert answer.status == 200 and perf_counter() - began < BACK_SECONDS
            await asyncio.sleep(0.05)
            answer = await ask_manifest(proxy)
        assert answer.body == publication.manifest
