"""One reading of a published document: where the document lies, and what it gets wrong so far.

The number of findings is bounded whatever the document, so a hostile one makes no long report; the last finding
then says how many were left out, and is a failure if one of those was.
"""

from __future__ import annotations

from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.targets import MalformedTarget, Target, resolve

MOST_FINDINGS: Final = 100
LONGEST_REFERENCE: Final = 8192

UNPLACED: Final = Target("https", "unplaced.invalid", 443, "/", None)
"""Where a document of unknown place is taken to lie, so that its references are judged by their form.

The name never resolves (RFC 6761 §6.4).
"""


def admit_bounded(reference: str, base: Target | None) -> Target:
    """`admit`, for references as long as a document likes to make them. Raises UrlRefused."""
    if len(reference) > LONGEST_REFERENCE:
        raise UrlRefused(UrlReason.MALFORMED, f"The URL is longer than {LONGEST_REFERENCE} characters.")
    return admit(reference, base)


class Reading:
    """Collects the findings of one document.

    `base` is where the document lies; None: nobody knows, as when `lint` reads a file. Relative references then
    lead to a host that does not exist, and nothing counts as being elsewhere.
    """

    __slots__ = ("_base", "_findings", "_last", "_left_out")

    def __init__(self, base: Target | None) -> None:
        self._base = base
        self._findings: list[Finding] = []
        self._last: Finding | None = None
        self._left_out = 0

    @property
    def host(self) -> str | None:
        """The host of the document."""
        return None if self._base is None else self._base.host

    def fail(self, rule: str, path: str, detail: str) -> None:
        self._note(Finding(rule, path, detail))

    def warn(self, rule: str, path: str, detail: str) -> None:
        self._note(Finding(rule, path, detail, is_warning=True))

    def _note(self, finding: Finding) -> None:
        if len(self._findings) < MOST_FINDINGS:
            self._findings.append(finding)
            return
        self._left_out += 1
        if self._last is None or self._last.is_warning:
            self._last = finding

    def target(self, reference: str) -> Target:
        """What a reference in the document leads to. Raises UrlRefused."""
        return admit_bounded(reference, self._base or UNPLACED)

    def is_elsewhere(self, reference: str) -> bool:
        """Whether a reference is known to lead to another origin than that of the document."""
        if self._base is None:
            return False
        try:
            return resolve(self._base, reference).origin != self._base.origin
        except MalformedTarget:
            return True

    def text(self, value: object, rule: str, path: str, missing: str | None = None) -> str | None:
        """A member that is a text with something in it.

        Any other value but null is a failure of `rule`; `missing` says what follows where the member is required,
        and is then the failure of null too.
        """
        if isinstance(value, str) and value:
            return value
        if missing is not None:
            self.fail(rule, path, missing)
        elif value is not None:
            self.fail(rule, path, "The member is no text or an empty one.")
        return None

    def findings(self) -> tuple[Finding, ...]:
        """In the order of the document."""
        if self._last is None:
            return tuple(self._findings)
        detail = f"{self._left_out} further findings, of this and other rules, are left out."
        return (*self._findings, Finding(self._last.rule, "", detail, self._last.is_warning))
