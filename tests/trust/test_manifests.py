"""Whole manifests: the published cases, the order of the checks, and no change that goes unseen (TRUST.md §6.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.did.document import parse_did_document
from proxy.trust.manifests import Anchor, TrustRules, verify_manifest
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.rollback import Baseline, Version, version_of
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from proxy.trust.verdict import CopySource, Rejected, UnverifiedCopy, Verdict, VerifiedCopy
from tests.trust.publisher import (
    CREATED_AT,
    DID,
    ED,
    NOW,
    OTHER_ED,
    did_document,
    manifest,
    method,
    multikey,
    proof,
    signature,
    signed,
)

VECTORS = Path(__file__).resolve().parents[3] / "shared/vectors/uaix/mirror-verification-cases.json"
HOST = "example.com"
DAY = 86400.0
RULES = TrustRules()
DOCUMENT = parse_did_document(
    json.dumps(
        did_document(
            method("key-1"),
            method("key-2", OTHER_ED),
            method("until-june", expires="2026-06-20T00:00:00Z"),
            method("revoked", revoked="2026-05-25T00:00:00Z"),
        )
    ).encode(),
    DID,
)
PINNED = Anchor(DOCUMENT, NOW)
BROKEN = Rejected(Reason.DID_DOC_INVALID, "The DID document is broken.")


def verdict(
    body: Any,
    anchor: Anchor | None = PINNED,
    baseline: Baseline | None = None,
    rules: TrustRules = RULES,
    did: str = DID,
    host: str = HOST,
) -> Verdict:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return verify_manifest(unverified(octets), did, host, anchor, baseline, rules, NOW)


def unverified(body: bytes) -> UnverifiedCopy:
    return UnverifiedCopy(body, CopySource.MIRROR, "https://mirror1.example.net/m")


def verified(body: Any, **terms: Any) -> VerifiedCopy:
    found = verdict(body, **terms)
    assert isinstance(found, VerifiedCopy), found
    return found


def refusal(body: Any, **terms: Any) -> Rejected:
    found = verdict(body, **terms)
    assert isinstance(found, Rejected)
    return found


# The published cases.


def cases() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    published = json.loads(VECTORS.read_bytes())
    defaults = {name: value for name, value in published.items() if name != "cases"}
    return [pytest.param(defaults, case, id=case["name"]) for case in published["cases"]]


@pytest.mark.parametrize(("defaults", "case"), cases())
def test_published_cases(defaults: dict[str, Any], case: dict[str, Any]) -> None:
    terms = defaults | case
    now = parse_date_time_stamp(terms["now"])
    rules = TrustRules(terms["clockSkewSeconds"], terms["pinSoftSeconds"], terms["pinHardSeconds"])
    copy = unverified(case["manifest"].encode("utf-8", "surrogatepass"))
    found = verify_manifest(
        copy, terms["did"], terms["host"], published_anchor(terms, now), published_baseline(case), rules, now
    )
    if case["expect"]["state"] == "VERIFIED":
        assert isinstance(found, VerifiedCopy) and found.copy is copy and not found.is_stale
    else:
        assert isinstance(found, Rejected) and found.reason == case["expect"]["reason"]


def published_anchor(terms: dict[str, Any], now: float) -> Anchor | None:
    if terms["didDocument"] is None:
        return None
    confirmed_at = now - terms.get("pinAgeSeconds", 0)
    try:
        return Anchor(parse_did_document(terms["didDocument"].encode(), terms["did"]), confirmed_at)
    except Untrusted as error:
        return Anchor(Rejected(error.reason, error.detail), confirmed_at)


def published_baseline(case: dict[str, Any]) -> Baseline | None:
    if "lastKnownGood" not in case:
        return None
    known = json.loads(case["lastKnownGood"])
    return version_of(known, parse_date_time_stamp(known["proof"]["created"]))


# What is accepted, and on what terms.


@pytest.mark.parametrize(
    ("body", "fragment", "kind", "until"),
    [
        pytest.param(signed(manifest()), "key-1", "eddsa-jcs-2022", None, id="one proof"),
        pytest.param(
            signed(manifest(), expires="2026-07-01T00:00:00Z"), "key-1", "eddsa-jcs-2022", 1782864000, id="ends"
        ),
        pytest.param(
            signed(manifest(), fragment="until-june"), "until-june", "eddsa-jcs-2022", 1781913600, id="its key ends"
        ),
        pytest.param(
            signed(manifest(), fragment="until-june", expires="2026-07-01T00:00:00Z"),
            "until-june",
            "eddsa-jcs-2022",
            1781913600,
            id="its key ends first",
        ),
        pytest.param(
            signed(manifest(), fragment="until-june", expires="2026-06-10T00:00:00Z"),
            "until-june",
            "eddsa-jcs-2022",
            1781049600,
            id="it ends first",
        ),
        pytest.param(
            manifest(signatures=[signature(manifest(), iat=CREATED_AT, exp=NOW + 60)]),
            "key-1",
            "jws",
            NOW + 60,
            id="JWS",
        ),
    ],
)
def test_what_a_good_proof_tells(body: Any, fragment: str, kind: str, until: float | None) -> None:
    found = verified(body)
    assert found.signed.did == DID
    assert found.signed.verification_method == f"{DID}#{fragment}"
    assert (found.signed.kind, found.signed.signed_at, found.signed.valid_until) == (kind, CREATED_AT, until)
    assert found.failures == () and found.copy.source is CopySource.MIRROR


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (-1.0, False),
        (7 * DAY, False),
        (7 * DAY + 1, True),
        (30 * DAY, True),
        (30 * DAY + 1, Reason.TRUST_ANCHOR_EXPIRED),
    ],
)
def test_age_of_the_anchor(age: float, expected: bool | Reason) -> None:
    found = verdict(signed(manifest()), anchor=Anchor(DOCUMENT, NOW - age))
    assert (found.is_stale if isinstance(found, VerifiedCopy) else found.reason) is expected


@pytest.mark.parametrize(
    ("written", "host", "is_good"),
    [
        ("https://example.com/", "example.com", True),
        ("https://example.com", "example.com", True),
        ("https://EXAMPLE.com:443/x?y", "example.com", True),
        ("https://example.com:8443/", "example.com:8443", True),
        ("https://example.com:8443/", "example.com", False),
        ("https://example.com/", "example.com:8443", False),
        ("http://example.com/", "example.com", False),
        ("https://www.example.com/", "example.com", False),
        ("https://example.com.evil.example/", "example.com", False),
        ("https://example.com@evil.example/", "example.com", False),
        ("https://evil.example/#https://example.com/", "example.com", False),
        ("//example.com/", "example.com", False),
        ("example.com", "example.com", False),
        ("", "example.com", False),
        (f"https://example.com/{'a' * 2048}", "example.com", False),
        (None, "example.com", False),
        (["https://example.com/"], "example.com", False),
    ],
)
def test_site(written: object, host: str, is_good: bool) -> None:
    found = verdict(signed(manifest(site={"url": written})), host=host)
    assert isinstance(found, VerifiedCopy) if is_good else reason_of(found) is Reason.SITE_MISMATCH


@pytest.mark.parametrize("site", [None, [], "https://example.com/", {}, 7])
def test_no_site(site: object) -> None:
    assert refusal(signed(manifest() | {"site": site})).reason is Reason.SITE_MISMATCH


@pytest.mark.parametrize(
    ("profile", "is_good"),
    [
        ("uaix.ai-ready-web.manifest.v1", True),
        ("uaix.ai-ready-web.manifest.v1.2", True),
        ("uaix.ai-ready-web.manifest.v2", False),
        ("UAIX.ai-ready-web.manifest.v1", False),
        ("", False),
        (None, False),
        (["uaix.ai-ready-web.manifest.v1"], False),
    ],
)
def test_profile(profile: object, is_good: bool) -> None:
    found = verdict(signed(manifest() | {"profileId": profile}))
    assert isinstance(found, VerifiedCopy) if is_good else reason_of(found) is Reason.PROFILE_MISMATCH


def reason_of(found: Verdict) -> Reason | None:
    return found.reason if isinstance(found, Rejected) else None


@pytest.mark.parametrize(
    ("secured", "expected"),
    [
        pytest.param({}, Reason.UNSIGNED, id="neither container"),
        pytest.param({"proof": [], "signatures": []}, Reason.UNSIGNED, id="both empty"),
        pytest.param({"proof": [proof(manifest())] * 8}, None, id="eight"),
        pytest.param({"proof": [proof(manifest())] * 9}, Reason.TOO_MANY_PROOFS, id="nine"),
        pytest.param({"proof": [1] * 7, "signatures": [1, 2]}, Reason.TOO_MANY_PROOFS, id="nine of both kinds"),
        pytest.param({"proof": [None] * 100_000}, Reason.TOO_MANY_PROOFS, id="a hundred thousand"),
        pytest.param({"proof": None}, Reason.PROOF_MALFORMED, id="proof: null"),
        pytest.param({"proof": "z"}, Reason.PROOF_MALFORMED, id="proof as text"),
        pytest.param({"signatures": {}}, Reason.PROOF_MALFORMED, id="signatures as object"),
        pytest.param(
            {"signatures": signature(manifest(), iat=CREATED_AT)}, Reason.PROOF_MALFORMED, id="one signature bare"
        ),
        pytest.param({"signatures": [signature(manifest(), iat=CREATED_AT)]}, None, id="one signature listed"),
    ],
)
def test_number_of_proofs(secured: dict[str, Any], expected: Reason | None) -> None:
    assert reason_of(verdict(manifest(**secured) | secured)) is expected


GOOD = proof(manifest())
UNKNOWN = proof(manifest(), fragment="key-9")
WRONG = proof(manifest(), OTHER_ED)
ENDED = proof(manifest(), expires="2026-06-01T12:00:00Z")
PUT_OFF = {**ENDED, "expires": "2027-01-01T00:00:00Z"}
OLD = proof(manifest(), created="2026-03-03T11:59:59Z")
OLD_UNTIL_JULY = proof(manifest(), created="2026-03-03T11:59:59Z", expires="2026-07-01T00:00:00Z")
NEARLY_OLD = proof(manifest(), created="2026-03-03T12:00:00Z")


@pytest.mark.parametrize(
    ("proofs", "expected", "others"),
    [
        pytest.param([GOOD], None, [], id="good"),
        pytest.param([UNKNOWN, GOOD], None, [Reason.VM_NOT_FOUND], id="the second is good"),
        pytest.param([GOOD, UNKNOWN], None, [Reason.VM_NOT_FOUND], id="the first is good"),
        pytest.param([7, UNKNOWN, GOOD], None, [Reason.PROOF_MALFORMED, Reason.VM_NOT_FOUND], id="the third is"),
        pytest.param([ENDED, GOOD], None, [Reason.PROOF_EXPIRED], id="one has ended"),
        pytest.param([OLD, GOOD], None, [Reason.PROOF_TOO_OLD], id="one is too old"),
        pytest.param([NEARLY_OLD], None, [], id="just not too old"),
        pytest.param([OLD_UNTIL_JULY], None, [], id="old, with an end"),
        pytest.param([WRONG], Reason.SIGNATURE_INVALID, [Reason.SIGNATURE_INVALID], id="by another key"),
        pytest.param([PUT_OFF], Reason.SIGNATURE_INVALID, [Reason.SIGNATURE_INVALID], id="its end put off"),
        pytest.param([ENDED], Reason.PROOF_EXPIRED, [Reason.PROOF_EXPIRED], id="ends now"),
        pytest.param([OLD], Reason.PROOF_TOO_OLD, [Reason.PROOF_TOO_OLD], id="too old"),
        pytest.param(
            [UNKNOWN, WRONG],
            Reason.VM_NOT_FOUND,
            [Reason.VM_NOT_FOUND, Reason.SIGNATURE_INVALID],
            id="neither is good",
        ),
        pytest.param(
            [WRONG, UNKNOWN],
            Reason.SIGNATURE_INVALID,
            [Reason.SIGNATURE_INVALID, Reason.VM_NOT_FOUND],
            id="neither is good, the other way round",
        ),
        pytest.param(
            [UNKNOWN, OLD],
            Reason.PROOF_TOO_OLD,
            [Reason.VM_NOT_FOUND, Reason.PROOF_TOO_OLD],
            id="one is good but too old",
        ),
    ],
)
def test_one_good_proof_suffices(proofs: list[Any], expected: Reason | None, others: list[Reason]) -> None:
    found = verdict(manifest(proof=proofs))
    assert reason_of(found) is expected
    assert [failure.reason for failure in found.failures] == others


def test_what_is_told_of_the_other_proofs() -> None:
    entry = signature(manifest(proof=[UNKNOWN]), OTHER_ED, iat=CREATED_AT)
    unread, unknown, wrong = refusal(manifest(proof=[None, UNKNOWN], signatures=[entry])).failures
    assert (unread.kind, unread.verification_method) == (None, None)
    assert (unknown.kind, unknown.verification_method) == ("eddsa-jcs-2022", f"{DID}#key-9")
    assert (wrong.kind, wrong.verification_method) == ("jws", f"{DID}#key-1")


def test_the_proof_made_last_is_told_in_any_order() -> None:
    early, late = proof(manifest()), proof(manifest(), OTHER_ED, "key-2", created="2026-05-21T00:00:00Z")
    for proofs in ([early, late], [late, early]):
        assert verified(manifest(proof=proofs)).signed.verification_method == f"{DID}#key-2"


def test_any_age_where_the_rules_set_none() -> None:
    assert verified(manifest(proof=OLD), rules=TrustRules(max_manifest_age=None)).failures == ()


@pytest.mark.parametrize(
    ("barred", "proofs", "expected"),
    [
        ({OTHER_ED}, [proof(manifest())], None),
        ({ED}, [proof(manifest())], Reason.TRUST_ANCHOR_ON_PROBATION),
        ({ED}, [UNKNOWN, proof(manifest())], Reason.TRUST_ANCHOR_ON_PROBATION),
        ({ED}, [WRONG], Reason.SIGNATURE_INVALID),
        ({ED}, [proof(manifest()), proof(manifest(), OTHER_ED, "key-2")], None),
        (
            {ED, OTHER_ED},
            [proof(manifest()), proof(manifest(), OTHER_ED, "key-2")],
            Reason.TRUST_ANCHOR_ON_PROBATION,
        ),
    ],
    ids=["another key", "alone", "beside an unknown one", "not even good", "beside an old key", "both"],
)
def test_keys_on_probation(barred: set[Any], proofs: list[Any], expected: Reason | None) -> None:
    anchor = Anchor(DOCUMENT, NOW, frozenset(map(multikey, barred)))
    assert reason_of(verdict(manifest(proof=proofs), anchor=anchor)) is expected


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (version_of(manifest(), CREATED_AT + 100), None),
        (version_of(manifest(**{"x-independent-mirrors": []}), CREATED_AT + 100), None),
        (Version("other", 41, CREATED_AT + 100), None),
        (Version("other", 42, CREATED_AT - 100), Reason.EQUIVOCATION),
        (Version("other", 43, CREATED_AT - 100), Reason.ROLLBACK),
        (Version("other", None, CREATED_AT - 100), None),
        (Version("other", None, CREATED_AT), Reason.EQUIVOCATION),
        (Version("other", None, CREATED_AT + 100), Reason.ROLLBACK),
    ],
    ids=["same", "same, other mirrors", "higher", "equal", "lower", "later", "same time", "earlier"],
)
def test_version(baseline: Baseline, expected: Reason | None) -> None:
    found = verdict(manifest(proof=[UNKNOWN, proof(manifest())]), baseline=baseline)
    assert reason_of(found) is expected
    assert [failure.reason for failure in found.failures] == [Reason.VM_NOT_FOUND]


def test_a_lower_sequence_written_as_a_fraction_of_none() -> None:
    """41.0 has the canonical form of 41, so a mirror may write it; it may not thereby slip past the sequence."""
    body = json.dumps(signed(manifest(**{"x-sequence": 41}))).replace('"x-sequence": 41', '"x-sequence": 41.0')
    assert verified(body.encode())
    baseline = Version("other", 42, CREATED_AT - 100)
    assert refusal(body.encode(), baseline=baseline).reason is Reason.ROLLBACK


def test_the_anchor_is_of_another_did() -> None:
    assert refusal(signed(manifest()), did="did:web:example.com%3A8443").reason is Reason.DID_DOC_ID_MISMATCH


# The order of the checks: with all the faults from one on, that one is the reason.

FAULTS: Final = (
    Reason.TRUST_ANCHOR_EXPIRED,
    Reason.JSON_DUPLICATE_KEY,
    Reason.DID_DOC_INVALID,
    Reason.PROFILE_MISMATCH,
    Reason.SITE_MISMATCH,
    Reason.TOO_MANY_PROOFS,
    Reason.VM_REVOKED,
    Reason.TRUST_ANCHOR_ON_PROBATION,
    Reason.ROLLBACK,
)


@pytest.mark.parametrize("first", range(len(FAULTS) + 1), ids=[*FAULTS, "none"])
def test_order_of_the_checks(first: int) -> None:
    faults = frozenset(FAULTS[first:])

    def when(fault: Reason, faulty: Any, sound: Any) -> Any:
        return faulty if fault in faults else sound

    unsigned = manifest(
        profileId=when(Reason.PROFILE_MISMATCH, "other", "uaix.ai-ready-web.manifest.v1"),
        site={"url": when(Reason.SITE_MISMATCH, "https://other.example/", "https://example.com/")},
    )
    one = proof(unsigned, fragment=when(Reason.VM_REVOKED, "revoked", "key-1"))
    text = json.dumps({**unsigned, "proof": [one] * when(Reason.TOO_MANY_PROOFS, 9, 1)})
    anchor = Anchor(
        document=when(Reason.DID_DOC_INVALID, BROKEN, DOCUMENT),
        confirmed_at=when(Reason.TRUST_ANCHOR_EXPIRED, NOW - 31 * DAY, NOW),
        barred=when(Reason.TRUST_ANCHOR_ON_PROBATION, frozenset({multikey(ED)}), frozenset()),
    )
    found = verdict(
        when(Reason.JSON_DUPLICATE_KEY, '{"a":1,"a":1,' + text[1:], text).encode(),
        anchor=anchor,
        baseline=when(Reason.ROLLBACK, Version("other", 43, NOW), None),
    )
    assert reason_of(found) is (FAULTS[first] if first < len(FAULTS) else None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"", Reason.JSON_INVALID, id="empty"),
        pytest.param(b"\xef\xbb\xbf{}", Reason.JSON_INVALID, id="byte order mark"),
        pytest.param(b'{"a":"\xff"}', Reason.JSON_INVALID, id="not UTF-8"),
        pytest.param(b"<html>", Reason.JSON_INVALID, id="HTML"),
        pytest.param(b"[]", Reason.NOT_OBJECT, id="a list"),
        pytest.param(b"null", Reason.NOT_OBJECT, id="null"),
        pytest.param(b"{}" + b" " * 2**20, Reason.TOO_LARGE, id="too large"),
        pytest.param(b"[" * 2**19, Reason.JSON_DEPTH, id="too deep"),
        pytest.param(b'{"a":1e999}', Reason.JSON_NUMBER_RANGE, id="overflow"),
        pytest.param(b'{"a":"\\ud800"}', Reason.JSON_SURROGATE, id="lone surrogate"),
        pytest.param(b"{}", Reason.PROFILE_MISMATCH, id="empty object"),
    ],
)
def test_texts_that_are_no_manifest(body: bytes, reason: Reason) -> None:
    found = refusal(body)
    assert found.reason is reason and found.failures == ()
    assert refusal(body, anchor=None).reason is Reason.TRUST_ANCHOR_MISSING


# No change goes unseen.


def samples() -> Iterator[bytes]:
    unsigned = manifest(**{"@context": ["https://www.w3.org/ns/credentials/v2"], "x-big": 1e21})
    yield json.dumps(signed(unsigned, expires="2026-07-01T00:00:00Z", domain=HOST), ensure_ascii=False).encode()
    yield json.dumps(signed(unsigned), ensure_ascii=True).encode()
    yield json.dumps({**unsigned, "signatures": [signature(unsigned, iat=CREATED_AT)]}).encode()


def changes(body: bytes) -> Iterator[bytes]:
    """Every single bit, and at every place octets that mean something to JSON."""
    for position, octet in enumerate(body):
        flipped = [octet ^ 1 << bit for bit in range(8)]
        for other in {*flipped, *b' "\\,}0e'} - {octet}:
            yield body[:position] + bytes((other,)) + body[position + 1 :]


def test_no_change_is_accepted_with_another_meaning() -> None:
    number = 0
    for body in samples():
        meaning = rfc8785.dumps(json.loads(body))
        assert isinstance(verdict(body), VerifiedCopy)
        for changed in changes(body):
            number += 1
            if isinstance(verdict(changed), VerifiedCopy):
                assert rfc8785.dumps(json.loads(changed)) == meaning
    assert number >= 20_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.just(proof(manifest())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(UNKNOWN)), inner),
    max_leaves=10,
)


@given(JSON, JSON, JSON, JSON)
def test_members_of_any_type(site: Any, secured: Any, signatures: Any, sequence: Any) -> None:
    members = {"proof": secured, "signatures": signatures, "x-sequence": sequence}
    for body in (manifest() | members, manifest() | members | {"site": site}):
        assert isinstance(verdict(body, baseline=Version("other", 1, NOW)), VerifiedCopy | Rejected)


@given(st.binary(max_size=80))
def test_any_bytes_are_refused(body: bytes) -> None:
    assert isinstance(verdict(body), Rejected)
