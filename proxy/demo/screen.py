"""Lines for people, in columns that fit a hundred characters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TextIO

from proxy.demo.agent import Answer, Parameters
from proxy.demo.steps import Step
from proxy.failover.attempts import Attempt, AttemptOutcome

_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_SOURCE_COLOURS: Final = {"cache": _GREEN, "origin": _CYAN, "mirror": _CYAN, "ipfs": _CYAN, "proxy": _YELLOW}
_OUTCOME_COLOURS: Final = {
    AttemptOutcome.SERVED: _GREEN,
    AttemptOutcome.REFUSED: _RED,
    AttemptOutcome.FAILED: _YELLOW,
    AttemptOutcome.SKIPPED: _DIM,
}
# Of a long URL this many characters of its end are shown, and of its beginning what there is room for.
_URL_WIDTH, _URL_END = 54, 23
# The last one ends where the time begins.
_COLUMNS: Final = (22, 10, 10, 10, 23)
_HEADINGS: Final = ("what happens", "document", "served", "trust", "Cache-Status")
_INDENT: Final = " " * len("STEP 12  ")
# What goes first when Cache-Status is too long for its column: `served` says it too, or `detail` implies it.
_EXPENDABLE: Final = ("fwd-status", "ttl", "fwd", "hit")
_CLEAR: Final = "\r\x1b[K"


class Screen:
    """Writes to `stream`; on a terminal also what is being waited for, on a line that goes away."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream = stream
        self._colour = colour
        self._may_overwrite = stream.isatty() and os.environ.get("TERM") != "dumb"

    def heading(self, *lines: str) -> None:
        """What is running, and the names of the columns."""
        for line in lines:
            self.line(line)
        self.line("")
        self.line(self._paint(f"{_INDENT}{'  '.join(_padded(_HEADINGS))}    time", _DIM))

    def waiting(self, text: str) -> None:
        """Tell what takes a moment."""
        if self._may_overwrite:
            self._stream.write(_CLEAR + self._paint(text, _DIM))
            self._stream.flush()

    def clear(self) -> None:
        """Take back what was said to be waited for."""
        if self._may_overwrite:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def step(self, number: int, step: Step, answer: Answer | None, milliseconds: float) -> None:
        """What a step showed; `answer` is None when it got none."""
        told = ("-", "-", "-") if answer is None else _told(answer)
        cells = _padded((step.title, step.document, *told))
        if answer is not None:
            cells[2] = self._paint(cells[2], _SOURCE_COLOURS[answer.source])
        time = f"{milliseconds:.1f}" if milliseconds < 1000 else f"{milliseconds:.0f}"
        self.line(f"{self._paint('STEP', _BOLD)} {number:>2}  {'  '.join(cells)}{time:>5} ms")
        if step.details and answer is not None:
            self._details(answer)

    def failure(self, expected: str, came: str) -> None:
        """Below the line of a step that did not do what it says."""
        self.line(self._paint(f"{_INDENT}expected  {expected}", _RED))
        self.line(self._paint(f"{_INDENT}came      {came}", _RED))

    def summary(self, fulfilled: int, count: int, seconds: float) -> None:
        """The last line."""
        text = f"{fulfilled} of {count} steps did what they say ({seconds:.1f} s)"
        self.line("")
        self.line(self._paint(text, _GREEN if fulfilled == count else _RED))

    def line(self, text: str) -> None:
        """A line of its own, written at once."""
        self.clear()
        print(text, file=self._stream, flush=True)

    def _details(self, answer: Answer) -> None:
        """Where a copy was looked for and what came of it, who vouches for it, what is overruled, who decides."""
        for attempt in answer.attempts:
            end = self._paint(f"{attempt.outcome:<7}", _OUTCOME_COLOURS[attempt.outcome])
            self.line(f"{_INDENT}{_place(attempt)}  {end}  {attempt.reason}".rstrip())
        field = answer.fields.get("discovery-trust")
        if field is not None:
            self.line(f"{_INDENT}Discovery-Trust: {field.partition(';checked=')[0]}")
        overrides = answer.fields.get("discovery-overrides")
        if overrides is not None:
            self.line(f"{_INDENT}Discovery-Overrides: {overrides}")
        if answer.no_op is not None:
            self.line(f"{_INDENT}{': '.join(answer.no_op)}")

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colour else text


def _padded(cells: Sequence[str]) -> list[str]:
    return [f"{cell:<{width}}" for cell, width in zip(cells, _COLUMNS, strict=True)]


def _told(answer: Answer) -> tuple[str, str, str]:
    return f"{answer.source} {answer.status}", answer.trust or "-", _fitting(answer.cache_status, _COLUMNS[-1] - 1)


def _place(attempt: Attempt) -> str:
    """Where it was looked; of a long URL the beginning and the end."""
    url = attempt.url
    if len(url) > _URL_WIDTH:
        url = f"{url[: _URL_WIDTH - _URL_END - 3]}...{url[-_URL_END:]}"
    return f"{attempt.source:<6}  {url:<{_URL_WIDTH}}"


def _fitting(parameters: Parameters, width: int) -> str:
    """As many parameters of Cache-Status as fit, in their own order; of a long `detail` its value alone."""
    told = dict(parameters)
    for name in _EXPENDABLE:
        if len(_written(told)) <= width:
            break
        told.pop(name, None)
    written = _written(told)
    return written if len(written) <= width else str(told.get("detail", written))


def _written(parameters: Parameters) -> str:
    return "; ".join(name if value is True else f"{name}={value}" for name, value in parameters.items())
