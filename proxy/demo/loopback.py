"""A server on loopback that can be killed, and then comes back where it was."""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from typing import Final

from aiohttp import web

# How long answers under way may go on when it is killed; to aiohttp, zero means for ever.
_CUT_SECONDS: Final = 0.01


class LoopbackServer(ABC):
    """Listens on a free port of 127.0.0.1, without TLS if `tls` is None. `port` is 0 before the first start."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._server: web.Server
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen, after the first start always on the same port; a second time does nothing. Raises OSError."""
        if self._listener is not None:
            return
        loop = asyncio.get_running_loop()
        self._server = web.Server(self._answer, access_log=None)
        self._listener = await loop.create_server(self._server, "127.0.0.1", self.port, ssl=self._tls)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """Stop listening and cut every connection; a second time does nothing."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
            await self._server.shutdown(_CUT_SECONDS)

    @abstractmethod
    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse: ...
