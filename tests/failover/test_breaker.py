"""The breaker as a value."""

import pytest

from proxy.failover.breaker import Breaker, NotYet


def after(events: str) -> Breaker:
    """A breaker after `events` a second apart from 0: `x` failed, `.` succeeded, `p` asked for a probe."""
    breaker = Breaker()
    for now, event in enumerate(events):
        if event == "x":
            breaker = breaker.failed(now)
        elif event == ".":
            breaker = breaker.succeeded()
        else:
            allowed = breaker.allow(now)
            breaker = breaker if isinstance(allowed, NotYet) else allowed
    return breaker


@pytest.mark.parametrize(
    ("events", "now", "refused"),
    [
        pytest.param("", 0, None, id="new"),
        pytest.param("xx", 2, None, id="two failures"),
        pytest.param("xx.xx", 5, None, id="failures not in a row"),
        pytest.param("xxx", 2, 5, id="three failures"),
        pytest.param("xxx", 6.5, 0.5, id="shortly before the probe"),
        pytest.param("xxx", 7, None, id="probe due"),
        pytest.param("xxxxxx", 7, None, id="failures already under way do not lengthen the pause"),
        pytest.param("xxxpppppp", 8.5, 3.5, id="one probe at a time"),
        pytest.param("xxxppppppppppppp", 20, None, id="a probe that never reports"),
        pytest.param("xxxpppppx", 9, 9, id="probe failed: pause doubled"),
        pytest.param("xxxppppp.", 9, None, id="probe succeeded"),
        pytest.param("xxx", -1000, None, id="clock set back"),
    ],
)
def test_allow(events: str, now: float, refused: float | None) -> None:
    allowed = after(events).allow(now)
    assert (allowed.seconds if isinstance(allowed, NotYet) else None) == refused


@pytest.mark.parametrize(
    ("events", "pause"),
    [
        pytest.param("", 5, id="new"),
        pytest.param("x", 5, id="one failure"),
        pytest.param("xxx", 5, id="open already"),
        pytest.param("xxxpppppx", 10, id="a probe has failed already"),
    ],
)
def test_one_failure_without_doubt_opens(events: str, pause: float) -> None:
    breaker = after(events).tripped(float(len(events)))
    assert breaker.is_open and breaker.pause == pause


def test_pauses_double_to_half_a_minute() -> None:
    breaker, now, pauses = after("xxx"), 2.0, []
    for _ in range(5):
        pauses.append(breaker.pause)
        now += breaker.pause
        probe = breaker.allow(now)
        assert isinstance(probe, Breaker)
        breaker = probe.failed(now)
    assert pauses == [5, 10, 20, 30, 30]
    assert breaker.is_open and not breaker.succeeded().is_open
