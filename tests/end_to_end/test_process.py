"""The process: how it starts, drains on SIGTERM and reloads on SIGHUP."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.running import Reply, Wire, request, until
from tests.simulators.wire import Ending, ScriptedOrigin

_ROOT = Path(__file__).parents[2]
_START_LIMIT = 15.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: no-store\r\n\r\nhi"


def write(config: Path, **sections: object) -> None:
    """A configuration on free ports with the store in memory, `sections` laid over it."""
    base = {"listen": {"port": 0, "drain_timeout": 1}, "admin": {"port": 0}, "store": {"url": "memory://"}}
    config.write_text(yaml.safe_dump(base | sections))


@dataclass(slots=True)
class Child:
    """A proxy in a process of its own."""

    process: Process
    config: Path
    port: int = 0
    admin_port: int = 0

    async def logged(self, message: str) -> dict[str, Any]:
        """The next log line with this message."""
        assert self.process.stdout is not None
        async with asyncio.timeout(_START_LIMIT):
            while line := await self.process.stdout.readline():
                entry = json.loads(line)
                if entry["msg"] == message:
                    return dict(entry)
        raise AssertionError(f"the process ended before it logged {message!r}")

    async def ended(self) -> int:
        async with asyncio.timeout(_START_LIMIT):
            return await self.process.wait()

    async def get(self, request_target: str, host: str = "proxy") -> Reply:
        async with Wire.open(self.port) as wire:
            return await wire.ask(request("GET", request_target, f"Host: {host}"))

    async def readiness(self) -> int:
        async with Wire.open(self.admin_port) as wire:
            return (await wire.ask(request("GET", "/readyz", "Host: 127.0.0.1"))).status

    def configure(self, **sections: object) -> None:
        """Write the configuration of the next start or reload."""
        write(self.config, **sections)


@asynccontextmanager
async def child(config: Path, **sections: object) -> AsyncIterator[Child]:
    """A child that serves; it is gone when the block is left."""
    started = Child(None, config)  # type: ignore[arg-type]
    started.configure(**sections)
    started.process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proxy", "serve", "--config", config, cwd=_ROOT, stdout=PIPE, limit=2**20
    )
    try:
        serving = await started.logged("serving")
        started.port, started.admin_port = (int(serving[name].rpartition(":")[2]) for name in ("data", "admin"))
        yield started
    finally:
        if started.process.returncode is None:
            started.process.kill()
            await started.process.wait()
        # The transport is closed with its pipes, not when it is collected.
        started.process._transport.close()  # type: ignore[attr-defined]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "proxy.yaml"


async def test_sigterm_finishes_what_is_under_way(config: Path) -> None:
    gate = asyncio.Event()
    async with (
        ScriptedOrigin([(gate, OK)]) as origin,
        child(config, listen={"port": 0, "drain_timeout": 10}) as proxy,
    ):
        assert await proxy.readiness() == 200
        asking = asyncio.get_running_loop().create_task(proxy.get(f"/http/127.0.0.1:{origin.port}/"))
        await until(lambda: bool(origin.requests))
        proxy.process.send_signal(signal.SIGTERM)
        await proxy.logged("draining")
        assert await proxy.readiness() == 503
        with pytest.raises(ConnectionError):
            await proxy.get("/")
        gate.set()
        answer = await asking
        assert (answer.status, answer.body, answer.is_complete) == (200, b"hi", True)
        assert await proxy.ended() == 0


async def test_sigterm_ends_idle_connections_at_once(config: Path) -> None:
    async with child(config, listen={"port": 0, "drain_timeout": 60}) as proxy, Wire.open(proxy.port) as wire:
        assert (await wire.ask(request("GET", "/"))).status == 200
        proxy.process.send_signal(signal.SIGTERM)
        assert await wire.rest() == b""
        assert await proxy.ended() == 0


async def test_sigterm_waits_no_longer_than_the_drain_timeout(config: Path) -> None:
    gate = asyncio.Event()
    async with (
        ScriptedOrigin([(gate, OK)]) as origin,
        child(config, listen={"port": 0, "drain_timeout": 0.3}) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("GET", f"/http/127.0.0.1:{origin.port}/"))
        await until(lambda: bool(origin.requests))
        started = asyncio.get_running_loop().time()
        proxy.process.send_signal(signal.SIGTERM)
        assert await proxy.ended() == 0
        assert asyncio.get_running_loop().time() - started < 5


async def test_sigterm_cuts_a_stream_so_that_it_does_not_look_whole(config: Path) -> None:
    gate = asyncio.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n"
    async with (
        ScriptedOrigin([(head, gate)]) as origin,
        child(config, listen={"port": 0, "drain_timeout": 0.3}) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("GET", f"/http/127.0.0.1:{origin.port}/"))
        await wire.head()
        proxy.process.send_signal(signal.SIGTERM)
        assert b"0\r\n\r\n" not in await wire.rest()
        assert await proxy.ended() == 0


async def test_sighup_takes_the_new_configuration_and_drops_nothing(config: Path) -> None:
    def site(origin: ScriptedOrigin) -> list[dict[str, object]]:
        return [{"hosts": ["site.example"], "origin": f"http://127.0.0.1:{origin.port}"}]

    gate = asyncio.Event()
    second_reply = OK.replace(b"hi", b"ho")
    async with (
        ScriptedOrigin([(gate, OK)], [OK]) as first,
        ScriptedOrigin([second_reply]) as second,
        child(config, sites=site(first)) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("GET", "/under-way", "Host: site.example"))
        await until(lambda: bool(first.requests))
        proxy.configure(sites=site(second))
        proxy.process.send_signal(signal.SIGHUP)
        await proxy.logged("reloaded")
        assert (await proxy.get("/new", "site.example")).body == b"ho"
        gate.set()
        assert (await wire.reply()).body == b"hi"
        assert (await wire.ask(request("GET", "/again", "Host: site.example"))).body == b"ho"


async def test_sighup_leaves_long_streams_alone(config: Path) -> None:
    gate = asyncio.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n"
    async with (
        ScriptedOrigin([(head, gate, b"data: 2\n\n")]) as origin,
        child(config, listen={"port": 0, "drain_timeout": 0.1}) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("GET", f"/http/127.0.0.1:{origin.port}/"))
        await wire.head()
        proxy.process.send_signal(signal.SIGHUP)
        await proxy.logged("reloaded")
        await asyncio.sleep(0.5)
        gate.set()
        assert b"data: 2" in await wire.reader.readuntil(b"0\r\n\r\n")
        proxy.process.send_signal(signal.SIGTERM)
        assert await proxy.ended() == 0


@pytest.mark.parametrize(
    "sections",
    [
        {"sites": [{"hosts": ["site.example"], "origin": "not a URL"}]},
        {"unknown": 1},
        {"upstream": {"ca_file": "/does/not/exist.pem"}},
    ],
    ids=["bad value", "unknown key", "file missing"],
)
async def test_sighup_with_a_bad_configuration_keeps_the_old_one(config: Path, sections: dict[str, object]) -> None:
    async with ScriptedOrigin([OK] * 2) as origin:
        site = {"hosts": ["site.example"], "origin": f"http://127.0.0.1:{origin.port}"}
        async with child(config, sites=[site]) as proxy:
            proxy.configure(**sections)
            proxy.process.send_signal(signal.SIGHUP)
            assert (await proxy.logged("reload refused, the old configuration stays"))["problem"]
            assert (await proxy.get("/", "site.example")).body == b"hi"
            assert await proxy.readiness() == 200


async def test_sighup_with_a_broken_file_keeps_the_old_configuration(config: Path) -> None:
    async with child(config) as proxy:
        await asyncio.to_thread(config.write_text, "listen: [")
        proxy.process.send_signal(signal.SIGHUP)
        await proxy.logged("reload refused, the old configuration stays")
        assert (await proxy.get("/")).status == 200


async def test_taken_port_is_a_configuration_error(config: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        write(config, listen={"port": taken.getsockname()[1]})
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "proxy", "serve", "--config", config, cwd=_ROOT, stdout=PIPE, stderr=PIPE
        )
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert b"cannot start" in errors and b"Traceback" not in errors


async def test_sigterm_ends_a_tunnel_after_the_drain_timeout(config: Path) -> None:
    async with (
        ScriptedOrigin([(OK, Ending.STAY)]) as origin,
        child(
            config,
            listen={"port": 0, "drain_timeout": 0.3},
            forward={"connect_ports": [origin.port]},
        ) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(request("CONNECT", f"127.0.0.1:{origin.port}"))
        assert (await wire.head()).status == 200
        proxy.process.send_signal(signal.SIGTERM)
        assert await wire.rest() == b""
        assert await proxy.ended() == 0
