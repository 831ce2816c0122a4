"""What is known in memory of the file of the boundary: of each intent the newest conflict, and all profiles.

They are packed; those asked for last are also as they are. Beside them is what was put and is not in the file yet.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from typing import Final, NamedTuple

from proxy.boundary.codec import MalformedConflict, MalformedRegistration
from proxy.boundary.conflicts import Conflict, State
from proxy.boundary.registration import Registration
from proxy.stores.boundaryfile import News
from proxy.stores.boundaryrow import ConflictRow, client_of, read_conflict, read_registration
from proxy.stores.memoryboundary import newer

MOST_AT_HAND: Final = 4096

_log = logging.getLogger(__name__)


class _Known(NamedTuple):
    """A conflict in the file: its number, its client and its packed record, b"" where that is damaged."""

    number: int
    client: str
    small: bytes


class BoundaryShelf:
    """For one thread. Of what is not in the file yet it keeps `most_ahead`, those put last."""

    def __init__(self, most_ahead: int, most_at_hand: int = MOST_AT_HAND) -> None:
        self._most_ahead = most_ahead
        self._most_at_hand = most_at_hand
        self._ahead: OrderedDict[str, Conflict] = OrderedDict()
        self._at_hand: OrderedDict[str, Conflict] = OrderedDict()
        self._newest: dict[str, _Known] = {}
        self._profiles: dict[str, Registration | bytes] = {}
        self._clients: Counter[str] = Counter()  # of all of these
        self._malformed: set[str] = set()

    @property
    def has_damaged(self) -> bool:
        """Whether a damaged record was met with that is still there."""
        return bool(self._malformed)

    def latch(self, intent: str) -> Conflict | None:
        """The newest conflict of this intent; none where its record is damaged."""
        ahead = self._ahead.get(intent)
        if ahead is not None:
            return ahead
        conflict = self._at_hand.get(intent)
        if conflict is not None:
            self._at_hand.move_to_end(intent)
            return conflict
        known = self._newest.get(intent)
        return None if known is None else self._read(intent, known.small)

    def is_known(self, client: str) -> bool:
        """Whether there is anything of this client."""
        return client in self._clients

    def profile(self, client: str) -> Registration | None:
        """What the client last registered; none where its record is damaged."""
        known = self._profiles.get(client)
        return self._read_profile(client, known) if isinstance(known, bytes) else known

    def put(self, conflict: Conflict) -> Conflict:
        """Tell it from now on; what is to be written, of what is known of it and what is put."""
        known = self.latch(conflict.intent)
        if known is not None and known.id == conflict.id:
            stands = newer(known, conflict)
            if stands is known:
                return conflict
            conflict = stands
        elif known is not None and conflict.state is State.RELEASED:
            return conflict  # not the newest: that one stays
        self._remove_ahead(conflict.intent)
        self._ahead[conflict.intent] = conflict
        self._clients[conflict.client] += 1
        if len(self._ahead) > self._most_ahead:
            self._remove_ahead(next(iter(self._ahead)))
        return conflict

    def settle(self, conflict: Conflict) -> None:
        """After it was written: from now on the file is told, unless something newer waits."""
        if self._ahead.get(conflict.intent) is conflict:
            self._remove_ahead(conflict.intent)

    def take_in(self, news: News) -> None:
        """Know what is in the file."""
        for number, key in news.dropped:
            intent = key.hex()
            known = self._newest.get(intent)
            if known is not None and known.number == number:
                self._remove(intent)
        for row in news.conflicts:
            self._add(row)
        for key in news.unregistered:
            self._remove_profile(client_of(key))
        for profile in news.profiles:
            client = client_of(profile.client)
            self._remove_profile(client)
            self._profiles[client] = profile.record
            self._clients[client] += 1

    def _add(self, row: ConflictRow) -> None:
        intent = row.intent.hex()
        known = self._newest.get(intent)
        if known is not None and known.number > row.number:
            return
        self._remove(intent)
        self._newest[intent] = _Known(row.number, client_of(row.client), row.record)
        self._clients[self._newest[intent].client] += 1
        ahead = self._ahead.get(intent)
        if ahead is not None and _is_outdone(ahead, row):
            self._remove_ahead(intent)

    def _remove(self, intent: str) -> None:
        known = self._newest.pop(intent, None)
        if known is not None:
            self._at_hand.pop(intent, None)
            self._malformed.discard(intent)
            self._forget(known.client)

    def _remove_ahead(self, intent: str) -> None:
        conflict = self._ahead.pop(intent, None)
        if conflict is not None:
            self._forget(conflict.client)

    def _remove_profile(self, client: str) -> None:
        if self._profiles.pop(client, None) is not None:
            self._malformed.discard(client)
            self._forget(client)

    def _forget(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    def _read(self, intent: str, small: bytes) -> Conflict | None:
        if not small or intent in self._malformed:
            return None
        try:
            conflict = read_conflict(small, intent)
        except MalformedConflict as error:
            self._note_damage("conflict", intent, error.detail)
            return None
        self._at_hand[intent] = conflict
        if len(self._at_hand) > self._most_at_hand:
            self._at_hand.popitem(last=False)
        return conflict

    def _read_profile(self, client: str, small: bytes) -> Registration | None:
        if not small or client in self._malformed:
            return None
        try:
            registration = read_registration(small, client)
        except MalformedRegistration as error:
            self._note_damage("capability profile", client, error.detail)
            return None
        self._profiles[client] = registration
        return registration

    def _note_damage(self, noun: str, name: str, detail: str) -> None:
        self._malformed.add(name)
        _log.error("the record of a %s is damaged, and not used (%s): %s", noun, name, detail)


def _is_outdone(ahead: Conflict, row: ConflictRow) -> bool:
    """Whether others have gone further: they were refused after this release, or it was released meanwhile."""
    if ahead.state is State.RELEASED:
        return ahead.id != row.id.hex()
    return ahead.id == row.id.hex() and row.state == State.RELEASED.encode() and bool(row.record)
