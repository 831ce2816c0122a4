"""Two processes that use one file of the boundary at once, and one that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from proxy.boundary.codec import parse_record, to_record
from proxy.boundary.conflicts import Conflict, Settlement
from tests.stores.boundaries import (
    GUESSED,
    HELD,
    OTHER,
    RELEASED,
    ids,
    on_file,
    opened,
    refused,
    registered,
    released,
)

# Each line is a list: a verb and what it is about. Each is answered by a line.
SERVE = """
import asyncio, json, sys
from pathlib import Path
from proxy.boundary.codec import parse_record, to_record
from proxy.stores.sqliteboundary import SqliteBoundary
from tests.stores.boundaries import refused, registered

async def main():
    boundary = SqliteBoundary(Path(sys.argv[1]), 1.0)
    await boundary.open()
    print("open", flush=True)
    for line in sys.stdin:
        verb, about = json.loads(line)
        told = None
        if verb == "put":
            await boundary.put(parse_record(about.encode()))
        elif verb == "put many":
            client, numbers = about
            await asyncio.gather(*(boundary.put(refused(number, client)) for number in range(numbers)))
        elif verb == "register":
            await boundary.register(registered(*about))
        elif verb == "latch":
            await boundary.refresh()
            conflict = boundary.latch(about)
            told = None if conflict is None else to_record(conflict).decode()
        elif verb == "profile":
            await boundary.refresh()
            registration = boundary.profile(about)
            told = None if registration is None else registration.version
        elif verb == "degraded":
            told = boundary.degraded
        print(json.dumps(told), flush=True)
    await boundary.close()

asyncio.run(main())
"""


class Process:
    """Another process that has the file open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def begin(self, verb: str, about: object = None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([verb, about]) + "\n")
        self.process.stdin.flush()

    def end(self) -> object:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it has ended"
        return json.loads(line)

    def do(self, verb: str, about: object = None) -> object:
        self.begin(verb, about)
        return self.end()

    def put(self, conflict: Conflict) -> None:
        self.do("put", to_record(conflict).decode())

    def latch(self, conflict: Conflict) -> Conflict | None:
        told = self.do("latch", conflict.intent)
        return None if told is None else parse_record(str(told).encode())


@contextmanager
def process_on(path: Path) -> Iterator[Process]:
    command = [sys.executable, "-c", SERVE, str(path)]
    root = Path(__file__).resolve().parents[2]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "open\n"
            yield Process(process)
        finally:
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "boundary.db"


@pytest_asyncio.fixture(autouse=True)
async def boundaries_closed() -> AsyncIterator[None]:
    yield
    while opened:
        await opened.pop().close()


def test_a_latch_and_its_release(path: Path) -> None:
    with process_on(path) as one, process_on(path) as two:
        assert two.latch(HELD) is None
        one.put(HELD)
        assert two.latch(HELD) == HELD
        two.put(RELEASED)
        assert one.latch(HELD) == RELEASED
        one.do("register", ["agent-7", 3])
        assert two.do("profile", "agent-7") == 3
        assert one.do("degraded") == two.do("degraded") == []


def test_nothing_undoes_the_release_by_a_person(path: Path) -> None:
    with process_on(path) as one, process_on(path) as two:
        one.put(HELD)
        assert two.latch(HELD) == HELD
        two.put(RELEASED)
        for older in (HELD, GUESSED, released(HELD, Settlement.PROOF)):
            one.put(older)
            assert one.latch(HELD) == RELEASED == two.latch(HELD)


async def test_both_write_at_once(path: Path) -> None:
    """Each many at once and one after the other, while a third looks."""
    with ExitStack() as stack:
        processes = [stack.enter_context(process_on(path)) for _ in range(2)]
        for number, process in enumerate(processes):
            process.begin("put many", [f"agent-{number}", 300])
        boundary = await on_file(path)
        for _ in range(20):
            await boundary.refresh()
        assert [process.end() for process in processes] == [None, None]
        for round_number in range(20):
            for number, process in enumerate(processes):
                conflict = refused(1000 + round_number, f"agent-{number}")
                process.begin("put", to_record(conflict).decode())
            assert [process.end() for process in processes] == [None, None]
    await boundary.refresh()
    for number in range(2):
        client = f"agent-{number}"
        wanted = [refused(index, client) for index in (*range(300), *range(1000, 1020))]
        assert [boundary.latch(conflict.intent) for conflict in wanted] == wanted
        assert sorted(await ids(boundary, client)) == sorted(conflict.id for conflict in wanted)
    assert boundary.degraded == ()


async def test_a_killed_process_loses_nothing(path: Path) -> None:
    with process_on(path) as one:
        one.put(HELD)
        one.put(released(OTHER))
        one.do("register", ["agent-7", 2])
        one.process.kill()
    boundary = await on_file(path)
    assert boundary.latch(HELD.intent) == HELD and boundary.latch(OTHER.intent) == released(OTHER)
    assert boundary.profile("agent-7") == registered(version=2) and boundary.degraded == ()


async def test_a_process_killed_while_it_writes(path: Path) -> None:
    """What it was told is durable; all else is whole or not there."""
    told = 0
    with process_on(path) as one, process_on(path) as two:
        for _ in range(30):
            one.put(refused(told))
            told += 1
        one.begin("put many", ["agent-9", 2000])
        two.put(OTHER)
        one.process.kill()
        one.process.wait()
        two.put(HELD)
        assert two.latch(HELD) == HELD and two.latch(refused(29)) == refused(29)
    boundary = await on_file(path)
    assert [boundary.latch(refused(number).intent) for number in range(told)] == [*map(refused, range(told))]
    assert boundary.latch(OTHER.intent) == OTHER and boundary.degraded == ()
