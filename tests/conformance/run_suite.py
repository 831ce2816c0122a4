"""Runs the public HTTP cache suite through the proxy and scores it.

The suite's origin, the proxy (a real process with `config/site.yaml`) and the suite's client run on loopback
on ports of their own. The raw result goes to `.build/conformance/result.json`, one line of totals to stdout,
and the exit code is 1 when the failing required tests are not exactly those of `accepted.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from tests.conformance.accepted import disagreements, parse_accepted
from tests.conformance.processes import awaited, free_ports, is_listening, running, tail
from tests.conformance.score import Definitions, Outcome, RawResults, parse_definitions, score, summary
from tests.conformance.suite import (
    BUILD,
    HERE,
    ROOT,
    Edition,
    Suite,
    SuiteError,
    environment,
    installed_suite,
    suite_at,
)

ACCEPTED = HERE / "accepted.toml"
SCORE_TOOL = ROOT.parent / "shared" / "tools" / "score_cache_tests.py"

# The npm edition's client waits for ever for a response that never ends; a whole run of either edition takes
# 15 to 100 seconds.
TIME_LIMIT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Report:
    """One finished run: what the client said of each test, and what it is worth."""

    suite: Suite
    definitions: Definitions
    results: RawResults
    outcomes: Mapping[str, Outcome]
    disagreements: Sequence[str]

    @property
    def line(self) -> str:
        return f"{self.suite.label}: {summary(self.definitions, self.outcomes)}"


def run(suite: Suite) -> Report:
    """Runs the whole suite once.

    Raises SuiteError when it can't be run to its end, ValueError for a malformed `accepted.toml`.
    """
    accepted = parse_accepted(ACCEPTED.read_text(encoding="utf-8"), suite.edition)
    suites = suite.definitions()
    definitions = parse_definitions(suites)
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        results = _results(suite, Path(name))
    outcomes = score(definitions, results)
    BUILD.mkdir(parents=True, exist_ok=True)
    result_file(suite).write_text(json.dumps(results, indent=1), encoding="utf-8")
    definitions_file(suite).write_text(json.dumps(suites), encoding="utf-8")
    return Report(suite, definitions, results, outcomes, disagreements(definitions, outcomes, results, accepted))


def result_file(suite: Suite) -> Path:
    return BUILD / ("result.json" if suite.edition is Edition.NPM else f"result-{suite.edition}.json")


def definitions_file(suite: Suite) -> Path:
    return BUILD / f"definitions-{suite.edition}.json"


def _results(suite: Suite, folder: Path) -> dict[str, Any]:
    origin_log, proxy_log = folder / "origin.log", folder / "proxy.log"
    settings = environment({"protocol": "http", "port": "0", "pidfile": str(folder / "origin.pid")})
    with running(suite.origin_command(), settings, origin_log) as origin:
        origin_port = awaited(lambda: _announced_port(origin_log), "the suite's origin", origin, origin_log)
        port, admin_port = free_ports(2)
        config = folder / "site.yaml"
        config.write_text(_site_config(folder, origin_port, port, admin_port), encoding="utf-8")
        command = [sys.executable, "-m", "proxy", "serve", "--config", str(config)]
        with running(command, _proxy_environment(), proxy_log) as proxy:
            awaited(lambda: is_listening(port), "the proxy", proxy, proxy_log)
            results = _client_results(suite, f"http://127.0.0.1:{port}", proxy_log)
            if proxy.poll() is not None:
                raise SuiteError(f"the proxy ended during the run:\n{tail(proxy_log)}")
            return results


def _client_results(suite: Suite, base: str, proxy_log: Path) -> dict[str, Any]:
    try:
        done = subprocess.run(
            suite.client_command(),
            cwd=suite.root,
            env=environment({"base": base}),
            capture_output=True,
            timeout=TIME_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SuiteError(
            f"the suite did not end within {TIME_LIMIT_SECONDS:.0f} s: some response is never completed."
            f"\nThe proxy's last words:\n{tail(proxy_log)}"
        ) from error
    try:
        results: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        words = (done.stderr or done.stdout).decode(errors="replace")[-2000:]
        raise SuiteError(f"the suite's client gave no result:\n{words}") from error
    return results


def _site_config(folder: Path, origin_port: int, port: int, admin_port: int) -> str:
    """`config/site.yaml` with nothing changed but where it listens, stores, and finds its origin."""
    config = yaml.safe_load((ROOT / "config" / "site.yaml").read_text(encoding="utf-8"))
    changes: dict[str, dict[str, object]] = {
        "listen": {"host": "127.0.0.1", "port": port},
        "admin": {"host": "127.0.0.1", "port": admin_port},
        "store": {"url": f"sqlite:///{folder / 'store.db'}"},
    }
    for section, values in changes.items():
        config[section] = (config.get(section) or {}) | values
    for site in config["sites"]:
        site["origin"] = f"http://127.0.0.1:{origin_port}"
    text: str = yaml.safe_dump(config)
    return text


def _proxy_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DISCOVERY_PROXY_")}


def _announced_port(log: Path) -> int | None:
    said = re.search(r"Listening on http://127\.0\.0\.1:(\d+)/", log.read_text(encoding="utf-8"))
    return int(said[1]) if said else None


def score_tool_line(suite: Suite) -> str:
    files = [str(result_file(suite)), "--defs", str(definitions_file(suite))]
    command = [sys.executable, str(SCORE_TOOL), *files]
    words = subprocess.check_output(command, text=True)
    return next(line for line in words.splitlines() if line.startswith("TOTAL"))


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="run_suite", description="Run the public HTTP cache suite.")
    parser.add_argument("--suite-dir", type=Path, help="another copy of the suite, dependencies installed")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        report = run(suite_at(options.suite_dir) if options.suite_dir else installed_suite())
    except (SuiteError, ValueError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 1
    for disagreement in report.disagreements:
        print(disagreement)
    if SCORE_TOOL.exists():
        print(score_tool_line(report.suite))
    print(report.line)
    return 1 if report.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
