"""What is recorded of a URL, as lines for people.

Takes the JSON object of `/v1/records/{id}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final

from proxy.cli.parts import Part
from proxy.cli.terminal import BOLD, GREEN, RED, YELLOW, Paint, paint_for

_STYLES: Final = {"moved": GREEN, "pending": YELLOW, "gone": RED, "missing": RED}
_WIDTH: Final = 100
_LABEL_WIDTH: Final = 16
_LEAST_REMARK: Final = 20
_FRACTION: Final = re.compile(r"\.[0-9]+(?=Z\Z)")
_EVIDENCE: Final = {
    "location": "origin names",
    "proof": "proof",
    "successor": "suggests",
    "missing_since": "not found since",
    "note": "note",
}


def describe(record: Mapping[str, object], *, colour: bool) -> str:
    """The record and its history, oldest first."""
    whole = Part(record)
    lines = [*_head(whole, paint_for(colour=colour)), *_standing(whole), *_history(whole)]
    return "\n".join(lines)


def _head(whole: Part, paint: Paint) -> Iterator[str]:
    state, url, target = whole.text("state") or "?", whole.text("url") or "?", whole.text("target")
    first = f"{paint(state, _STYLES.get(state, YELLOW))}  {paint(url, BOLD)}"
    if target is None:
        yield first
    elif len(f"{state}  {url} -> {target}") <= _WIDTH:
        yield f"{first} -> {target}"
    else:
        yield first
        yield f"  -> {target}"


def _standing(whole: Part) -> Iterator[str]:
    evidence = whole.part("evidence")
    yield from _labelled("status", whole.text("status"))
    yield from _labelled("first observed", _moment(whole, "observed_at"))
    yield from _labelled("last checked", _moment(whole, "checked_at"))
    yield from _labelled("fresh until", _moment(whole, "fresh_until"))
    for name, label in _EVIDENCE.items():
        text = _moment(evidence, name)
        # Mostly it is where the redirects end.
        if name != "location" or text != whole.text("target"):
            yield from _labelled(label, text)
    failures = evidence.number("failures")
    if failures:
        yield from _labelled("failed checks", f"{failures:.0f} in a row")
    yield from _labelled("id", whole.text("id"))


def _history(whole: Part) -> Iterator[str]:
    history = whole.parts("history")
    if not history:
        return
    yield "  history"
    states = [_state(seen) for seen in history]
    width = max(map(len, states))
    for seen, state in zip(history, states, strict=True):
        start = f"    {_moment(seen, 'at') or '?':<20}  {seen.text('status') or '?':<3}  {state:<{width}}  "
        first, *further = _wrapped(_remark(seen, whole.text("target")), len(start)) or [""]
        yield f"{start}{first}".rstrip()
        yield from (f"{'':{len(start)}}{line}" for line in further)


def _state(seen: Part) -> str:
    return seen.text("state") or "withdrawn"


def _remark(seen: Part, target: str | None) -> str:
    """The note, and a target that is not the one that the record has now."""
    before = seen.text("target")
    leads = f"-> {before}" if before and before != target else ""
    return f"{leads} {seen.text('note') or ''}".strip()


def _labelled(label: str, text: str | None) -> Iterator[str]:
    if text:
        start = f"  {label:<{_LABEL_WIDTH}}"
        first, *further = _wrapped(text, len(start)) or [""]
        yield f"{start}{first}"
        yield from (f"{'':{len(start)}}{line}" for line in further)


def _wrapped(text: str, indent: int) -> list[str]:
    """The text in lines that end with the page; what has no spaces stays whole, so that it can be copied."""
    width = max(_WIDTH - indent, _LEAST_REMARK)
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _moment(part: Part, name: str) -> str | None:
    """A member that is mostly a time, to the second."""
    text = part.text(name)
    return None if text is None else _FRACTION.sub("", text)
