"""Slots: so many in all, so many for each host, and nothing left of those who are done."""

from __future__ import annotations

import pytest

from proxy.server.slots import NoSlot, Slots


def test_in_all() -> None:
    slots = Slots(2, 2)
    with slots.slot(["a"]), slots.slot(["b"]), pytest.raises(NoSlot), slots.slot(["c"]):
        pass
    with slots.slot(["a"]), slots.slot(["a"]):
        pass


def test_of_a_host() -> None:
    slots = Slots(9, 2)
    with slots.slot(["a", "a", "b"]), slots.slot(["a"]):
        with pytest.raises(NoSlot), slots.slot(["c", "a"]):
            pass
        with slots.slot(["c", "b"]):
            pass
    with slots.slot(["a"]), slots.slot(["a", "b"]):
        pass


def test_whatever_becomes_of_it() -> None:
    slots = Slots(1, 1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), slots.slot(["a"]):
            raise ZeroDivisionError
    with slots.slot(["a"]):
        pass
