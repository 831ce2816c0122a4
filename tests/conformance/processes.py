"""The processes of a run: started in groups of their own, awaited, and gone afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.conformance.suite import ROOT, SuiteError

START_LIMIT_SECONDS = 30.0
STOP_LIMIT_SECONDS = 5.0

Found = TypeVar("Found")


@contextmanager
def running(command: Sequence[str], settings: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its children in a group of its own, which is gone when the block is left."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(STOP_LIMIT_SECONDS)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait(STOP_LIMIT_SECONDS)


def awaited(probe: Callable[[], Found | None], what: str, process: subprocess.Popen[bytes], log: Path) -> Found:
    """What the probe finds at last. Raises SuiteError when the process ends or takes too long to be ready."""
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = probe()
        if found is not None:
            return found
        time.sleep(0.05)
    raise SuiteError(f"{what} did not start:\n{tail(log)}")


def is_listening(port: int) -> bool | None:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return None
    return True


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


def tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:].strip() or "(nothing)"
