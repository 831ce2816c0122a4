"""The command line: runs benchmarks by name, prints their tables and keeps the figures as JSON."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.machine import machine, machine_line
from benchmarks.registry import Benchmark, CannotMeasure, benchmarks

_RESULTS = Path(__file__).parent / "results"
_LIST_OF_NUMBERS = re.compile(r"\[[-\s\d.,e]+\]")


def main(argv: Sequence[str]) -> int:
    """0 when all that were asked for could be measured, whatever came of it."""
    known = benchmarks()
    arguments = _parser(known.values()).parse_args(argv)
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    # A smoke run says nothing worth keeping, unless somebody names a place for it.
    results = arguments.results or (None if arguments.quick else _RESULTS)
    print(f"{machine_line()}; absolute figures are of this machine, ratios of interleaved runs")
    for name in arguments.names or known:
        try:
            _run(known[name], arguments.quick, results)
        except CannotMeasure as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    return 0


def _parser(known: Iterable[Benchmark]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Runs benchmarks, all by default, and writes what they measured to benchmarks/results/.",
        epilog="\n".join(["benchmarks:", *(f"  {one.name:8} {one.about}" for one in known)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run")
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds; keeps nothing")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where to write the figures instead")
    return parser


def _run(benchmark: Benchmark, quick: bool, results: Path | None) -> None:
    print(f"\n{benchmark.name}: {benchmark.about}", flush=True)
    tables = []
    for table in benchmark.measure(quick):
        print(f"\n{table.text()}", flush=True)
        tables.append(table.as_json())
    if results is not None:
        results.mkdir(parents=True, exist_ok=True)
        figures = {"benchmark": benchmark.name, "quick": quick, "machine": machine(), "tables": tables}
        text = _LIST_OF_NUMBERS.sub(_on_one_line, json.dumps(figures, indent=1, ensure_ascii=False))
        (results / f"{benchmark.name}.json").write_text(text + "\n", encoding="utf-8")


def _on_one_line(numbers: re.Match[str]) -> str:
    """Thousands of figures are easier to pass over on one line than on as many."""
    return " ".join(numbers[0].split()).replace("[ ", "[").replace(" ]", "]")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
