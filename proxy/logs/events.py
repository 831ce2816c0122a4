"""Events: what any part logs by `logging.getLogger("proxy.…")`, one line each.

Members beside the message are the `extra` of the project's own loggers; what libraries add is left out.
"""

from __future__ import annotations

import json
import logging
import traceback
from typing import Final, Literal, TextIO

from proxy.http.timestamps import timestamp
from proxy.logs.redaction import quoted, scrubbed

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["json", "text"]

OWN: Final = logging.getLogger("proxy")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}


def configure(level: Level, form: Format, stream: TextIO) -> None:
    """Send every event of the process to `stream`; called again it replaces what was set before."""
    handler = _Lines(stream)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(force=True, handlers=[handler])
    set_level(level)


def set_level(level: Level) -> None:
    """Log from `level` upwards; libraries are heard from warning upwards, whatever the level."""
    number = logging.getLevelNamesMapping()[level.upper()]
    OWN.setLevel(number)
    logging.getLogger().setLevel(max(number, logging.WARNING))


class _Lines(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:
        """A line that cannot be written fails no request, and is told nowhere else unscrubbed."""


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        head = {"ts": timestamp(record.created), "level": record.levelname.lower()}
        head["msg"] = scrubbed(record.getMessage())
        return json.dumps({**head, **_members(record), **head})


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        head = f"{timestamp(record.created)} {record.levelname.lower():<7} {scrubbed(record.getMessage())}"
        return " ".join((head, *(f"{name}={quoted(_text(value))}" for name, value in _members(record).items())))


def _text(value: object) -> str:
    return " > ".join(value) if isinstance(value, list) else str(value)


def _members(record: logging.LogRecord) -> dict[str, object]:
    members: dict[str, object] = {}
    if record.name.partition(".")[0] == OWN.name:
        extra = ((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        members = {name: value if _is_number(value) else scrubbed(str(value)) for name, value in extra}
    if record.exc_info and record.exc_info[1] is not None:
        members |= _exception_members(record.exc_info[1])
    return members


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _exception_members(error: BaseException) -> dict[str, object]:
    members: dict[str, object] = {"error": type(error).__qualname__, "reason": scrubbed(str(error))}
    if OWN.isEnabledFor(logging.DEBUG):
        # Frames alone: the text of an exception, and of those behind it, may quote a request.
        frames = traceback.extract_tb(error.__traceback__)
        members["traceback"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return members
