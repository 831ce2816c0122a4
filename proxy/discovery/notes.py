"""Notes on a document while it is read: where it lies, and what it gets wrong so far.

The number of findings is bounded whatever the document, so a hostile one makes no long report; the last finding
then says how many were left out, and is a failure if one of those was. What is left out is counted and not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.targets import MalformedTarget, Target, resolve

MOST_FINDINGS: Final = 100
LONGEST_REFERENCE: Final = 8192
MOST_REFERENCE_TEXT: Final = 512 * 1024
"""Characters of all references of one document that are resolved."""

UNPLACED: Final = Target("https", "unplaced.invalid", 443, "/", None)
"""Where a document of unknown place is taken to lie, so that its references are judged by their form.

The name never resolves (RFC 6761 §6.4).
"""


def admit_bounded(reference: str, base: Target | None) -> Target:
    """`admit`, for references as long as a document likes to make them. Raises UrlRefused."""
    if len(reference) > LONGEST_REFERENCE:
        raise UrlRefused(UrlReason.MALFORMED, f"The URL is longer than {LONGEST_REFERENCE} characters.")
    return admit(reference, base)


class Notes:
    """Collects the findings of one document.

    `base` is where the document lies; None: nobody knows, as when `lint` reads a file. Relative references then
    lead to a host that does not exist, and nothing counts as being elsewhere.
    """

    __slots__ = ("_base", "_findings", "_is_failure_left_out", "_left_out", "_room", "_rule_left_out")

    def __init__(self, base: Target | None) -> None:
        self._base = base
        self._findings: list[Finding] = []
        self._left_out = 0
        self._rule_left_out: str | None = None
        self._is_failure_left_out = False
        self._room = MOST_REFERENCE_TEXT

    @property
    def host(self) -> str | None:
        """The host of the document."""
        return None if self._base is None else self._base.host

    def fail(self, rule: str, path: str, detail: str) -> None:
        self._add(Finding(rule, path, detail))

    def warn(self, rule: str, path: str, detail: str) -> None:
        self._add(Finding(rule, path, detail, is_warning=True))

    def add(self, findings: Iterable[Finding]) -> None:
        """What was found already."""
        for finding in findings:
            self._add(finding)

    def _add(self, finding: Finding) -> None:
        if len(self._findings) < MOST_FINDINGS:
            self._findings.append(finding)
            return
        self._left_out += 1
        if self._rule_left_out is None or not (finding.is_warning or self._is_failure_left_out):
            self._rule_left_out, self._is_failure_left_out = finding.rule, not finding.is_warning

    def target(self, reference: str) -> Target:
        """What a reference in the document leads to. Raises UrlRefused."""
        if not self._has_room(reference):
            detail = f"The URLs of the document have more than {MOST_REFERENCE_TEXT} characters together."
            raise UrlRefused(UrlReason.MALFORMED, detail)
        return admit_bounded(reference, self._base or UNPLACED)

    def _has_room(self, reference: str) -> bool:
        self._room -= len(reference)
        return self._room >= 0

    def is_elsewhere(self, reference: str) -> bool:
        """Whether a reference is known to lead to another origin than that of the document."""
        if self._base is None:
            return False
        if not self._has_room(reference):
            return True
        try:
            return resolve(self._base, reference).origin != self._base.origin
        except MalformedTarget:
            return True

    def text(self, members: JsonObject, name: str, rule: str, path: str, missing: str | None = None) -> str | None:
        """The member `name` of the object at `path`, if it is a text with something in it.

        Any other value but null is a failure of `rule`; `missing` says what follows where the member is required,
        and is then the failure of null too.
        """
        value = members.get(name)
        if isinstance(value, str) and value:
            return value
        if missing is not None:
            self.fail(rule, f"{path}/{name}", missing)
        elif value is not None:
            self.fail(rule, f"{path}/{name}", "The member is no text or an empty one.")
        return None

    def findings(self) -> tuple[Finding, ...]:
        """In the order of the document."""
        if self._rule_left_out is None:
            return tuple(self._findings)
        detail = f"{self._left_out} further findings, of this and other rules, are left out."
        return (*self._findings, Finding(self._rule_left_out, "", detail, not self._is_failure_left_out))
