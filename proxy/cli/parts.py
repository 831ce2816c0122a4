"""Objects of a JSON answer, read leniently for people.

Members that are not there, or of another type than they should be, also in answers of a later version, are nothing
to stumble over. Text comes out in plain ASCII of bounded length, so that nothing published can steer the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proxy.logs.redaction import plain

_LONGEST: Final = 2000


class Part:
    """One object; `members` is empty where there is none."""

    def __init__(self, members: object) -> None:
        self.members: Mapping[str, object] = members if isinstance(members, Mapping) else {}

    def part(self, name: str) -> Part:
        """The object in a member."""
        return Part(self.members.get(name))

    def parts(self, name: str) -> list[Part]:
        """The objects in a list."""
        value = self.members.get(name)
        return [Part(item) for item in value] if isinstance(value, list) else []

    def text(self, name: str) -> str | None:
        """A member as text, a list as its elements; None without it."""
        return shown(self.members.get(name))

    def number(self, name: str) -> float | None:
        """A member that is a number."""
        value = self.members.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def pairs(self) -> str:
        """Every member with its name."""
        return ", ".join(f"{shown(name)}: {shown(value) or '-'}" for name, value in self.members.items())


def shown(value: object) -> str | None:
    """A value of a JSON answer, fit for a terminal."""
    if value is None:
        return None
    if isinstance(value, list):
        return ", ".join(shown(item) or "-" for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{plain(str(name), _LONGEST)}={shown(item) or '-'}" for name, item in value.items())
    return plain(str(value), _LONGEST)
