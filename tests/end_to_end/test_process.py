"""The process: how it starts, drains on SIGTERM and reloads on SIGHUP."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.config import load
from proxy.server import enginesettings, keeping
from tests.end_to_end.running import Reply, Wire, request, running, until
from tests.simulators.wire import Ending, ScriptedOrigin
from tests.stores.samples import StoreSimulator

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

    async def admin(self, path: str) -> Any:
        """What the admin port answers to a GET."""
        async with Wire.open(self.admin_port) as wire:
            return json.loads((await wire.ask(request("GET", path, "Host: 127.0.0.1"))).body)

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


async def ran(*argv: str | Path) -> tuple[int | None, str, str]:
    """Exit code and output of a command that ends by itself."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proxy", *argv, cwd=_ROOT, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(_START_LIMIT):
        output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()


NO_FILE = "No such file or directory"
# What differs from the configuration that starts, and what is said then; {taken} is a port in use.
CANNOT_START: dict[str, tuple[dict[str, dict[str, object]], str]] = {
    "no ca_file": ({"upstream": {"ca_file": "/nope.pem"}}, f"upstream.ca_file /nope.pem: {NO_FILE}"),
    "bad ca_file": (
        {"upstream": {"ca_file": "pyproject.toml"}},
        "upstream.ca_file pyproject.toml: no certificate or crl found",
    ),
    "no certificate": (
        {"listen": {"tls": {"cert": "/nope.pem", "key": "/nope.pem"}}},
        f"listen.tls.cert /nope.pem: {NO_FILE}",
    ),
    "no key": (
        {"listen": {"tls": {"cert": "pyproject.toml", "key": "/nope.pem"}}},
        f"listen.tls.key /nope.pem: {NO_FILE}",
    ),
    "bad certificate": (
        {"listen": {"tls": {"cert": "pyproject.toml", "key": "pyproject.toml"}}},
        "listen.tls.cert pyproject.toml with listen.tls.key pyproject.toml: no usable PEM file",
    ),
    "no such host": (
        {"listen": {"host": "nosuch.invalid", "port": 0}},
        "listen.host nosuch.invalid: Name or service not known",
    ),
    "no address of ours": (
        {"listen": {"host": "192.0.2.1", "port": 0}},
        "listen.host 192.0.2.1: Cannot assign requested address",
    ),
    "data port taken": (
        {"listen": {"port": "{taken}"}},
        "data port 127.0.0.1:{taken} is in use (listen.port, --port)",
    ),
    "admin port taken": (
        {"admin": {"port": "{taken}"}},
        "admin port 127.0.0.1:{taken} is in use (admin.port, --admin-port)",
    ),
}


@pytest.mark.parametrize(("sections", "told"), CANNOT_START.values(), ids=CANNOT_START)
async def test_what_cannot_be_opened_is_named(
    config: Path, sections: dict[str, dict[str, object]], told: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        text = json.dumps({"listen": {"port": 0}} | sections).replace("{taken}", number)
        write(config, **json.loads(text))
        expected = f"discovery-proxy: cannot start: {told.replace('{taken}', number)}\n"
        assert await ran("serve", "--config", config) == (2, "", expected)


async def test_two_processes_do_not_share_a_store(config: Path, tmp_path: Path) -> None:
    database = tmp_path / "cache.db"
    async with child(config, store={"url": f"sqlite:///{database}"}) as proxy:
        pid = proxy.process.pid
        told = f"store.url: {database} is in use by process {pid}, which holds {database}.lock"
        second = await ran("serve", "--config", config)
        assert second == (2, "", f"discovery-proxy: cannot start: {told}\n")
        proxy.process.kill()
        await proxy.ended()
        async with child(config, store={"url": f"sqlite:///{database}"}) as third:
            assert await third.readiness() == 200


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGKILL], ids=["alive", "stopped", "killed"])
async def test_explain_without_a_proxy_writes_nothing(
    config: Path, tmp_path: Path, end: signal.Signals | None
) -> None:
    folder = tmp_path / "store"
    async with (
        ScriptedOrigin([OK.replace(b"no-store", b"max-age=60")]) as origin,
        child(config, store={"url": f"sqlite:///{folder}/cache.db"}) as proxy,
    ):
        assert (await proxy.get(f"/http/127.0.0.1:{origin.port}/")).status == 200
        await until(lambda: stored_rows(folder / "cache.db") == 1)
        # What the live proxy writes last.
        await until(lambda: counted(folder / "cache.db.keys", "SELECT count(*) FROM keys") == 1)
        if end is not None:
            proxy.process.send_signal(end)
            await proxy.ended()
        before = contents(folder)
        # The port that the file names is not the one that a live proxy took.
        write(config, admin={"port": free_port()}, store={"url": f"sqlite:///{folder}/cache.db"})
        url = f"http://127.0.0.1:{origin.port}/"
        code, output, errors = await ran("explain", url, "--config", config, "--json")
        assert (code, json.loads(output)["decision"]["answer"]) == (0, "hit"), errors
        assert errors.startswith("discovery-proxy: nothing listens at ") and errors.count("\n") == 1
        assert contents(folder) == before


def stored_rows(database: Path) -> int:
    return counted(database, "SELECT count(*) FROM entries WHERE chunk_count IS NOT NULL")


def counted(database: Path, query: str) -> int:
    if not database.exists():
        return 0
    file = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        return int(file.execute(query).fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        file.close()


def contents(folder: Path) -> dict[str, bytes]:
    """Names and contents, but for the index in which SQLite's readers note what they look at."""
    return {path.name: b"" if path.name.endswith("-shm") else path.read_bytes() for path in folder.iterdir()}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_an_unusable_store_shows_at_once_and_recovers(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.write_text("a file where the folder should be")
    async with child(config, store={"url": f"sqlite:///{folder}/cache.db"}) as proxy:
        parts = ("store", "purge-marks", "trust-records", "ledger", "boundary")
        degraded = {"status": "degraded", "reasons": [f"{part}-unavailable" for part in parts]}
        assert await proxy.admin("/readyz") == degraded
        assert (await proxy.logged("degraded"))["store"] == f"{folder}/cache.db"
        folder.unlink()
        assert (await proxy.logged("recovered"))["level"] == "info"
        assert await proxy.admin("/readyz") == {"status": "ready", "reasons": []}


async def test_a_reload_gives_fills_the_time_that_origins_have_now() -> None:
    async with running() as proxy:
        settings = load(None, {}, {"upstream.connect_timeout": 2, "upstream.total_timeout": 40})
        await proxy.service.reload(settings)
        assert proxy.service._kept.flights.lease == enginesettings.engine_settings(settings).flight_lease > 42


async def test_clients_fills_and_the_store_have_one_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreSimulator()
    monkeypatch.setattr(keeping, "open_sqlite", lambda *_: store)
    gate = asyncio.Event()
    reply = OK.replace(b"no-store", b"max-age=60")
    loop = asyncio.get_running_loop()
    # Each alone would take all of it: a client that waits for its origin, and a store that hangs.
    async with (
        ScriptedOrigin([reply], [(gate, reply)]) as origin,
        running(store__url=f"sqlite:///{tmp_path}/a.db", listen__drain_timeout=1) as proxy,
    ):
        store.gate.clear()
        await proxy.get(f"/http/127.0.0.1:{origin.port}/a")
        async with Wire.open(proxy.port) as wire:
            await wire.send(request("GET", f"/http/127.0.0.1:{origin.port}/b"))
            await until(lambda: len(origin.requests) == 2)
            began = loop.time()
            await proxy.service.stop()
            assert loop.time() - began < 1.3


async def test_sighup_keeps_what_needs_a_restart(config: Path) -> None:
    sections = {"log": {"format": "text", "level": "debug"}, "cache": {"max_variants": 3, "negative_ttl": "7s"}}
    async with child(config) as proxy:
        proxy.configure(**sections)
        proxy.process.send_signal(signal.SIGHUP)
        told = {(await proxy.logged("takes effect at the next start"))["key"] for _ in range(2)}
        await proxy.logged("reloaded")
        assert told == {"log.format", "cache.max_variants"}
        shown = await proxy.admin("/admin/config")
        assert shown["log"] == {"level": "debug", "format": "json"}
        assert (shown["cache"]["max_variants"], shown["cache"]["negative_ttl"]) == (64, "7s")


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
