"""The entries of a catalog: what each one names, by URL or as data (CAT-2 to CAT-6, CAT-9, CAT-10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from proxy.discovery.jsontext import JsonObject
from proxy.discovery.listings.digests import Digest, MalformedDigest, parse_digest
from proxy.discovery.listings.mediatypes import LEGACY_TYPES, EntryKind, MediaType, kind_of, parse_media_type
from proxy.discovery.notes import Notes
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

_SHAPE: Final = "CAT-1"
_AIR_NAME: Final = re.compile(r"urn:air:([a-zA-Z0-9.-]++)(?::[a-zA-Z0-9._-]++)++")
_IDENTITY: Final = re.compile(r"(?:did:web:|https://)([A-Za-z0-9.-]++)")
# Trust manifests of one entry that are looked at.
_MOST_MANIFESTS: Final = 4
_NO_TYPE: Final = MediaType("", ())


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; texts are the publisher's, None where absent or no text. One of `url` and `data` is there."""

    identifier: str
    version: str | None
    display_name: str | None
    description: str | None
    kind: EntryKind
    """What `type` claims: the document itself decides (CAT-5)."""
    type: str
    """The essence of the media type; "" where there is none to be read."""
    type_parameters: tuple[tuple[str, str], ...]
    url: Target | None
    data: object
    """The document itself, as a JSON value, `read_catalog`'s if it is a catalog; None: it is at `url`."""
    digest: Digest | None
    publisher: str | None
    """The publisher's identifier."""
    is_signed: bool
    """A trust manifest of the entry has a signature."""
    path: str
    """JSON pointer to the entry in the catalog."""
    listed_by: Target | None
    """Where the catalog lies."""


def read_entries(listed: Sequence[object], base: Target | None, notes: Notes) -> tuple[Entry, ...]:
    """Those that can be used, the first of each identifier and version; the rest are findings."""
    entries: dict[tuple[str, str | None], Entry] = {}
    strangers = 0
    for number, value in enumerate(listed):
        entry = _EntryReader(value, f"/entries/{number}", base, notes).entry()
        if entry is None:
            continue
        if entries.setdefault((entry.identifier, entry.version), entry) is not entry:
            notes.fail(
                "CAT-4", entry.path, "An earlier entry has the same identifier and version: this one is dropped."
            )
        elif notes.host is not None and _publisher_label(entry.identifier) not in (None, notes.host):
            strangers += 1
    if strangers:
        detail = f"The identifiers of {strangers} entries name another publisher than the host of the catalog."
        notes.warn("CAT-10", "/entries", detail)
    return tuple(entries.values())


def _publisher_label(identifier: str) -> str | None:
    match = _AIR_NAME.fullmatch(identifier)
    return match[1].lower() if match else None


class _EntryReader:
    """Reads one element of `entries`."""

    def __init__(self, value: object, path: str, base: Target | None, notes: Notes) -> None:
        self._is_object = isinstance(value, dict)
        self._members = cast(JsonObject, value) if isinstance(value, dict) else {}
        self._path = path
        self._base = base
        self._notes = notes

    def entry(self) -> Entry | None:
        if not self._is_object:
            self._notes.fail(_SHAPE, self._path, "The entry is no object and is dropped.")
            return None
        identifier = self._text("identifier", "CAT-2", "The entry has no identifier and is dropped.")
        if identifier is None or not self._has_one_place():
            return None
        url = None
        if self._members.get("url") is not None:
            url = self._url()
            if url is None:
                return None
        manifests = list(self._trust_manifests())
        self._check_publisher(identifier, manifests)
        media_type = self._media_type()
        return Entry(
            identifier,
            self._text("version", "CAT-4"),
            self._text("displayName", _SHAPE),
            self._text("description", _SHAPE),
            kind_of(media_type.essence),
            media_type.essence,
            media_type.parameters,
            url,
            self._members.get("data"),
            self._digest(),
            self._publisher(),
            any(map(has_signature, manifests)),
            self._path,
            self._base,
        )

    def _text(self, member: str, rule: str, missing: str | None = None) -> str | None:
        return self._notes.text(self._members, member, rule, self._path, missing)

    def _has_one_place(self) -> bool:
        has_url = self._members.get("url") is not None
        has_data = self._members.get("data") is not None
        if has_url == has_data:
            which = "both url and data" if has_url else "neither url nor data"
            self._notes.fail("CAT-3", self._path, f"The entry has {which} and is dropped.")
        return has_url != has_data

    def _url(self) -> Target | None:
        reference = self._text("url", "CAT-3", "The url is no text: the entry is dropped.")
        if reference is None:
            return None
        try:
            return self._notes.target(reference)
        except UrlRefused as error:
            self._notes.fail("CAT-3", f"{self._path}/url", f"{error.detail} The entry is dropped.")
            return None

    def _media_type(self) -> MediaType:
        name = "type" if self._members.get("type") is not None else "mediaType"
        if name == "type" and self._members.get("mediaType") not in (None, self._members["type"]):
            self._notes.fail("CAT-5", f"{self._path}/mediaType", "mediaType differs from type, which holds.")
        stated = self._text(name, "CAT-5", "The entry has no media type.")
        if stated is None:
            return _NO_TYPE
        media_type = parse_media_type(stated)
        if media_type is None:
            self._notes.fail("CAT-5", f"{self._path}/{name}", "The text is no media type.")
            return _NO_TYPE
        if media_type.essence in LEGACY_TYPES:
            self._notes.warn("CAT-6", f"{self._path}/{name}", "The type is a legacy one for skills.")
        return media_type

    def _digest(self) -> Digest | None:
        text = self._text("digest", "CAT-9")
        if text is None:
            return None
        try:
            return parse_digest(text)
        except MalformedDigest as error:
            self._notes.fail("CAT-9", f"{self._path}/digest", error.detail)
            return None

    def _publisher(self) -> str | None:
        publisher = self._members.get("publisher")
        path = f"{self._path}/publisher"
        if isinstance(publisher, dict):
            return self._notes.text(publisher, "identifier", _SHAPE, path)
        if publisher is not None:
            self._notes.fail(_SHAPE, path, "The publisher is no object.")
        return None

    def _trust_manifests(self) -> Iterator[JsonObject]:
        several = self._members.get("trustManifests")
        listed = several[:_MOST_MANIFESTS] if isinstance(several, list) else ()
        for manifest in (self._members.get("trustManifest"), *listed):
            if isinstance(manifest, dict):
                yield manifest

    def _check_publisher(self, identifier: str, manifests: Sequence[JsonObject]) -> None:
        label = _publisher_label(identifier)
        if label is None:
            detail = "The identifier is not of the form urn:air:<publisher>:<name>."
            self._notes.warn("CAT-2", f"{self._path}/identifier", detail)
            return
        for manifest in manifests:
            stated = manifest.get("identity") or manifest.get("contributor")
            identity = _IDENTITY.match(stated) if isinstance(stated, str) else None
            if identity is not None and identity[1].lower() != label:
                detail = "The trust manifest is by another than the publisher that the identifier names."
                self._notes.warn("CAT-10", self._path, detail)


def has_signature(signed: JsonObject) -> bool:
    """Whether an object has a signature member of its own, in the form of any version; it is not looked into."""
    signature = signed.get("signature")
    return isinstance(signature, dict | str) and bool(signature)
