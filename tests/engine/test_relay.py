"""Two byte streams joined: every order in which they can end."""

from __future__ import annotations

import asyncio

import pytest

from proxy.engine.relay import relay


class End:
    """One end of a tunnel: `incoming` is what can be read of it, `None` its end, an exception its loss."""

    def __init__(self, *incoming: bytes | OSError | None, broken: bool = False) -> None:
        self._incoming: asyncio.Queue[bytes | OSError | None] = asyncio.Queue()
        for item in incoming:
            self._incoming.put_nowait(item)
        self._broken = broken
        self.written = b""
        self.eof = asyncio.Event()
        self.is_closed = False

    def send(self, item: bytes | OSError | None) -> None:
        self._incoming.put_nowait(item)

    async def read(self) -> bytes:
        item = await self._incoming.get()
        if isinstance(item, OSError):
            raise item
        return item or b""

    async def write(self, data: bytes) -> None:
        if self._broken:
            raise BrokenPipeError
        self.written += data

    def write_eof(self) -> None:
        if self._broken:
            raise BrokenPipeError
        self.eof.set()

    def close(self) -> None:
        self.is_closed = True


ENDS = {
    "both end": (End(b"ab", b"c", None), End(b"xyz", None), b"abc", b"xyz", 3),
    "nothing at all": (End(None), End(None), b"", b"", 0),
    "client lost after sending": (End(b"ab", ConnectionResetError()), End(), b"ab", b"", 0),
    "origin lost": (End(), End(b"x", ConnectionResetError()), b"", b"x", 0),
    "origin takes nothing": (End(b"ab"), End(broken=True), b"", b"", 0),
    "client takes nothing": (End(broken=True), End(b"x"), b"", b"", 0),
    "client takes no end": (End(broken=True), End(None), b"", b"", 0),
}


@pytest.mark.parametrize(("client", "origin", "up", "down", "counted"), ENDS.values(), ids=ENDS)
async def test_relay(client: End, origin: End, up: bytes, down: bytes, counted: int) -> None:
    async with asyncio.timeout(5):
        assert await relay(client, origin) == counted
    assert (origin.written, client.written) == (up, down)
    assert client.is_closed and origin.is_closed


async def test_one_end_leaves_the_other_direction_open() -> None:
    client, origin = End(b"question", None), End()
    task = asyncio.get_running_loop().create_task(relay(client, origin))
    await origin.eof.wait()
    assert origin.written == b"question" and not client.eof.is_set() and not task.done()
    origin.send(b"answer")
    origin.send(None)
    assert await task == 6
    assert client.written == b"answer" and client.eof.is_set()


async def test_cancelling_closes_both() -> None:
    client, origin = End(), End()
    task = asyncio.get_running_loop().create_task(relay(client, origin))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.is_closed and origin.is_closed
