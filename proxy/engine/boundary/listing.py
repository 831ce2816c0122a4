"""The route records of one host, whoever made them: its own manifest, or the operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from proxy.capability.covering import Covered, RouteIndex
from proxy.http.targets import Target

_MOST_FOUND: Final = 1_024
_LONGEST_FOUND: Final = 256


@dataclass(frozen=True, slots=True)
class Source:
    """The manifest behind a listing. `url` may be shown; `trust` is a state of Discovery-Trust."""

    url: str
    sha256: str
    trust: str


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The route records of one place. `site` is what they are resolved against, `review_url` the site's own."""

    site: Target
    routes: RouteIndex | None
    operator: RouteIndex | None
    review_url: str | None = None
    source: Source | None = None
    reason: str | None = None
    """Why there is no manifest that counts."""
    _found: dict[tuple[str, str], Covered | None] = field(default_factory=dict)

    @property
    def is_listed(self) -> bool:
        """Whether there are route records by which requests are judged (CONTRACT §8)."""
        return self.routes is not None or self.operator is not None

    def covering(self, method: str, target: Target) -> Covered | None:
        """The route record that speaks of a request; the operator's word goes first."""
        if target.query is not None or len(target.path) > _LONGEST_FOUND:
            return self._covering(method, target)
        asked = method, target.path
        if asked not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            self._found[asked] = self._covering(method, target)
        return self._found[asked]

    def _covering(self, method: str, target: Target) -> Covered | None:
        named = self.named(target)
        found = None if self.operator is None else self.operator.covering(method, named)
        return found or (None if self.routes is None else self.routes.covering(method, named))

    def root(self, target: Target) -> str:
        """Where a person can look when nobody has named a place for that: the site itself."""
        host = self.site.host if self.routes is not None else target.host
        return f"https://{host}/"

    def named(self, target: Target) -> Target:
        """The target under the name of the site, whatever name it was asked under."""
        site = self.site
        if (target.host, target.port, target.scheme) == (site.host, site.port, site.scheme):
            return target
        return Target(site.scheme, site.host, site.port, target.path, target.query)
