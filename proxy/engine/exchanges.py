"""What an exchange with an origin can come to, beside an answer: failures, refusals, lines for one client alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.http.fields import NO_FIELDS, Fields
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.ports import OriginResponse, OriginUnavailable

# Answers that say "not to you, not now": they go to the client and leave the stored response alone.
LEAVES_STORED: Final = frozenset({401, 403, 406, 407, 408, 425, 429})


def is_failure(status: int) -> bool:
    """A 5xx that speaks of the server's state rather than of the resource; 501 speaks of the method."""
    return status >= 500 and status != 501


class Unanswered(Exception):
    """Not even the head of an answer came."""

    def __init__(self, error: OriginUnavailable) -> None:
        super().__init__(error.detail)
        self.error = error


@contextmanager
def closing_on_error(response: OriginResponse) -> Iterator[None]:
    """Let go of `response` when the block fails."""
    try:
        yield
    except BaseException:
        response.close()
        raise


def problem_of(error: OriginUnavailable) -> Problem:
    """The problem a client sees for a failed exchange."""
    return Problem(Slug(error.fault.value), error.detail)


def unstored(head: ResponseHead) -> Fields:
    """The lines that go to the client of this exchange and to nobody else."""
    names = parse_response_directives(head.fields).withheld | {"set-cookie"}
    if not any(name in head.fields for name in names):
        return NO_FIELDS
    return head.fields.where(lambda name, _: name.lower() in names)
