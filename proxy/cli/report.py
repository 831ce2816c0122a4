"""An explanation for people: aligned lines, the freshness arithmetic as a calculation.

Takes the JSON object of the admin port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from proxy.caching.reuse import StalePermit
from proxy.cli.parts import Part
from proxy.cli.terminal import BOLD, GREEN, RED, YELLOW, paint_for

_DECISION_COLOURS: Final = {"hit": GREEN, "moved": GREEN, "gone": GREEN, "stale-hit": YELLOW, "revalidate": YELLOW}
_WINDOWS: Final = {"stale_while_revalidate": "revalidating", "stale_if_error": "the origin fails"}
_PERMITS: Final = frozenset(permit.value for permit in StalePermit if permit.allows)
_WHY_NOT: Final = "Why an answer was not stored is the detail of its Cache-Status."
_LABEL_WIDTH: Final = 16
_TERM_WIDTH: Final = 22


def report(told: Mapping[str, object], *, colour: bool) -> str:
    """The whole explanation as lines of text."""
    paint = paint_for(colour=colour)
    whole = Part(told)
    answer = whole.part("decision").text("answer") or "unknown"
    why = whole.part("decision").text("why") or "no reason given"
    lines = [paint(whole.text("url") or "?", BOLD), "  explained for a request without fields"]
    lines += _labelled(whole, ("key", "class", "now", "store"))
    lines.append(_line("decision", f"{paint(answer, _DECISION_COLOURS.get(answer, RED))}: {why}"))
    for label, name in (("fill under way", "flight"), ("held off", "hold_off")):
        if whole.members.get(name):
            lines.append(_line(label, whole.part(name).pairs()))
    if whole.members.get("copy"):
        lines += ["", paint("verified copy, while the origin is down", BOLD), *_variant(whole.part("copy"))]
    if whole.members.get("relocation"):
        lines += ["", paint("what the origin said of where it is", BOLD), *_relocation(whole.part("relocation"))]
    if whole.members.get("trust"):
        lines += ["", paint("what is known of the domain", BOLD), *_known(whole.part("trust"))]
    variants = whole.parts("variants")
    for position, variant in enumerate(variants, start=1):
        lines += ["", paint(_heading(variant, position, len(variants)), BOLD), *_variant(variant)]
    if not variants:
        lines += ["", f"Nothing is stored for this URL. {_WHY_NOT}"]
    elif answer == "miss":
        lines += ["", _WHY_NOT]
    return "\n".join(lines)


def _heading(variant: Part, position: int, count: int) -> str:
    selected = ", selected" if variant.members.get("selected") else ""
    return f"variant {position} of {count}{selected}"


def _variant(variant: Part) -> Iterator[str]:
    yield from _labelled(variant, ("method", "status", "source", "trust", "stored_at"))
    size = variant.number("body_bytes")
    if size is not None:
        yield _line("body", f"{size:,.0f} bytes")
    if variant.members.get("vary"):
        yield _line("vary", f"{variant.text('vary')} ({variant.part('selecting').pairs() or 'nothing selected'})")
    yield from _labelled(variant, ("etag", "last_modified", "tags"))
    yield from _freshness(variant.part("freshness"))
    purge = variant.part("purge")
    if purge.members:
        yield _line("purge", f"{purge.text('standing')} (generation {purge.text('generation')})")
    yield from _labelled(variant, ("keep_until",))


def _relocation(record: Part) -> Iterator[str]:
    yield from _labelled(record, ("state", "target", "observed_at", "checked_at", "fresh_until", "id", "error"))
    yield from _labelled(record.part("evidence"), ("proof", "note"))


def _known(trust: Part) -> Iterator[str]:
    yield from _labelled(trust, ("did", "dns_did", "error"))
    pin = trust.part("pin")
    if pin.members:
        since = f"by {pin.text('source')}, last confirmed {pin.text('last_confirmed_at')}"
        yield _line("keys pinned", f"{pin.text('standing')}: {since}")
    for manifest in trust.parts("manifests"):
        kind = "signed" if manifest.members.get("signed") else "unsigned"
        sequence = f", sequence {manifest.text('sequence')}" if manifest.text("sequence") else ""
        yield _line("last manifest", f"{kind}{sequence}, accepted {manifest.text('accepted_at')}")


def _freshness(part: Part) -> Iterator[str]:
    """RFC 9111 §4.2.3 with this response's numbers, then what follows from them."""
    if not part.members:
        return
    n = partial(_seconds, part)
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


def _standing(part: Part) -> str:
    lifetime, age = part.number("lifetime_seconds"), part.number("current_age")
    if lifetime is None or age is None:
        return "freshness unknown"
    left, is_fresh = lifetime - age, part.members.get("is_fresh")
    if is_fresh if isinstance(is_fresh, bool) else left > 0:
        return f"fresh for another {_rounded(left)} s, until {part.text('fresh_until')}"
    return f"stale for {_rounded(abs(left))} s, since {part.text('fresh_until')}"


def _seconds(part: Part, name: str) -> str:
    number = part.number(name)
    return "?" if number is None else f"{number:.15g}" if number % 1 == 0 else f"{number:.3f}"


def _moment(part: Part, name: str) -> datetime | None:
    try:
        return datetime.fromisoformat(str(part.members.get(name)))
    except ValueError:
        return None


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"


def _when_stale(part: Part) -> Iterator[str]:
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


def _until(part: Part, window: str) -> str | None:
    seconds, fresh_until = part.number(window), _moment(part, "fresh_until")
    if not seconds or fresh_until is None:
        return None
    try:
        end = fresh_until + timedelta(seconds=seconds)
    except OverflowError:
        return "further notice"
    return end.isoformat(timespec="seconds").replace("+00:00", "Z")


def _labelled(part: Part, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        text = part.text(name)
        if text:
            yield _line(name.replace("_", " "), text)


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{text}"


def _term(name: str, calculation: str, result: str | None = None) -> str:
    return f"    {name:<{_TERM_WIDTH}}= {calculation}" + (f" = {result}" if result is not None else "")
