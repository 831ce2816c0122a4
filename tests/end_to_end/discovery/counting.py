"""What goes over the wire to a real name server, counted on the way."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

import dns.message
import dns.rdatatype

LOOPBACK: Final = "127.0.0.1"


class CountingNameserver(asyncio.DatagramProtocol):
    """Passes queries on to the name server at `behind`, over UDP and TCP, and counts what goes through.

    `questions` are names without their last dot in lower case, and types; octets are those of DNS messages.
    """

    def __init__(self, behind: int) -> None:
        self.questions: list[tuple[str, str]] = []
        self.octets_in = 0
        self.octets_out = 0
        self.port = 0
        self._behind = behind
        self._tasks: set[asyncio.Task[None]] = set()

    def forget(self) -> None:
        """Count from here."""
        self.questions.clear()
        self.octets_in = self.octets_out = 0

    async def __aenter__(self) -> Self:
        self._streams = await asyncio.start_server(self._converse, LOOPBACK, 0)
        self.port = self._streams.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        self._datagrams, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(LOOPBACK, self.port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._datagrams.abort()
        self._streams.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Pass a query on."""
        self._note(data)
        task = asyncio.get_running_loop().create_task(self._pass_on(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, query: bytes, addr: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        transport, answer = await loop.create_datagram_endpoint(_Answer, remote_addr=(LOOPBACK, self._behind))
        try:
            transport.sendto(query)
            octets = await answer.octets
        except OSError:
            return
        finally:
            transport.abort()
        self.octets_out += len(octets)
        self._datagrams.sendto(octets, addr)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            query = await _framed(reader)
            self._note(query)
            behind, to_behind = await asyncio.open_connection(LOOPBACK, self._behind)
            to_behind.write(len(query).to_bytes(2, "big") + query)
            octets = await _framed(behind)
            to_behind.close()
            self.octets_out += len(octets)
            writer.write(len(octets).to_bytes(2, "big") + octets)
            await writer.drain()
            await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _note(self, query: bytes) -> None:
        self.octets_in += len(query)
        [question] = dns.message.from_wire(query).question
        name = question.name.to_text(omit_final_dot=True).lower()
        self.questions.append((name, dns.rdatatype.to_text(question.rdtype)))


class _Answer(asyncio.DatagramProtocol):
    """The first datagram of a conversation."""

    def __init__(self) -> None:
        self.octets: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.octets.done():
            self.octets.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.octets.done():
            self.octets.set_exception(exc)


async def _framed(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))
