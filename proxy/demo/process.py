"""The proxy as a process of its own: started from a configuration file, killed, started again, stopped."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from proxy.config.sources import PREFIX
from proxy.demo.agent import parse_attempt
from proxy.failover.attempts import Attempt, AttemptOutcome

_START_SECONDS: Final = 20
_STOP_SECONDS: Final = 4
_LAST_LINES: Final = 5


class CannotStart(Exception):
    """The proxy did not come up; the text has the last lines that it wrote."""


class ProxyProcess:
    """One proxy after another, on the ports that the first one found free.

    `data` and `admin` are addresses, "127.0.0.1:8080", empty before the first start.
    """

    def __init__(self, config: Path) -> None:
        self._config = config
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._serving: asyncio.Future[bool]
        self._looked_for: list[Mapping[str, Any]] = []
        self._told = asyncio.Event()
        self.data = ""
        self.admin = ""

    async def start(self) -> None:
        """Returns when it says that it serves. Raises CannotStart."""
        loop = asyncio.get_running_loop()
        self._serving = loop.create_future()
        self._process = await asyncio.create_subprocess_exec(
            *self._command(),
            # What the surroundings configure for another proxy is not meant for this one.
            env={name: value for name, value in os.environ.items() if not name.startswith(PREFIX)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # Ctrl-C is for the demo, which ends its proxy itself.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._reader = loop.create_task(self._read(self._process.stdout))
        is_serving = False
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                is_serving = await self._serving
        if not is_serving:
            raise CannotStart("\n".join(["the proxy did not come up", *self._lines]))

    async def kill(self) -> None:
        """End it as `kill -9` does: it writes nothing any more."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._reader is not None:
            await self._reader

    async def stop(self) -> None:
        """End it as an operator would, and if that takes too long, the hard way; a second time does nothing."""
        if self._process is None:
            return
        try:
            with suppress(ProcessLookupError, TimeoutError):
                self._process.terminate()
                async with asyncio.timeout(_STOP_SECONDS):
                    await self._process.wait()
        finally:
            await self.kill()

    def forget(self) -> None:
        """Listen to the log from here."""
        self._looked_for.clear()

    async def attempts(self) -> tuple[Attempt, ...]:
        """Where it has looked for a copy since `forget`; waits until its log tells of the place that served."""
        while not any(event.get("outcome") == AttemptOutcome.SERVED for event in self._looked_for):
            self._told.clear()
            await self._told.wait()
        return tuple(map(parse_attempt, self._looked_for))

    def _command(self) -> list[str]:
        ports = [
            argument
            for flag, address in (("--port", self.data), ("--admin-port", self.admin))
            for argument in (flag, address.rpartition(":")[2] or "0")
        ]
        return [sys.executable, "-m", "proxy", "serve", "--config", str(self._config), *ports]

    async def _read(self, output: asyncio.StreamReader) -> None:
        """Read the log, so that the pipe never fills."""
        async for line in output:
            self._lines.append(line.decode(errors="replace").rstrip())
            self._hear(_parse_event(line))
        self._answer(False)

    def _hear(self, event: Mapping[str, Any]) -> None:
        """`serving` names the ports, `copy looked for` a place and what came of it."""
        match event.get("msg"):
            case "serving":
                self.data, self.admin = str(event["data"]), str(event["admin"])
                self._answer(True)
            case "copy looked for":
                self._looked_for.append(event)
                self._told.set()

    def _answer(self, is_serving: bool) -> None:
        if not self._serving.done():
            self._serving.set_result(is_serving)


def _parse_event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
