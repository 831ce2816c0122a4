"""A breaker for each host that copies are asked for at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from proxy.failover.breaker import CLOSED, Breaker, NotYet
from proxy.ports import Clock

# Hosts remembered at once; beyond it the one that was heard of longest ago is taken to work.
MOST_HOSTS: Final = 1024


class Breakers:
    """The breakers of the hosts that lately failed, by authority, and which hosts lately answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of: OrderedDict[str, Breaker] = OrderedDict()

    @property
    def known(self) -> Mapping[str, Breaker]:
        """By authority. Who is not there, nothing is held against."""
        return self._of

    def allow(self, authority: str) -> bool:
        """Whether a request may be made now; it then is expected to be, and to be reported."""
        allowed = self._of.get(authority, CLOSED).allow(self._clock())
        if isinstance(allowed, NotYet):
            return False
        if allowed.is_open:
            self._keep(authority, allowed)
        return True

    def failed(self, authority: str) -> None:
        """The host did not answer, or not usably."""
        self._keep(authority, self._of.get(authority, CLOSED).failed(self._clock()))

    def succeeded(self, authority: str) -> None:
        """The host answered, whatever it said."""
        self._keep(authority, CLOSED)

    def _keep(self, authority: str, breaker: Breaker) -> None:
        self._of[authority] = breaker
        self._of.move_to_end(authority)
        if len(self._of) > MOST_HOSTS:
            self._of.popitem(last=False)
