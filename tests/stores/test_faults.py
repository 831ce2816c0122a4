"""What a storage only logs becomes an exception, and one short line a minute."""

import logging
import sqlite3
from collections.abc import Iterator

import pytest

from proxy.ports import StoreUnavailable
from proxy.stores import faults
from proxy.stores.faults import StoreDamaged, faults_raised, take_over_storage_log


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """A logger below one that has just been taken over."""
    monkeypatch.setattr(faults, "_STORAGE_LOGGER", "simulated")
    parent = logging.getLogger("simulated")
    take_over_storage_log()
    yield logging.getLogger("simulated.storage")
    parent.handlers.clear()


def log(storage: logging.Logger, error: Exception, message: str = "storage: failed") -> None:
    try:
        raise error
    except Exception:
        storage.exception(message)


SWALLOWED: dict[str, tuple[Exception, type[StoreUnavailable] | None]] = {
    "locked": (sqlite3.OperationalError("secret"), StoreUnavailable),
    "disk": (OSError("secret"), StoreUnavailable),
    "corrupt": (sqlite3.DatabaseError("secret"), StoreDamaged),
    "one entry undecodable": (ValueError("secret"), None),
}


@pytest.mark.parametrize(("error", "expected"), SWALLOWED.values(), ids=SWALLOWED)
def test_logged(storage: logging.Logger, error: Exception, expected: type[StoreUnavailable] | None) -> None:
    raised: list[type[BaseException]] = []
    try:
        with faults_raised():
            log(storage, error)
    except StoreUnavailable as fault:
        raised.append(type(fault))
        assert "secret" not in str(fault)
    assert raised == ([] if expected is None else [expected])


RAISED: dict[str, tuple[Exception, type[StoreUnavailable]]] = {
    "driver": (sqlite3.ProgrammingError(), StoreUnavailable),
    "foreign tables": (RuntimeError(), StoreDamaged),
    "already known": (StoreUnavailable("x"), StoreUnavailable),
    "anything": (KeyError(), StoreUnavailable),
}


@pytest.mark.parametrize(("error", "expected"), RAISED.values(), ids=RAISED)
def test_raised(error: Exception, expected: type[StoreUnavailable]) -> None:
    with pytest.raises(StoreUnavailable) as caught, faults_raised():
        raise error
    assert type(caught.value) is expected


def test_one_line_a_minute_for_each_kind(
    storage: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    # What later Pythons date a record with.
    monkeypatch.setattr("time.time_ns", lambda: int(now * 1e9))
    for second in range(0, 120, 5):
        now = 1_800_000_000.0 + second
        log(storage, OSError("secret"))
        log(storage, sqlite3.OperationalError("secret"))
    storage.error("storage: without a cause")
    lines = [record for record in caplog.records if record.name == "proxy.stores.faults"]
    assert [record.getMessage() for record in lines] == [
        "storage: failed (OSError)",
        "storage: failed (OperationalError)",
    ] * 2 + ["storage: without a cause (NoneType)"]
    assert not any(record.exc_info for record in lines)


def test_the_log_is_taken_over_once(storage: logging.Logger) -> None:
    take_over_storage_log()
    parent = logging.getLogger("simulated")
    kinds = [type(handler).__name__ for handler in parent.handlers]
    assert kinds.count("_StorageLog") == 1 and not parent.propagate
