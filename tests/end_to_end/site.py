"""A site on a real socket: each path is a function from what was asked to the bytes of the answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from proxy.http.fields import Fields
from tests.simulators.wire import read_message

Lines = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Asked:
    """A request as it came. `number` counts the requests for its path from 1."""

    method: str
    path: str
    fields: Fields
    body: bytes
    number: int


@dataclass(frozen=True)
class Cut:
    """Octets after which the connection is closed."""

    octets: bytes


@dataclass(frozen=True)
class Stream:
    """Octets sent part by part until they end or the client leaves."""

    parts: AsyncGenerator[bytes, None]


Answering = Callable[[Asked], bytes | Cut | Stream | Awaitable[bytes]]


def reply(
    body: bytes = b"", cache_control: str | None = None, *fields: tuple[str, str], status: int = 200
) -> bytes:
    """A whole response in octets."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}"]
    lines += [] if cache_control is None else [f"Cache-Control: {cache_control}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def not_modified(*fields: tuple[str, str]) -> bytes:
    """A 304 in octets."""
    return "\r\n".join(["HTTP/1.1 304 Scripted", *(f"{name}: {value}" for name, value in fields), "", ""]).encode()


class Site:
    """`async with Site(tls) as site: site.on("/a", lambda asked: reply(b"one", "max-age=60"))`."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self.asked: list[Asked] = []
        self.port = 0
        self._tls = tls
        self._answers: dict[str, Answering] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def on(self, path: str, answering: Answering) -> None:
        """From now on `answering` makes each answer for `path`."""
        self._answers[path] = answering

    def to(self, path: str) -> list[Asked]:
        """The requests for `path`."""
        return [asked for asked in self.asked if asked.path == path]

    async def up(self) -> None:
        """Listen, on the port of before if there was one."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, ssl=self._tls, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuse connections and break those there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.down()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = self._parsed(await read_message(reader))
                self.asked.append(asked)
                answer = self._answers.get(asked.path, _absent)(asked)
                if isinstance(answer, Cut):
                    writer.write(answer.octets)
                    return
                if isinstance(answer, Stream):
                    await _stream(writer, answer)
                    continue
                writer.write(answer if isinstance(answer, bytes) else await answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _parsed(self, message: bytes) -> Asked:
        head, _, body = message.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        fields = Fields((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
        return Asked(method, path, fields, body, len(self.to(path)) + 1)


async def _stream(writer: asyncio.StreamWriter, stream: Stream) -> None:
    async with aclosing(stream.parts) as parts:
        async for part in parts:
            writer.write(part)
            await writer.drain()
            # What need not wait gives nobody else a turn, and the client's leaving has to be heard of.
            await asyncio.sleep(0)


def _absent(asked: Asked) -> bytes:
    return reply(b"", "no-store", status=404)
