"""The proxy and an origin as processes of their own, gone when the block is left."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.documents import FRESH
from benchmarks.registry import CannotMeasure

_ROOT = Path(__file__).parent.parent
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_OPEN_FILES = 8192


@dataclass(frozen=True, slots=True)
class ProxyProcess:
    """A proxy that serves."""

    pid: int
    port: int
    admin_port: int


@contextmanager
def proxy_process(settings: Mapping[str, str] = {}) -> Iterator[ProxyProcess]:
    """`discovery-proxy serve` with its defaults but for free ports, a store in memory, and `settings`.

    These are by the second part of the names of environment variables: "UPSTREAM__CA_FILE".
    """
    given = {"STORE__URL": "memory://", **settings}
    environ = {f"DISCOVERY_PROXY_{name}": value for name, value in given.items()}
    with _running(("proxy", "serve", "--port", "0", "--admin-port", "0"), environ, "admin") as (pid, said):
        yield ProxyProcess(pid, _port(said["data"]), _port(said["admin"]))


@contextmanager
def origin_process(delay: float = 0.0, cache_control: str = FRESH) -> Iterator[int]:
    """An origin; its port."""
    arguments = ("benchmarks.origin", "--delay", str(delay), "--cache-control", cache_control)
    with _running(arguments, {}, "port") as (_, said):
        yield int(str(said["port"]))


@contextmanager
def _running(
    module: Sequence[str], settings: Mapping[str, str], announcement: str
) -> Iterator[tuple[int, Mapping[str, object]]]:
    """A module run by this Python: its process id and the line of JSON with the member `announcement`."""
    allow_many_connections()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DISCOVERY_PROXY_")}
    with TemporaryDirectory() as directory:
        log = Path(directory, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                (sys.executable, "-m", *module),
                cwd=_ROOT,
                env={**inherited, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process.pid, _announced(process, log, announcement)
        finally:
            _stop(process)


def _announced(process: subprocess.Popen[bytes], log: Path, member: str) -> Mapping[str, object]:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            if line.startswith("{") and line.endswith("\n"):
                said: Mapping[str, object] = json.loads(line)
                if member in said:
                    return said
        time.sleep(0.02)
    text = log.read_text(encoding="utf-8", errors="replace")[-2000:].strip()
    raise CannotMeasure(f"a process did not start:\n{text or '(it said nothing)'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _port(address: object) -> int:
    return int(str(address).rpartition(":")[2])


def allow_many_connections() -> None:
    """Raise the limit of open files, which processes started later inherit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
