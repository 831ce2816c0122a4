"""`WWW-Authenticate`: the challenges of a 401, and where they say the resource's metadata lies (RFC 9110 §11.6.1).

One field line may hold several challenges, whose parameters are separated by the same comma as the challenges
themselves. Read leniently: a missing comma or an unquoted URL hides nothing, and what names no challenge is passed
over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.fields import split_list, unquote
from proxy.http.targets import Target

_TCHAR: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_TOKEN68: Final = re.compile(r"[A-Za-z0-9._~+/-]++=*+")
# What begins a challenge: a word that no "=" follows.
_OPENING: Final = re.compile(rf"({_TCHAR}++)(?:[ \t]++(?!=)(.*))?", re.DOTALL)
# A name begins where no token goes on, so no stretch of the field is scanned twice.
_PARAMETER: Final = re.compile(
    rf"""(?<!{_TCHAR})({_TCHAR}++)[ \t]*+=[ \t]*+("(?:[^"\\]|\\.)*+"|[^ \t,"]++)""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge: scheme in lower case, then either a `token68` or parameters, names in lower case."""

    scheme: str
    token68: str | None
    parameters: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """The first value of a parameter, unquoted; None when absent."""
        return next((value for given, value in self.parameters if given == name), None)


@dataclass(frozen=True, slots=True)
class MetadataLocated:
    """Where the challenge says that the metadata lies.

    Another site may be named; whether one asks it is for who knows the resource (OA-1). `published` is the URL as
    it stood there.
    """

    url: Target
    published: str


@dataclass(frozen=True, slots=True)
class MetadataRefused:
    """The challenge names a URL that may not be fetched; `detail` repeats nothing of it."""

    reason: UrlReason
    detail: str


def parse_challenges(values: Iterable[str]) -> tuple[Challenge, ...]:
    """The challenges of the lines of a WWW-Authenticate field, in order. Never raises."""
    return tuple(challenge for value in values for challenge in _challenges(value))


def resource_metadata(challenges: Iterable[Challenge]) -> MetadataLocated | MetadataRefused | None:
    """The first `resource_metadata` that may be fetched, on whichever scheme (RFC 9728 §5.1, OA-1).

    When none may, why not the first; None when no challenge has the parameter.
    """
    refused: MetadataRefused | None = None
    for published in filter(None, (challenge.get("resource_metadata") for challenge in challenges)):
        try:
            return MetadataLocated(admit(published), published)
        except UrlRefused as error:
            refused = refused or MetadataRefused(error.reason, error.detail)
    return refused


def _challenges(value: str) -> Iterator[Challenge]:
    challenges: list[tuple[str, str | None, list[tuple[str, str]]]] = []
    for element in split_list(value):
        rest = element
        opening = _OPENING.fullmatch(element)
        if opening is not None:
            rest = opening[2] or ""
            token68 = rest if _TOKEN68.fullmatch(rest) is not None else None
            challenges.append((opening[1].lower(), token68, []))
            if token68 is not None:
                continue
        if challenges:
            found = _PARAMETER.findall(rest)
            challenges[-1][2].extend((name.lower(), unquote(text)) for name, text in found)
    for scheme, token68, parameters in challenges:
        yield Challenge(scheme, token68, tuple(parameters))
