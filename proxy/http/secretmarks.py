"""Whether a text may hold a secret at all: a first look, cheap and never wrong where it says no.

Most URLs hold nothing of what every secret has, and need no search.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from proxy.http.secretnames import category_of, plain_name

RANDOM_RUN: Final = re.compile(r"[A-Za-z0-9_+-]{32,}")
"""As long as a random value has to be to count."""

# What the name of a parameter begins after, and what cannot be missing where a shape is: cheap to look for in a
# whole text, and most texts have none of it.
_NAME: Final = re.compile(r"[&;?#/]([^&;?#/=]*)=")
# Each begins with a class of its own, not a repeated one, which is what makes the search skip all else fast.
_NUMBERS: Final = re.compile(
    r"[0-9](?<![A-Za-z0-9_-][0-9])[0-9]{2}(?:-[0-9]{2}-[0-9]{4}|[0-9](?:[ +-][0-9]{4}|[0-9]{9}))"
)
_FORM: Final = re.compile(r"[?#]")
_ACCOUNTS: Final = re.compile(r"[A-Z][A-Z][0-9]{2}")
_LONG_NAME: Final = 64


def may_hold(text: str) -> bool:
    """Whether `_find_in` might find anything: False is certain, and quickly known."""
    if "@" in text or ("=" in text and any(map(_is_telling, _NAME.findall(f"&{text}")))):
        return True
    lower = text.lower()
    return (
        _NUMBERS.search(text) is not None
        or "bearer" in lower
        or "basic" in lower
        or "token" in lower
        or "sk_" in text
        or "tk_" in text
        or "npm_" in text
        or "pypi-" in text
        or "-----BEGIN" in text
        or "gh" in text
        or "github_pat_" in text
        or "xox" in text
        or "glpat-" in text
        or "ya29." in text
        or (lower != text and _may_hold_capitals(text))
    )


def _may_hold_capitals(text: str) -> bool:
    return (
        "eyJ" in text
        or "AKIA" in text
        or "ASIA" in text
        or "AIza" in text
        or _ACCOUNTS.search(text) is not None
        or any(run[0] != run[0].lower() for run in RANDOM_RUN.finditer(_form_of(text)))
    )


def _form_of(text: str) -> str:
    """Query and fragment, where random values count."""
    start = _FORM.search(text)
    return "" if start is None else text[start.end() :]


def _is_telling(name: str) -> bool:
    return len(name) > _LONG_NAME or _is_telling_name(name)


@lru_cache(4096)
def _is_telling_name(name: str) -> bool:
    return category_of(plain_name(name)) is not None
