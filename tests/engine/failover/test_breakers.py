"""The breakers of many hosts."""

from __future__ import annotations

from proxy.engine.failover.breakers import MOST_HOSTS, Breakers
from tests.simulators.clock import FakeClock


def test_three_failures_in_a_row_shut_a_host() -> None:
    clock = FakeClock()
    breakers = Breakers(clock)
    for _ in range(2):
        breakers.failed("a.example")
    breakers.succeeded("a.example")
    for _ in range(3):
        assert breakers.allow("a.example")
        breakers.failed("a.example")
    assert not breakers.allow("a.example") and breakers.allow("b.example")
    assert breakers.known["a.example"].is_open and "b.example" not in breakers.known


def test_one_probe_is_let_through_after_the_pause() -> None:
    clock = FakeClock()
    breakers = Breakers(clock)
    for _ in range(3):
        breakers.failed("a.example")
    clock += 5
    assert (breakers.allow("a.example"), breakers.allow("a.example")) == (True, False)
    breakers.succeeded("a.example")
    assert breakers.allow("a.example") and breakers.allow("a.example")


def test_the_number_of_hosts_is_bounded() -> None:
    breakers = Breakers(FakeClock())
    for number in range(MOST_HOSTS * 2):
        breakers.failed(f"m{number}.example")
    assert len(breakers.known) == MOST_HOSTS
    assert f"m{MOST_HOSTS * 2 - 1}.example" in breakers.known
