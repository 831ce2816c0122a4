"""Which of a site's route records speaks of a request (UAIX.md §4.1; §4.3 D3).

A route covers a method at a path, and, where the path is a template, at every path that is made from it. The query
does not make another route: it tells those of one path apart as far as it can, and where it cannot, the one that
changes most counts. Whoever writes the path of a change in another spelling, or a parameter twice, is still at that
change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote_plus

from proxy.capability.effects import is_change, side_effect
from proxy.capability.fallbacks import offered
from proxy.capability.needs import FetchClass
from proxy.capability.pathtree import PathTree, TooManySteps, is_variable, placeheld
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.urls import UrlRefused, admit
from proxy.http.targets import Target

# Looked at for one query; where more come into question, the gravest counts.
_MOST_ALTERNATIVES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Covered:
    """A route record and the site against which its paths are resolved.

    `secret_allowed`: query names that mean nothing secret on this route.
    """

    record: RouteRecord
    site: Target
    secret_allowed: frozenset[str] = frozenset()


def post_target(route: RouteRecord, site: Target, secret_allowed: frozenset[str]) -> Target | None:
    """The target of the POST that does what a GET-Action does; None if there is none that may be used.

    It is published as a URL, or as one behind the method's name.
    """
    method, separator, url = (route.post_equivalent or "").partition(" ")
    return offered(url if separator and method.upper() == "POST" else route.post_equivalent, site, secret_allowed)


def posted(route: RouteRecord, url: str) -> RouteRecord:
    """The record of a GET-Action as it holds for its POST equivalent at `url`."""
    return replace(
        route, method="POST", fetch_execution_class=FetchClass.HTTP_JSON_POST, highest_supported_path=url
    )


class RouteIndex:
    """The routes of a site, to be asked which of them covers a request.

    Routes whose highest supported path is no admitted URL are left out. `fold` gives one form to all spellings of a
    path that some server reads alike; None: a path has but one.
    """

    def __init__(self, routes: Iterable[Covered], fold: Callable[[str], str] | None = None) -> None:
        exact: _ByPlace = defaultdict(_no_paths)
        folded: _ByPlace = defaultdict(_no_paths)
        for order, route in enumerate(routes):
            for entry, target in _entries(route, order):
                method, path = entry.covered.record.method, target.normal_path
                place = (method, target.scheme, target.host, target.port)
                exact[place][path].append(entry)
                if fold is not None and method == "GET" and entry.gravity:
                    folded[place][fold(path)].append(entry)
        self._fold = fold
        self._exact = {place: _Paths(paths) for place, paths in exact.items()}
        self._folded = {place: _Paths(paths) for place, paths in folded.items()}

    def covering(self, method: str, target: Target) -> Covered | None:
        """The route that covers a request for `target`, HEAD being covered by a GET too; None for none.

        `target` is under the authority by which the routes name the site. A GET that has no literal path among the
        routes is covered by the change whose path it folds to; a template only comes before that which folds to no
        literal path, or if it changes something itself.
        """
        found = self._exactly(method, target)
        if found is None and method == "HEAD":
            method = "GET"
            found = self._exactly(method, target)
        if method == "GET" and self._folded and (found is None or found.may_mean_more):
            found = self._by_spelling(target, found)
        return None if found is None else found.asked_with(target.query)

    def _exactly(self, method: str, target: Target) -> _Alternatives | None:
        paths = self._exact.get((method, target.scheme, target.host, target.port))
        return None if paths is None else paths.find(target.normal_path)

    def _by_spelling(self, target: Target, template: _Alternatives | None) -> _Alternatives | None:
        paths = self._folded.get(("GET", target.scheme, target.host, target.port))
        if paths is None or self._fold is None:
            return template
        change = paths.find(self._fold(target.normal_path))
        return template if change is None or (template is not None and change.is_template) else change


_Token = tuple[str, str | None]
"""A parameter of a query with its value, or its name alone."""
_Place = tuple[str, str, str, int]
"""Method, scheme, host and port."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A route among those of one path. `tokens`: what has to stand in a query for the route to be meant."""

    covered: Covered
    tokens: frozenset[_Token]
    gravity: int
    is_derived: bool
    order: int

    @property
    def preference(self) -> tuple[int, bool, int]:
        """The greatest one counts where the query decides nothing."""
        return self.gravity, not self.is_derived, -self.order

    @property
    def closeness(self) -> tuple[int, int, bool, int]:
        """The greatest one counts among those that are meant."""
        return len(self.tokens), *self.preference


class _Alternatives:
    """The routes of one path, told apart by the query."""

    __slots__ = ("_by_token", "_is_sole", "_unconditional", "gravest", "is_template", "may_mean_more")

    def __init__(self, entries: list[_Entry], *, is_template: bool) -> None:
        alike: dict[frozenset[_Token], _Entry] = {}
        for entry in entries:
            other = alike.get(entry.tokens)
            if other is None or entry.preference > other.preference:
                alike[entry.tokens] = entry
        self.gravest = max(alike.values(), key=lambda entry: entry.preference)
        self.is_template = is_template
        # A template without effect may only seem to cover what is another spelling of a change.
        self.may_mean_more = is_template and not self.gravest.gravity
        self._is_sole = len(alike) == 1
        self._unconditional = alike.pop(frozenset(), None)
        frequency = Counter(token for tokens in alike for token in tokens)
        # Each is found by the rarest of its tokens, so that few are looked at that are not meant.
        self._by_token: dict[_Token, list[_Entry]] = defaultdict(list)
        for tokens, entry in alike.items():
            self._by_token[min(tokens, key=frequency.__getitem__)].append(entry)

    def asked_with(self, query: str | None) -> Covered:
        """The route that is meant: the one of whose query most stands in this one; else the gravest."""
        if self._is_sole:
            return self.gravest.covered
        asked = _tokens_of(query)
        listed = [entry for token in asked for entry in self._by_token.get(token, ())]
        meant = [entry for entry in listed[:_MOST_ALTERNATIVES] if entry.tokens <= asked]
        if self._unconditional is not None:
            meant.append(self._unconditional)
        if not meant or len(listed) > _MOST_ALTERNATIVES:
            return self.gravest.covered
        # Of a parameter that stands there twice, one server takes the first and another the last.
        if _is_ambiguous(asked):
            return max(meant, key=lambda entry: entry.preference).covered
        return max(meant, key=lambda entry: entry.closeness).covered


class _Paths:
    """The paths of one method at one place: literal ones at hand, templates in a tree."""

    __slots__ = ("_gravest", "_literals", "_templates")

    def __init__(self, paths: Mapping[str, list[_Entry]]) -> None:
        self._literals: dict[str, _Alternatives] = {}
        self._templates: PathTree[_Alternatives] = PathTree()
        self._gravest: _Alternatives | None = None
        for path, entries in paths.items():
            if is_variable(path):
                self._add(path, _Alternatives(entries, is_template=True))
            else:
                self._literals[path] = _Alternatives(entries, is_template=False)

    def _add(self, path: str, template: _Alternatives) -> None:
        self._templates.add(path, template)
        most = self._gravest
        if most is None or template.gravest.preference > most.gravest.preference:
            self._gravest = template

    def find(self, path: str) -> _Alternatives | None:
        literal = self._literals.get(path)
        if literal is not None or self._gravest is None:
            return literal
        try:
            return self._templates.find(path)
        except TooManySteps:
            return self._gravest


_ByPlace = defaultdict[_Place, defaultdict[str, list[_Entry]]]


def _no_paths() -> defaultdict[str, list[_Entry]]:
    return defaultdict(list)


def _entries(route: Covered, order: int) -> Iterator[tuple[_Entry, Target]]:
    """What stands in the index for a route and for its POST equivalent, each with its target."""
    yield from _entries_of(route, order, is_derived=False)
    record = route.record
    if record.method == "GET" and record.post_equivalent:
        target = post_target(record, route.site, route.secret_allowed)
        if target is not None:
            equivalent = replace(route, record=posted(record, target.uri))
            yield from _entries_of(equivalent, order, is_derived=True)


def _entries_of(route: Covered, order: int, *, is_derived: bool) -> Iterator[tuple[_Entry, Target]]:
    path = route.record.highest_supported_path
    if not path:
        return
    try:
        target = admit(placeheld(path), route.site)
    except UrlRefused:
        return
    effect = side_effect(route.record)
    gravity = effect.is_change + effect.is_restricted
    for tokens in _conditions(target.query):
        yield _Entry(route, tokens, gravity, is_derived, order), target


def _conditions(query: str | None) -> Iterator[frozenset[_Token]]:
    """What has to stand in a query for a route with this one to be meant, in one way or another.

    That is its literal pairs and the names of its variables. Beside an idempotency key the values are examples, so
    the key is enough.
    """
    asked = _tokens_of(query)
    keys = frozenset((name, None) for name, value in asked if value is None and is_change("GET", f"?{name}="))
    pairs = ((name, value) for name, value in asked if value is not None)
    yield keys | {(name, None if "{" in value else value) for name, value in pairs if (name, None) not in keys}
    if keys:
        yield keys


def _tokens_of(query: str | None) -> set[_Token]:
    """The pairs of a query and their names, without regard to letter case and encoding."""
    if not query:
        return set()
    pairs = (pair.partition("=") for pair in query.replace(";", "&").split("&") if pair)
    named = [(unquote_plus(name).casefold(), unquote_plus(value).casefold()) for name, _, value in pairs]
    return {*named, *((name, None) for name, _ in named)}


def _is_ambiguous(asked: set[_Token]) -> bool:
    """Whether a name stands there with more than one value."""
    names = sum(value is None for _, value in asked)
    return len(asked) > 2 * names
