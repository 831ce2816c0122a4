"""Which rows go when the file of the boundary is full.

Released conflicts go first, the oldest first, then held ones of the client that has most, the oldest first. What
was just written stays: who wrote it was told so.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from proxy.boundary.conflicts import State
from proxy.stores.ledgerfile import surplus
from proxy.stores.memoryboundary import BoundaryBounds, DropLog, shares

_RELEASED: Final = State.RELEASED.encode()
_RELEASED_OF_ALL: Final = "SELECT number FROM conflicts WHERE state=? ORDER BY number"
_OF_CLIENT: Final = (
    f"SELECT number FROM conflicts INDEXED BY by_client WHERE client=? ORDER BY state<>x'{_RELEASED.hex()}', number"
)


class Room:
    """Keeps a file within `bounds`. Methods are called in the transaction that wrote."""

    def __init__(self, bounds: BoundaryBounds) -> None:
        self._bounds = bounds
        self._dropped = DropLog("conflicts")
        self._unregistered = DropLog("capability profiles")

    def make_for(self, file: sqlite3.Connection, written: Mapping[int, bytes], count: int) -> int:
        """Delete what of `count` conflicts is too many, and not what was `written`, of these clients; how many."""
        dropped = 0
        for client in sorted(set(written.values())):
            [have] = file.execute("SELECT count(*) FROM conflicts WHERE client=?", (client,)).fetchone()
            dropped += _drop(file, _OF_CLIENT, client, surplus(have, self._bounds.of_client), written)
        most = surplus(count - dropped, self._bounds.of_all)
        if most:
            released = _drop(file, _RELEASED_OF_ALL, _RELEASED, most, written)
            dropped += released
            rows = file.execute("SELECT CAST(client AS BLOB), count(*) FROM conflicts GROUP BY client")
            counts = Counter(dict(rows))
            counts.subtract(written.values())
            for client, share in shares(counts, most - released).items():
                dropped += _drop(file, _OF_CLIENT, client, share, written)
        self._dropped.note(dropped)
        return dropped

    def make_for_profile(self, file: sqlite3.Connection, client: bytes) -> int:
        """Delete the profiles that are too many, not that of `client`: what expires first goes first; how many."""
        [have] = file.execute("SELECT count(*) FROM profiles").fetchone()
        going = "SELECT client FROM profiles WHERE client<>? ORDER BY expires LIMIT ?"
        given = client, surplus(have, self._bounds.profiles)
        dropped = file.execute(f"DELETE FROM profiles WHERE client IN ({going})", given).rowcount
        self._unregistered.note(dropped)
        return dropped


def _drop(file: sqlite3.Connection, query: str, value: bytes, most: int, written: Collection[int]) -> int:
    """Delete at most so many of what the query finds."""
    if not most:
        return 0
    found = (number for (number,) in file.execute(f"{query} LIMIT ?", (value, most + len(written))).fetchall())
    going = [(number,) for number in found if number not in written][:most]
    file.executemany("DELETE FROM conflicts WHERE number=?", going)
    return len(going)
