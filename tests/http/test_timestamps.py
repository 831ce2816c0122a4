"""RFC 3339 timestamps."""

from __future__ import annotations

import pytest

from proxy.http.timestamps import timestamp


@pytest.mark.parametrize(
    ("moment", "timespec", "expected"),
    [
        pytest.param(0.0, "milliseconds", "1970-01-01T00:00:00.000Z", id="epoch"),
        pytest.param(1_796_040_000.5, "milliseconds", "2026-11-30T12:00:00.500Z", id="fraction"),
        pytest.param(1_796_040_000.9, "seconds", "2026-11-30T12:00:00Z", id="cut-to-the-second"),
    ],
)
def test_timestamp(moment: float, timespec: str, expected: str) -> None:
    assert timestamp(moment, timespec) == expected
