"""Lists of A2A agent cards, or of their URLs (DISCOVERY_FORMATS.md §5.1).

The URLs of a card are those of its interfaces, in the layout of every generation; a listed URL is that of a card.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.catalogs.catalog import Pointer
from proxy.catalogs.collecting import Collector
from proxy.discovery.classes import DocumentClass
from proxy.discovery.jsontext import JsonObject

LISTED_AS: Final = ("agents", "cards")
_INTERFACES: Final = ("supportedInterfaces", "additionalInterfaces")
_OF_CARDS: Final = frozenset({"url", *_INTERFACES})


def are_cards(listed: list[object]) -> bool:
    """Whether a list is one of cards or of URLs; an empty one may well be."""
    return not listed or any(map(_is_card, listed))


def _is_card(element: object) -> bool:
    if isinstance(element, dict):
        return not _OF_CARDS.isdisjoint(element)
    return isinstance(element, str) and "://" in element


def read_cards(listed: list[object], path: Pointer, collector: Collector) -> None:
    """Collect what the list at `path` holds."""
    owner = len(path) + 1
    for index, element in enumerate(listed):
        at = (*path, index)
        if isinstance(element, dict):
            collector.look_for_seals(element)
            read_card_urls(element, at, owner, _subject(element, collector), collector)
        else:
            collector.add(element, at, owner, None, claimed=DocumentClass.AGENT_CARD)


def read_card_urls(card: JsonObject, path: Pointer, owner: int, subject: object, collector: Collector) -> None:
    """The URLs of one card, which is at `path`."""
    for url, steps in _urls(card):
        collector.add(url, (*path, *steps), owner, subject)


def _urls(card: JsonObject) -> Iterator[tuple[object, Pointer]]:
    yield card.get("url"), ("url",)
    for name in _INTERFACES:
        interfaces = card.get(name)
        for index, interface in enumerate(interfaces if isinstance(interfaces, list) else ()):
            if isinstance(interface, dict):
                yield interface.get("url"), (name, index, "url")


def _subject(card: JsonObject, collector: Collector) -> str | None:
    """The card's identifier, else its name at the host of its first URL: names alone are not unique."""
    for name in ("identifier", "id"):
        identifier = card.get(name)
        if isinstance(identifier, str) and identifier:
            return identifier
    stated = card.get("name")
    url = next((url for url, _ in _urls(card) if isinstance(url, str) and url), None)
    if url is None or not isinstance(stated, str):
        return None
    host = collector.name_of(url).partition("://")[2].partition("/")[0]
    return f"{stated} at {host}"
