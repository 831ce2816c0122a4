"""The published vectors, one parameter each; a skipped one where their folder is absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.trust.reasons import Reason, Untrusted

FOLDER = Path(__file__).resolve().parents[4] / "shared/vectors"


def vectors(name: str) -> Any:
    """The parsed file; empty without the folder."""
    path = FOLDER / name
    return json.loads(path.read_bytes()) if path.exists() else {}


def rows(found: list[Any], names: list[str] | None = None) -> list[Any]:
    """A parameter for each row, or one that is skipped."""
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    return [pytest.param(row, id=None if names is None else names[index]) for index, row in enumerate(found)]


def refused(reason: str) -> Any:
    """Expects Untrusted with this reason; what it says holds no text of more than a sentence."""
    return pytest.raises(Untrusted, check=lambda error: error.reason is Reason(reason) and len(error.detail) < 160)
