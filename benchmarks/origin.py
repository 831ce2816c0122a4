"""An origin in a process of its own: every card there is, after a delay, and how often it was asked.

`python -m benchmarks.origin --delay 2` prints {"port": N} and serves until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re

import uvloop

from benchmarks.documents import FRESH, card, etag, response_lines
from proxy.server.wiring import wall_clock

COUNT = "/count"
"""Where it tells how many requests for cards it has had."""
_CARD = re.compile(rb"GET /agents/([0-9]+)/\S+ HTTP/1\.1\r\n")
_IF_NONE_MATCH = re.compile(rb"(?im)^if-none-match: *(\S+)\r$")


class Origin:
    """Answers after `delay` seconds; the cards carry `cache_control`."""

    def __init__(self, delay: float, cache_control: str) -> None:
        self._delay = delay
        self._cache_control = cache_control
        self._requests = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests."""
        try:
            while True:
                writer.write(await self._answer(await reader.readuntil(b"\r\n\r\n")))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, request: bytes) -> bytes:
        wanted = _CARD.match(request)
        if wanted is None:
            return _message("200 OK", [("Content-Type", "application/json")], str(self._requests).encode())
        self._requests += 1
        await asyncio.sleep(self._delay)
        number = int(wanted[1])
        lines = response_lines(number, wall_clock(), self._cache_control)
        condition = _IF_NONE_MATCH.search(request)
        if condition is not None and condition[1].decode("latin-1") == etag(number):
            return _message("304 Not Modified", lines, b"")
        return _message("200 OK", lines, card(number))


def _message(status: str, lines: list[tuple[str, str]], body: bytes) -> bytes:
    framing = () if status.startswith("304") else (("Content-Length", str(len(body))),)
    head = "".join(f"{name}: {value}\r\n" for name, value in (*lines, *framing))
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


async def _serve(origin: Origin) -> None:
    server = await asyncio.start_server(origin.converse, "127.0.0.1", 0, backlog=1024)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser("python -m benchmarks.origin")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="before each answer")
    parser.add_argument("--cache-control", default=FRESH, metavar="VALUE", help="of each card")
    arguments = parser.parse_args()
    uvloop.run(_serve(Origin(arguments.delay, arguments.cache_control)))


if __name__ == "__main__":
    main()
