"""Files that a command reads and writes: bounded when read, whole or not at all when written."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.logs.redaction import plain

STANDARD: Final = "-"
"""Standard input, or standard output."""

_LARGEST: Final = 64 * 2**20
_LONGEST: Final = 500
_OF_DOCUMENTS: Final = 0o666
_OF_SECRETS: Final = 0o600


def read_file(path: str) -> bytes:
    """The octets of a file, or of standard input. Raises Unusable."""
    try:
        if path == STANDARD:
            body = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                body = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise Unusable(f"{shown(path)}: cannot be read: {_why(error)}") from None
    if len(body) > _LARGEST:
        raise Unusable(f"{shown(path)}: larger than {_LARGEST} bytes, as no document is")
    return body


def read_if_there(path: str) -> bytes | None:
    """The octets of a file, None where there is none. Raises Unusable."""
    return read_file(path) if os.path.lexists(path) else None


def write_document(path: str, octets: bytes) -> None:
    """Put a file in place of what is there, in one step. Raises Unusable."""
    try:
        _write(Path(os.path.realpath(path)), octets, _OF_DOCUMENTS)
    except (OSError, ValueError) as error:
        raise Unusable(f"{shown(path)}: cannot be written: {_why(error)}") from None


def write_secret(path: str, octets: bytes, *, replace: bool) -> None:
    """Write a file that its owner alone may read; where there is one only with `replace`. Raises Unusable."""
    try:
        if replace:
            _write(Path(path), octets, _OF_SECRETS)
        else:
            _create(Path(path), octets, _OF_SECRETS)
    except FileExistsError:
        detail = "there is such a file, and it may hold a key in use: take another name, or --force"
        raise Unusable(f"{shown(path)}: {detail}") from None
    except (OSError, ValueError) as error:
        raise Unusable(f"{shown(path)}: cannot be written: {_why(error)}") from None


def shown(path: str) -> str:
    """The name of a file as it may be printed."""
    return "standard input" if path == STANDARD else plain(path, _LONGEST)


def _write(path: Path, octets: bytes, mode: int) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(octets)  # a device or a pipe is written to, never replaced
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _create(draft, octets, mode)
    try:
        draft.replace(path)
    except OSError:
        draft.unlink()
        raise


def _create(path: Path, octets: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(octets)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise


def _why(error: OSError | ValueError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else "no file has such a name"
