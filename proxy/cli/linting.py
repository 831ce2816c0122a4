"""`lint`: what a document gets wrong, read from a file, from standard input or from where it is published."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.files import read_file, shown
from proxy.cli.moments import parse_moment
from proxy.cli.published import is_url, nothing_there, parse_url, read_published
from proxy.cli.terminal import BOLD, GREEN, RED, YELLOW, Paint, may_colour, paint_for
from proxy.cli.tree import Row, aligned
from proxy.discovery.classes import DocumentClass, classify
from proxy.discovery.findings import Finding, failures, warnings
from proxy.discovery.gate import GateReason, NotADocument
from proxy.http.targets import Target
from proxy.logs.redaction import plain

_VALID, _INVALID = 0, 1
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was judged, as what, and what is wrong with it."""

    place: str
    kind: str
    findings: tuple[Finding, ...]

    @property
    def is_valid(self) -> bool:
        return not failures(self.findings)


def lint(arguments: Namespace) -> int:
    """Judge a document; 1 when it is not valid, warnings aside."""
    from proxy.lint import KINDS, UnknownKind  # it takes its time, and the other verbs start without it

    if arguments.kind is not None and arguments.kind not in KINDS:
        raise Unusable(f"--kind: {UnknownKind(arguments.kind)}")
    now = parse_moment("--now", arguments.now)
    verdict = (_of_url if is_url(arguments.document) else _of_file)(arguments, now)
    print(json.dumps(_told(verdict), indent=2) if arguments.json else _report(verdict))
    return _VALID if verdict.is_valid else _INVALID


def _of_file(arguments: Namespace, now: float) -> _Verdict:
    body = read_file(arguments.document)
    return _judged(shown(arguments.document), arguments.kind, body, now)


def _judged(place: str, kind: str | None, body: bytes, now: float, fallback: str | None = None) -> _Verdict:
    """Judge a body as `kind`, else as what it shows itself to be, else as `fallback`."""
    from proxy.lint import KINDS, kind_of
    from proxy.lint import lint as judge

    kind = kind or kind_of(body) or fallback
    if kind is None:
        raise Unusable(f"{plain(place, _LONGEST)}: its kind cannot be told: say --kind, one of {', '.join(KINDS)}")
    return _Verdict(place, kind, judge(kind, body, now=now))


def _of_url(arguments: Namespace, now: float) -> _Verdict:
    from proxy.engine.discovery.reading import ReadOutcome
    from proxy.lint import KINDS
    from proxy.lint.bodies import refusal_finding

    target = parse_url(arguments.document)
    document_class = _class_of(arguments.kind, target)
    reading = read_published(target, document_class, arguments.config)
    fallback = document_class.value if document_class.value in KINDS else None
    if reading.is_found:
        return _judged(reading.url, arguments.kind, reading.body, now, fallback)
    kind = arguments.kind or fallback
    if reading.outcome is ReadOutcome.WRONG_KIND and kind is not None:
        refused = NotADocument(GateReason(reading.reason), reading.detail)
        return _Verdict(reading.url, kind, (refusal_finding(refused),))
    raise nothing_there(reading)


def _class_of(kind: str | None, target: Target) -> DocumentClass:
    """The class to read the document as: that of its kind, where it is one, else that of its path."""
    return next((one for one in DocumentClass if one == kind), None) or classify(target.normal_path)


def _told(verdict: _Verdict) -> dict[str, object]:
    return {
        "kind": verdict.kind,
        "valid": verdict.is_valid,
        "failures": _listed(failures(verdict.findings)),
        "warnings": _listed(warnings(verdict.findings)),
    }


def _listed(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [{"rule": finding.rule, "path": finding.path, "detail": finding.detail} for finding in findings]


def _report(verdict: _Verdict) -> str:
    paint = paint_for(colour=may_colour(sys.stdout))
    failed, warned = failures(verdict.findings), warnings(verdict.findings)
    end = paint("valid", GREEN) if verdict.is_valid else paint("not valid", RED)
    counts = ", ".join(text for text in (_count(failed, "failure"), _count(warned, "warning")) if text)
    lines = [
        paint(plain(verdict.place, _LONGEST), BOLD),
        f"  kind     {verdict.kind}",
        f"  verdict  {end}{f': {counts}' if counts else ''}",
        *_section("failures", failed, RED, paint),
        *_section("warnings", warned, YELLOW, paint),
    ]
    return "\n".join(lines)


def _count(findings: tuple[Finding, ...], noun: str) -> str:
    return f"{len(findings)} {noun}{'s' if len(findings) != 1 else ''}" if findings else ""


def _section(name: str, findings: tuple[Finding, ...], style: str, paint: Paint) -> list[str]:
    if not findings:
        return []
    columns = ((one.rule, one.path or "(document)", one.detail) for one in findings)
    rows = (Row([plain(text, _LONGEST) for text in texts]) for texts in columns)
    return ["", paint(name, style), *(f"  {branch.text}" for branch in aligned(rows))]
