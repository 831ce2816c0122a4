"""Cache directives of requests and responses (RFC 9111 §5.2, RFC 5861, RFC 8246, RFC 9213).

Where a directive is repeated or malformed the most restrictive reading wins (§4.2.1): the smallest lifetime,
zero for a lifetime that is no number, the unqualified form of `private` and `no-cache` also where the listed
names are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proxy.http.fields import Fields, is_token, split_list, unquote
from proxy.http.structured import parse_dictionary

# §1.2.2: a delta-seconds too large to represent counts as this.
MAX_SECONDS = 2.0**31
# The name by which Surrogate-Control can target this cache, as Surrogate-Capability announces it to site origins.
SURROGATE = "discovery-proxy"

_SECONDS = ("max-age", "s-maxage", "stale-while-revalidate", "stale-if-error")
_FLAGS = ("no-store", "must-revalidate", "proxy-revalidate", "public", "must-understand")


@dataclass(frozen=True, slots=True)
class ResponseDirectives:
    """What the origin lets a shared cache do. Seconds are floats; None means the directive is absent."""

    max_age: float | None = None
    s_maxage: float | None = None
    stale_while_revalidate: float | None = None
    stale_if_error: float | None = None
    no_store: bool = False
    must_revalidate: bool = False
    proxy_revalidate: bool = False
    public: bool = False
    must_understand: bool = False
    private: bool = False
    no_cache: bool = False
    withheld: frozenset[str] = frozenset()
    """Field names listed by qualified `private` and `no-cache`: never stored (§5.2.2.4, §5.2.2.7)."""
    targeted: bool = False
    """Whether CDN-Cache-Control governs, so that Cache-Control and Expires do not (RFC 9213 §2.2)."""


@dataclass(frozen=True, slots=True)
class RequestDirectives:
    """What the client asks of the cache (RFC 9111 §5.2.1). Infinite max-stale means any staleness."""

    max_age: float | None = None
    max_stale: float | None = None
    min_fresh: float | None = None
    no_cache: bool = False
    no_store: bool = False
    only_if_cached: bool = False


NO_REQUEST_DIRECTIVES = RequestDirectives()


def parse_delta_seconds(text: str) -> float | None:
    """Seconds of a delta-seconds (§1.2.2), capped; None when `text` is not one or more ASCII digits."""
    if not (text.isascii() and text.isdigit()):
        return None
    return min(float(text), MAX_SECONDS)


def _members(values: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    for value in values:
        for element in split_list(value):
            name, separator, argument = element.partition("=")
            token = name.rstrip(" \t")
            # The grammar has no white space around "=" (§5.2): what follows it is no argument that could be read.
            readable = unquote(argument) if token == name else ""
            yield token.lower(), readable if separator else None


def _shortest(previous: float | None, argument: str | None) -> float:
    seconds = parse_delta_seconds(argument) if argument is not None else None
    if seconds is None:
        return 0.0
    return seconds if previous is None else min(previous, seconds)


class _Reading:
    """Directives being gathered from one field."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.flags: set[str] = set()
        self.withheld: set[str] = set()

    def add(self, name: str, argument: str | None) -> None:
        if name in _SECONDS:
            self.seconds[name] = _shortest(self.seconds.get(name), argument)
        elif name in _FLAGS:
            self.flags.add(name)
        elif name in ("private", "no-cache"):
            names = split_list(argument or "")
            if names and all(map(is_token, names)):
                self.withheld.update(field.lower() for field in names)
            else:
                self.flags.add(name)

    def result(self, *, targeted: bool) -> ResponseDirectives:
        return ResponseDirectives(
            max_age=self.seconds.get("max-age"),
            s_maxage=self.seconds.get("s-maxage"),
            stale_while_revalidate=self.seconds.get("stale-while-revalidate"),
            stale_if_error=self.seconds.get("stale-if-error"),
            no_store="no-store" in self.flags,
            must_revalidate="must-revalidate" in self.flags,
            proxy_revalidate="proxy-revalidate" in self.flags,
            public="public" in self.flags,
            must_understand="must-understand" in self.flags,
            private="private" in self.flags,
            no_cache="no-cache" in self.flags,
            withheld=frozenset(self.withheld),
            targeted=targeted,
        )


def parse_response_directives(fields: Fields) -> ResponseDirectives:
    """The directives that govern a shared cache: the first usable field that targets one, else Cache-Control.

    CDN-Cache-Control comes first (RFC 9213 §2.2), then Surrogate-Control, its predecessor on reverse proxies.
    """
    return (
        _parse_targeted(fields.get_all("cdn-cache-control"))
        or _parse_surrogate(fields.get_all("surrogate-control"))
        or _parse_cache_control(fields.get_all("cache-control"))
    )


def _parse_cache_control(values: tuple[str, ...]) -> ResponseDirectives:
    reading = _Reading()
    for name, argument in _members(values):
        reading.add(name, argument)
    return reading.result(targeted=False)


def _parse_targeted(values: tuple[str, ...]) -> ResponseDirectives | None:
    """RFC 9213 §2.1: empty, unparsable or wrongly typed makes the whole field count as absent."""
    members = parse_dictionary(values) if values else None
    if not members or not _well_typed(members):
        return None
    reading = _Reading()
    for name, value in members.items():
        if value is not False:
            reading.add(name, None if value is True else str(value))
    return reading.result(targeted=True)


def _parse_surrogate(values: tuple[str, ...]) -> ResponseDirectives | None:
    """Edge Architecture 1.0 §2.2: `directive;target` is for the surrogate of that name alone.

    Directives for others, and those this cache does not know (content, above all), do not make the field apply.
    """
    reading = _Reading()
    for name, argument in _members(values):
        bare, *targets = (part.strip(" \t") for part in (name if argument is None else argument).split(";"))
        if targets and SURROGATE not in map(str.lower, targets):
            continue
        if argument is None:
            reading.add(bare, None)
        else:
            reading.add(name, bare.partition("+")[0])
    return reading.result(targeted=True) if reading.seconds or reading.flags else None


def _well_typed(members: Mapping[str, object]) -> bool:
    for name, value in members.items():
        if name in _SECONDS and (type(value) is not int or value < 0):
            return False
        if name in _FLAGS and not isinstance(value, bool):
            return False
        if name in ("private", "no-cache") and not isinstance(value, bool | str):
            return False
    return True


def parse_request_directives(fields: Fields) -> RequestDirectives:
    """The client's Cache-Control; `Pragma: no-cache` counts only without it (§5.4)."""
    values = fields.get_all("cache-control")
    if not values:
        pragma = any(name == "no-cache" for name, _ in _members(fields.get_all("pragma")))
        return RequestDirectives(no_cache=True) if pragma else NO_REQUEST_DIRECTIVES
    seconds: dict[str, float] = {}
    flags: set[str] = set()
    for name, argument in _members(values):
        if name == "max-stale" and argument is None:
            seconds.setdefault(name, float("inf"))
        elif name in ("max-age", "max-stale", "min-fresh"):
            seconds[name] = _strictest_request(name, seconds.get(name), argument)
        else:
            flags.add(name)
    return RequestDirectives(
        max_age=seconds.get("max-age"),
        max_stale=seconds.get("max-stale"),
        min_fresh=seconds.get("min-fresh"),
        no_cache="no-cache" in flags,
        no_store="no-store" in flags,
        only_if_cached="only-if-cached" in flags,
    )


def _strictest_request(name: str, previous: float | None, argument: str | None) -> float:
    """Strict is short for max-age and max-stale, long for min-fresh; nonsense is strictest."""
    if name != "min-fresh":
        return _shortest(previous, argument)
    seconds = parse_delta_seconds(argument or "")
    return max(previous or 0.0, MAX_SECONDS if seconds is None else seconds)
