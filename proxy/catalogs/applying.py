"""A catalog with the origins' word applied: moved URLs replaced, gone ones removed, and nothing else.

An entry loses only its URLs that are gone, and goes with the last of them; so does a list or a nested catalog that
loses its last element. One that was not read whole does not go: nobody knows what else it lists. Elements of the
outermost lists that nothing was changed in stay as they were, octet for octet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, Final, cast

from proxy.catalogs.aicatalogs import MOST_DEPTH
from proxy.catalogs.catalog import Catalog, Entry, Pointer
from proxy.catalogs.collecting import alone, element_of
from proxy.catalogs.listing import Spans, encoded, written
from proxy.catalogs.verdicts import UNKNOWN, Standing, Verdict


class _Removed(Enum):
    REMOVED = 0


_REMOVED: Final = _Removed.REMOVED
_Edit = dict[str | int, Any]
"""What becomes of the members of a value: another edit, a text in their place, or _REMOVED."""

# Steps from an entry to one of the catalog that it holds: data, entries, index.
_NESTED: Final = 3
_LISTED: Final = "entries"


@dataclass(frozen=True, slots=True)
class Applied:
    """`body` is None when nothing changes: then the document is to be answered as it came.

    `moved` and `gone` are how many listed URLs were replaced and removed.
    """

    body: bytes | None
    moved: int
    gone: int


def applied(catalog: Catalog, standings: Mapping[str, Standing]) -> Applied:
    """The catalog with what the standings of its keys override. Raises ValueError for a signed one."""
    if catalog.is_signed:
        raise ValueError("a signed catalog is not edited")
    moved, gone = _overridden(catalog.entries, standings)
    if not moved and not gone:
        return Applied(None, 0, 0)
    body = b"".join(map(encoded, _edited(catalog, _edits(catalog, moved, gone))))
    return Applied(body, len(moved), len(gone))


def located(entry: Entry, standing: Standing) -> str | None:
    """Where what an entry lists is; None if it is gone. A move keeps the fragment (RFC 9110 §10.2.2)."""
    if standing.verdict is Verdict.REMOVED:
        return None
    final = standing.final_url
    if standing.verdict is not Verdict.SUPERSEDED or final is None:
        return entry.key or entry.url
    _, mark, fragment = entry.url.partition("#")
    return final if "#" in final else f"{final}{mark}{fragment}"


def _overridden(
    entries: Sequence[Entry], standings: Mapping[str, Standing]
) -> tuple[list[tuple[Entry, str]], dict[int, Entry]]:
    """The entries that have moved, each with where to, and those that are gone, by their numbers."""
    overriding = {
        key: standing
        for key, standing in standings.items()
        if standing is not UNKNOWN and standing.verdict in (Verdict.SUPERSEDED, Verdict.REMOVED)
    }
    moved: list[tuple[Entry, str]] = []
    gone: dict[int, Entry] = {}
    for number, entry in enumerate(entries if overriding else ()):
        if entry.key in overriding:
            final = located(entry, overriding[entry.key])
            if final is None:
                gone[number] = entry
            else:
                moved.append((entry, final))
    return moved, gone


def _edits(catalog: Catalog, moved: Iterable[tuple[Entry, str]], gone: Mapping[int, Entry]) -> _Edit:
    edits: _Edit = {}
    whole = _removed_whole(catalog, gone)
    for pointer in sorted(whole, key=len):
        _put(edits, pointer, _REMOVED)
    for entry in gone.values():
        if entry.pointer[: entry.owner] not in whole:
            _put(edits, alone(entry), _REMOVED)
    for entry, final in moved:
        _put(edits, entry.pointer, final)
    return edits


def _removed_whole(catalog: Catalog, gone: Mapping[int, Entry]) -> set[Pointer]:
    """What is left without any URL, and what holds a catalog that is left without entries."""
    kept = {entry.pointer[:size] for entry in _beside(catalog.entries, gone) for size in range(1, entry.owner + 1)}
    whole = {entry.pointer[: entry.owner] for entry in gone.values()} - kept
    if catalog.limit_note is not None:
        whole = {pointer for pointer in whole if not _is_unread(catalog.value, pointer)}
    for size in range(2 + _NESTED * (MOST_DEPTH - 1), 2, -_NESTED):
        emptied = Counter(pointer[:-1] for pointer in whole if len(pointer) == size and pointer[-2] == _LISTED)
        for listed, count in emptied.items():
            holder = listed[:-2]
            if holder not in kept and count == len(_listed_at(catalog.value, listed)):
                whole.add(holder)
    return whole


def _beside(entries: Sequence[Entry], gone: Mapping[int, Entry]) -> Iterator[Entry]:
    """Entries that are not gone, in the same elements of the outermost lists as those that are."""
    end = 0
    for number, entry in gone.items():
        element = element_of(entry.pointer)
        steps = len(element)
        start = number
        while start > end and entries[start - 1].pointer[:steps] == element:
            start -= 1
        end = max(start, end)
        while end < len(entries) and entries[end].pointer[:steps] == element:
            if end not in gone:
                yield entries[end]
            end += 1


def _is_unread(value: object, pointer: Pointer) -> bool:
    """Whether there is an entry of a catalog with another one in it that is too deep to be read."""
    if len(pointer) < 2 or pointer[-2] != _LISTED:
        return False
    return _has_too_deep(_found_at(value, pointer), 1 + len(pointer) // _NESTED)


def _has_too_deep(entry: object, depth: int) -> bool:
    data = entry.get("data") if isinstance(entry, dict) else None
    listed = data.get(_LISTED) if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return False
    return bool(listed) if depth == MOST_DEPTH else any(_has_too_deep(inner, depth + 1) for inner in listed)


def _found_at(value: object, pointer: Pointer) -> object:
    return reduce(lambda found, step: cast(Any, found)[step], pointer, value)


def _listed_at(value: object, pointer: Pointer) -> list[object]:
    return cast("list[object]", _found_at(value, pointer))


def _put(edits: _Edit, pointer: Pointer, change: str | _Removed) -> None:
    """Add one change, unless what it is in is removed already."""
    for step in pointer[:-1]:
        inner = edits.setdefault(step, {})
        if inner is _REMOVED:
            return
        edits = inner
    edits[pointer[-1]] = change


def _edited(catalog: Catalog, edits: _Edit) -> Iterator[str]:
    """The parts of the edited text."""
    text, lists = catalog.source.text, catalog.source.lists
    at = 0
    for name, spans in sorted(lists.items(), key=lambda item: item[1].start):
        of_list = edits if name is None else edits.get(name)
        if of_list:
            yield text[at : spans.start]
            listed = _listed_at(catalog.value, () if name is None else (name,))
            separator = ""
            for elements in _elements(text, spans, listed, of_list):
                yield separator
                yield elements
                separator = ","
            at = spans.end
    yield text[at:]


def _elements(text: str, spans: Spans, listed: Sequence[object], edits: _Edit) -> Iterator[str]:
    """The elements of a list: runs of unchanged ones as they stand in the text, changed ones written anew."""
    starts, ends = spans.starts, spans.ends
    unchanged = 0
    for index in sorted(cast("dict[int, Any]", edits)):
        if unchanged < index:
            yield text[starts[unchanged] : ends[index - 1]]
        unchanged = index + 1
        edit = edits[index]
        if edit is not _REMOVED:
            yield written(_changed(listed[index], edit))
    if unchanged < len(starts):
        yield text[starts[unchanged] : ends[-1]]


def _changed(value: Any, edit: Any) -> object:
    """The value with an edit made; the value itself stays as it is."""
    if isinstance(edit, str):
        return edit
    if isinstance(value, list):
        return [
            _changed(element, edit[index]) if index in edit else element
            for index, element in enumerate(value)
            if edit.get(index) is not _REMOVED
        ]
    members: dict[str, object] = {}
    for name, member in value.items():
        if name not in edit:
            members[name] = member
        elif edit[name] is not _REMOVED:
            changed = _changed(member, edit[name])
            if changed != [] or name == _LISTED:
                members[name] = changed
    return members
