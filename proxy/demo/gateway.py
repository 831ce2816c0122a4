"""A trustless IPFS gateway: blocks by their hash, for whoever checks them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aiohttp import web

from proxy.demo.loopback import LoopbackServer
from proxy.trust.content.cid import Cid

_RAW: Final = "application/vnd.ipld.raw"
_FOR_EVER: Final = {"Cache-Control": "public, max-age=29030400, immutable"}


class LocalGateway(LoopbackServer):
    """Serves single blocks, by http: nobody has to believe a word of it."""

    def __init__(self) -> None:
        super().__init__(None)
        self._blocks: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def pin(self, blocks: Iterable[tuple[Cid, bytes]]) -> None:
        """Serve these too from now on."""
        self._blocks |= {cid.text: block for cid, block in blocks}

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        block = self._blocks.get(request.path.removeprefix("/ipfs/"))
        if block is None:
            return web.Response(status=404, text="That block is not here.\n")
        if request.query.get("format") != "raw":
            return web.Response(status=406, text="There are raw blocks only: ?format=raw\n")
        return web.Response(body=block, content_type=_RAW, headers=_FOR_EVER)
