"""A row of the file of the boundary, of a conflict or of a profile.

It is sealed: what it is looked up by and its record stay together or the row is damaged, which is found without
reading what the record says.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from proxy.boundaries import NumberedConflict
from proxy.boundary.codec import (
    MalformedConflict,
    MalformedRegistration,
    parse_record,
    parse_registration,
    to_record,
    to_registration_record,
)
from proxy.boundary.conflicts import Conflict
from proxy.boundary.registration import Registration
from proxy.relocation.codec import MalformedRecord
from proxy.stores.packing import packed, unpacked

STATEMENTS: Final = (
    "CREATE TABLE conflicts (number INTEGER PRIMARY KEY, change INTEGER NOT NULL, id BLOB NOT NULL,"
    " intent BLOB NOT NULL, client BLOB NOT NULL, state BLOB NOT NULL, record BLOB NOT NULL, seal BLOB NOT NULL)",
    "CREATE UNIQUE INDEX by_id ON conflicts (id)",
    "CREATE INDEX by_change ON conflicts (change)",
    "CREATE INDEX by_intent ON conflicts (intent)",
    "CREATE INDEX by_client ON conflicts (client)",
    "CREATE INDEX by_state ON conflicts (state)",
    "CREATE TABLE profiles (client BLOB PRIMARY KEY, change INTEGER NOT NULL, expires REAL NOT NULL,"
    " record BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX profiles_by_change ON profiles (change)",
    "CREATE TABLE counters (kind INTEGER PRIMARY KEY, value INTEGER NOT NULL)",
)


def _octets(*names: str) -> str:
    return ", ".join(f"ifnull(CAST({name} AS BLOB), x'')" for name in names)


# A damaged column may have another type; where it is looked up by, nobody will find the row.
CONFLICTS: Final = (
    f"SELECT number, change, {_octets('id', 'intent', 'client', 'state', 'record', 'seal')},"
    " typeof(id)||typeof(intent)||typeof(client)||typeof(state) FROM conflicts"
)
PROFILES: Final = (
    f"SELECT {_octets('client')}, change, expires, {_octets('record', 'seal')}, typeof(client) FROM profiles"
)


class ConflictRow(NamedTuple):
    """What stands in the file, in the order of CONFLICTS. `record` is packed."""

    number: int
    change: int
    id: bytes
    intent: bytes
    client: bytes
    state: bytes
    record: bytes
    seal: bytes
    kinds: str = "blob" * 4

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was written."""
        return self.kinds == "blob" * 4 and self.seal == _seal(*self[:7])

    def numbered(self) -> NumberedConflict:
        """The conflict with its number. Raises MalformedConflict where nobody has ever written it."""
        return NumberedConflict(self.number, read_conflict(self.record, self.intent.hex()))


class ProfileRow(NamedTuple):
    """What stands in the file, in the order of PROFILES. `record` is packed."""

    client: bytes
    change: int
    expires: float
    record: bytes
    seal: bytes
    kinds: str = "blob"

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was written."""
        return self.kinds == "blob" and self.seal == _seal(*self[:4])


def conflict_row(number: int, change: int, conflict: Conflict, small: bytes) -> ConflictRow:
    """The row of a conflict, whose durable form is packed in `small`."""
    ids = bytes.fromhex(conflict.id), bytes.fromhex(conflict.intent)
    sealed = number, change, *ids, client_key(conflict.client), conflict.state.encode(), small
    return ConflictRow(*sealed, _seal(*sealed))


def profile_row(change: int, registration: Registration, small: bytes) -> ProfileRow:
    """The row of a registration, whose durable form is packed in `small`."""
    sealed = client_key(registration.client), change, float(registration.expires_at), small
    return ProfileRow(*sealed, _seal(*sealed))


def client_key(client: str) -> bytes:
    """What a client is looked up by in the file."""
    return client.encode("utf-8", "surrogatepass")


def client_of(key: bytes) -> str:
    """Who has this key. One that is damaged is nobody's."""
    try:
        return key.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return key.hex()


def small_conflict(conflict: Conflict) -> bytes:
    """The packed record. Raises MalformedConflict where it does not say the same when it is read."""
    octets = to_record(conflict)
    if parse_record(octets) != conflict:
        raise MalformedConflict("It is read as another.")
    return packed(octets)


def read_conflict(small: bytes, intent: str) -> Conflict:
    """The conflict of a packed record that is kept under `intent`. Raises MalformedConflict."""
    try:
        conflict = parse_record(unpacked(small))
    except MalformedRecord as error:
        raise MalformedConflict(error.detail) from None
    if conflict.intent != intent:
        raise MalformedConflict("The record is of another intent.")
    return conflict


def small_registration(registration: Registration) -> bytes:
    """The packed record. Raises MalformedRegistration where it does not say the same when it is read."""
    octets = to_registration_record(registration)
    if parse_registration(octets) != registration:
        raise MalformedRegistration("It is read as another.")
    return packed(octets)


def read_registration(small: bytes, client: str) -> Registration:
    """The registration of a packed record that is kept under `client`. Raises MalformedRegistration."""
    try:
        registration = parse_registration(unpacked(small))
    except MalformedRecord as error:
        raise MalformedRegistration(error.detail) from None
    if registration.client != client:
        raise MalformedRegistration("The record is of another client.")
    return registration


def _seal(*columns: object) -> bytes:
    return hashlib.sha256(repr(columns).encode()).digest()
