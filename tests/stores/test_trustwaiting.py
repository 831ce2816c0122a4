"""Knowledge that waits to be written: its order, its bound, and what those are told who wait for it."""

from __future__ import annotations

import asyncio

import pytest

from proxy.stores.trustwaiting import Waiting
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsUnavailable

OLD, NEW, OTHER = Knowledge("a", ""), Knowledge("a", "did"), Knowledge("b", "")


async def test_each_authority_waits_once() -> None:
    waiting = Waiting(9)
    assert not waiting and waiting.get("a") is None
    first, _, last = waiting.add(OLD), waiting.add(OTHER), waiting.add(NEW)
    assert [write.knowledge for write in waiting.writes] == [NEW, OTHER] and waiting.get("a") is NEW
    assert len(waiting) == 2 and not first.ended.done()
    waiting.done((last,), {})
    await first.ended
    await last.ended
    assert waiting.get("a") is None and waiting.get("b") is OTHER


async def test_what_came_meanwhile_still_waits() -> None:
    waiting = Waiting(9)
    old = waiting.add(OLD)
    new = waiting.add(NEW)
    waiting.done((old,), {})
    await old.ended
    assert waiting.get("a") is NEW and not new.ended.done()


async def test_a_refusal_is_told_to_all_who_wait_for_it() -> None:
    waiting = Waiting(9)
    writes = waiting.add(OLD), waiting.add(NEW)
    waiting.done(writes[1:], {"a": TrustRecordsUnavailable("refused")})
    for write in reversed(writes):
        with pytest.raises(TrustRecordsUnavailable, match="refused"):
            await write.ended
    assert not waiting


async def test_nobody_has_to_wait() -> None:
    waiting = Waiting(9)
    write = waiting.add(OLD)
    waiting.end_all()
    await write.ended
    waiting.end_all(TrustRecordsUnavailable("too late to tell"))
    assert waiting.get("a") is OLD
    assert waiting.clear() == ("a",) and not waiting


async def test_what_is_taken_may_be_restored() -> None:
    waiting = Waiting(9)
    waiting.add(OLD)
    taken = waiting.take("a")
    assert taken is not None and taken.knowledge is OLD and taken.ended.done()
    waiting.restore(taken)
    assert waiting.get("a") is OLD
    waiting.add(NEW)
    waiting.restore(taken)
    assert waiting.get("a") is NEW
    assert waiting.take("never") is None


async def test_what_may_be_forgotten_is_bounded() -> None:
    waiting = Waiting(1)
    first = waiting.add(OLD)
    waiting.add(OTHER)
    await asyncio.wait_for(first.ended, 1)
    assert waiting.get("a") is None and waiting.get("b") is OTHER
