"""How waiting times are told."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles


def spread(values: Sequence[float], unit: str) -> dict[str, float]:
    """Median, 99th percentile and maximum of two values or more, as columns."""
    p99 = quantiles(values, n=100, method="inclusive")[98]
    return {f"p50 {unit}": median(values), f"p99 {unit}": p99, f"max {unit}": max(values)}
