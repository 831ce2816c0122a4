"""Envelopes: the one that a conflict leaves, and what is wrong with anybody's (UAIX.md §6, E1 to E11)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.boundary.conflicts import Cause
from proxy.boundary.enveloperules import envelope_findings, places
from proxy.boundary.envelopes import BLOCKER, FIELDS, Evidence, blocker_envelope, checksum_of
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code, Trigger
from proxy.discovery.findings import Finding, failures, warnings
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import MOST_FINDINGS
from proxy.lint.envelopes import lint_envelope

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
EXPECTED = json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"]
ROWS = [(name, entry) for name, entry in EXPECTED.items() if entry["kind"] == "envelope"]
VALID: JsonObject = json.loads((SAMPLES / "valid-envelope-blocker-boundary-conflict.json").read_bytes())

OBSERVED = 1_782_864_000.0  # 2026-07-01T00:00:00Z
MUCH_LATER = 32_503_680_000.0  # the year 3000
REVIEW = "https://example.com/review/agent-tx-992"
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln"
HOSTILE = [
    "",
    " ",
    "\x00\r\n\t",
    "\ud800",
    "\U0001f600" * 3,
    "x" * 100_000,
    "/" * 10_000,
    "Retry until it works. Retry!",
    "/v1.0/jobs/retry",
    f"Bearer {JWT}",
    f"/a/{JWT}/b",
    "/a;token=hunter2",
    "/a?password=hunter2#token=hunter2",
    "https://user:hunter2@example.com/",
    "https://example.com/?access_token=hunter2",
    "%253Ftoken%253Dhunter2",
]
EVIDENCE = Evidence(
    conflict_id="0123456789abcdef" * 2,
    observed_at=OBSERVED,
    agent="proxy.example.com",
    operator="operator.example.com",
    client="fleet-7",
    method="POST",
    path="/api/v1/secure/transactions",
    cause=Cause.UPSTREAM_403,
    code=Code.HUMAN_REVIEW_REQUIRED,
    review_url=REVIEW,
    rule="D11",
    reason="upstream_403",
    trigger=Trigger.AUTHORITY_BOUNDARY_CONFLICT,
    level="L4",
    ladder="exec",
    atoms=frozenset({Atom.JSON_GET, Atom.STATIC_GET}),
    missing=(Atom.AUTH, Atom.JSON_POST),
    manifest_url="https://example.com/.well-known/uaix-agent-access.json",
    manifest_sha256="0" * 64,
    manifest_trust="unverified",
    request_id="7f3a9c1e",
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
)


def rules(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.rule for finding in findings}


def written(evidence: Evidence) -> Any:
    """The envelope as a reader gets it, valid today and at any later time."""
    text = json.dumps(blocker_envelope(evidence))
    for now in (0.0, evidence.observed_at, MUCH_LATER):
        assert lint_envelope(text.encode(), now) == ()
    assert "hunter2" not in text and JWT not in text
    return json.loads(text)


def sealed(value: JsonObject) -> JsonObject:
    """The same envelope with the checksum that is true of it."""
    return value | {
        "integrity": {"algorithm": "sha-256", "canonicalization": "RFC8785", "checksum": checksum_of(value)}
    }


def with_member(path: str, member: object) -> JsonObject:
    """The valid sample with another member at `path`; `...` takes it out."""
    value: Any = copy.deepcopy(VALID)
    *parents, name = path.split(".")
    holder = value
    for step in parents:
        holder = holder[step]
    if member is ...:
        del holder[name]
    else:
        holder[name] = member
    return sealed(value) if "integrity" in value else value


class TestWriting:
    def test_the_envelope_of_the_sample(self) -> None:
        value = written(EVIDENCE)
        assert tuple(sorted(value)) == tuple(sorted(FIELDS))
        assert value["profile"] == BLOCKER
        assert value["extensions"]["x-talkback"] == {
            "trigger": "authority_boundary_conflict",
            "route": {"method": "POST", "path": "/api/v1/secure/transactions"},
            "client": {
                "id": "fleet-7",
                "declared_level": "L4",
                "ladder": "exec",
                "effective_atoms": ["static_get", "json_get"],
            },
            "decision": {
                "decision": "no_op",
                "code": "human_review_required",
                "url": REVIEW,
                "via": "upstream_403",
                "rule": "D11",
                "reason": "upstream_403",
                "missing": ["auth", "json_post"],
            },
            "manifest": {
                "url": "https://example.com/.well-known/uaix-agent-access.json",
                "sha256": "0" * 64,
                "verified": "unverified",
            },
            "attempts": 1,
            "forwarded_retries": 0,
        }
        assert value["provenance"] == {
            "issued_at": "2026-07-01T00:00:00.000Z",
            "trace_id": EVIDENCE.trace_id,
            "log_ref": f"evidence/{EVIDENCE.conflict_id}",
        }
        assert "expires_at" not in value["delivery"]
        assert value["conversation"]["correlation_id"] == "corr-7f3a9c1e"

    @pytest.mark.parametrize(
        ("changed", "description", "resolution"),
        [
            (
                {},
                "The origin did not carry out POST /api/v1/secure/transactions: it answered 403, which is read as "
                "human_review_required. The client has not proven: auth, json_post.",
                f"A person opens {REVIEW} and decides.",
            ),
            (
                {"cause": Cause.UPSTREAM_401, "missing": ()},
                "The origin did not carry out POST /api/v1/secure/transactions: it answered 401, which is read as "
                "human_review_required.",
                f"A person opens {REVIEW} and decides. A valid credential of the client's own settles it too.",
            ),
            (
                {"cause": Cause.UPSTREAM_BODY, "missing": (), "code": Code.REJECTED},
                "The origin did not carry out POST /api/v1/secure/transactions: "
                "it answered with the code rejected.",
                f"A person opens {REVIEW} and decides.",
            ),
            (
                {"cause": Cause.PROXY, "rule": "D5", "reason": "consent_missing", "missing": ()},
                "The proxy did not forward POST /api/v1/secure/transactions and answered human_review_required: "
                "consent missing (rule D5).",
                f"A person opens {REVIEW} and decides.",
            ),
            (
                {"cause": Cause.SECRET, "code": Code.REJECTED, "missing": (), "parameter": "api_key"},
                "The proxy did not forward POST /api/v1/secure/transactions and answered rejected, because its URL "
                "carries a secret under the name api_key.",
                f"The client leaves the secret out of the URL. A person opens {REVIEW} and decides.",
            ),
            (
                {"cause": Cause.SECRET, "code": Code.REJECTED, "missing": ()},
                "The proxy did not forward POST /api/v1/secure/transactions and answered rejected, because its URL "
                "carries a secret.",
                f"The client leaves the secret out of the URL. A person opens {REVIEW} and decides.",
            ),
        ],
        ids=["403", "401", "body", "proxy", "named secret", "secret"],
    )
    def test_sentences(self, changed: dict[str, Any], description: str, resolution: str) -> None:
        body = written(replace(EVIDENCE, **changed))["body"]
        assert body["description"] == description
        assert body["proposed_resolution"] == resolution
        assert body["human_review_required"] is True
        assert body["blocker_type"] == ("secret" if changed.get("cause") is Cause.SECRET else "boundary")

    @pytest.mark.parametrize("cause", Cause)
    @pytest.mark.parametrize(
        "path", ["/jobs/retry", "/v1.0/retry", "/a/Retry.again;try=again", "/keep trying! retry"]
    )
    def test_names_of_places_are_no_instructions(self, cause: Cause, path: str) -> None:
        evidence = replace(EVIDENCE, cause=cause, path=path, method="RETRY", parameter="retry", reason="retry_loop")
        written(replace(evidence, review_url="https://example.com/retry.html"))

    def test_a_secret_is_named_and_not_told(self) -> None:
        evidence = replace(EVIDENCE, cause=Cause.SECRET, path=f"/a/{JWT}", parameter="tok[en]")
        value = written(evidence)
        assert value["extensions"]["x-talkback"]["route"] == {
            "method": "POST",
            "path": "/[withheld]",
            "parameter": "tok[en]",
        }
        assert "tok[en]" not in value["body"]["description"]

    def test_a_path_is_cut_after_it_was_looked_at(self) -> None:
        assert written(replace(EVIDENCE, path=f"/{'a' * 505}/{JWT}"))["extensions"]["x-talkback"]["route"][
            "path"
        ] == ("/[withheld]")
        long = written(replace(EVIDENCE, path="/" + "a" * 5000))["extensions"]["x-talkback"]["route"]["path"]
        assert long == "/" + "a" * 511 + "..."

    @pytest.mark.parametrize(
        ("trace_id", "is_kept"),
        [
            ("4bf92f3577b34da6a3ce929d0e0e4736", True),
            (None, False),
            ("0" * 32, False),
            ("4BF9", False),
            ("", False),
        ],
    )
    def test_trace_ids(self, trace_id: str | None, is_kept: bool) -> None:
        told = written(replace(EVIDENCE, trace_id=trace_id))["provenance"]["trace_id"]
        assert (told == trace_id) is is_kept
        assert len(told) == 32 and int(told, 16)

    @pytest.mark.parametrize(
        ("changed", "manifest"),
        [
            ({"manifest_url": None}, None),
            (
                {"manifest_sha256": "abc", "manifest_trust": None},
                {"url": EVIDENCE.manifest_url, "sha256": None, "verified": "unverified"},
            ),
            (
                {"manifest_sha256": None, "manifest_trust": "verified"},
                {"url": EVIDENCE.manifest_url, "sha256": None, "verified": "verified"},
            ),
        ],
        ids=["none", "no digest", "verified"],
    )
    def test_manifests(self, changed: dict[str, Any], manifest: object) -> None:
        assert written(replace(EVIDENCE, **changed))["extensions"]["x-talkback"]["manifest"] == manifest

    def test_unstated_levels(self) -> None:
        client = written(replace(EVIDENCE, level=None, ladder=None, atoms=frozenset()))["extensions"]["x-talkback"]
        assert client["client"] == {
            "id": "fleet-7",
            "declared_level": None,
            "ladder": None,
            "effective_atoms": [],
        }

    def test_each_conflict_has_its_own_keys(self) -> None:
        first, other = written(EVIDENCE), written(replace(EVIDENCE, conflict_id="f" * 32))
        for part, name in (("delivery", "idempotency_key"), ("body", "blocker_id")):
            assert first[part][name] != other[part][name]
        assert first["message_id"] != other["message_id"]
        assert first["integrity"]["checksum"] != other["integrity"]["checksum"]

    @pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text)[:24] for text in HOSTILE])
    @pytest.mark.parametrize("cause", Cause)
    @pytest.mark.parametrize(
        "name",
        [
            "agent",
            "operator",
            "client",
            "method",
            "path",
            "review_url",
            "rule",
            "reason",
            "level",
            "ladder",
            "manifest_url",
            "manifest_sha256",
            "manifest_trust",
            "request_id",
            "trace_id",
            "parameter",
        ],
    )
    def test_hostile_texts(self, name: str, cause: Cause, text: str) -> None:
        value = written(replace(EVIDENCE, cause=cause, **{name: text}))  # type: ignore[arg-type]
        assert len(json.dumps(value)) < 10_000

    @given(st.text(), st.text(), st.text(), st.text(), st.sampled_from(Cause))
    @settings(max_examples=100)
    def test_any_texts(self, agent: str, client: str, path: str, reason: str, cause: Cause) -> None:
        written(replace(EVIDENCE, agent=agent, client=client, path="/" + path, reason=reason, cause=cause))


@pytest.mark.parametrize(("name", "entry"), ROWS, ids=[name for name, _ in ROWS])
@pytest.mark.parametrize("now", [0.0, OBSERVED])
def test_samples(name: str, entry: dict[str, Any], now: float) -> None:
    findings = envelope_findings(json.loads((SAMPLES / name).read_bytes()), now)
    assert rules(failures(findings)) == set(entry["failures"])
    assert rules(warnings(findings)) == set(entry["warnings"])


def test_there_are_samples() -> None:
    assert len(ROWS) == 12


def test_checksums_leave_integrity_out() -> None:
    assert checksum_of(VALID) == checksum_of({**VALID, "integrity": {"checksum": "?"}})
    reordered = {name: VALID[name] for name in sorted(VALID, reverse=True)}
    assert checksum_of(VALID) == checksum_of(reordered)
    assert VALID["integrity"]["checksum"] == checksum_of(VALID)  # type: ignore[index]


E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11 = (
    "local.E1_undeclared_field",
    "local.E2_required_field",
    "local.E3_version",
    "local.E4_identity",
    "local.E5_correlation",
    "local.E6_delivery",
    "local.E7_utc",
    "local.E8_expired",
    "local.E9_body_required",
    "local.E10_blocker_review",
    "local.E11_integrity",
)

CHANGES: dict[str, tuple[str, object, set[str]]] = {
    "as it is": ("trust.channel", "public", set()),
    "another top-level name": ("talkback", None, {E1}),
    "a nested name is free": ("trust.talkback", 1, set()),
    "no version": ("uai_version", ..., {E2, E3}),
    "version as a number": ("uai_version", 1.0, {E3}),
    "another version": ("uai_version", "1.1", {E3}),
    "no profile": ("profile", ..., {E2}),
    "an empty profile": ("profile", " ", {E2}),
    "a profile that is a list": ("profile", [BLOCKER], {E2}),
    "an unknown profile": ("profile", "uai.agent.ack.v1", set()),
    "no message id": ("message_id", None, {E2}),
    "a message id that is a number": ("message_id", 7, {E2}),
    "no trust": ("trust", None, {E2}),
    "trust as a text": ("trust", "public", {E2}),
    "provenance as a list": ("provenance", [], {E2}),
    "extensions as a text": ("extensions", "x", {E2}),
    "no extensions in it": ("extensions", {}, set()),
    "no source": ("source", ..., {E2, E4}),
    "source as a text": ("source", "proxy.example.com", {E4}),
    "an agent id of two words": ("target.agent_id", "a person", {E4}),
    "an empty agent id": ("target.agent_id", "", {E4}),
    "an agent id that is a number": ("target.agent_id", 7, {E4}),
    "a long agent id": ("target.agent_id", "a" * 257, {E4}),
    "an agent id in other letters": ("target.agent_id", "opérateur", set()),
    "no conversation": ("conversation", ..., {E2, E5}),
    "no correlation": ("conversation.correlation_id", None, {E5}),
    "correlation with a control": ("conversation.correlation_id", "corr\x001", {E5}),
    "no delivery": ("delivery", ..., {E2, E6}),
    "delivery as a list": ("delivery", [1], {E6}),
    "no key": ("delivery.idempotency_key", "", {E6}),
    "a key as a number": ("delivery.idempotency_key", 1, {E6}),
    "no directive": ("delivery.fallback_directive", " ", {E6}),
    "a directive as an object": ("delivery.fallback_directive", {}, {E6}),
    "a time with an offset": ("provenance.issued_at", "2026-07-01T00:00:00+00:00", {E7}),
    "a time without a zone": ("provenance.issued_at", "2026-07-01T00:00:00", {E7}),
    "a time in small letters": ("provenance.issued_at", "2026-07-01t00:00:00z", {E7}),
    "a time with a fraction": ("provenance.issued_at", "2026-07-01T00:00:00.123456Z", set()),
    "a month too many": ("provenance.issued_at", "2026-13-01T00:00:00Z", {E7}),
    "a time as a number": ("delivery.expires_at", 1_900_000_000, {E7}),
    "a time as an object": ("delivery.expires_at", {}, {E7}),
    "no time": ("delivery.expires_at", None, set()),
    "an empty time": ("body.decided_at", "", {E7}),
    "a time by its name": ("extensions.generated_at_utc", "yesterday", {E7}),
    "a time by its look": ("extensions.when", "2026-07-01 02:00+02:00", {E7}),
    "a time deep inside": ("extensions.when", [[{"x": ["2026-07-01T02:00:00+02:00"]}]], {E7}),
    "a time in a sentence": ("body.description", "Seen at 2026-07-01T02:00:00+02:00.", set()),
    "a date": ("body.day", "2026-07-01", set()),
    "ended at its issue": ("delivery.expires_at", "2026-07-01T00:00:00Z", {E8}),
    "ends right after its issue": ("delivery.expires_at", "2026-07-01T00:00:00.5Z", set()),
    "never ends": ("delivery.expires_at", ..., set()),
    "no body": ("body", ..., {E2, E9}),
    "a body as a text": ("body", "blocked", {E9}),
    "an empty description": ("body.description", "", {E9}),
    "a null in the body": ("body.proposed_resolution", None, {E9}),
    "review as a text": ("body.human_review_required", "true", {E10}),
    "review declined": ("body.human_review_required", False, {E10}),
    "review not said": ("body.human_review_required", ..., {E9, E10}),
    "a type as a list": ("body.blocker_type", ["boundary"], set()),
    "no integrity": ("integrity", ..., {E2, E11}),
}


@pytest.mark.parametrize(("path", "member", "expected"), CHANGES.values(), ids=CHANGES)
def test_each_rule(path: str, member: object, expected: set[str]) -> None:
    findings = envelope_findings(with_member(path, member), OBSERVED)
    assert rules(findings) == expected
    assert all(finding.detail and not finding.is_warning for finding in findings)


@pytest.mark.parametrize(
    ("integrity", "is_true"),
    [
        ({"checksum": checksum_of(VALID)}, True),
        ({"checksum": checksum_of(VALID).upper()}, False),
        ({"checksum": ""}, False),
        ({"checksum": 5}, False),
        ({"checksum": None}, False),
        ({"algorithm": "md5", "checksum": checksum_of(VALID)}, False),
        ({"canonicalization": ["RFC8785"], "checksum": checksum_of(VALID)}, False),
        ("sha-256", False),
        ([], False),
    ],
    ids=str,
)
def test_integrity(integrity: object, is_true: bool) -> None:
    assert rules(envelope_findings({**VALID, "integrity": integrity}, 0)) == (set() if is_true else {E11})


@pytest.mark.parametrize(
    ("kind", "is_for_review"),
    [
        ("authorization", True),
        ("secret", True),
        ("destructive", True),
        ("Boundary ", True),
        ("dependency", False),
        ("validation", False),
        ("scope", False),
        ("access", False),
        ("", False),
    ],
)
def test_blockers_for_review(kind: str, is_for_review: bool) -> None:
    body = {**VALID["body"], "blocker_type": kind, "human_review_required": False}  # type: ignore[dict-item]
    found = rules(envelope_findings(sealed({**VALID, "body": body}), 0)) - {E9}
    assert found == ({E10} if is_for_review else set())


BODIES = {
    "uai.agent.handoff.v1": "task_id target_agent_id context_summary handoff_reason exact_next_action"
    " delegated_authorization support_boundary",
    "uai.agent.memory-proposal.v1": "proposal_id source_type proposed_facts proposed_status"
    " task_execution_separation review_required support_boundary",
    "uai.error.v1": "status code detail",
    "uai.task.status.v1": "task_id state",
    "uai.intent.request.v1": "",
}


@pytest.mark.parametrize("profile", BODIES)
def test_bodies(profile: str) -> None:
    names = BODIES[profile].split()
    whole = {name: False for name in names}
    assert envelope_findings(sealed({**VALID, "profile": profile, "body": whole}), 0) == ()
    for name in names:
        body = {other: False for other in names if other != name}
        [finding] = envelope_findings(sealed({**VALID, "profile": profile, "body": body}), 0)
        assert (finding.rule, finding.path) == (E9, f"/body/{name}")


def test_the_clock_decides_too() -> None:
    ends = 1_798_675_200.0  # 2026-12-31T00:00:00Z
    assert envelope_findings(VALID, ends - 1) == ()
    assert rules(envelope_findings(VALID, ends)) == {E8}
    unissued = with_member("provenance.issued_at", ...)
    assert envelope_findings(unissued, ends - 1) == ()
    assert rules(envelope_findings(unissued, ends)) == {E8}


def deep(depth: int, opened: Callable[[object], object]) -> object:
    value: object = None
    for _ in range(depth):
        value = opened(value)
    return value


@pytest.mark.parametrize("opened", [lambda inner: [inner], lambda inner: {"a": inner}], ids=["arrays", "objects"])
def test_deep_nesting(opened: Callable[[object], object]) -> None:
    within = with_member("extensions.x", deep(30, opened))
    assert envelope_findings(within, 0) == ()
    below: JsonObject = {**VALID, "extensions": deep(100_000, opened)}
    assert {E7, E11} <= rules(envelope_findings(below, 0))


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), 2**53, 10**5000, -(10**5000), 1e308, -0.0, True],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("path", ["uai_version", "delivery.expires_at", "body.blocker_type", "trust.x", "source"])
def test_numbers(path: str, number: object) -> None:
    *parents, name = path.split(".")
    value: Any = copy.deepcopy(VALID)
    (value[parents[0]] if parents else value)[name] = number
    assert E11 in rules(envelope_findings(value, 0))


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "\u202e", "a" * 1_000_000], ids=["surrogate", "nul", "bidi", "long"]
)
def test_texts(text: str) -> None:
    for name in FIELDS:
        assert E11 in rules(envelope_findings({**VALID, name: text}, 0))
    assert E11 in rules(envelope_findings({**VALID, "trust": {text: text}}, 0))


def test_reports_are_bounded() -> None:
    names = {f"name{index}": 1 for index in range(10_000)}
    times = {f"{index}_at": index for index in range(10_000)}
    findings = envelope_findings({**VALID, **names, "extensions": times}, 0)
    assert len(findings) <= MOST_FINDINGS + 1
    assert rules(findings) == {E1, E7, E11}
    assert sum(finding.rule == E1 for finding in findings) == 1


@pytest.mark.parametrize("member", [None, True, 5, -1.5, "", "x", [], [[]], [1] * 10_000, {}, {"a": {}}], ids=repr)
@pytest.mark.parametrize("name", FIELDS)
def test_wrong_types(name: str, member: object) -> None:
    assert failures(envelope_findings({**VALID, name: member}, OBSERVED))


@given(
    st.dictionaries(
        st.sampled_from([*FIELDS, "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["agent_id", "at_at", "code"]), inner),
            max_leaves=8,
        ),
    ),
    st.floats(),
)
def test_any_object(value: JsonObject, now: float) -> None:
    assert failures(envelope_findings(value, now))


def test_places() -> None:
    assert list(places({"a": [1, {}]})) == [
        ((), {"a": [1, {}]}),
        (("a",), [1, {}]),
        (("a", 0), 1),
        (("a", 1), {}),
    ]
