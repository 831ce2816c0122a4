"""Names that the machine's administrator wrote down himself (hosts(5)): they are looked up before DNS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from proxy.http.targets import is_address

_PLACE: Final = Path("/etc/hosts")
_LARGEST: Final = 4 * 2**20


class HostsFile:
    """The addresses in a hosts file, read again when it has changed."""

    def __init__(self, path: Path = _PLACE) -> None:
        self._path = path
        self._changed_at = -1.0
        self._addresses: Mapping[str, tuple[str, ...]] = {}

    def addresses(self, host: str) -> tuple[str, ...]:
        """The addresses of a canonical host name; none where the file has none, or cannot be read."""
        with suppress(OSError):
            changed_at = self._path.stat().st_mtime
            if changed_at != self._changed_at:
                with self._path.open("rb") as file:
                    self._addresses = parse_hosts(file.read(_LARGEST))
                self._changed_at = changed_at
        return self._addresses.get(host, ())


def parse_hosts(octets: bytes) -> Mapping[str, tuple[str, ...]]:
    """The addresses of each name, in the order of the file. Lines that are none are passed over."""
    found: dict[str, tuple[str, ...]] = {}
    for address, name in _pairs(octets.decode("utf-8", "replace")):
        found[name] = (*found.get(name, ()), address)
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if is_address(address):
            yield from ((address, name.lower().removesuffix(".")) for name in names)
