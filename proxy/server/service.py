"""One proxy process: its two ports, its engine, and how it starts, reloads, drains and stops (contract 10)."""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys

from aiohttp import web

from proxy import __version__
from proxy.admin import AdminState, build_admin
from proxy.config import Settings
from proxy.engine.control import Control
from proxy.logs import AccessLog, set_level
from proxy.metrics import Metrics
from proxy.server.handler import Front, Handler
from proxy.server.protocol import Connection, Server
from proxy.server.wire import report_problem
from proxy.server.wiring import (
    Engine,
    Journal,
    Shared,
    build_engine,
    engine_settings,
    open_origin,
    open_shared,
    wall_clock,
)
from proxy.upstream.addresses import OwnListeners
from proxy.upstream.origin import AiohttpOrigin

# aiohttp's default would refuse a request that many small fields make; the byte limit bounds them anyway.
_MAX_FIELDS = 256
# What needs the sockets or the stores to be opened anew.
_NEEDS_RESTART = ("listen", "admin", "store", "memory")

_log = logging.getLogger("proxy.server")


class Service:
    """A proxy that runs in the current event loop. Raises OSError when a port or file cannot be opened."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._metrics = Metrics()
        self._own = OwnListeners()
        self._access = AccessLog(settings.log.format, sys.stdout, wall_clock)
        self._ready = False
        self._shared: Shared
        self._engine: Engine
        self._origin: AiohttpOrigin
        self._web: Server
        self._listener: asyncio.Server
        self._admin: web.AppRunner
        self._admin_listener: asyncio.Server
        self._retired: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open stores and ports, and say so."""
        settings = self.settings
        self._shared = open_shared(settings, self._metrics, wall_clock)
        self._origin = open_origin(settings, self._own, wall_clock)
        self._engine = build_engine(settings, self._shared, self._origin)
        self._attach_gauges()
        await self._open_admin()
        await self._open_data()
        self._ready = True
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
        memory = self._shared.memory
        self._metrics.attach_gauges(
            lambda: len(memory),
            lambda: memory.bytes,
            lambda: self._engine.refresher.inflight,
            lambda: bool(self._shared.store.degraded),
        )

    async def _open_admin(self) -> None:
        state = AdminState(is_ready=self._standing, version=__version__)
        application = build_admin(self._control, self._metrics, lambda: self.settings, state)
        self._admin = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._admin.setup()
        manager = self._admin.server
        assert manager is not None
        # Not through the framework's site, whose connections answer malformed requests in their own words.
        self._admin_listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(manager, report_problem),
            self.settings.admin.host,
            self.settings.admin.port,
        )
        self._add_own(self._admin_listener)

    def _control(self) -> Control:
        return self._engine.control

    def _front(self) -> Front:
        return self._engine.front

    def _standing(self) -> tuple[str, ...] | None:
        return self._shared.store.degraded if self._ready else None

    async def _open_data(self) -> None:
        listen = self.settings.listen
        handler = Handler(self._front, Journal(self._metrics, self._access), wall_clock)
        self._web = Server(
            handler,
            handler.report,
            max_line_size=listen.max_header,
            max_field_size=listen.max_header,
            max_headers=_MAX_FIELDS,
            keepalive_timeout=listen.idle_timeout,
            auto_decompress=False,
        )
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._web, listen.host, listen.port, ssl=_tls(self.settings), backlog=1024
        )
        self._add_own(self._listener)

    def _add_own(self, server: asyncio.Server) -> None:
        for listener in server.sockets:
            self._own.add(*listener.getsockname()[:2])

    async def reload(self, settings: Settings) -> None:
        """Go on under `settings`; requests under way end under the old ones."""
        for section in _NEEDS_RESTART:
            if getattr(settings, section) != getattr(self.settings, section):
                _log.warning("takes effect at the next start", extra={"section": section})
        # What is shown and checked is what the open sockets and stores were made with.
        kept = {section: getattr(self.settings, section) for section in _NEEDS_RESTART}
        settings = settings.model_copy(update=kept)
        origin = open_origin(settings, self._own, wall_clock)
        retired, self._origin = self._origin, origin
        old, self._engine = self._engine, build_engine(settings, self._shared, origin)
        lease = engine_settings(settings).flight_lease
        self.settings = settings
        set_level(settings.log.level)
        task = asyncio.get_running_loop().create_task(self._retire(old, retired, lease))
        self._retired.add(task)
        task.add_done_callback(self._retired.discard)
        _log.info("reloaded")

    async def _retire(self, engine: Engine, origin: AiohttpOrigin, lease: float) -> None:
        """Streams and tunnels may last for hours: what they use is closed when the last one has ended."""
        try:
            await engine.front.usage.ended()
            # Fills that nobody waits for may still use it; none lasts longer than its lease.
            await asyncio.sleep(lease)
        finally:
            await origin.close()

    async def stop(self) -> None:
        """Drain: accept nothing new, finish what is under way, write what waits, close."""
        self._ready = False
        # Zero would mean "without limit" to the framework.
        patience = max(self.settings.listen.drain_timeout, 0.1)
        _log.info("draining", extra={"seconds": patience})
        self._listener.close()
        self._web.pre_shutdown()
        await self._web.shutdown(patience)
        await self._shared.flights.close(patience)
        for task in self._retired:
            task.cancel()
        await asyncio.gather(*self._retired, return_exceptions=True)
        await self._shared.store.close()
        self._shared.generations.close()
        await self._origin.close()
        self._admin_listener.close()
        await self._admin.cleanup()
        self._access.flush()
        _log.info("stopped")


def _address(name: tuple[str, int]) -> str:
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"{host}:{name[1]}"


def _tls(settings: Settings) -> ssl.SSLContext | None:
    tls = settings.listen.tls
    if tls.cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.client_ca)
    context.load_cert_chain(tls.cert, tls.key)
    context.set_alpn_protocols(["http/1.1"])
    if tls.client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
