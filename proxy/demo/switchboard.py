"""Switches for whoever stays after the steps: kill a server of the local internet, and start it again."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from proxy.demo.loopback import LoopbackServer


class Switchboard(LoopbackServer):
    """`POST /kill/NAME` and `POST /start/NAME`, by http; `servers` has the names."""

    def __init__(self, servers: Mapping[str, LoopbackServer]) -> None:
        super().__init__(None)
        self._servers = servers

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        verb, _, name = request.path.removeprefix("/").partition("/")
        server = self._servers.get(name)
        if request.method != "POST" or server is None or verb not in ("kill", "start"):
            names = ", ".join(self._servers)
            return web.Response(status=404, text=f"POST /kill/NAME or /start/NAME; the names are {names}\n")
        if verb == "kill":
            await server.kill()
            return web.Response(text=f"{name} is dead\n")
        await server.start()
        return web.Response(text=f"{name} lives, on 127.0.0.1:{server.port}\n")
