"""The capability profile record: what a client says of itself (UAIX.md §3).

A profile is a claim and proves nothing. Its level stands on the ladder "profile"; where `client_level` and the
profile id say different levels, the lower one counts. It is read here as the request path reads it (*ingest*):
what is missing is false or empty. Whether it keeps the rules in full (*strict*) is judged in profilerules. A record
with a credential anywhere in it is not read at all, so none is ever stored or shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from proxy.capability.atoms import Atom
from proxy.capability.ladders import UNKNOWN, Atoms, Label, Ladder, atoms_of
from proxy.discovery.findings import pointer
from proxy.discovery.jsontext import MAX_DEPTH, JsonObject
from proxy.http.secrets import find_secret


class Flag(StrEnum):
    CAN_FETCH_STATIC = "can_fetch_static"
    CAN_FETCH_JSON = "can_fetch_json"
    CAN_EXECUTE_JAVASCRIPT = "can_execute_javascript"
    CAN_USE_BROWSER_UI = "can_use_browser_ui"
    CAN_POST_DATA = "can_post_data"
    CAN_AUTHENTICATE = "can_authenticate"
    CAN_CALL_TOOLS = "can_call_tools"
    CAN_RUN_LONG_TASKS = "can_run_long_tasks"
    CAN_STORE_MEMORY = "can_store_memory"
    CAN_COORDINATE_AGENTS = "can_coordinate_agents"


# MCP takes a proven host, and A2A is never inferred from a record like this.
_FLAG_ATOMS: Final[Mapping[Flag, Atoms]] = {
    Flag.CAN_FETCH_STATIC: frozenset({Atom.STATIC_GET}),
    Flag.CAN_FETCH_JSON: frozenset({Atom.JSON_GET}),
    Flag.CAN_USE_BROWSER_UI: frozenset({Atom.BROWSER_UI, Atom.LIVE_GET}),
    Flag.CAN_POST_DATA: frozenset({Atom.JSON_POST, Atom.LIVE_GET, Atom.URL_SYNTH}),
    Flag.CAN_AUTHENTICATE: frozenset({Atom.AUTH}),
    Flag.CAN_CALL_TOOLS: frozenset({Atom.TOOLS}),
    Flag.CAN_COORDINATE_AGENTS: frozenset({Atom.COORDINATE}),
}

PROFILE_IDS: Final[Mapping[str, Label | None]] = MappingProxyType(
    {
        "uai.capability.profile.v1": None,
        "uai.capability.negotiation.v1": None,
        "uai.client.limited-browser.v1": Label.L0,
        "uai.client.structured-fetch.v1": Label.L1,
        "uai.client.browser-assisted.v1": Label.L2,
        "uai.client.tool-agent.v1": Label.L3,
        "uai.client.workflow-agent.v1": Label.L4,
        "uai.client.multi-agent-runtime.v1": Label.L5,
        "uai.client.audited-agent-system.v1": Label.L6,
    }
)
"""The published ids with the level that each says; None: it says none."""

LEVELS: Final[Mapping[str, Label]] = MappingProxyType({label.value: label for label in Label if label < Label.L7})
"""The steps of the ladder "profile"."""

LISTS: Final = (
    "requires_human_consent_for",
    "declared_or_required_uaix_profiles",
    "known_limits",
    "evidence_requirements",
)

_LONGEST_NAME: Final = 200
_LONGEST_TEXT: Final = 2_000
_MOST_ITEMS: Final = 100
_LONGEST_ITEM: Final = 500

_MOST_VALUES: Final = 2_000
# More than all members together may have, so what was read once is read again.
_MOST_CHARACTERS: Final = 256 * 1024
_TOO_LARGE: Final = "The record is larger or deeper than a capability profile is."

# A name that a secret follows, and what follows. `private`: nothing else is written after such a name;
# `presented`: what such a thing has to be is often written there too.
_NAMED: Final = re.compile(
    r"""(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,60}?(?:
        (?P<private>(?:api|access|secret|private|ssh|signing|master)[-_. ]?key|client[-_. ]?secret
          |password|passwd|passphrase|passcode|pwd)
      | (?P<presented>token|secret|bearer|authorization|cookie|credentials?|session[-_. ]?id|jwt)
    )["']?\s{0,3}(?P<mark>[:=]\s{0,3})["']?(?P<value>[^\s"',;&]+)(?P<more>\s+[^\W\d_]+)?""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z]+(?:[-_/][A-Za-z]+)*[.)]*")
# What is said of a credential instead of it: that there is none, a placeholder, or how it is made.
_NO_VALUE: Final = re.compile(
    r"""(?:no|none|not|never|nothing|null|n/a|false|true|yes|required?|optional|forbidden|omitted|redacted|absent
        |unsupported|supported|missing|hidden|withheld|rejected|refused|prohibited|disallowed|private|external)
        [.)]*\Z|[<\[{(*$%.\u2026]|x{3}|https?://|did:|urn:|oauth|oidc|rfc[0-9]""",
    re.VERBOSE | re.IGNORECASE,
)
_URLS: Final = re.compile(r"""\bhttps?://[^\s"'<>]+""")
# Public by design, however random it looks. URLs are looked at as URLs.
_IDENTIFIERS: Final = re.compile(r"""\b(?:did:[a-z0-9]+:|https?://|ipfs://|urn:)[^\s"'<>]+""")
_BEARER_WORDS: Final = re.compile(r"\bbearer +(?:credential|auth|challenge|header|scheme)[a-z]*", re.IGNORECASE)
_MARKS: Final = re.compile(r"[&;?#=]")

# Controls that a terminal obeys, and halves of characters, which no UTF-8 text can hold.
_UNFIT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class ProfileRefused(ValueError):
    """The value is no capability profile that may be put on record; `detail` is a sentence that quotes nothing."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class CapabilityProfile:
    """One profile. `client_level` is as stated, None where none is; `flags` are those that are true."""

    profile_id: str
    client_level: str | None
    client_name: str
    flags: frozenset[Flag]
    consent_for: tuple[str, ...]
    uaix_profiles: tuple[str, ...]
    fallback_behavior: str
    known_limits: tuple[str, ...]
    evidence_requirements: tuple[str, ...]
    safe_default_response: str

    @property
    def label(self) -> Label | None:
        """The level that counts: the stated one, or the lower one that the profile id says; None unknown."""
        stated = LEVELS.get(self.client_level or "")
        of_id = PROFILE_IDS.get(self.profile_id)
        return stated if stated is None or of_id is None else min(stated, of_id)

    @property
    def claimed(self) -> Atoms:
        """The atoms of the level, from L3 up with those of the flags; an unknown client's without one."""
        label = self.label
        if label is None or self.profile_id not in PROFILE_IDS:
            return UNKNOWN
        atoms = atoms_of(label, Ladder.PROFILE)
        if label < Label.L3:
            return atoms
        return atoms.union(*(_FLAG_ATOMS.get(flag, UNKNOWN) for flag in self.flags))

    def told(self) -> JsonObject:
        """The record in full, `{"profile": id, "body": {…}}`; parse_profile gives the same profile for it."""
        body: JsonObject = {
            "client_level": self.client_level,
            "client_name": self.client_name,
            **{flag.value: flag in self.flags for flag in Flag},
            "requires_human_consent_for": list(self.consent_for),
            "declared_or_required_uaix_profiles": list(self.uaix_profiles),
            "fallback_behavior": self.fallback_behavior,
            "known_limits": list(self.known_limits),
            "evidence_requirements": list(self.evidence_requirements),
            "safe_default_response": self.safe_default_response,
        }
        return {"profile": self.profile_id, "body": body}


def parse_profile(value: object) -> CapabilityProfile:
    """The profile that a JSON value holds, alone or as profile and body of an envelope, in ingest mode.

    Raises ProfileRefused for another shape, a member of a wrong type or without measure, and a credential (R11).
    """
    if not isinstance(value, dict) or not isinstance(value.get("body"), dict) or "profile" not in value:
        raise ProfileRefused("A capability profile is an object with the members profile and body.")
    if credential_place(read_texts(value)) is not None:
        raise ProfileRefused("The record holds what looks like a credential: leave it out.")
    body: JsonObject = value["body"]
    consent_for, uaix_profiles, known_limits, evidence_requirements = (_items(body, name) for name in LISTS)
    return CapabilityProfile(
        profile_id=_text(value, "profile", _LONGEST_NAME),
        client_level=None if body.get("client_level") is None else _text(body, "client_level", _LONGEST_NAME),
        client_name=_text(body, "client_name", _LONGEST_NAME),
        flags=_flags(body),
        consent_for=consent_for,
        uaix_profiles=uaix_profiles,
        fallback_behavior=_text(body, "fallback_behavior", _LONGEST_TEXT),
        known_limits=known_limits,
        evidence_requirements=evidence_requirements,
        safe_default_response=_text(body, "safe_default_response", _LONGEST_TEXT),
    )


def _text(members: JsonObject, name: str, longest: int) -> str:
    return _fit(name, members.get(name, ""), longest)


def _items(body: JsonObject, name: str) -> tuple[str, ...]:
    values = body.get(name, [])
    if not isinstance(values, list) or len(values) > _MOST_ITEMS:
        raise ProfileRefused(f"{name} is no list of at most {_MOST_ITEMS} texts.")
    return tuple(_fit(name, value, _LONGEST_ITEM) for value in values)


def _fit(name: str, value: object, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest or _UNFIT.search(value) is not None:
        raise ProfileRefused(f"{name} holds what is no text of at most {longest} characters without controls.")
    return value


def _flags(body: JsonObject) -> frozenset[Flag]:
    if not all(isinstance(body.get(flag, False), bool) for flag in Flag):
        raise ProfileRefused("The members can_… are true or false.")
    return frozenset(flag for flag in Flag if body.get(flag))


@dataclass(frozen=True, slots=True)
class Text:
    """A text or number of a record, or a member name. `name`: of the nearest member, "" for a name itself."""

    path: str
    name: str
    value: str


def read_texts(value: JsonObject) -> tuple[Text, ...]:
    """What the record says, of an envelope its profile and body: the other members are the envelope's own.

    Raises ProfileRefused for more than is looked at.
    """
    own = ("profile", "body") if "uai_version" in value else value
    found: list[Text] = []
    room = _MOST_CHARACTERS
    for text in _walk({name: value[name] for name in own if name in value}, "", "", 0):
        room -= len(text.value)
        if len(found) == _MOST_VALUES or room < 0:
            raise ProfileRefused(_TOO_LARGE)
        found.append(text)
    return tuple(found)


def _walk(value: object, path: str, name: str, depth: int) -> Iterator[Text]:
    """Every value once, a container or a literal as an empty text."""
    if depth > MAX_DEPTH:
        raise ProfileRefused(_TOO_LARGE)
    yield Text(path, name, _spoken(value))
    if isinstance(value, dict):
        for member, inner in value.items():
            place = path + pointer(str(member))
            yield Text(place, "", str(member))
            yield from _walk(inner, place, str(member), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, path + pointer(index), name, depth + 1)


def _spoken(value: object) -> str:
    # A longer number is no credential, and takes more than linear time to write down.
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 256:
        return str(value)
    return value if isinstance(value, str) else ""


def credential_place(texts: tuple[Text, ...]) -> str | None:
    """The JSON pointer to the first text that is like a credential, or like another secret (R11); None without."""
    return next((text.path for text in texts if _is_named_credential(text) or _holds_credential(text.value)), None)


def _is_named_credential(text: Text) -> bool:
    """Whether a member has the name and the value of a credential: `{"session": "0a1b2c3d"}`."""
    if not text.name or not text.value:
        return False
    pair = _NAMED.match(f"{text.name}={text.value}")
    if pair is not None:
        return _is_credential(pair)
    is_value = _WORD.fullmatch(text.value) is None and " " not in text.value
    return is_value and find_secret(f"?{text.name}=") is not None


def _holds_credential(text: str) -> bool:
    """Whether a shape or a name gives one away; of prose, what is no identifier may not look random either."""
    plain = _BEARER_WORDS.sub("", unquote(unquote(text)))
    return (
        find_secret("/ " + _MARKS.sub(" ", plain)) is not None
        or find_secret("?" + _MARKS.sub(" ", _IDENTIFIERS.sub(" ", plain))) is not None
        or any(find_secret(url) is not None for url in _URLS.findall(text))
        or any(map(_is_credential, _NAMED.finditer(plain)))
    )


def _is_credential(named: re.Match[str]) -> bool:
    """Whether what follows the name is a value: no placeholder, and no words that speak of it."""
    value = named["value"]
    if _NO_VALUE.match(value) is not None:
        return False
    is_assigned = named["mark"] == "="
    if _WORD.fullmatch(value) is None:
        return is_assigned or len(value) >= (4 if named["private"] else 8)
    return (is_assigned, named["private"] is not None, named["more"] is None).count(True) > 1
