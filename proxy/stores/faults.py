"""hishel's storages log their failures and answer as if nothing were stored. Here they become exceptions again.

Its logger is taken over for that: a failure is one short line a minute for each kind, never a traceback.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from proxy.ports import StoreUnavailable

LOG_INTERVAL = 60.0
_BACKEND_ERRORS = (sqlite3.Error, OSError)
_STORAGE_LOGGER = "hishel"

_log = logging.getLogger(__name__)
_noted: ContextVar[list[BaseException] | None] = ContextVar("noted", default=None)


class StoreDamaged(StoreUnavailable):
    """The content is unreadable or another program's; it has to be set aside."""


class _StorageLog(logging.Handler):
    """Notes each failure for the call under way, and reports the kind."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._reported: dict[tuple[str, str], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        noted = _noted.get()
        if noted is not None and isinstance(error, _BACKEND_ERRORS):
            noted.append(error)
        kind = (str(record.msg), type(error).__name__)
        if record.created - self._reported.get(kind, -LOG_INTERVAL) >= LOG_INTERVAL:
            self._reported[kind] = record.created
            _log.warning("%s (%s)", *kind)


def take_over_storage_log() -> None:
    """Route the storages' log through here, once for the process."""
    logger = logging.getLogger(_STORAGE_LOGGER)
    if not any(isinstance(handler, _StorageLog) for handler in logger.handlers):
        logger.addHandler(_StorageLog())
        logger.setLevel(logging.ERROR)
        logger.propagate = False


@contextmanager
def faults_raised() -> Iterator[None]:
    """Raise StoreUnavailable, or StoreDamaged, for what fails or is only logged inside."""
    noted: list[BaseException] = []
    token = _noted.set(noted)
    try:
        yield
    except StoreUnavailable:
        raise
    except Exception as error:
        # Each storage raises its driver's own errors.
        raise _as_fault(error) from error
    finally:
        _noted.reset(token)
    if noted:
        raise _as_fault(noted[0]) from noted[0]


def _as_fault(error: BaseException) -> StoreUnavailable:
    # SQLite's corrupt and not-a-database are DatabaseError itself; hishel refuses foreign tables by RuntimeError.
    is_damage = type(error) in (sqlite3.DatabaseError, RuntimeError)
    return (StoreDamaged if is_damage else StoreUnavailable)(type(error).__name__)
