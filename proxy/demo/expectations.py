"""What a step holds an answer to, and how it is told when the answer is another."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.demo.agent import Answer
from proxy.demo.documents import Document
from proxy.demo.origin import LocalOrigin, Seen
from proxy.demo.publisher import DID, KEY_ID
from proxy.trust.verdict import CopySource


class Unfulfilled(Exception):
    """A step did not do what it says."""

    def __init__(self, expected: str, came: str, answer: Answer) -> None:
        super().__init__(f"{expected}: {came}")
        self.expected = expected
        self.came = came
        self.answer = answer


def expect(answer: Answer, expected: str, holds: bool) -> None:
    """Raises Unfulfilled with the whole answer."""
    if not holds:
        raise Unfulfilled(expected, str(answer), answer)


def expect_told(answer: Answer, what: str, told: object, expected: object) -> None:
    """One thing that the answer tells. Raises Unfulfilled."""
    if told != expected:
        raise Unfulfilled(f"{what}: {expected}", str(told), answer)


def expect_seen(origin: LocalOrigin, answer: Answer, *expected: Seen) -> None:
    """The origin was asked this since the step began, and nothing else. Raises Unfulfilled."""
    if origin.seen != list(expected):
        raise Unfulfilled(f"the origin sees {_listed(expected)}", _listed(origin.seen), answer)


def expect_seen_again(origin: LocalOrigin, answer: Answer, expected: Seen) -> None:
    """The origin that was down was asked this by who needed it, by its watch, or by both. Raises Unfulfilled."""
    if not 1 <= len(origin.seen) <= 2 or {*origin.seen} != {expected}:
        raise Unfulfilled(f"the origin sees {_listed([expected])}, once or twice", _listed(origin.seen), answer)


def expect_posted(origin: LocalOrigin, answer: Answer, *expected: int) -> None:
    """The origin answered this to what was posted since the step began. Raises Unfulfilled."""
    posted = [one for one in origin.seen if one.method == "POST"]
    if [one.status for one in posted] != list(expected):
        statuses = ", ".join(map(str, expected)) or "no request"
        raise Unfulfilled(f"posted to the origin: {statuses}", _listed(posted), answer)


def expect_body(answer: Answer, name: str, body: bytes) -> None:
    """It is the document of that name as published. Raises Unfulfilled."""
    expect(answer, f"200 with the {name} as published", answer.status == 200)
    expect(answer, f"the {name} as published", answer.body == body)


def expect_document(answer: Answer, document: Document) -> None:
    """It is the origin's document, which nobody signed. Raises Unfulfilled."""
    expect_body(answer, document.name, document.body)
    expect(answer, "Discovery-Trust: origin-tls", answer.trust == "origin-tls")


def expect_manifest(answer: Answer, manifest: Document) -> None:
    """It is the manifest of the origin, its signature verified. Raises Unfulfilled."""
    expect_body(answer, manifest.name, manifest.body)
    expect_verified(answer, CopySource.ORIGIN)


def expect_verified(answer: Answer, source: CopySource) -> None:
    """A key of the domain's DID signed what came from there. Raises Unfulfilled."""
    vouched = {name: answer.vouched.get(name) for name in ("did", "source", "kid")}
    is_verified = answer.trust == "verified" and vouched == {"did": DID, "source": source, "kid": KEY_ID}
    expect(answer, f"Discovery-Trust: verified by {DID}, source={source}", is_verified)


def _listed(seen: Sequence[Seen]) -> str:
    return ", ".join(f"{one.status} for {one.path} ({one.if_none_match})" for one in seen) or "no request"
