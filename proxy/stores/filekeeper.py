"""Who opens a durable file for the one thread that uses it, and tells the operator what is wrong with it.

A file that is damaged is refused until the process begins anew; one that cannot be used is opened again each time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar


class Keepable(Protocol):
    """What holds an open file."""

    @property
    def has_damaged(self) -> bool:
        """Whether a record in it is damaged."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """The errors of a file, and the words in which an operator is told of it.

    `damaged` is raised for the file as a whole, `record_damaged` (its family) for one record of it, `unavailable`
    (the family of both) for what passes. `noun` is in the plural; `remedy` is how to begin anew; `consequence` is
    what is so while the file cannot be used.
    """

    unavailable: type[Exception]
    record_damaged: type[Exception]
    damaged: type[Exception]
    noun: str
    remedy: str
    consequence: str


F = TypeVar("F", bound=Keepable)


class FileKeeper(Generic[F]):
    """Keeps the file that `open_file` opens. The properties may be read by any thread, all else by one."""

    def __init__(self, path: Path, open_file: Callable[[], F], terms: Terms, log: logging.Logger) -> None:
        self._path = path
        self._open_file = open_file
        self._terms = terms
        self._log = log
        self._file: F | None = None
        self._refusal: str | None = None
        self._fault: str | None = None

    @property
    def refusal(self) -> str | None:
        """Why the file as a whole is damaged and refused."""
        return self._refusal

    @property
    def is_damaged(self) -> bool:
        """Whether the file or a record in it is damaged."""
        file = self._file
        return self._refusal is not None or (file is not None and file.has_damaged)

    @property
    def is_faulty(self) -> bool:
        """Whether the file could not be used the last time."""
        return self._fault is not None

    @contextmanager
    def in_use(self) -> Iterator[F]:
        """The file, and a note of what its use says of it. Raises what the terms say."""
        terms = self._terms
        try:
            yield self._opened()
        except terms.damaged as error:
            self._refuse(str(error))
            raise
        except terms.record_damaged:
            raise  # of one record: the file is well
        except terms.unavailable as error:
            self._note_fault(str(error))
            raise
        self._note_fault(None)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> F:
        if self._refusal is not None:
            raise self._terms.damaged(self._refusal)
        if self._file is None:
            self._file = self._open_file()
        return self._file

    def _refuse(self, reason: str) -> None:
        if self._refusal is None:
            self._refusal = reason
            self._fault = None
            self.close()
            self._log.error(
                "%s in %s are damaged and refused (%s): restore the file from a backup, or %s, then start again",
                self._terms.noun,
                self._path,
                reason,
                self._terms.remedy,
            )

    def _note_fault(self, fault: str | None) -> None:
        if fault is not None and self._fault is None:
            self._log.error(
                "%s in %s cannot be used (%s): %s", self._terms.noun, self._path, fault, self._terms.consequence
            )
        if fault is None and self._fault is not None:
            self._log.info("%s in %s can be used again", self._terms.noun, self._path)
        self._fault = fault
