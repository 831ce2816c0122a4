"""What became of each place that a copy was looked for in, as clients and operators are told (CONTRACT §14.14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.http.secrets import masked
from proxy.trust.verdict import CopySource

_LONGEST_SHOWN: Final = 256
# Longer texts are no URLs that anybody reads; looking for secrets in them is work that a publisher could ask for.
_LONGEST_READ: Final = 8192
_BEHIND_PATH: Final = re.compile(r"[?#]")
_USERINFO: Final = re.compile(r"(?<=://)[^/]*@")
_UNSHOWN: Final = re.compile(r"[^!-~]")


class AttemptOutcome(StrEnum):
    """How an attempt ended: with a verified copy, with one not believed, without any, or before it began."""

    SERVED = "served"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


class AttemptReason(StrEnum):
    """Why there is no copy where neither the trust codes nor the transport's slugs say it."""

    BREAKER_OPEN = "breaker-open"
    TOO_MANY = "too-many"
    NO_GATEWAY = "no-gateway"
    HEDGED = "hedged"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One place. `url` is fit for showing; `reason` is "" where it served; `ms` is how long it took.

    `is_of_gateway`: one gateway on the way to a copy, whose address is the operator's own business.
    """

    source: CopySource
    url: str
    outcome: AttemptOutcome
    reason: str
    ms: float = 0.0
    is_of_gateway: bool = False

    def told(self) -> dict[str, object]:
        """The attempt as an answer has it."""
        return {
            "source": self.source.value,
            "url": self.url,
            "outcome": self.outcome.value,
            "reason": self.reason or None,
            "ms": round(self.ms, 1),
        }


def shown_url(text: str) -> str:
    """A published URL as it may be shown: no query, fragment, userinfo or secret, printable ASCII, not long."""
    bare = _BEHIND_PATH.split(masked(text[:_LONGEST_READ]), maxsplit=1)[0]
    return _UNSHOWN.sub("?", _USERINFO.sub("", bare)[:_LONGEST_SHOWN])
