"""What an origin offers in the place of a document: alternatives to choose from, or a successor.

A 300 lists *alternatives* (RFC 9110 §15.4.1): in the Alternates field (RFC 2295 §8.3), as `Link: rel=alternate`, in
a JSON body; its Location is the one that the server prefers. A 409 or 410 may suggest a *successor* (OV-7). Either
is an offer, for clients to consider: nothing here is followed or recorded. What may not be fetched is not offered,
nor is the URL itself, nor one that holds a secret, which could not be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, cast

from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.discovery.names import is_local
from proxy.discovery.notes import admit_bounded
from proxy.discovery.pages.links import WebLink, parse_link_fields
from proxy.discovery.urls import UrlRefused
from proxy.http.codings import CodingFault, decode_body
from proxy.http.fields import essence, split_list
from proxy.http.messages import ResponseHead
from proxy.http.secrets import find_secret
from proxy.http.targets import Target

MOST_ALTERNATIVES: Final = 64
"""Of one answer."""
BODY_LIMIT: Final = 64 * 1024
"""Octets of a body, its codings undone; of a longer one nothing is read."""
MOST_LOOKED_AT: Final = 256
"""Listings of one answer that are looked at for alternatives, the best first."""

_LISTS: Final = ("alternatives", "variants", "choices")
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}"
_MEDIA_TYPE: Final = re.compile(rf"{_TOKEN}/{_TOKEN}")
_LANGUAGE_TAG: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,15}")
_QUALITY: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
# A quote that is never closed ends the field.
_LEXEME: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"|[{}]|[^{}"]++', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A URL with what the server says of it: essence of the media type, language tag, quality from 0 to 1."""

    url: str
    type: str | None = None
    language: str | None = None
    quality: float | None = None

    @property
    def is_described(self) -> bool:
        """Whether anything is said of it."""
        return (self.type, self.language, self.quality) != (None, None, None)


def alternatives_of(head: ResponseHead, body: bytes, base: Target) -> tuple[Alternative, ...]:
    """What a 300 from `base` offers, by absolute https URL. Never raises.

    The one in Location comes first, then the best; those of which no quality is told come last, in the order of
    the answer. `body` is as received, its codings are undone by the Content-Encoding of `head`.
    """
    listed = [
        *(one for value in head.fields.get_all("alternates") for one in _of_alternates(value)),
        *(Alternative(link.href, _media_type(link.type), _language(link.hreflang)) for link in _links(head, base)),
        *_of_json(_json_of(head, body)),
    ]
    listed.sort(key=lambda one: -1.0 if one.quality is None else one.quality, reverse=True)
    preferred = head.fields.get_all("location")
    if len(preferred) == 1:
        listed.insert(0, Alternative(preferred[0]))
    found: dict[str, Alternative] = {}
    for one in listed[:MOST_LOOKED_AT]:
        url = _offered(one.url, base)
        if url is None:
            continue
        known = found.get(url)
        # Of several listings of one URL the first that describes it counts, and the first has its place.
        if len(found) < MOST_ALTERNATIVES if known is None else not known.is_described:
            found[url] = replace(one, url=url)
    return tuple(found.values())


def successor_of(head: ResponseHead, body: bytes, base: Target) -> str | None:
    """The absolute https URL that a 409 or 410 from `base` suggests instead; None without one. Never raises.

    `Link: rel=successor-version` (RFC 5829 §3.2) counts before the member `url` of a JSON body, be it a problem
    document or a minimal one. `body` is as received, as for `alternatives_of`.
    """
    for link in _links(head, base, "successor-version"):
        url = _offered(link.href, base)
        if url is not None:
            return url
    value = _json_of(head, body)
    suggested = _text(cast(JsonObject, value), "url") if isinstance(value, dict) else None
    return None if suggested is None else _offered(suggested, base)


def _offered(reference: str, base: Target) -> str | None:
    """What a reference leads to, if that may be offered by `base`."""
    try:
        target = admit_bounded(reference, base)
    except UrlRefused:
        return None
    # The local link and the public network do not speak of each other (MD-1).
    if is_local(target.host) is not is_local(base.host) or _is_same(target, base) or find_secret(target.uri):
        return None
    return target.uri


def _is_same(target: Target, base: Target) -> bool:
    return replace(target, path=target.normal_path) == replace(base, path=base.normal_path)


def _links(head: ResponseHead, base: Target, relation: str = "alternate") -> list[WebLink]:
    """The links of a relation that are about the resource itself."""
    links = parse_link_fields(head.fields.get_all("link"), base)
    return [link for link in links if link.rel == relation and link.context == base]


def _json_of(head: ResponseHead, body: bytes) -> object:
    """The value of a JSON body, whatever it is labelled; None where there is none."""
    decoded = decode_body(head.fields.get("content-encoding"), body, BODY_LIMIT)
    if isinstance(decoded, CodingFault):
        return None
    try:
        return parse_json(decoded)
    except MalformedJson:
        return None


def _of_json(value: object) -> Iterator[Alternative]:
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    for one in value if isinstance(value, list) else ():
        url = _text(one, "url", "href") if isinstance(one, dict) else None
        if url is not None:
            quality = next((one[name] for name in ("quality", "q") if one.get(name) is not None), None)
            media_type, language = _text(one, "type", "media_type"), _text(one, "language", "hreflang")
            yield Alternative(url, _media_type(media_type), _language(language), _quality(quality))


def _text(members: JsonObject, *names: str) -> str | None:
    """The first of these members that is a text with something in it."""
    return next((value for name in names if isinstance(value := members.get(name), str) and value), None)


def _of_alternates(value: str) -> Iterator[Alternative]:
    """The variants of one Alternates field line; one that is never closed is none."""
    depth, url = 0, None
    bare: list[str] = []
    attributes: dict[str, str] = {}
    attribute: list[str] = []
    position = 0
    while (lexeme := _LEXEME.match(value, position)) is not None:
        position, text, quoted = lexeme.end(), lexeme[0], lexeme[1]
        if text == "{":
            depth += 1
            if depth == 1:
                url, bare, attributes = None, [], {}
            elif depth == 2:
                attribute = []
        elif text == "}":
            if depth == 1 and url:
                yield _variant(url, bare, attributes)
            elif depth == 2:
                name, _, rest = "".join(attribute).strip().partition(" ")
                attributes.setdefault(name.lower(), rest)
            depth = max(depth - 1, 0)
        elif depth == 1 and quoted is not None:
            url = quoted if url is None else url
        elif depth == 1:
            bare += text.split()
        elif depth == 2:
            attribute.append(text)


def _variant(url: str, bare: list[str], attributes: dict[str, str]) -> Alternative:
    language = split_list(attributes.get("language", ""))
    quality = _quality(bare[0]) if bare else None
    return Alternative(url, _media_type(attributes.get("type")), _language(*language[:1]), quality)


def _media_type(text: str | None) -> str | None:
    known = essence(text)
    return known if _MEDIA_TYPE.fullmatch(known) else None


def _language(text: str | None = None) -> str | None:
    tag = (text or "").strip()
    return tag if _LANGUAGE_TAG.fullmatch(tag) else None


def _quality(value: object) -> float | None:
    """A quality as written, or as a number of JSON; None where it is none (RFC 9110 §12.4.2)."""
    if isinstance(value, str):
        return float(value) if _QUALITY.fullmatch(value) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(cast(float, value)) if is_number and 0 <= cast(float, value) <= 1 else None
