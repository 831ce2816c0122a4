"""Rules R1 to R12 of capability profiles, each both ways (UAIX.md §3)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.profilerules import profile_findings
from proxy.capability.profiles import PROFILE_IDS, Flag

SAMPLES = Path(__file__).parent.parent / "samples/uaix"
EXPECTED = json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"]
ROWS = {name: entry for name, entry in EXPECTED.items() if entry["kind"] == "capability-profile"}
GENERAL = "uai.capability.profile.v1"
IDS: dict[str, str] = {level: profile_id for profile_id, level in PROFILE_IDS.items() if level}
ALL_EVIDENCE = [
    "provenance",
    "audit log",
    "validator result",
    "consent record",
    "final report",
    "idempotency key",
    "correlation id",
    "expiry",
]
PROPOSAL = "uai.agent.memory-proposal.v1"


def body(**changes: Any) -> dict[str, Any]:
    """A body without fault on every level but L6."""
    return {
        "client_level": "L3",
        "client_name": "Example",
        **{flag.value: False for flag in Flag},
        "can_fetch_static": True,
        "can_fetch_json": True,
        "requires_human_consent_for": [],
        "declared_or_required_uaix_profiles": [GENERAL],
        "fallback_behavior": "Ask a person.",
        "known_limits": [],
        "evidence_requirements": [],
        "safe_default_response": "Stop before any write.",
        **changes,
    }


def rules(value: object) -> set[str]:
    """The rules that fail, without the part of the ids that all share and the words after the number."""
    findings = profile_findings(value)
    assert all(finding.detail and not finding.is_warning for finding in findings)
    return {finding.rule.removeprefix("local.").partition("_")[0] for finding in findings}


def of(profile_id: str = GENERAL, **changes: Any) -> set[str]:
    return rules({"profile": profile_id, "body": body(**changes)})


@pytest.mark.parametrize(("name", "entry"), ROWS.items(), ids=list(ROWS))
def test_samples(name: str, entry: dict[str, Any]) -> None:
    findings = profile_findings(json.loads((SAMPLES / name).read_bytes()))
    assert {finding.rule for finding in findings} == set(entry["failures"])


def test_no_fault() -> None:
    assert of() == set()
    assert rules({"uai_version": "1.0", "profile": GENERAL, "body": body(), "trust": {"token": "abc"}}) == set()


@pytest.mark.parametrize("value", [None, 7, "x", [], True, {}, {"profile": GENERAL}, {"body": []}], ids=repr)
def test_r1_what_is_no_record(value: object) -> None:
    assert rules(value) == {"R1"}


@pytest.mark.parametrize("member", body())
def test_r1_every_member_is_required(member: str) -> None:
    less = {name: value for name, value in body().items() if name != member}
    [finding] = profile_findings({"profile": GENERAL, "body": less})
    assert (finding.rule, finding.path) == ("local.R1_profile_required_fields", f"/body/{member}")


@pytest.mark.parametrize("wrong", [None, 7, {}, [7], ["x", None]], ids=repr)
@pytest.mark.parametrize("member", body())
def test_r1_every_member_has_its_type(member: str, wrong: object) -> None:
    assert "R1" in of(**{member: wrong})


@pytest.mark.parametrize("profile_id", [None, 7, [], {}], ids=repr)
def test_r1_the_id_is_a_text(profile_id: Any) -> None:
    assert of(profile_id) == {"R1"}
    assert rules({"body": body()}) == {"R1"}


LEVELS: list[tuple[str, Any, set[str]]] = [
    *((profile_id, level, set()) for level, profile_id in IDS.items() if level != "L6"),
    *((GENERAL, level, set()) for level in IDS if level != "L6"),
    ("uai.capability.negotiation.v1", "L1", set()),
    (IDS["L1"], "L2", {"R2"}),
    (IDS["L5"], "L4", {"R2"}),
    (IDS["L4"], "l4", {"R2"}),
    (IDS["L4"], "L9", {"R2"}),
    (IDS["L4"], "", {"R2"}),
    (IDS["L4"], None, {"R1"}),
    (IDS["L4"], 4, {"R1"}),
    (GENERAL, "L7", {"R2"}),
    (GENERAL, "L9", {"R2"}),
    (GENERAL, "l4", {"R2"}),
    (GENERAL, "", {"R2"}),
    (GENERAL, " L4", {"R2"}),
    ("uai.client.unheard-of.v1", "L3", {"R2"}),
    ("", "L3", {"R2"}),
]


@pytest.mark.parametrize(("profile_id", "level", "expected"), LEVELS)
def test_r2_level_of_the_id(profile_id: str, level: object, expected: set[str]) -> None:
    assert of(profile_id, client_level=level) == expected


@pytest.mark.parametrize(
    ("profile_id", "level", "expected"),
    [
        (GENERAL, "L0", {"R3"}),
        (GENERAL, "L1", {"R3"}),
        (GENERAL, "L2", set()),
        (GENERAL, "L6", {"R5", "R8"}),
        (IDS["L1"], "L4", {"R2", "R3"}),
        (IDS["L4"], "L0", {"R2", "R3"}),
        (IDS["L0"], "L9", {"R2", "R3"}),
    ],
)
def test_r3_low_levels_run_no_scripts(profile_id: str, level: str, expected: set[str]) -> None:
    assert of(profile_id, client_level=level, can_execute_javascript=True) == expected
    assert "R3" not in of(profile_id, client_level=level)


NEEDS_SCRIPTS = [
    "Needs the JavaScript-only app.",
    "Requires JavaScript",
    "JavaScript is required",
    "Depends on client-side scripts",
    "Only works with JavaScript",
    "The app is JavaScript-only",
    "No static HTML, relies on JS",
    "Use JSON where there is some and it needs no sign-in. Needs the JavaScript app with JSON.",
]
NEEDS_NONE = [
    "Does not need JavaScript",
    "Cannot read JavaScript-only pages",
    "No JavaScript",
    "JavaScript isn't required",
    "Works without JavaScript",
    "Requires no scripts",
    "JavaScript-only pages are skipped",
    "A description is required",
    "Reads pages only, scripts are ignored",
    "",
]


@pytest.mark.parametrize("text", NEEDS_SCRIPTS[:-1])
@pytest.mark.parametrize("member", ["fallback_behavior", "known_limits", "safe_default_response"])
def test_r4_depends_on_scripts(member: str, text: str) -> None:
    said = {member: [text] if member == "known_limits" else text}
    assert of(client_level="L0", **said) == of(client_level="L1", **said) == {"R4"}
    assert of(client_level="L2", **said) == set()


@pytest.mark.parametrize("text", NEEDS_NONE)
def test_r4_depends_on_none(text: str) -> None:
    assert of(client_level="L0", fallback_behavior=text, known_limits=[text]) == set()


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        ("Use JSON, sitemap, llms.txt and static HTML first.", set()),
        ("Falls back to plain text.", set()),
        ("Needs the JavaScript app; else static HTML", set()),
        (NEEDS_SCRIPTS[-1], set()),
        ("There is no static HTML and no JSON.", {"R4"}),
        ("Needs the JavaScript app instead of JSON", {"R4"}),
        ("Ask a person.", {"R4"}),
        ("", {"R4"}),
        (None, {"R1", "R4"}),
    ],
)
def test_r4_static_or_json_fallback(fallback: object, expected: set[str]) -> None:
    assert of(client_level="L1", known_limits=["requires JavaScript"], fallback_behavior=fallback) == expected


def test_r4_fetches_nothing_without_scripts() -> None:
    nothing = {"can_fetch_static": False, "can_fetch_json": False}
    assert of(client_level="L1", can_execute_javascript=True, **nothing) == {"R3", "R4"}
    assert of(client_level="L1", **nothing) == set()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"can_post_data": True, "evidence_requirements": ["idempotency key"]}, {"R5"}),
        ({"can_authenticate": True}, {"R5"}),
        ({"can_store_memory": True, "declared_or_required_uaix_profiles": [PROPOSAL]}, {"R5"}),
        ({"can_coordinate_agents": True}, {"R5"}),
        ({"client_level": "L6", "evidence_requirements": ALL_EVIDENCE}, {"R5"}),
        ({"can_call_tools": True}, set()),
        ({"can_use_browser_ui": True}, set()),
        ({"can_authenticate": "true"}, {"R1"}),
    ],
    ids=repr,
)
def test_r5_consent_boundary(changes: dict[str, Any], expected: set[str]) -> None:
    assert of(**changes) == expected
    assert of(**changes, requires_human_consent_for=["everything"]) == expected - {"R5"}
    for empty in ([""], [" ", "None"], ["nothing"]):
        assert of(**changes, requires_human_consent_for=empty) == expected
    assert of(**changes, requires_human_consent_for=None) == expected | {"R1"}


EVIDENCE: list[tuple[str, list[str], bool]] = [
    ("can_post_data", ["idempotency key"], True),
    ("can_post_data", ["other", "Idempotency-Key of each POST"], True),
    ("can_post_data", ["idempotent requests"], True),
    ("can_post_data", [], False),
    ("can_post_data", ["consent record"], False),
    ("can_post_data", ["no idempotency key"], False),
    ("can_post_data", ["POST without idempotency"], False),
    ("can_run_long_tasks", ["correlation id", "timeout"], True),
    ("can_run_long_tasks", ["correlation_id, expires_at"], True),
    ("can_run_long_tasks", ["correlates", "time-out"], True),
    ("can_run_long_tasks", ["correlation id", "deadline"], True),
    ("can_run_long_tasks", ["correlation id", "TTL"], True),
    ("can_run_long_tasks", ["correlation id"], False),
    ("can_run_long_tasks", ["timeout", "expiry"], False),
    ("can_run_long_tasks", ["correlation id", "no timeout"], False),
    ("can_run_long_tasks", [], False),
]


@pytest.mark.parametrize(("flag", "evidence", "is_enough"), EVIDENCE)
def test_r6_r7_evidence_of_an_ability(flag: str, evidence: list[str], is_enough: bool) -> None:
    rule = "R6" if flag == "can_post_data" else "R7"
    said = {"requires_human_consent_for": ["post"], "evidence_requirements": evidence}
    assert of(**{flag: True}, **said) == (set() if is_enough else {rule})
    assert of(**said) == set()


@pytest.mark.parametrize("profile_id", [GENERAL, IDS["L6"]])
def test_r8_evidence_of_l6(profile_id: str) -> None:
    said = {"client_level": "L6", "requires_human_consent_for": ["all"]}
    assert of(profile_id, **said, evidence_requirements=ALL_EVIDENCE) == set()
    for left_out in ALL_EVIDENCE[:5]:
        fewer = [item for item in ALL_EVIDENCE if item != left_out]
        [finding] = profile_findings(
            {"profile": profile_id, "body": body(**said, evidence_requirements=fewer)},
        )
        assert finding.rule == "local.R8_high_assurance_evidence"
        assert left_out.split()[0] in finding.detail
    assert of(profile_id, **said, evidence_requirements=[]) == {"R8"}


def test_r8_either_says_l6() -> None:
    for profile_id, level in ((IDS["L6"], "L3"), (IDS["L3"], "L6"), (IDS["L6"], "L9")):
        assert of(profile_id, client_level=level) == {"R2", "R5", "R8"}


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [([PROPOSAL], set()), ([GENERAL, PROPOSAL], set()), ([], {"R9"}), ([GENERAL], {"R9"}), ([7], {"R1", "R9"})],
    ids=repr,
)
def test_r9_memory_proposal(profiles: list[Any], expected: set[str]) -> None:
    said = {"requires_human_consent_for": ["memory"], "declared_or_required_uaix_profiles": profiles}
    assert of(can_store_memory=True, **said) == expected
    assert of(**said) == expected - {"R9"}


RUNTIME_CLAIMS = [
    "UAIX executes the workflow for this client.",
    "uaix runs tools",
    "UAIX will run it",
    "UAIX.org hosts memory",
    "UAIX can safely execute writes",
    "the UAIX server executes all",
    "UAIX records and runs tasks",
    "UAIX stores, routes and executes tasks",
    "UAIX, the standard, executes tasks",
    "UAIX orchestrates agents",
    "UAIX is running the task",
    "UAIX is an orchestrator",
    "UAIX is the execution engine",
    "UAIX's runtime runs it",
    "UAIX\u2019s platform hosts it",
    "UAIX-hosted memory",
    "UAIX\nexecutes it",
    "Hosted by UAIX",
    "tasks are executed on UAIX",
    "It runs on UAIX.",
    "lets UAIX run it",
    "relies on UAIX to execute writes",
    "Do not worry, UAIX executes it",
    "As a no-op UAIX executes it",
]
NO_RUNTIME_CLAIMS = [
    "UAIX does not execute",
    "UAIX doesn't host",
    "UAIX never runs anything",
    "UAIX cannot run tools",
    "UAIX executes nothing",
    "UAIX runs no code",
    "UAIX does not, and will not, execute tasks",
    "UAIX, which does not execute, records",
    "UAIX is not a runtime",
    "UAIX is a record format, not a runtime",
    "It is not hosted by UAIX",
    "Neither executed nor hosted by UAIX",
    "do not assume that UAIX executes",
    "Does UAIX execute?",
    "Runtimes execute, UAIX only records",
    "UAIX only records; runtimes execute",
    "UAIX records what the client runs",
    "UAIX records and clients execute",
    "The client runs tasks and records them in UAIX packets",
    "runs in UAIX-compatible sites",
    "UAIX hosts: example.org",
    "not a hosted UAIX server",
    "executes nothing",
]
PART_CLAIMS = [
    "LocalEndpoint runtime is UAIX runtime",
    "Carcinus is part of UAIX",
    "carcinus.org is a UAIX service",
    "Local Endpoint belongs to UAIX",
    "UAIX includes Carcinus",
    "UAIX's LocalEndpoint",
    "Carcinus, a component of UAIX, answers",
    "localendpoint.com is a module of the UAIX standard",
    "Carcinus is owned by UAIX",
    "Carcinus = UAIX",
]
NO_PART_CLAIMS = [
    "Carcinus is not part of UAIX",
    "Carcinus is no part of UAIX",
    "Neither Carcinus nor LocalEndpoint is part of UAIX",
    "LocalEndpoint isn't UAIX",
    "UAIX never includes Carcinus",
    "UAIX does not own Carcinus",
    "Carcinus is a separate site that follows UAIX",
    "LocalEndpoint is independent of UAIX",
    "carcinus.org is a UAIX-following site",
    "Carcinus is a UAIX client",
    "Carcinus uses UAIX records",
    "Carcinus puts its findings inside UAIX envelopes",
    "a local endpoint is part of UAIX",
    "Reads carcinus.org and uaix.org",
]
SAID = [
    *((text, {"R10"}) for text in RUNTIME_CLAIMS),
    *((text, set[str]()) for text in NO_RUNTIME_CLAIMS),
    *((text, {"R12"}) for text in PART_CLAIMS),
    *((text, set[str]()) for text in NO_PART_CLAIMS),
    ("LocalEndpoint is part of UAIX, and hosted by UAIX", {"R10", "R12"}),
    ("api_key: sk_live_abc12345", {"R11"}),
    ("api_key: none", set()),
    ("https://example.com/?token=abc", {"R11"}),
    ("bearer token required", set()),
]


@pytest.mark.parametrize(("text", "expected"), SAID, ids=[row[0] for row in SAID])
def test_r10_r11_r12_what_a_text_says(text: str, expected: set[str]) -> None:
    for said in (
        {"client_name": text},
        {"fallback_behavior": text},
        {"safe_default_response": text},
        {"known_limits": ["a", text]},
        {"evidence_requirements": [text]},
        {"requires_human_consent_for": [text]},
        {"unheard-of": {"deep": [text]}},
    ):
        assert of(**said) == expected


def test_r11_place_and_silence() -> None:
    value = {"profile": GENERAL, "body": body(known_limits=["a", "password: hunter2"])}
    [finding] = profile_findings(value)
    assert (finding.rule, finding.path) == ("local.R11_unsafe_credential", "/body/known_limits/1")
    assert "hunter2" not in finding.detail
    assert of(**{"api_key": "abcd"}) == of(**{"password": 12345678}) == {"R11"}


ALL_FLAGS = {flag.value: True for flag in Flag}


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("L0", {"R3", "R5", "R6", "R7", "R9"}),
        ("L1", {"R3", "R5", "R6", "R7", "R9"}),
        ("L3", {"R5", "R6", "R7", "R9"}),
        ("L6", {"R5", "R6", "R7", "R8", "R9"}),
        ("L9", {"R2", "R5", "R6", "R7", "R9"}),
        ("l4", {"R2", "R5", "R6", "R7", "R9"}),
    ],
)
def test_who_claims_everything(level: str, expected: set[str]) -> None:
    assert of(client_level=level, **ALL_FLAGS) == expected
    earned = {
        "requires_human_consent_for": ["all of it"],
        "declared_or_required_uaix_profiles": [PROPOSAL],
        "evidence_requirements": ALL_EVIDENCE,
    }
    assert of(client_level=level, **ALL_FLAGS, **earned) == expected & {"R2", "R3"}


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "said",
    [
        {"known_limits": ["a"] * 1_000_000},
        {"evidence_requirements": ["no idempotency"] * 300_000, "can_post_data": False},
        {"unheard-of": [[]] * 1_000_000},
        {"fallback_behavior": "Carcinus " * 1_000_000},
        {"unheard-of": nested(100_000)},
    ],
    ids=["texts", "evidence", "lists", "long-text", "deep"],
)
def test_more_than_can_be_looked_at(said: dict[str, Any]) -> None:
    started = time.perf_counter()
    assert of(**said) == {"R11"}
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize(
    "unit",
    [
        "UAIX ",
        "UAIX is ",
        "UAIX a, ",
        "no UAIX runs ",
        "Carcinus is a ",
        "not needs js ",
        "js ",
        "a-",
        "token: ",
        "UAIX aly ",
    ],
)
def test_hostile_texts_are_cheap(unit: str) -> None:
    started = time.perf_counter()
    of(client_level="L1", fallback_behavior=(unit * 200_000)[:200_000])
    assert time.perf_counter() - started < 3


MEMBERS = st.sampled_from([*body(), "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["UAIX runs", "L6", "token=1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    VALUES,
    st.dictionaries(MEMBERS, VALUES | st.just(value=True), max_size=18),
    st.sampled_from(sorted(PROFILE_IDS)) | VALUES,
)
def test_any_value(anything: object, members: dict[str, Any], profile_id: object) -> None:
    for value in (anything, {"profile": profile_id, "body": members}):
        assert len(profile_findings(value)) <= 40
