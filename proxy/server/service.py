"""One proxy process: its two ports, its engine, and how it starts, reloads, drains and stops."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

from aiohttp import web

from proxy import __version__
from proxy.admin import AdminState, build_admin
from proxy.config import Settings
from proxy.engine.boundary.control import BoundaryControl
from proxy.engine.control import Control
from proxy.engine.relocation.control import RelocationControl
from proxy.engine.trust.control import TrustControl
from proxy.logs import AccessLog, set_level
from proxy.metrics import Metrics
from proxy.server.enginesettings import engine_settings
from proxy.server.handler import Front, Handler
from proxy.server.keeping import Kept, open_kept
from proxy.server.network import Network, open_network
from proxy.server.opening import CannotOpen, address_of, opening_port, server_tls
from proxy.server.protocol import Connection, Server
from proxy.server.reloading import reloaded
from proxy.server.usage import Usage
from proxy.server.wire import report_problem
from proxy.server.wiring import (
    AccessJournal,
    Engine,
    build_engine,
    wall_clock,
)
from proxy.upstream.addresses import OwnListeners

# aiohttp's default would refuse a request that many small fields make; the byte limit bounds them anyway.
_MAX_FIELDS = 256
# Of the time to drain, what the stores get at least, and the most that is set aside for it.
_CLOSING_SHARE = 0.25
_CLOSING_SECONDS = 2.0
# What a request that will not end is given once its time is up.
_CUTTING_SECONDS = 0.05
# How often stores that cannot be used are looked at again; their own pauses may be longer.
TEND_SECONDS = 5.0

_log = logging.getLogger("proxy.server")


class Service:
    """A proxy that runs in the current event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._metrics = Metrics()
        self._own = OwnListeners()
        self._access = AccessLog(settings.log.format, sys.stdout, wall_clock)
        self._ready = False
        self._kept: Kept
        self._engine: Engine
        self._network: Network
        self._web: Server
        self._listener: asyncio.Server
        self._admin: web.AppRunner
        self._under_way = Usage()
        self._admin_listener: asyncio.Server
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = AsyncExitStack()

    async def start(self) -> None:
        """Open stores and ports, and say so. Raises CannotOpen, with nothing left open."""
        settings = self.settings
        async with AsyncExitStack() as opened:
            self._network = open_network(settings, self._own, wall_clock)
            opened.push_async_callback(self._close_network)
            self._kept = open_kept(settings, self._metrics, wall_clock)
            opened.push_async_callback(self._kept.close, _CLOSING_SECONDS)
            self._engine = build_engine(settings, self._kept, self._network)
            opened.push_async_callback(self._close_engine)
            self._attach_gauges()
            await self._open_admin(opened)
            # Before anybody asks: until it is read, nothing is known to be gone.
            await self._kept.ledger.open()
            await self._kept.boundary.open()
            await self._open_data(opened)
            await self._kept.store.probe()
            self._opened = opened.pop_all()
        self._ready = True
        self._engine.begin()
        self._keep_running(self._tend())
        _log.info("serving", extra={"data": self.data_address, "admin": self.admin_address})
        for key in settings.not_in_force:
            _log.warning("accepted, but not in force in this version", extra={"key": key})

    @property
    def data_address(self) -> str:
        """The data port's address, "127.0.0.1:8080"."""
        return _address(self._listener.sockets[0].getsockname())

    @property
    def admin_address(self) -> str:
        """The admin port's address."""
        return _address(self._admin_listener.sockets[0].getsockname())

    def _attach_gauges(self) -> None:
        memory = self._kept.memory
        self._metrics.attach_gauges(
            lambda: len(memory),
            lambda: memory.bytes,
            lambda: self._engine.refresher.inflight,
            lambda: bool(self._kept.store.degraded),
            lambda: self._engine.trusting.recovery.standing(),
            lambda: self._engine.watch.standing(),
        )

    async def _open_admin(self, opened: AsyncExitStack) -> None:
        state = AdminState(is_ready=self._standing, version=__version__)
        application = build_admin(
            self._control,
            self._trust,
            self._relocations,
            self._boundary,
            self._metrics,
            lambda: self.settings,
            state,
        )
        self._admin = web.AppRunner(
            application, access_log=None, handle_signals=False, shutdown_timeout=_CUTTING_SECONDS
        )
        await self._admin.setup()
        opened.push_async_callback(self._admin.cleanup)
        manager = self._admin.server
        assert manager is not None
        host, port = self.settings.admin.host, self.settings.admin.port
        with opening_port("admin", "--admin-port", host, port):
            # Not through the framework's site, whose connections answer malformed requests in their own words.
            self._admin_listener = await asyncio.get_running_loop().create_server(
                lambda: Connection(manager, report_problem), host, port
            )
        opened.callback(self._admin_listener.close)
        self._add_own(self._admin_listener)

    def _control(self) -> Control:
        return self._engine.control

    def _relocations(self) -> RelocationControl:
        return self._engine.relocating.control

    def _boundary(self) -> BoundaryControl:
        return self._engine.bounding.control

    def _trust(self) -> TrustControl:
        return self._engine.trusting.control

    def _front(self) -> Front:
        return self._engine.front

    def _standing(self) -> tuple[str, ...] | None:
        return self._kept.degraded if self._ready else None

    async def _open_data(self, opened: AsyncExitStack) -> None:
        listen = self.settings.listen
        tls = server_tls(self.settings)
        handler = Handler(self._front, AccessJournal(self._metrics, self._access), wall_clock, self._under_way)
        self._web = Server(
            handler,
            handler.report,
            max_line_size=listen.max_header,
            max_field_size=listen.max_header,
            max_headers=_MAX_FIELDS,
            keepalive_timeout=listen.idle_timeout,
            auto_decompress=False,
        )
        with opening_port("listen", "--port", listen.host, listen.port):
            self._listener = await asyncio.get_running_loop().create_server(
                self._web, listen.host, listen.port, ssl=tls, backlog=1024
            )
        opened.callback(self._listener.close)
        self._add_own(self._listener)

    def _add_own(self, server: asyncio.Server) -> None:
        for listener in server.sockets:
            self._own.add(*listener.getsockname()[:2])

    async def reload(self, settings: Settings) -> None:
        """Go on under `settings`; requests under way end under the old ones. Raises CannotOpen."""
        settings, waiting = reloaded(settings, self.settings)
        network = open_network(settings, self._own, wall_clock)
        try:
            engine = build_engine(settings, self._kept, network)
        except CannotOpen:
            await network.close()
            raise
        for key in waiting:
            _log.warning("takes effect at the next start", extra={"key": key})
        retired, self._network = self._network, network
        old, self._engine = self._engine, engine
        engine.begin()
        self._kept.flights.lease = engine_settings(settings).flight_lease
        lease = engine_settings(self.settings).flight_lease
        self.settings = settings
        set_level(settings.log.level)
        self._keep_running(self._retire(old, retired, lease))
        # One that is cancelled before it has begun would close nothing.
        await asyncio.sleep(0)
        _log.info("reloaded")

    async def _retire(self, engine: Engine, network: Network, lease: float) -> None:
        """Streams and tunnels may last for hours: what they use is closed when the last one has ended."""
        try:
            await engine.retire()
            await engine.front.usage.ended()
            # Fills that nobody waits for may still use it; none lasts longer than its lease.
            await asyncio.sleep(lease)
        finally:
            await engine.close()
            await network.close()

    async def _tend(self) -> None:
        """Try stores that cannot be used again, and tell when that changes."""
        told: tuple[str, ...] = ()
        while True:
            degraded = self._kept.degraded
            if degraded != told:
                level = logging.WARNING if degraded else logging.INFO
                extra = {"reasons": ", ".join(degraded), "store": self.settings.store.database}
                _log.log(level, "degraded" if degraded else "recovered", extra=extra)
            told = degraded
            await asyncio.sleep(TEND_SECONDS)
            await self._kept.tend()
            await self._kept.boundary.refresh()
            self._engine.trusting.pinning.tend()

    def _keep_running(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Drain: accept nothing new, finish what is under way, write what waits, close; all by one deadline."""
        self._ready = False
        clock = asyncio.get_running_loop().time
        patience = self.settings.listen.drain_timeout
        deadline = clock() + patience
        # Clients that do not end must not cost what waits to be written.
        ending = deadline - min(_CLOSING_SECONDS, patience * _CLOSING_SHARE)
        _log.info("draining", extra={"seconds": patience})
        self._listener.close()
        self._web.pre_shutdown()
        self._engine.records.end_waits()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(ending):
                await self._under_way.ended()
        # Answers may still be on their way out. The framework takes its limit twice over, and zero for none.
        await self._web.shutdown(max((ending - clock()) / 2, _CUTTING_SECONDS))
        # Nothing new is begun behind the scenes, and what has been learnt can still be written.
        await self._engine.close()
        await self._kept.flights.close(max(ending - clock(), 0.0))
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._kept.close(max(deadline - clock(), 0.1))
        await self._opened.aclose()
        self._access.flush()
        _log.info("stopped")

    async def _close_engine(self) -> None:
        await self._engine.close()

    async def _close_network(self) -> None:
        await self._network.close()


def _address(name: tuple[str, int]) -> str:
    return address_of(*name[:2])
