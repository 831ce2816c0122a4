"""Trust records that were read or written last, so that the file need not be read again."""

from __future__ import annotations

from collections import OrderedDict

from proxy.trust.records.knowledge import Knowledge


class RecentKnowledge:
    """What was read or written last, bounded by the octets of the records."""

    def __init__(self, most_octets: int) -> None:
        self._most_octets = most_octets
        self._octets = 0
        self._known: OrderedDict[str, tuple[Knowledge, int]] = OrderedDict()
        self._version: int | None = None

    def be_of(self, version: int) -> None:
        """Forget everything if somebody else has written to the file since."""
        if version != self._version:
            self._known.clear()
            self._octets = 0
            self._version = version

    def get(self, authority: str) -> Knowledge | None:
        """What is known of it, if that has been read."""
        found = self._known.get(authority)
        if found is None:
            return None
        self._known.move_to_end(authority)
        return found[0]

    def put(self, knowledge: Knowledge, octets: int) -> None:
        """Hold it, and let go what was not asked for for longest."""
        self.forget(knowledge.authority)
        self._known[knowledge.authority] = knowledge, octets
        self._octets += octets
        while self._octets > self._most_octets:
            self.forget(next(iter(self._known)))

    def forget(self, authority: str) -> None:
        """Let go of it."""
        self._octets -= self._known.pop(authority, (None, 0))[1]
