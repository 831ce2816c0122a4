"""Prometheus metrics: what the process has answered, asked and kept, in numbers.

counting  counters and histograms, from outcomes and from what the Observer port is told
gauges    what is read at scrape time
"""

from proxy.metrics.counting import Metrics, Totals

__all__ = ["Metrics", "Totals"]
