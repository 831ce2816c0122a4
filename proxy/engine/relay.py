"""Two byte streams joined, for CONNECT tunnels and switched protocols (RFC 9110 §9.3.6, §7.8)."""

from __future__ import annotations

import asyncio

from proxy.ports import ByteStream


async def relay(client: ByteStream, origin: ByteStream) -> int:
    """Copy both ways until both have ended; bytes that reached the client.

    The end of one direction is passed on and leaves the other open; a lost connection ends both, as does
    cancelling.
    """
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(client, origin))
            downward = group.create_task(_copy(origin, client))
    except* OSError:
        pass
    finally:
        client.close()
        origin.close()
    return downward.result() if downward.done() and not downward.cancelled() and not downward.exception() else 0


async def _copy(source: ByteStream, sink: ByteStream) -> int:
    copied = 0
    while data := await source.read():
        await sink.write(data)
        copied += len(data)
    sink.write_eof()
    return copied
