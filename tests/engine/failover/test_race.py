"""Races: who starts when, who wins, and that nobody is left running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from proxy.engine.failover.race import Finish, RaceTerms, RunState, race

SOON = 0.05
NEVER = 60.0
HEDGED = RaceTerms(hedge_delay=SOON, seconds=5.0, at_once=8)


class Course:
    """Contenders by a script: `good`, `bad`, `hang`, `crash`, or seconds before a good end."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.started_at: list[float] = []
        self.running = 0

    def contenders(self, *script: str | float) -> list[Callable[[], Coroutine[Any, Any, str]]]:
        return [lambda number=number, act=act: self._run(number, act) for number, act in enumerate(script)]

    async def _run(self, number: int, act: str | float) -> str:
        self.started.append(number)
        self.started_at.append(asyncio.get_running_loop().time())
        self.running += 1
        try:
            match act:
                case "hang":
                    await asyncio.Event().wait()
                case "crash":
                    raise ZeroDivisionError
                case float():
                    await asyncio.sleep(act)
                case _:
                    await asyncio.sleep(0)
            return f"{'bad' if act == 'bad' else 'good'} {number}"
        finally:
            self.running -= 1


def is_good(result: str) -> bool:
    return result.startswith("good")


def states(finish: Finish[str]) -> list[RunState]:
    return [run.state for run in finish.runs]


ENDED, OVERTAKEN, OVERDUE = RunState


@pytest.mark.parametrize(
    ("script", "winner", "ended"),
    [
        pytest.param((), None, [], id="nobody"),
        pytest.param(("good",), "good 0", [ENDED], id="alone"),
        pytest.param(("good", "good"), "good 0", [ENDED], id="the first in time is enough"),
        pytest.param(("bad", "good", "good"), "good 1", [ENDED, ENDED], id="at a failure the next"),
        pytest.param(("bad", "bad"), None, [ENDED, ENDED], id="all fail"),
        pytest.param(("hang", "good"), "good 1", [OVERTAKEN, ENDED], id="a silent one is overtaken"),
        pytest.param(("hang", "bad", "hang", "good"), "good 3", [OVERTAKEN, ENDED, OVERTAKEN, ENDED], id="mixed"),
        pytest.param((SOON * 2, "hang"), "good 0", [ENDED, OVERTAKEN], id="the slower first wins in the end"),
    ],
)
async def test_how_it_ends(script: tuple[str | float, ...], winner: str | None, ended: list[RunState]) -> None:
    course = Course()
    finish = await race(course.contenders(*script), is_good, HEDGED)
    assert (finish.winner, states(finish), course.running) == (winner, ended, 0)
    assert all((run.result is None) is (run.state is not ENDED) for run in finish.runs)


async def test_the_next_starts_after_the_delay_and_not_before() -> None:
    course = Course()
    began = asyncio.get_running_loop().time()
    finish = await race(course.contenders("hang", "hang", "good"), is_good, HEDGED)
    assert finish.winner == "good 2"
    assert [at - began >= number * SOON * 0.99 for number, at in enumerate(course.started_at)] == [True] * 3
    assert asyncio.get_running_loop().time() - began < 2.0


async def test_a_failure_does_not_wait_for_the_delay() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=NEVER, seconds=NEVER, at_once=8)
    async with asyncio.timeout(5):
        finish = await race(course.contenders("bad", "bad", "good"), is_good, terms)
    assert finish.winner == "good 2"


async def test_no_more_run_at_once_than_may() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=0.0, seconds=5.0, at_once=2)
    finish = await race(course.contenders("hang", SOON, "good"), is_good, terms)
    assert (finish.winner, course.started) == ("good 1", [0, 1])
    course = Course()
    finish = await race(course.contenders("hang", "bad", "good"), is_good, terms)
    assert (finish.winner, course.started) == ("good 2", [0, 1, 2])


async def test_of_those_that_end_together_the_earlier_wins() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=0.0, seconds=5.0, at_once=8)
    finish = await race(course.contenders("bad", "good", "good"), is_good, terms)
    assert finish.winner == "good 1"


async def test_the_time_is_over() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=SOON, seconds=SOON * 1.5, at_once=8)
    finish = await race(course.contenders("hang", "hang", "good"), is_good, terms)
    assert (finish.winner, states(finish)) == (None, [OVERDUE, OVERDUE])
    assert (course.started, course.running) == ([0, 1], 0)


async def test_no_time_at_all() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=SOON, seconds=0.0, at_once=8)
    assert await race(course.contenders("good"), is_good, terms) == Finish(None, ())


async def test_cancelling_the_race_ends_everybody() -> None:
    course = Course()
    terms = RaceTerms(hedge_delay=0.0, seconds=NEVER, at_once=8)
    task = asyncio.get_running_loop().create_task(race(course.contenders("hang", "hang"), is_good, terms))
    for _ in range(10):
        await asyncio.sleep(0)
    assert course.running == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert course.running == 0 and asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_crash_comes_out_and_ends_everybody() -> None:
    course = Course()
    with pytest.raises(ZeroDivisionError):
        await race(course.contenders("hang", "crash"), is_good, HEDGED)
    assert course.running == 0
