"""What vouches for a stored document: the value behind Discovery-Trust, made when it is stored and compared when
it is served.

Nothing is promised past the end of what vouches: `within` takes from a response's fields whatever freshness they
would give a cache downstream beyond that moment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from proxy.caching.directives import parse_delta_seconds
from proxy.http.dates import format_http_date, parse_http_date
from proxy.http.fields import Fields, split_list
from proxy.http.structured import Token, serialise_item
from proxy.http.timestamps import timestamp


class TrustState(StrEnum):
    """The token of Discovery-Trust."""

    VERIFIED = "verified"
    STALE_TRUST = "stale-trust"
    ORIGIN_TLS = "origin-tls"
    UNVERIFIED_LOCAL = "unverified-local"
    HINT = "hint"
    REJECTED = "rejected"


_FRESHNESS: Final = frozenset({"max-age", "s-maxage"})
_STALE_WINDOWS: Final = frozenset({"stale-while-revalidate", "stale-if-error"})
_CACHE_CONTROL: Final = ("cache-control", "cdn-cache-control", "surrogate-control")


@dataclass(frozen=True, slots=True)
class Vouching:
    """Who says that a document is what its publisher published, and until when that counts. Unix seconds.

    `source` is "origin", "mirror" or "ipfs"; `proof` the kind of the good proof; `signature` tells of a bad one
    ("invalid", "expired"), `reason` why it is. `soft_until`: from then on what verified it is too old to be sure;
    `ends_at`: from then on it may not be served from a store.
    """

    state: TrustState
    source: str
    checked_at: float
    did: str | None = None
    method: str | None = None
    proof: str | None = None
    signature: str | None = None
    reason: str | None = None
    signed_at: float | None = None
    valid_until: float | None = None
    soft_until: float = math.inf
    ends_at: float = math.inf
    value: str = field(init=False, compare=False, repr=False)
    soft_value: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _value(self, self.state))
        object.__setattr__(self, "soft_value", _value(self, TrustState.STALE_TRUST))

    def state_at(self, now: float) -> TrustState:
        """The state as of now."""
        return self.state if now < self.soft_until else TrustState.STALE_TRUST

    def told(self, now: float) -> str:
        """The value of Discovery-Trust as of now (RFC 9651 §4.1.3)."""
        return self.value if now < self.soft_until else self.soft_value


def unsigned(scheme: str, checked_at: float, source: str = "origin") -> Vouching:
    """What vouches for a document without a signature: its origin's TLS, or over plain http nothing."""
    state = TrustState.ORIGIN_TLS if scheme == "https" else TrustState.HINT
    return Vouching(state, source, checked_at)


def rejected(source: str, checked_at: float) -> Vouching:
    """What vouches for a document that is not served: nothing."""
    return Vouching(TrustState.REJECTED, source, checked_at)


def _value(vouching: Vouching, state: TrustState) -> str:
    parameters: dict[str, Token | str | int | bool] = {}
    if vouching.did is not None:
        parameters["did"] = vouching.did
    parameters["source"] = Token(vouching.source)
    if vouching.method is not None:
        parameters["kid"] = vouching.method.removeprefix(vouching.did or "")
    if vouching.signature is not None:
        parameters["signature"] = Token(vouching.signature)
    parameters["checked"] = timestamp(math.floor(vouching.checked_at), "seconds")
    return serialise_item(Token(state.value), parameters, spaced=False)


def within(fields: Fields, born: float, ends_at: float) -> Fields:
    """`fields` without any promise of use past `ends_at`, for a response whose age was zero at `born`."""
    if ends_at == math.inf:
        return fields
    most = max(0, math.floor(ends_at - born))
    return Fields((name, _limited(name.lower(), value, most, ends_at)) for name, value in fields)


def _limited(name: str, value: str, most: int, ends_at: float) -> str:
    if name == "expires":
        # What is no date means "expired" (RFC 9111 §5.3).
        moment = parse_http_date(value, ends_at)
        return value if moment is None or moment <= ends_at else format_http_date(ends_at)
    if name not in _CACHE_CONTROL:
        return value
    directives = split_list(value)
    lifetimes = [_seconds(directive) for directive in directives if _key(directive) in _FRESHNESS]
    longest = max((seconds for seconds in lifetimes if seconds is not None), default=0.0)
    windows = max(0, most - math.ceil(longest))
    return ", ".join(_directive(directive, most, windows) for directive in directives)


def _directive(directive: str, most: int, windows: int) -> str:
    """One directive; `most` seconds may be fresh, `windows` stale after the freshness that the field promises."""
    key = _key(directive)
    limit = most if key in _FRESHNESS else windows if key in _STALE_WINDOWS else None
    if limit is None or "=" not in directive:
        return directive
    seconds = _seconds(directive)
    return directive if seconds is not None and seconds <= limit else f"{key}={limit}"


def _key(directive: str) -> str:
    return directive.partition("=")[0].strip().lower()


def _seconds(directive: str) -> float | None:
    return parse_delta_seconds(directive.partition("=")[2].strip().strip('"'))


_TIMES: Final = ("checked_at", "signed_at", "valid_until", "soft_until", "ends_at")
_TEXTS: Final = ("did", "method", "proof", "signature", "reason")


def to_members(vouching: Vouching) -> dict[str, object]:
    """The members of a record; endless times are left out."""
    told: dict[str, object] = {"state": vouching.state.value, "source": vouching.source}
    for name in (*_TEXTS, *_TIMES):
        value = getattr(vouching, name)
        if value is not None and value != math.inf:
            told[name] = value
    return told


def from_members(members: Mapping[str, Any]) -> Vouching:
    """Raises ValueError, TypeError or LookupError for what `to_members` did not write."""
    texts = {name: str(members[name]) for name in _TEXTS if name in members}
    times = {name: _moment(members[name]) for name in _TIMES if name in members}
    vouching = Vouching(TrustState(members["state"]), str(members["source"]), times.pop("checked_at"))
    return replace(vouching, **texts, **times)  # type: ignore[arg-type]


def _moment(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no moment in time")
    return float(value)
