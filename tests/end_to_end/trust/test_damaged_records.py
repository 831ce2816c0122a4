"""Trust records on disk that are not as they were written: refused aloud, left alone, and all else goes on."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.running import Running, Wire, request
from tests.end_to_end.trust.world import (
    MIRRORS,
    URI,
    World,
    ask_manifest,
    attempts,
    signed_manifest,
    trust_of,
    verified_from,
)


def flipped(octets: bytes, at: int) -> bytes:
    return octets[:at] + bytes([octets[at] ^ 0x20]) + octets[at + 1 :]


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "an octet of the record": lambda octets: flipped(octets, octets.rindex(b"did:web:example.com")),
    "an octet of the file's head": lambda octets: flipped(octets, 3),
    "an octet of the table's description": lambda octets: flipped(octets, octets.index(b"CREATE TABLE")),
    "cut in half": lambda octets: octets[: len(octets) // 2],
    "cut in its last page": lambda octets: octets[:-100],
    "empty": lambda octets: b"",
    "no database": lambda octets: b"#!/bin/sh\necho records\n" * 300,
}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def readiness(proxy: Running) -> tuple[int, dict[str, object]]:
    async with Wire.open(proxy.admin_port) as wire:
        answer = await wire.ask(request("GET", "/readyz", "Host: 127.0.0.1"))
    return answer.status, json.loads(answer.body)


async def remembered(world: World, store: str) -> bytes:
    """A manifest that a proxy with this store has seen, and its domain's keys."""
    body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
    async with world.proxy(store__url=store) as proxy:
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
    return body


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_file(
    world: World, tmp_path: Path, log: pytest.LogCaptureFixture, damaged: Callable[[bytes], bytes]
) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    body = await remembered(world, store)
    records = tmp_path / "store.db.trust"
    assert stat.S_IMODE(records.stat().st_mode) == 0o600
    octets = damaged(records.read_bytes())
    records.write_bytes(octets)
    files = names(tmp_path)
    log.clear()
    async with world.proxy(store__url=store) as proxy:
        # The live origin needs no records: its TLS is its authority.
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body) == (200, body)
        assert trust_of(answer) == ("origin-tls", {"source": "origin", "signature": "unverifiable"})
        status, told = await readiness(proxy)
        assert (status, told["status"]) == (200, "degraded") and "trust-records-damaged" in str(told["reasons"])

        await world.origin.down()
        asked = len(world.asked_mirrors)
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert attempts(answer) == [("mirror", URI, "refused", "trust_record_damaged")]
        assert len(world.asked_mirrors) == asked
        await proxy.purge()
        assert (await ask_manifest(proxy)).status == 504
    [event] = [one for one in log.records if one.levelno >= logging.ERROR and "damaged" in one.getMessage()]
    told_text = event.getMessage()
    assert str(records) in told_text and "restore the file from a backup" in told_text
    assert records.read_bytes() == octets
    assert names(tmp_path) == files


async def test_once_it_is_restored_everything_is_known_again(world: World, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    body = await remembered(world, store)
    records = tmp_path / "store.db.trust"
    backup = records.read_bytes()
    records.write_bytes(b"")
    async with world.proxy(store__url=store) as proxy:
        assert trust_of(await ask_manifest(proxy))[0] == "origin-tls"
    records.write_bytes(backup)
    await world.origin.down()
    async with world.proxy(store__url=store) as proxy:
        await proxy.purge()
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (body, verified_from("mirror"))
        assert (await readiness(proxy))[1]["status"] == "ready"
