"""The Agent Skills index (SK-1 to SK-4; what SK-5 to SK-7 ask for is done where artifacts are fetched)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.gate import NotADocument
from proxy.discovery.listings.skills import (
    MOST_SKILLS,
    SCHEMA,
    ArtifactType,
    IndexVersion,
    SkillsIndex,
    UnknownSchema,
)
from proxy.http.targets import parse_target
from tests.discovery.reading import parse_skills

BASE = parse_target("https://example.com/.well-known/agent-skills/index.json")
LEGACY_BASE = parse_target("https://example.com/.well-known/skills/index.json")
DIGEST = "sha256:" + "0a" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SKILL = {
    "name": "shop",
    "type": "skill-md",
    "description": "Buys things.",
    "url": "shop/SKILL.md",
    "digest": DIGEST,
}


def index(*skills: object, **members: object) -> bytes:
    return json.dumps({"$schema": SCHEMA, "skills": list(skills), **members}).encode()


def read(body: bytes) -> SkillsIndex:
    found = parse_skills(body, BASE)
    assert isinstance(found, SkillsIndex), found
    return found


def rules(found: SkillsIndex) -> list[str]:
    return [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in found.findings]


def test_good_index() -> None:
    found = read(
        index(SKILL, {**SKILL, "name": "pack-2", "type": "archive", "url": "https://cdn.example.net/p.zip"})
    )
    first, second = found.skills
    assert found.version is IndexVersion.V0_2
    assert found.findings == ()
    assert (first.name, first.type, first.description) == ("shop", ArtifactType.SKILL_MD, "Buys things.")
    assert first.url.uri == "https://example.com/.well-known/agent-skills/shop/SKILL.md"
    assert str(first.digest) == DIGEST
    assert (second.type, second.url.host, second.path) == (ArtifactType.ARCHIVE, "cdn.example.net", "/skills/1")


def without(name: str) -> dict[str, object]:
    return {key: value for key, value in SKILL.items() if key != name}


# Members that replace those of SKILL; whether the skill is kept; the findings.
CASES: list[tuple[str, dict[str, object], bool, list[str]]] = [
    ("SK-2 shortest name", {"name": "a"}, True, []),
    ("SK-2 longest name", {"name": "a" * 64}, True, []),
    ("SK-2 too long", {"name": "a" * 65}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 upper case", {"name": "Shop"}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 leading hyphen", {"name": "-a"}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 trailing hyphen", {"name": "a-"}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 double hyphen", {"name": "a--b"}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 slash", {"name": "../a"}, True, ["SK-2 /skills/0/name"]),
    ("SK-2 name null", {"name": None}, False, ["SK-2 /skills/0/name"]),
    ("SK-2 name a number", {"name": 5}, False, ["SK-2 /skills/0/name"]),
    ("SK-2 unknown type", {"type": "skill"}, False, ["SK-2 /skills/0/type"]),
    ("SK-2 no type", {"type": None}, False, ["SK-2 /skills/0/type"]),
    ("SK-2 type a list", {"type": ["skill-md"]}, False, ["SK-2 /skills/0/type"]),
    ("SK-2 longest description", {"description": "x" * 1024}, True, []),
    ("SK-2 long description", {"description": "x" * 1025}, True, ["SK-2 /skills/0/description"]),
    ("SK-2 no description", {"description": None}, True, ["SK-2 /skills/0/description"]),
    ("SK-2 description an object", {"description": {}}, True, ["SK-2 /skills/0/description"]),
    ("SK-3 other origin", {"url": "https://cdn.example.net/a"}, True, []),
    ("SK-3 http", {"url": "http://example.com/a"}, False, ["SK-3 /skills/0/url"]),
    ("SK-3 private", {"url": "https://10.0.0.1/a"}, False, ["SK-3 /skills/0/url"]),
    ("SK-3 no URL", {"url": None}, False, ["SK-3 /skills/0/url"]),
    ("SK-3 URL a number", {"url": 1}, False, ["SK-3 /skills/0/url"]),
    (
        "SK-3 branch",
        {"url": "https://raw.githubusercontent.com/o/r/main/SKILL.md"},
        True,
        ["SK-3 /skills/0/url?"],
    ),
    (
        "SK-3 branch in full",
        {"url": "https://raw.githubusercontent.com/o/r/refs/heads/main/a.md"},
        True,
        ["SK-3 /skills/0/url?"],
    ),
    ("SK-3 commit", {"url": f"https://raw.githubusercontent.com/o/r/{COMMIT}/a.md"}, True, []),
    ("SK-3 tag", {"url": "https://raw.githubusercontent.com/o/r/refs/tags/v1/a.md"}, True, []),
    ("SK-4 no digest", {"digest": None}, True, ["SK-4 /skills/0/digest"]),
    ("SK-4 upper case", {"digest": "sha256:" + "0A" * 32}, True, ["SK-4 /skills/0/digest"]),
    ("SK-4 other algorithm", {"digest": "sha512:" + "0a" * 64}, True, ["SK-4 /skills/0/digest"]),
    ("SK-4 weak", {"digest": "md5:" + "0a" * 16}, True, ["SK-4 /skills/0/digest"]),
    ("SK-4 bare", {"digest": "0a" * 32}, True, ["SK-4 /skills/0/digest"]),
    ("SK-4 a number", {"digest": 7}, True, ["SK-4 /skills/0/digest"]),
    ("unknown member", {"sha256": "x", "x": {}}, True, []),
]


@pytest.mark.parametrize(("name", "changes", "is_kept", "expected"), CASES, ids=[row[0] for row in CASES])
def test_one_skill(name: str, changes: dict[str, object], is_kept: bool, expected: list[str]) -> None:
    found = read(index({**SKILL, **changes}))
    assert [len(found.skills), *rules(found)] == [int(is_kept), *expected], name


@pytest.mark.parametrize(
    ("text", "is_usable"),
    [(DIGEST, True), ("sha256:" + "0A" * 32, True), ("md5:" + "0a" * 16, False), (None, False)],
)
def test_only_a_usable_digest_is_handed_on(text: str | None, is_usable: bool) -> None:
    [skill] = read(index({**SKILL, "digest": text})).skills
    assert (skill.digest is not None) is is_usable


@pytest.mark.parametrize("value", [None, 5, "x", [], [[]]], ids=repr)
def test_an_element_that_is_no_object_is_passed_over(value: object) -> None:
    found = read(index(value, SKILL))
    assert [skill.name for skill in found.skills] == ["shop"]
    assert rules(found) == ["SK-2 /skills/0/name"]


def test_the_first_of_a_name_is_kept() -> None:
    found = read(index(SKILL, {**SKILL, "url": "/other"}))
    assert [skill.url.path for skill in found.skills] == ["/.well-known/agent-skills/shop/SKILL.md"]
    assert rules(found) == ["SK-2 /skills/1/name"]


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA.replace("0.2.0", "0.3.0"),
        SCHEMA + "/",
        SCHEMA.upper(),
        "https://raw.githubusercontent.com/o/r/main/schema.json",
        "",
        None,
        2,
        [SCHEMA],
    ],
    ids=repr,
)
def test_an_unknown_schema_is_not_read(schema: object) -> None:
    found = parse_skills(index({"name": "x", "type": "skill"}, **{"$schema": schema}), BASE)
    assert isinstance(found, UnknownSchema)
    assert (found.finding.rule, found.finding.path) == ("SK-1", "/$schema")


LEGACY: list[tuple[str, dict[str, Any], str | None]] = [
    ("directory", {"name": "shop", "files": ["SKILL.md"]}, "https://example.com/.well-known/skills/shop/SKILL.md"),
    ("URL", {"name": "shop", "url": "/s.md"}, "https://example.com/s.md"),
    ("v0.2.0 without schema", SKILL, "https://example.com/.well-known/skills/shop/SKILL.md"),
    ("name leads elsewhere", {"name": "../../x"}, None),
    ("unknown type", {"name": "shop", "type": "x"}, None),
]


@pytest.mark.parametrize(("name", "skill", "url"), LEGACY, ids=[row[0] for row in LEGACY])
def test_without_schema_it_is_the_predecessor(name: str, skill: dict[str, Any], url: str | None) -> None:
    body = json.dumps({"skills": [{"description": "Buys.", **skill}]}).encode()
    found = parse_skills(body, LEGACY_BASE)
    assert isinstance(found, SkillsIndex)
    assert found.version is IndexVersion.V0_1
    assert [skill.url.uri for skill in found.skills] == ([url] if url else []), name
    assert rules(found)[0] == "SK-1 ?"
    assert not any("SK-4" in rule for rule in rules(found))


def test_a_digest_counts_in_the_predecessor_too() -> None:
    found = parse_skills(json.dumps({"skills": [SKILL]}).encode(), None)
    assert isinstance(found, SkillsIndex)
    assert str(found.skills[0].digest) == DIGEST


NOT_AN_INDEX = [b"", b"<html>", b"[]", b"{}", b'{"skills": {}}', b'{"skills": [', b'{"skills": ["\xe9"]}', b"null"]


@pytest.mark.parametrize("body", NOT_AN_INDEX, ids=repr)
def test_anything_else_is_absent(body: bytes) -> None:
    assert isinstance(parse_skills(body, BASE), NotADocument)


def test_a_long_index_ends() -> None:
    found = read(index(*({**SKILL, "name": f"a{number}"} for number in range(MOST_SKILLS + 1))))
    assert len(found.skills) == MOST_SKILLS
    assert rules(found) == ["SK-2 /skills?"]


def test_the_last_of_repeated_names_counts() -> None:
    assert read(index(SKILL).replace(b'"name": "shop"', b'"name": "a", "name": "shop"')).skills[0].name == "shop"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SKILL, "x"]), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES, max_size=4), st.sampled_from([{"$schema": SCHEMA}, {}]))
def test_any_values_are_read(skills: list[Any], head: dict[str, str]) -> None:
    assert isinstance(parse_skills(json.dumps({**head, "skills": skills}).encode(), None), SkillsIndex)


@given(st.binary(max_size=80))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_skills(body, BASE)
    parse_skills(b'{"skills": [' + body + b"]}", BASE)
