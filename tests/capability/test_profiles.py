"""Capability profiles as they are ingested, and the atoms that they claim (UAIX.md §2, §3)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.atoms import Atom
from proxy.capability.ladders import UNKNOWN, Label
from proxy.capability.profiles import (
    LEVELS,
    PROFILE_IDS,
    CapabilityProfile,
    Flag,
    ProfileRefused,
    parse_profile,
)

SAMPLES = Path(__file__).parent.parent / "samples/uaix"
EXPECTED = json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"]
NAMES = [name for name, entry in EXPECTED.items() if entry["kind"] == "capability-profile"]
GENERAL = "uai.capability.profile.v1"
JSON = {Atom.STATIC_GET, Atom.JSON_GET}
LIVE = JSON | {Atom.LIVE_GET}
POST = {Atom.JSON_POST, Atom.LIVE_GET, Atom.URL_SYNTH}
ALL_FLAGS = {flag.value: True for flag in Flag}


def profile(profile_id: str = GENERAL, **body: Any) -> CapabilityProfile:
    return parse_profile({"profile": profile_id, "body": body})


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_ingested(name: str) -> None:
    value = json.loads((SAMPLES / name).read_bytes())
    read = parse_profile(value)
    told = read.told()
    assert parse_profile(told) == read
    assert isinstance(told["body"], dict) and len(told["body"]) == 18
    # What the record leaves out is false or empty, and the rest is as it stands there.
    assert all(told["body"][member] == given for member, given in value["body"].items())
    assert {told["body"][member] for member in told["body"].keys() - value["body"].keys() - _LISTS} <= {False}
    assert read.label == value["body"]["client_level"]


_LISTS = {"declared_or_required_uaix_profiles", "known_limits", "evidence_requirements"}


def test_all_members() -> None:
    read = profile(
        "uai.client.tool-agent.v1",
        client_level="L3",
        client_name="N",
        can_fetch_static=True,
        can_post_data=True,
        can_call_tools=False,
        requires_human_consent_for=["post"],
        declared_or_required_uaix_profiles=["a", "b"],
        fallback_behavior="F",
        known_limits=["l"],
        evidence_requirements=["e"],
        safe_default_response="S",
        offered_level="L6",
    )
    assert read == CapabilityProfile(
        profile_id="uai.client.tool-agent.v1",
        client_level="L3",
        client_name="N",
        flags=frozenset({Flag.CAN_FETCH_STATIC, Flag.CAN_POST_DATA}),
        consent_for=("post",),
        uaix_profiles=("a", "b"),
        fallback_behavior="F",
        known_limits=("l",),
        evidence_requirements=("e",),
        safe_default_response="S",
    )


def test_nothing_said() -> None:
    read = profile()
    assert read.told() == {
        "profile": GENERAL,
        "body": {
            "client_level": None,
            "client_name": "",
            **dict.fromkeys(ALL_FLAGS, False),
            "requires_human_consent_for": [],
            "declared_or_required_uaix_profiles": [],
            "fallback_behavior": "",
            "known_limits": [],
            "evidence_requirements": [],
            "safe_default_response": "",
        },
    }
    assert (read.label, read.claimed, parse_profile(read.told())) == (None, UNKNOWN, read)


def test_inside_an_envelope() -> None:
    envelope = {
        "uai_version": "1.0",
        "profile": GENERAL,
        "delivery": {"idempotency_key": "k"},
        # Of the envelope's own: no part of the profile, and not put on record.
        "trust": {"signature": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln"},
        "body": {"client_level": "L1"},
    }
    assert parse_profile(envelope) == profile(client_level="L1")
    with pytest.raises(ProfileRefused, match="credential"):
        parse_profile({**envelope, "body": {"client_level": "L1", "password": "hunter2"}})


LABELS = [
    # stated, profile id, label
    ("L1", "uai.client.structured-fetch.v1", "L1"),
    ("L4", "uai.client.structured-fetch.v1", "L1"),
    ("L0", "uai.client.workflow-agent.v1", "L0"),
    ("L6", "uai.client.audited-agent-system.v1", "L6"),
    ("L6", GENERAL, "L6"),
    ("L2", "uai.capability.negotiation.v1", "L2"),
    ("L5", "uai.client.nobody.v1", "L5"),
    ("L7", GENERAL, None),
    ("L7", "uai.client.workflow-agent.v1", None),
    ("L9", "uai.client.workflow-agent.v1", None),
    ("l4", GENERAL, None),
    ("", GENERAL, None),
    (" L4", GENERAL, None),
    ("4", GENERAL, None),
    (None, "uai.client.workflow-agent.v1", None),
]


@pytest.mark.parametrize(("stated", "profile_id", "label"), LABELS)
def test_label(stated: str | None, profile_id: str, label: str | None) -> None:
    read = profile(profile_id, client_level=stated, **ALL_FLAGS)
    assert (read.client_level, read.label) == (stated, label)
    if label is None:
        assert read.claimed == UNKNOWN


@pytest.mark.parametrize(("profile_id", "level"), PROFILE_IDS.items())
def test_level_of_id_is_the_highest(profile_id: str, level: Label | None) -> None:
    labels = {profile(profile_id, client_level=stated).label for stated in LEVELS}
    assert max(filter(None, labels)) == (level or Label.L6)


FLAG_ATOMS: dict[Flag, set[Atom]] = {
    Flag.CAN_FETCH_STATIC: {Atom.STATIC_GET},
    Flag.CAN_FETCH_JSON: {Atom.JSON_GET},
    Flag.CAN_EXECUTE_JAVASCRIPT: set(),
    Flag.CAN_USE_BROWSER_UI: {Atom.BROWSER_UI, Atom.LIVE_GET},
    Flag.CAN_POST_DATA: POST,
    Flag.CAN_AUTHENTICATE: {Atom.AUTH},
    Flag.CAN_CALL_TOOLS: {Atom.TOOLS},
    Flag.CAN_RUN_LONG_TASKS: set(),
    Flag.CAN_STORE_MEMORY: set(),
    Flag.CAN_COORDINATE_AGENTS: {Atom.COORDINATE},
}
COLUMN = {"L0": UNKNOWN, "L1": JSON, "L2": LIVE | {Atom.BROWSER_UI}}


@pytest.mark.parametrize("flag", Flag)
@pytest.mark.parametrize("level", LEVELS)
def test_flags_add_from_l3_up(level: str, flag: Flag) -> None:
    read = profile(client_level=level, **{flag: True})
    assert read.claimed == COLUMN.get(level, LIVE | FLAG_ATOMS[flag])


@pytest.mark.parametrize(
    ("level", "atoms"),
    [
        *COLUMN.items(),
        ("L3", LIVE | POST | {Atom.BROWSER_UI, Atom.AUTH, Atom.TOOLS, Atom.COORDINATE}),
        ("L6", LIVE | POST | {Atom.BROWSER_UI, Atom.AUTH, Atom.TOOLS, Atom.COORDINATE}),
        ("L7", UNKNOWN),
        ("L9", UNKNOWN),
        ("l4", UNKNOWN),
    ],
)
def test_who_claims_everything(level: str, atoms: set[Atom]) -> None:
    assert profile(client_level=level, **ALL_FLAGS).claimed == atoms
    assert profile("uai.client.limited-browser.v1", client_level=level, **ALL_FLAGS).claimed == UNKNOWN
    assert profile("uai.unheard-of.v1", client_level=level, **ALL_FLAGS).claimed == UNKNOWN


BAD_SHAPES: list[Any] = [
    None,
    7,
    "x",
    [],
    {},
    [{"profile": GENERAL, "body": {}}],
    {"profile": GENERAL},
    {"body": {}},
    {"profile": GENERAL, "body": None},
    {"profile": GENERAL, "body": []},
    {"profile": GENERAL, "body": "x"},
    {"profile": None, "body": {}},
    {"profile": 7, "body": {}},
    {"profile": ["x"], "body": {}},
    {"profile": {}, "body": {}},
]


@pytest.mark.parametrize("value", BAD_SHAPES, ids=repr)
def test_other_shapes(value: object) -> None:
    with pytest.raises(ProfileRefused) as refused:
        parse_profile(value)
    assert refused.value.detail == str(refused.value) != ""


BODY_TEXTS = ["client_name", "fallback_behavior", "safe_default_response"]
BODY_LISTS = ["requires_human_consent_for", *sorted(_LISTS)]
WRONG: list[tuple[str, Any]] = [
    *((name, wrong) for name in BODY_TEXTS for wrong in (None, 7, True, [], {}, "a\x1b[2J", "a\x00", "\ud800")),
    *((name, wrong) for name in BODY_LISTS for wrong in (None, 7, "x", {}, [7], ["x", None], [["x"]], ["\x85"])),
    *((flag.value, wrong) for flag in Flag for wrong in (None, 0, 1, "true", [], {})),
    *(("client_level", wrong) for wrong in (4, 4.0, True, [], {}, "L4\x00")),
]


@pytest.mark.parametrize(("member", "wrong"), WRONG, ids=[f"{member}-{wrong!r}" for member, wrong in WRONG])
def test_wrong_types(member: str, wrong: object) -> None:
    with pytest.raises(ProfileRefused):
        profile(**{member: wrong})


SIZES: list[tuple[str, Any, Any]] = [
    ("client_level", "L" * 200, "L" * 201),
    ("client_name", "n" * 200, "n" * 201),
    ("fallback_behavior", "a " * 1000, "a " * 1001),
    ("safe_default_response", "a " * 1000, "a " * 1001),
    *((name, ["a " * 250] * 100, ["a " * 251]) for name in BODY_LISTS),
    *((name, ["a"] * 100, ["a"] * 101) for name in BODY_LISTS),
]


@pytest.mark.parametrize(("member", "most", "too_much"), SIZES, ids=[f"{row[0]}-{len(row[2])}" for row in SIZES])
def test_sizes(member: str, most: object, too_much: object) -> None:
    read = profile(**{member: most})
    assert parse_profile(read.told()) == read
    with pytest.raises(ProfileRefused):
        profile(**{member: too_much})


def test_the_largest_profile_is_read_again() -> None:
    texts = dict.fromkeys(["fallback_behavior", "safe_default_response"], "é " * 1000)
    lists = {name: ["é " * 250] * 100 for name in BODY_LISTS}
    read = profile("p" * 200, client_level="l" * 200, client_name="n" * 200, **texts, **lists, **ALL_FLAGS)
    assert parse_profile(read.told()) == read


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "body",
    [
        {"known_limits": ["a"] * 1_000_000},
        {"known_limits": [[]] * 1_000_000},
        {"unheard-of": [True] * 1_000_000},
        {"unheard-of": {str(index): index for index in range(100_000)}},
        {"unheard-of": "x" * 10_000_000},
        {"x" * 10_000_000: None},
        {"unheard-of": nested(100_000)},
    ],
    ids=["texts", "lists", "literals", "members", "long-text", "long-name", "deep"],
)
def test_hostile_sizes_are_refused_at_once(body: dict[str, Any]) -> None:
    started = time.perf_counter()
    with pytest.raises(ProfileRefused, match="larger or deeper"):
        profile(**body)
    assert time.perf_counter() - started < 1


def test_hostile_texts_are_cheap() -> None:
    for text in ("a-", "token: ", "://a:", "%25", "bearer ", "a_token:", "\n"):
        started = time.perf_counter()
        with pytest.raises(ProfileRefused):
            profile(unheard=(text * 200_000)[:200_000], fallback_behavior=7)
        assert time.perf_counter() - started < 2, text


SECRETS = [
    "api_key: 12345",
    "api_key: sk_live_abc12345",
    "X-Api-Key: 9f8e7d6c",
    "API key = 'q1w2e3r4'",
    '"api_key": "abcd"',
    "apiKey=abcd",
    "client_secret='abc'",
    "password: hunter2",
    "password: swordfish",
    "password=swordfish",
    "password=correct horse battery",
    "token=abcdef",
    "token: 8f3k-2jd9-x",
    "bot.writeToken: tk_0a1b2c3d4",
    "session_id: 0a1b2c3d4e",
    "Authorization: Bearer abcdefgh12345",
    "say Bearer abcdefgh to the origin",
    "https://example.com/?token=abc",
    "see https://u:p@example.com/",
    "ghp_abcdef123456",
    "eyJhbGciOi.eyJzdWIi.sig",
    "-----BEGIN PRIVATE KEY-----",
    "%61pi_key%3Dabcdef",
    "%2561pi_key%253Dabcdef",
    "material Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZkdISUpLTE1OTw",
    "did:web:example.com:sk_live_abc12345",
    "AKIAABCDEFGHIJKLMNOP",
    "card 4111 1111 1111 1111",
]
NO_SECRETS = [
    "no credentials",
    "idempotency key",
    "Idempotency key: required",
    "api key required",
    "api_key: <your key>",
    "api_key: $KEY",
    "password never sent",
    "password: never sent",
    "token: none",
    "token: required",
    "token: OAuth2",
    "token: JWT",
    "token: short",
    "token: https://issuer.example/token",
    "token=none",
    "credential: owner-provided",
    "authorization: owner must approve",
    "bearer token required",
    "bearer credentials are external",
    "secrets: short-lived",
    "never use ?token= or ?api_key= in URLs",
    "key=value pairs",
    "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "https://example.com/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWWSabc",
    "sha256:" + "0a" * 32,
    "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    "Name the exact route and stop before any write.",
    "100 % static",
]


@pytest.mark.parametrize("text", SECRETS)
def test_credentials_are_refused_anywhere(text: str) -> None:
    bodies: list[dict[str, Any]] = [
        {"client_name": text},
        {"client_level": text},
        {"known_limits": ["a", text]},
        {"unheard-of": {"deep": [{"deeper": text}]}},
        {text: None},
    ]
    for body in bodies:
        with pytest.raises(ProfileRefused, match="credential") as refused:
            profile(**body)
        assert text not in refused.value.detail
    with pytest.raises(ProfileRefused, match="credential"):
        profile(text)
    with pytest.raises(ProfileRefused, match="credential"):
        parse_profile({"profile": GENERAL, "body": {}, "note": text})


@pytest.mark.parametrize("text", NO_SECRETS)
def test_words_about_credentials_stand(text: str) -> None:
    assert profile(client_name=text, known_limits=[text]).known_limits == (text,)


@pytest.mark.parametrize(
    "members",
    [
        {"password": "hunter2"},
        {"password": "correct horse battery staple"},
        {"api_key": 12345678},
        {"apiKey": "abc"},
        {"token": "abc"},
        {"write_token": ["x1"]},
        {"session": "0a1b2c3d"},
        {"auth": {"pin": 1234}},
    ],
    ids=repr,
)
def test_members_named_like_credentials(members: dict[str, Any]) -> None:
    with pytest.raises(ProfileRefused, match="credential"):
        profile(**members)


@pytest.mark.parametrize(
    "members",
    [
        {"password": None},
        {"password": ""},
        {"password": False},
        {"password": "none"},
        {"password": 10**10_000},
        {"token": "required"},
        {"authorization": "owner must approve"},
        {"session": "stateless"},
        {"key": "not kept at all"},
        {"idempotency_key": "7c1e-09ab"},
        {"auth": {"required": True}},
    ],
    ids=lambda members: repr(members)[:40] if members != {"password": 10**10_000} else "password-huge",
)
def test_members_that_only_sound_so(members: dict[str, Any]) -> None:
    assert profile(**members) == profile()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"profile": st.text() | st.sampled_from(sorted(PROFILE_IDS)) | JSON_VALUES},
        optional={
            "body": st.dictionaries(
                st.sampled_from(["client_level", *BODY_TEXTS, *BODY_LISTS, *Flag, "x"]), JSON_VALUES | st.booleans()
            )
            | JSON_VALUES,
            "uai_version": JSON_VALUES,
        },
    )
    | JSON_VALUES
)
def test_any_value_is_read_or_refused(value: object) -> None:
    try:
        read = parse_profile(value)
    except ProfileRefused:
        return
    assert parse_profile(read.told()) == read
    assert read.claimed >= UNKNOWN


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)


@given(
    st.builds(
        CapabilityProfile,
        TEXT,
        st.none() | TEXT | st.sampled_from(sorted(LEVELS)),
        TEXT,
        st.frozensets(st.sampled_from(Flag)),
        *[st.lists(TEXT, max_size=3).map(tuple)] * 2,
        TEXT,
        *[st.lists(TEXT, max_size=3).map(tuple)] * 2,
        TEXT,
    )
)
def test_told_and_read_again(told: CapabilityProfile) -> None:
    try:
        assert parse_profile(told.told()) == told
    except ProfileRefused as refused:
        assert "credential" in refused.detail  # a text that happens to look like one
