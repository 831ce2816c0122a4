"""Telling an unsupported agent to try again, where it has to stop (UAIX.md §7, `retry_loop_no_op_violation`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

RETRY_LOOP: Final = "retry_loop_no_op_violation"

# What is looked at of one answer; a text for people is shorter.
_LONGEST_TEXT: Final = 300
_MOST_MEMBERS: Final = 50

_CLAUSE_END: Final = re.compile(r"[.;!?\n]")
_RETRYING: Final = re.compile(
    r"\b(?:retr(?:y|ies|ying)|try(?:ing)? (?:again|another)|keep (?:trying|calling|sending|polling)|guess(?:ing)?"
    r"|until it (?:works|succeeds))\b",
    re.IGNORECASE,
)
_NEGATION: Final = re.compile(r"\b(?:not|never|no|without|don't|cannot|must not|stop)\b", re.IGNORECASE)
_MEMBER: Final = re.compile(r"(?:max|auto)?retr(?:y|ies)", re.IGNORECASE)
# URIs, in which words tell nobody to do anything.
_REFERENCES: Final = frozenset({"type", "url", "instance"})
# In a sentence an address says nothing of what to do.
_URL: Final = re.compile(r"[a-z]{2,8}://\S*", re.IGNORECASE)
_SEPARATORS: Final = re.compile(r"[-_]")


def is_retry_loop(answer: Mapping[str, object]) -> bool:
    """Whether a no-op announces a retry in a member (`retry_after`, `maxRetries`) or tells to retry in a text."""
    members = list(islice(answer.items(), _MOST_MEMBERS))
    texts = (value for name, value in members if isinstance(value, str) and name not in _REFERENCES)
    return any(_announces(name, value) for name, value in members) or any(map(tells_to_retry, texts))


def tells_to_retry(text: str) -> bool:
    """Whether a sentence says to retry or to guess; one with a negation before those words says the contrary."""
    for clause in _CLAUSE_END.split(_URL.sub(" ", text[:_LONGEST_TEXT])):
        retrying = _RETRYING.search(clause)
        if retrying is not None and _NEGATION.search(clause, 0, retrying.start()) is None:
            return True
    return False


def _announces(name: str, value: object) -> bool:
    """A member that says zero, false or nothing announces no retry."""
    return bool(value) and _MEMBER.match(_SEPARATORS.sub("", name[:_LONGEST_TEXT])) is not None
