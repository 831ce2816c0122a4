"""Fills of one origin take their places; the one that finds none is told so."""

from __future__ import annotations

import asyncio

import pytest

from proxy.engine.places import Places
from proxy.engine.settings import EngineSettings
from proxy.ports import OriginFault, OriginUnavailable
from tests.simulators.engine import engine

ORIGIN = "https://example.com"


async def test_no_place_in_time() -> None:
    places = Places(1, 0.01)
    async with places.place(ORIGIN):
        with pytest.raises(OriginUnavailable) as refused:
            async with places.place(ORIGIN):
                pass
        async with places.place("https://other.example"):
            pass
    assert refused.value.fault is OriginFault.OVERLOADED


async def test_a_place_is_waited_for_and_given_back() -> None:
    places, order = Places(1, 5.0), []

    async def work(number: int) -> None:
        async with places.place(ORIGIN):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(3)))
    assert order == [0, 1, 2]
    assert not places._of and not places._wanted, "an idle origin leaves nothing behind"


async def test_a_fault_gives_the_place_back() -> None:
    places = Places(1, 0.01)
    with pytest.raises(ValueError, match="fault"):
        async with places.place(ORIGIN):
            raise ValueError("fault")
    async with places.place(ORIGIN):
        pass


async def test_too_many_fills_of_one_origin_are_overloaded() -> None:
    e = engine(EngineSettings(fills_per_origin=2, fill_patience=0.01))
    e.origin.hold()
    clients = [e.start(f"/{number}") for number in range(3)]
    await e.origin.arrived(2)
    refused = await clients[2]
    e.origin.release()
    await asyncio.gather(*clients)
    assert (refused.status, refused.outcome.detail) == (503, "overloaded")
    assert len(e.origin.requests) == 2
