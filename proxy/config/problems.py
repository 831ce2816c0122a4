"""What is said of a value that cannot be used: where it came from, what was given, what is allowed.

No problem quotes a secret: tokens and digests are masked, and of a URL the userinfo and the query.
"""

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from proxy.config.sections import Section
from proxy.config.settings import Settings
from proxy.config.values import MASK, mask_url

_SECRET: Final = frozenset({"token", "tokens", "sha256"})
_LONGEST_QUOTE: Final = 80
_LARGEST_QUOTE: Final = 10**20
_LAST_PART: Final = re.compile(r"__|\.")
_LITERAL: Final = re.compile("'([^']*)'")

_ALLOWED: Final = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
}

Location = tuple[int | str, ...]


def describe_unknown(name: str, known: Iterable[str], prefix: str = "") -> str:
    """The problem of a key that does not exist, with the closest one that does; `prefix` is common to all."""
    names = list(known)
    within = [key for key in names if _LAST_PART.split(key)[-1] == name]
    close = within or get_close_matches(name, names, n=1)
    return f"unknown key; did you mean {prefix}{close[0]}?" if close else "unknown key"


def describe_kind(value: object) -> str:
    """What a value is, without saying which."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    return "nothing" if value is None else "true or false" if isinstance(value, bool) else "a number"


def describe_invalid(error: ValidationError, sources: Mapping[Location, str]) -> tuple[str, ...]:
    """One problem for each error in the settings; `sources` tells where each leaf was set."""
    details = error.errors(include_url=False)
    return tuple(f"{_source(_location(detail), sources)}: {_describe(detail)}" for detail in details)


def _source(location: Location, sources: Mapping[Location, str]) -> str:
    prefixes = (location[:length] for length in range(len(location), 0, -1))
    exact = next((sources[prefix] for prefix in prefixes if prefix in sources), None)
    # A key that nobody set is at fault because of what was set beside it.
    beside = {source: None for leaf, source in sources.items() if leaf[0] == location[0]}
    return exact or " and ".join(beside) or "configuration"


def _location(detail: ErrorDetails) -> Location:
    combined: Location = detail.get("ctx", {}).get("key", ())
    return tuple(part for part in (*detail["loc"], *combined) if part != "[key]")


def _describe(detail: ErrorDetails) -> str:
    location, context = _location(detail), detail.get("ctx", {})
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")
    names = _section_at(location).model_fields
    match detail["type"]:
        case "reason":
            return f"{key}: {context['reason']}"
        case "missing":
            return f"{key}: required"
        case "extra_forbidden":
            return f"{key}: {describe_unknown(str(location[-1]), names)}"
        case "model_type":
            allowed = f"a mapping with the keys {', '.join(names)}"
            return f"{key}: given {describe_kind(detail['input'])}; allowed: {allowed}"
        case "literal_error":
            allowed = context["expected"].replace("'", "")
            allowed += _suggestion(detail["input"], _LITERAL.findall(context["expected"]))
        case kind:
            allowed = context.get("allowed") or _ALLOWED.get(kind, detail["msg"])
            allowed += _suggestion(detail["input"], context.get("choices", ()))
    return f"{key}: given {_quote(detail['input'], location)}; allowed: {allowed}"


def _suggestion(given: object, choices: Iterable[str]) -> str:
    close = get_close_matches(given, list(choices), n=1, cutoff=0.7) if isinstance(given, str) else ()
    return f"; did you mean {close[0]}?" if close else ""


def _quote(value: object, location: Location) -> str:
    if isinstance(value, list | tuple | Mapping):
        return describe_kind(value)
    if not _SECRET.isdisjoint(location):
        return MASK
    if isinstance(value, str):
        masked = mask_url(value)
        return repr(masked if len(masked) <= _LONGEST_QUOTE else f"{masked[:_LONGEST_QUOTE]}…")
    return describe_kind(value) if isinstance(value, int) and abs(value) > _LARGEST_QUOTE else json.dumps(value)


def _section_at(location: Location) -> type[Section]:
    section: type[Section] = Settings
    for part in location:
        info = section.model_fields.get(str(part))
        section = section if info is None else _inner_section(info.annotation) or section
    return section


def _inner_section(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(_inner_section, get_args(annotation))), None)
