"""The process around the service: event loop, signals, exit code."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Callable

from proxy.config import ConfigError, Settings
from proxy.logs import configure
from proxy.server.opening import CannotOpen
from proxy.server.service import Service

try:
    from uvloop import new_event_loop
except ImportError:  # not built for this platform
    new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]

_log = logging.getLogger("proxy.server")


def run(settings: Settings, reload: Callable[[], Settings]) -> int:
    """Serve until SIGTERM or SIGINT; 0 after a clean drain, 2 when a port or file cannot be opened.

    SIGHUP takes `reload()`'s settings; when they are bad the old ones stay.
    """
    configure(settings.log.level, settings.log.format, sys.stdout)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_serve(settings, reload))


async def _serve(settings: Settings, reload: Callable[[], Settings]) -> int:
    loop = asyncio.get_running_loop()
    stopping, reload_early = asyncio.Event(), asyncio.Event()
    # Before the start: whoever reads in the log that we serve may send a signal at once.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, reload_early.set)
    service = Service(settings)
    try:
        await service.start()
    except CannotOpen as error:
        print(f"discovery-proxy: cannot start: {error}", file=sys.stderr)
        return 2
    # What start-up made lives as long as the process, and a full cache is hundreds of thousands of objects that
    # hold no cycles: looking through them pauses every request, so the oldest generation is looked at rarely.
    gc.freeze()
    gc.set_threshold(20_000, 20, 1_000)
    reloads = _Reloads(service, reload)
    loop.add_signal_handler(signal.SIGHUP, reloads.start)
    if reload_early.is_set():
        reloads.start()
    await stopping.wait()
    await service.stop()
    return 0


class _Reloads:
    """Reloads one after the other; a reference is kept until each has ended."""

    def __init__(self, service: Service, reload: Callable[[], Settings]) -> None:
        self._service = service
        self._reload = reload
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        task = asyncio.get_running_loop().create_task(self._run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        try:
            await self._service.reload(self._reload())
        except ConfigError as error:
            for problem in error.problems:
                _log.error("reload refused, the old configuration stays", extra={"problem": problem})
        except CannotOpen as error:
            _log.error("reload refused, the old configuration stays", extra={"problem": str(error)})
