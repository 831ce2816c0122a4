"""What a route or a request changes (UAIX.md §4.1 `side_effect_status`, `get_safety`; §5.4; U-G8).

The words of both members are published as names only, so they are read generously towards caution: a word that
is not known to be harmless means a change, and by its first part the gravest one known.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final
from urllib.parse import unquote_plus

from proxy.discovery.access.routes import RouteRecord
from proxy.http.messages import SAFE_METHODS


class SideEffect(StrEnum):
    NONE = "none"
    READ_ONLY = "read_only"
    CREATES = "creates"
    UPDATES = "updates"
    SIDE_EFFECTING = "side_effecting"
    """A change of which nothing more is said."""
    PUBLISHES = "publishes"
    DELETES = "deletes"
    PAYS = "pays"
    ACCOUNT_CHANGE = "account_change"
    REPOSITORY_WRITE = "repository_write"
    MEMORY_WRITE = "memory_write"
    REGULATED = "regulated"

    @property
    def is_change(self) -> bool:
        return self not in _HARMLESS

    @property
    def is_restricted(self) -> bool:
        """Whether it takes recorded consent, and no GET may do it at all."""
        return self in _RESTRICTED


_HARMLESS: Final = frozenset({SideEffect.NONE, SideEffect.READ_ONLY})
_RESTRICTED: Final = (
    frozenset(SideEffect) - _HARMLESS - {SideEffect.CREATES, SideEffect.UPDATES, SideEffect.SIDE_EFFECTING}
)
_EFFECTS: Final[Mapping[str, SideEffect]] = {effect.value: effect for effect in SideEffect}
# "deletes_record" is a deletion.
_BY_FIRST_PART: Final[Mapping[str, SideEffect]] = {
    effect.partition("_")[0]: effect for effect in SideEffect if effect not in _HARMLESS
}
_ACTION_GETS: Final = frozenset({"bounded_idempotent_action", "not_for_discovery", "get_action", "unsafe"})
_KEY_PARAMETERS: Final = frozenset({"idempotency_key", "nonce"})
# By which some frameworks take one method for another.
_OVERRIDES: Final = frozenset({"_method"})


def token(text: str) -> str:
    """A published word as it is compared: lower case, with underscores."""
    return text.lower().replace("-", "_")


def side_effect(route: RouteRecord) -> SideEffect:
    """What the route changes: its own word, else what its method and the marks of a GET-Action tell."""
    stated = _stated(route.side_effect_status)
    if route.method == "DELETE" and stated in (None, SideEffect.SIDE_EFFECTING):
        return SideEffect.DELETES
    if stated is not None and stated.is_change:
        return stated
    if route.method in SAFE_METHODS:
        return SideEffect.SIDE_EFFECTING if _is_get_action(route) else stated or SideEffect.NONE
    return stated or SideEffect.SIDE_EFFECTING


def is_change(method: str, url: str) -> bool:
    """Whether a request of which no route record speaks may change something."""
    return method not in SAFE_METHODS or _carries(url, _KEY_PARAMETERS | _OVERRIDES)


def key_in(url: str) -> str | None:
    """The idempotency key or nonce in the query of a GET-Action, as written; None without one."""
    pairs = ((_name(pair), pair.partition("=")[2]) for pair in _pairs(url))
    return next((value for name, value in pairs if name in _KEY_PARAMETERS and value), None)


def _stated(word: str | None) -> SideEffect | None:
    if word is None:
        return None
    name = token(word)
    return _EFFECTS.get(name) or _BY_FIRST_PART.get(name.partition("_")[0], SideEffect.SIDE_EFFECTING)


def _is_get_action(route: RouteRecord) -> bool:
    marked = route.get_safety is not None and token(route.get_safety) in _ACTION_GETS
    return marked or _carries(route.highest_supported_path or "", _KEY_PARAMETERS)


def _carries(url: str, names: frozenset[str]) -> bool:
    """Whether the query has a parameter that only a change needs."""
    return "?" in url and any(_name(pair) in names for pair in _pairs(url))


def _name(pair: str) -> str:
    """The name of a parameter as frameworks compare it, which decode it and are not all strict about case."""
    return unquote_plus(pair.partition("=")[0]).casefold().replace("-", "_")


def _pairs(url: str) -> list[str]:
    return url.partition("#")[0].partition("?")[2].replace(";", "&").split("&")
