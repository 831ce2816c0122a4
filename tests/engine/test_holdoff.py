"""Back-off per key: how long, for which keys, and when it ends."""

from __future__ import annotations

import pytest

from proxy.engine.holdoff import MAX_KEYS, MAX_SECONDS, HoldOff, HoldOffs, after_failure

NOW = 1_000.0


@pytest.mark.parametrize(
    ("previous", "expected"),
    [
        pytest.param(None, HoldOff(1, NOW + 5), id="first"),
        pytest.param(HoldOff(1, 0), HoldOff(2, NOW + 10), id="second-doubles"),
        pytest.param(HoldOff(2, NOW + 999), HoldOff(3, NOW + 20), id="third-counts-from-now"),
        pytest.param(HoldOff(4, 0), HoldOff(5, NOW + MAX_SECONDS), id="capped"),
        pytest.param(HoldOff(5_000, 0), HoldOff(5_001, NOW + MAX_SECONDS), id="no-overflow"),
    ],
)
def test_after_failure(previous: HoldOff | None, expected: HoldOff) -> None:
    assert after_failure(previous, NOW, 5.0) == expected


@pytest.mark.parametrize(
    ("seconds", "held"),
    [
        pytest.param(0.0, True, id="at-once"),
        pytest.param(4.9, True, id="just-before"),
        pytest.param(5.0, False, id="elapsed"),
    ],
)
def test_holds(seconds: float, held: bool) -> None:
    holdoffs = HoldOffs(5.0)
    holdoffs.failed("k", NOW)
    assert holdoffs.holds("k", NOW + seconds) is held
    assert holdoffs.get("k") == HoldOff(1, NOW + 5)
    assert not holdoffs.holds("other", NOW)


def test_success_forgets() -> None:
    holdoffs = HoldOffs(5.0)
    holdoffs.failed("k", NOW)
    holdoffs.failed("k", NOW)
    holdoffs.succeeded("k")
    holdoffs.succeeded("never failed")
    assert holdoffs.get("k") is None
    holdoffs.failed("k", NOW)
    assert holdoffs.get("k") == HoldOff(1, NOW + 5)


def test_keys_are_bounded_and_the_oldest_goes_first() -> None:
    holdoffs = HoldOffs(5.0)
    for n in range(MAX_KEYS):
        holdoffs.failed(str(n), NOW)
    holdoffs.failed("0", NOW)
    holdoffs.failed("new", NOW)
    assert holdoffs.get("1") is None
    assert holdoffs.get("0") == HoldOff(2, NOW + 10)
