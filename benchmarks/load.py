"""Requests at fixed moments, whatever became of those before (open loop), or one after the other (closed).

In an open loop a server that stops answering is not asked less, and what it makes wait is counted. In a closed one
it is always busy, which shows how much it can do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.client import Connection, Reply
from benchmarks.registry import CannotMeasure

_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with when its request was due and when it was sent, in seconds of `time.perf_counter`."""

    reply: Reply
    due: float
    sent: float

    @property
    def milliseconds(self) -> float:
        """From when it was due, so that nothing is hidden."""
        return (self.reply.received_at - self.due) * 1000


async def open_loop(port: int, requests: Sequence[bytes], rate: float, seconds: float) -> list[list[Answer]]:
    """The answers to each of the requests, in the order in which they came; `rate` a second of each of them."""
    answers: list[list[Answer]] = [[] for _ in requests]
    idle = [await Connection.open(port) for _ in range(_CONNECTIONS)]

    async def one(number: int, due: float) -> None:
        connection = idle.pop() if idle else await Connection.open(port)
        sent = time.perf_counter()
        answers[number].append(Answer(await connection.ask(requests[number]), due, sent))
        idle.append(connection)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for index in range(int(seconds * rate)):
            due = started + index / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            for number in range(len(requests)):
                group.create_task(one(number, due))
    for connection in idle:
        connection.close()
    return answers


async def closed_loop(port: int, request: bytes, status: int, connections: int, seconds: float) -> float:
    """Answers in a second, each connection asking again as soon as it is answered. Raises CannotMeasure."""
    opened = [await Connection.open(port) for _ in range(connections)]
    count = 0
    started = time.perf_counter()

    async def keep_asking(connection: Connection) -> None:
        nonlocal count
        while time.perf_counter() < started + seconds:
            checked(await connection.ask(request), status)
            count += 1

    await asyncio.gather(*map(keep_asking, opened))
    elapsed = time.perf_counter() - started
    for connection in opened:
        connection.close()
    return count / elapsed


def checked(reply: Reply, status: int) -> Reply:
    """The reply, if it is of this status. Raises CannotMeasure."""
    if reply.status != status:
        raise CannotMeasure(f"an answer was {reply}, not {status}")
    return reply
