"""The one error that comes out of a DNS exchange."""

from __future__ import annotations

from enum import StrEnum


class DnsReason(StrEnum):
    """Why there is no answer to believe."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    SERVFAIL = "servfail"
    REFUSED = "refused"
    MALFORMED = "malformed"
    OTHER_QUESTION = "other-question"
    TRUNCATED = "truncated"
    CNAME_LOOP = "cname-loop"
    BOGUS = "bogus"


class DnsFailure(Exception):
    """No resolver gave a usable answer; `detail` is a sentence without addresses or octets of the answer."""

    def __init__(self, reason: DnsReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
