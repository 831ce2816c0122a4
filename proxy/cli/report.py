"""An explanation for people: aligned lines, the freshness arithmetic as a calculation.

Takes the JSON object of the admin port and tolerates members that are not there, also those of a later version.
What comes from stored responses is printed in plain ASCII, so that none can steer the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from proxy.caching.reuse import StalePermit
from proxy.logs.redaction import plain

_BOLD, _GREEN, _YELLOW, _RED = "1", "32", "33", "31"
_DECISION_COLOURS: Final = {"hit": _GREEN, "stale-hit": _YELLOW, "revalidate": _YELLOW}
_WINDOWS: Final = {"stale_while_revalidate": "revalidating", "stale_if_error": "the origin fails"}
_PERMITS: Final = frozenset(permit.value for permit in StalePermit if permit.allows)
_WHY_NOT: Final = "Why an answer was not stored is the detail of its Cache-Status."
_LABEL_WIDTH: Final = 16
_TERM_WIDTH: Final = 22
_LONGEST: Final = 2000


class _Part:
    """One object of the explanation, read leniently; `text` is fit for a terminal."""

    def __init__(self, members: object) -> None:
        self.members: Mapping[str, object] = members if isinstance(members, Mapping) else {}

    def part(self, name: str) -> _Part:
        return _Part(self.members.get(name))

    def parts(self, name: str) -> list[_Part]:
        value = self.members.get(name)
        return [_Part(item) for item in value] if isinstance(value, list) else []

    def text(self, name: str) -> str | None:
        return _shown(self.members.get(name))

    def number(self, name: str) -> float | None:
        value = self.members.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def seconds(self, name: str) -> str:
        number = self.number(name)
        return "?" if number is None else f"{number:.15g}" if number % 1 == 0 else f"{number:.3f}"

    def moment(self, name: str) -> datetime | None:
        try:
            return datetime.fromisoformat(str(self.members.get(name)))
        except ValueError:
            return None


def report(told: Mapping[str, object], *, colour: bool) -> str:
    """The whole explanation as lines of text."""
    paint = _coloured if colour else _uncoloured
    whole = _Part(told)
    answer = whole.part("decision").text("answer") or "unknown"
    why = whole.part("decision").text("why") or "no reason given"
    lines = [paint(whole.text("url") or "?", _BOLD), "  explained for a request without fields"]
    lines += _labelled(whole, ("key", "class", "now", "store"))
    lines.append(_line("decision", f"{paint(answer, _DECISION_COLOURS.get(answer, _RED))}: {why}"))
    for label, name in (("fill under way", "flight"), ("held off", "hold_off")):
        if whole.members.get(name):
            lines.append(_line(label, _pairs(whole.part(name))))
    variants = whole.parts("variants")
    for position, variant in enumerate(variants, start=1):
        lines += ["", paint(_heading(variant, position, len(variants)), _BOLD), *_variant(variant)]
    if not variants:
        lines += ["", f"Nothing is stored for this URL. {_WHY_NOT}"]
    elif answer == "miss":
        lines += ["", _WHY_NOT]
    return "\n".join(lines)


def _heading(variant: _Part, position: int, count: int) -> str:
    selected = ", selected" if variant.members.get("selected") else ""
    return f"variant {position} of {count}{selected}"


def _variant(variant: _Part) -> Iterator[str]:
    yield from _labelled(variant, ("method", "status", "source", "stored_at"))
    size = variant.number("body_bytes")
    if size is not None:
        yield _line("body", f"{size:,.0f} bytes")
    if variant.members.get("vary"):
        yield _line("vary", f"{variant.text('vary')} ({_pairs(variant.part('selecting')) or 'nothing selected'})")
    yield from _labelled(variant, ("etag", "last_modified", "tags"))
    yield from _freshness(variant.part("freshness"))
    purge = variant.part("purge")
    if purge.members:
        yield _line("purge", f"{purge.text('standing')} (generation {purge.text('generation')})")
    yield from _labelled(variant, ("keep_until",))


def _freshness(part: _Part) -> Iterator[str]:
    """RFC 9111 §4.2.3 with this response's numbers, then what follows from them."""
    if not part.members:
        return
    n = part.seconds
    yield _line("freshness", "seconds, RFC 9111 section 4.2")
    yield _term("apparent_age", "max(0, response_time in whole seconds - date_value)", n("apparent_age"))
    yield _term(
        "corrected_initial_age",
        "max(apparent_age, age_value + response_delay)"
        f" = max({n('apparent_age')}, {n('age_value')} + {n('response_delay')})",
        n("corrected_initial_age"),
    )
    yield _term(
        "current_age",
        f"corrected_initial_age + resident_time = {n('corrected_initial_age')} + {n('resident_time')}",
        n("current_age"),
    )
    yield _term("freshness_lifetime", f"{n('lifetime_seconds')} ({part.text('lifetime_source')})")
    yield f"    {_standing(part)}"
    yield from (f"    {said}" for said in _when_stale(part))


def _standing(part: _Part) -> str:
    lifetime, age = part.number("lifetime_seconds"), part.number("current_age")
    if lifetime is None or age is None:
        return "freshness unknown"
    left, is_fresh = lifetime - age, part.members.get("is_fresh")
    if is_fresh if isinstance(is_fresh, bool) else left > 0:
        return f"fresh for another {_rounded(left)} s, until {part.text('fresh_until')}"
    return f"stale for {_rounded(abs(left))} s, since {part.text('fresh_until')}"


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"


def _when_stale(part: _Part) -> Iterator[str]:
    """What may be done with it after its freshness."""
    if part.members.get("forbids_stale") or part.members.get("must_validate"):
        yield "never servable stale: it must be validated first"
        return
    for name, meanwhile in _WINDOWS.items():
        until = _until(part, name)
        yield f"servable while {meanwhile} until {until}" if until else f"no {name.replace('_', '-')} window"
    permit = part.text("stale_permit")
    if permit and not part.members.get("is_fresh"):
        served = "would be served" if permit in _PERMITS else "would not be served"
        yield f"if the origin failed now, this {served} ({permit})"


def _until(part: _Part, window: str) -> str | None:
    seconds, fresh_until = part.number(window), part.moment("fresh_until")
    if not seconds or fresh_until is None:
        return None
    try:
        end = fresh_until + timedelta(seconds=seconds)
    except OverflowError:
        return "further notice"
    return end.isoformat(timespec="seconds").replace("+00:00", "Z")


def _labelled(part: _Part, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        text = part.text(name)
        if text:
            yield _line(name.replace("_", " "), text)


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{text}"


def _term(name: str, calculation: str, result: str | None = None) -> str:
    return f"    {name:<{_TERM_WIDTH}}= {calculation}" + (f" = {result}" if result is not None else "")


def _pairs(part: _Part) -> str:
    return ", ".join(f"{plain(name, _LONGEST)}: {_shown(value) or '-'}" for name, value in part.members.items())


def _shown(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, list):
        return ", ".join(_shown(item) or "-" for item in value)
    return plain(str(value), _LONGEST)


def _coloured(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _uncoloured(text: str, _: str) -> str:
    return text
