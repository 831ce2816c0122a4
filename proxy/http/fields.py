"""Header fields as an ordered, immutable multimap (RFC 9110 §5).

Names keep the spelling they arrived with and compare without regard to case; values are str in which every
char stands for one octet or one decoded character as the border delivered it. Order between lines is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

# RFC 9110 §7.6.1 and the fields that predate it; none of them describes the representation.
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_QUOTED_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


def essence(media_type: str | None) -> str:
    """Type and subtype of a Content-Type (RFC 9110 §8.3.1) in lower case, without parameters; "" for none."""
    return (media_type or "").partition(";")[0].strip().lower()


class Fields:
    """An ordered multimap of field lines. Equality is over the lines; there is no mutation."""

    __slots__ = ("_index", "lines")

    def __init__(self, lines: Iterable[tuple[str, str]] = ()) -> None:
        self.lines: tuple[tuple[str, str], ...] = tuple(lines)
        self._index: dict[str, tuple[str, ...]] | None = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.lines == other.lines

    def __hash__(self) -> int:
        return hash(self.lines)

    def __repr__(self) -> str:
        return f"Fields({list(self.lines)!r})"

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name()

    def _by_name(self) -> dict[str, tuple[str, ...]]:
        if self._index is None:
            index: dict[str, list[str]] = {}
            for name, value in self.lines:
                index.setdefault(name.lower(), []).append(value)
            self._index = {name: tuple(values) for name, values in index.items()}
        return self._index

    def get_all(self, name: str) -> tuple[str, ...]:
        """The values of every line called `name`, in order; empty when there is none."""
        return self._by_name().get(name.lower(), ())

    def get(self, name: str) -> str | None:
        """The combined field value (RFC 9110 §5.3: lines joined by ", "), None when absent."""
        values = self.get_all(name)
        if not values:
            return None
        return values[0] if len(values) == 1 else ", ".join(values)

    def without(self, names: Iterable[str]) -> Fields:
        """These lines less every line whose name is in `names`."""
        dropped = {name.lower() for name in names}
        return Fields([line for line in self.lines if line[0].lower() not in dropped])

    def where(self, keep: Callable[[str, str], bool]) -> Fields:
        """The lines for which `keep(name, value)` holds."""
        return Fields(line for line in self.lines if keep(*line))

    def plus(self, *lines: tuple[str, str]) -> Fields:
        """These lines followed by `lines`."""
        return Fields(self.lines + lines)

    def with_value(self, name: str, value: str) -> Fields:
        """Every line called `name` replaced by one line at the end."""
        return self.without((name,)).plus((name, value))


NO_FIELDS = Fields()


def end_to_end(fields: Fields) -> Fields:
    """Without the hop-by-hop fields and those that `Connection` names (RFC 9110 §7.6.1)."""
    named = {option.lower() for value in fields.get_all("connection") for option in split_list(value)}
    return fields.without(HOP_BY_HOP | named)


def is_token(text: str) -> bool:
    """Whether `text` is a token (§5.6.2), as field names and directive names are."""
    return _TOKEN.fullmatch(text) is not None


def split_list(value: str) -> list[str]:
    """The non-empty elements of a comma-separated list; commas inside quoted strings do not split (§5.6.1).

    A quote that is never closed begins no quoted string, so it hides no element.
    """
    parts = _split_quoted(value) if '"' in value else value.split(",")
    return [element for part in parts if (element := part.strip(" \t"))]


def _split_quoted(value: str) -> list[str]:
    elements: list[str] = []
    start, quoted, escaped = 0, False, False
    for position, char in enumerate(value):
        if escaped:
            escaped = False
        elif quoted and char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            elements.append(value[start:position])
            start = position + 1
    rest = value[start:]
    return elements + (rest.split(",") if quoted else [rest])


def unquote(value: str) -> str:
    """The text of a quoted-string, or `value` itself when it is not one (§5.6.4)."""
    match = _QUOTED_STRING.fullmatch(value)
    return value if match is None else _QUOTED_PAIR.sub(r"\1", match[1])
