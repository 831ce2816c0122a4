"""Queries of the admin port's URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from proxy.admin.commands import BadOrder
from proxy.http.problems import Problem, Slug

_DEFAULT_LIMIT: Final = "100"
_HIGHEST_LIMIT: Final = 10_000


def parse_query(request: web.Request, *known: str) -> dict[str, str]:
    """The parameters, each once; an unknown one is most likely the rest of a URL that was not encoded."""
    query = dict(request.query)
    if len(query) != len(request.query) or not query.keys() <= set(known):
        allowed = " and ".join(known)
        raise BadOrder(
            Problem(Slug.BAD_REQUEST, f"Parameters: {allowed}, each once; percent-encode what is in them.")
        )
    return query


def parse_limit(query: Mapping[str, str]) -> int:
    """How many to list at the most, by the parameter `limit`."""
    text = query.get("limit", _DEFAULT_LIMIT)
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= _HIGHEST_LIMIT):
        raise BadOrder(Problem(Slug.BAD_REQUEST, f"limit: a whole number from 1 to {_HIGHEST_LIMIT}."))
    return int(text)
