"""One call for many callers."""

import asyncio

import pytest

from proxy.single import SingleCalls
from tests.stores.samples import started


class Counted:
    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self.error = error
        self.gate = asyncio.Event()

    async def __call__(self) -> int:
        self.calls += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.calls


async def test_callers_share_a_call_until_it_ends() -> None:
    calls: SingleCalls[str, int] = SingleCalls()
    work = Counted()
    callers = [started(calls.call(key, work)) for key in ("a", "a", "b")]
    await asyncio.sleep(0.001)
    assert work.calls == 2
    work.gate.set()
    assert await asyncio.gather(*callers) == [2, 2, 2]
    assert await calls.call("a", work) == 3


async def test_a_cancelled_caller_leaves_the_others_alone() -> None:
    calls: SingleCalls[str, int] = SingleCalls()
    work = Counted()
    first, second = (started(calls.call("a", work)) for _ in range(2))
    await asyncio.sleep(0.001)
    first.cancel()
    await asyncio.wait({first})
    work.gate.set()
    assert first.cancelled() and await second == 1


async def test_errors_reach_every_caller_and_are_not_kept() -> None:
    calls: SingleCalls[str, int] = SingleCalls()
    work = Counted(KeyError("x"))
    work.gate.set()
    results = await asyncio.gather(*(calls.call("a", work) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [KeyError, KeyError]
    with pytest.raises(KeyError):
        await calls.call("a", work)
    assert work.calls == 2


async def test_a_cancelled_call_is_cancelled_for_its_callers() -> None:
    calls: SingleCalls[str, int] = SingleCalls()

    async def cancelled() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await calls.call("a", cancelled)
