"""One module a benchmark; see `benchmarks.registry`."""
