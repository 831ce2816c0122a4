"""One run of the suite for the whole session, and its line at the end of the test report."""

from __future__ import annotations

import pytest

from tests.conformance.run_suite import Report, run
from tests.conformance.suite import SuiteError, installed_suite

REPORT = pytest.StashKey[Report]()


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> Report:
    try:
        finished = run(installed_suite())
    except SuiteError as error:
        pytest.fail(str(error), pytrace=False)
    pytestconfig.stash[REPORT] = finished
    return finished


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if REPORT in config.stash:
        terminalreporter.write_line(config.stash[REPORT].line)
