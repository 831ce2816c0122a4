"""`verify`: the published cases through files and through the network, its JSON, its report and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from proxy.trust.reasons import Reason
from tests.cli.desk import CARD, DID, MANIFEST, Desk, Json, without
from tests.cli.internet import internet
from tests.trust import publisher
from tests.trust.did.webvh import controller

VECTORS = Path(__file__).resolve().parents[3] / "shared/vectors/uaix/mirror-verification-cases.json"
PINNED_AT = "2026-06-01T12:00:00Z"


def cases() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    published = json.loads(VECTORS.read_bytes())
    against_something = [case for case in published["cases"] if case.get("didDocument", "") is not None]
    return [pytest.param(published, case, id=case["name"]) for case in against_something]


@pytest.mark.parametrize(("published", "case"), cases())
def test_published_cases(published: Json, case: Json, desk: Desk) -> None:
    terms = published | case
    desk.write("m.json", case["manifest"].encode("utf-8", "surrogatepass"))
    desk.write("pinned.json", terms["didDocument"].encode())
    argv = ["--did", terms["did"], "--did-document", "pinned.json", "--now", terms["now"], "--host", terms["host"]]
    argv += ["--pinned-at", "2026-05-01T00:00:00Z"] if "pinAgeSeconds" in terms else []
    if "lastKnownGood" in case:
        desk.write("known.json", case["lastKnownGood"].encode())
        argv += ["--baseline", "known.json"]
    ran = desk.run("verify", "m.json", "--json", *argv)
    is_good = case["expect"]["state"] == "VERIFIED"
    assert (ran.code, ran.err) == (0 if is_good else 1, "")
    assert ran.json["state"] == ("verified" if is_good else "rejected")
    assert ran.json["reason"] == case["expect"].get("reason")
    assert ran.json["did"] == terms["did"]
    assert (ran.json["verification_method"] is not None) is is_good
    proofs = ran.json["proofs"]
    assert all(one.keys() == {"kind", "verification_method", "valid", "reason"} for one in proofs)
    assert all(one["valid"] is (one["reason"] is None) for one in proofs)
    if is_good:
        assert any(one["valid"] and one["verification_method"] == ran.json["verification_method"] for one in proofs)
    assert desk.run("verify", "m.json", *argv).code == ran.code


def signed(desk: Desk, *argv: str) -> None:
    ran = desk.run("sign", "manifest.json", *desk.ED, "--created", "2026-05-20T00:00:00Z", *argv, "--out", "s.json")
    assert ran.code == 0


AGES = {
    "today": ("2026-06-01T12:00:00Z", "verified", None, 0),
    "a week": ("2026-05-25T12:00:00Z", "verified", None, 0),
    "more than a week": ("2026-05-25T11:59:59Z", "stale-trust", None, 0),
    "thirty days": ("2026-05-02T12:00:00Z", "stale-trust", None, 0),
    "more than thirty days": ("2026-05-02T11:59:59Z", "rejected", "trust_anchor_expired", 1),
}


@pytest.mark.parametrize(("pinned_at", "state", "reason", "code"), AGES.values(), ids=AGES)
def test_the_age_of_the_did_document(pinned_at: str, state: str, reason: str | None, code: int, desk: Desk) -> None:
    signed(desk)
    argv = ["--did", DID, "--did-document", "did.json", "--now", PINNED_AT, "--pinned-at", pinned_at]
    ran = desk.run("verify", "s.json", "--json", *argv)
    assert (ran.code, ran.json["state"], ran.json["reason"]) == (code, state, reason)
    assert state in desk.run("verify", "s.json", *argv).out


def test_the_report(desk: Desk) -> None:
    signed(desk, "--expires", "2026-07-01")
    desk.write("s.json", {**desk.read("s.json"), "signatures": [{"protected": "\x1b", "signature": ""}]})
    desk.run("sign", "s.json", *desk.P256, "--created", "2026-05-21T00:00:00Z", "--out", "s.json")
    ran = desk.run("verify", "s.json", "--did", DID, "--did-document", "did.json", "--now", PINNED_AT)
    assert ran.out.splitlines() == [
        "s.json",
        "  kind          manifest",
        "  host          example.com",
        f"  DID           {DID}",
        "  DID document  did.json, as of 2026-06-01T12:00:00Z",
        "  verdict       verified",
        f"  signed by     {DID}#key-2 (ecdsa-jcs-2019), made 2026-05-21T00:00:00Z",
        "",
        "proofs, each by itself",
        f"  bad   eddsa-jcs-2022  {DID}#key-1  signature_invalid  "
        "The key did not make this signature of this document.",
        f"  good  ecdsa-jcs-2019  {DID}#key-2",
        "  bad   ?               ?                          proof_malformed    "
        "The protected header is no JSON object in base64url.",
    ]


def test_colours(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.verifying.may_colour", lambda _: True)
    signed(desk)
    argv = ("--did", DID, "--did-document", "did.json", "--now", PINNED_AT)
    assert "\x1b[32mverified\x1b[0m" in desk.run("verify", "s.json", *argv).out
    assert "\x1b[31mrejected\x1b[0m (unsigned)" in desk.run("verify", "manifest.json", *argv).out


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{}", b"[" * 100_000, b"<html>", b'{"proof":1}'])
def test_anything_else(body: bytes, desk: Desk) -> None:
    desk.write("x", body)
    told = desk.verify("x")
    assert told["state"] == "rejected" and told["reason"] in {*Reason} and told["verification_method"] is None


def test_a_site_of_another_host_has_its_proof_told(desk: Desk) -> None:
    signed(desk)
    argv = ["--did", DID, "--did-document", "did.json", "--host", "Example.com:8443", "--now", PINNED_AT, "--json"]
    told = desk.run("verify", "s.json", *argv).json
    assert (told["state"], told["reason"]) == ("rejected", "site_mismatch")
    assert [one["valid"] for one in told["proofs"]] == [True]


# The version that is known.


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        pytest.param({"supportBoundary": "x", "x-sequence": 4}, None, id="unsigned, lower"),
        pytest.param({"supportBoundary": "x", "x-sequence": 5}, "equivocation", id="unsigned, equal"),
        pytest.param({"supportBoundary": "x", "x-sequence": 6}, "rollback", id="unsigned, higher"),
        pytest.param({"supportBoundary": "x"}, "rollback", id="nothing to tell it by"),
        pytest.param({"x-sequence": 5}, None, id="the same"),
        pytest.param({"x-sequence": 5, "proof": [None], "signatures": 1}, None, id="the same, malformed proofs"),
    ],
)
def test_a_baseline(known: Json, reason: str | None, desk: Desk) -> None:
    signed(desk, "--sequence", "5")
    desk.write("known.json", {**MANIFEST, **known})
    told = desk.verify("s.json", "--baseline", "known.json", "--now", PINNED_AT)
    assert told["reason"] == reason


# Cards and catalogs.


def test_a_card_with_two_signatures(desk: Desk) -> None:
    desk.run("sign", "card.json", *desk.ED, "--out", "s.json")
    desk.run("sign", "s.json", *desk.P384, "--out", "s.json")
    told = desk.verify("s.json")
    assert [one["valid"] for one in told["proofs"]] == [True, True]
    desk.write("s.json", {**desk.read("s.json"), "description": "Another."})
    told = desk.verify("s.json")
    assert (told["state"], told["reason"]) == ("rejected", "signature_invalid")
    assert [one["reason"] for one in told["proofs"]] == ["signature_invalid"] * 2
    desk.write("s.json", {**CARD, "signatures": [{}] * 9})
    assert desk.verify("s.json")["proofs"] == []
    assert desk.verify("card.json")["reason"] == "unsigned"


def catalog(**members: Any) -> Json:
    unsigned: Json = {
        "specVersion": "1.0",
        "host": {"displayName": "Example", "identifier": DID},
        "entries": [],
        "signature": {"profile": "did-web-v1", "signer": DID, "issuedAt": "2026-05-20T00:00:00Z"},
        **members,
    }
    header = {"alg": "ES256", "kid": f"{DID}#c", "typ": "ai-catalog+jws"}
    protected, value = publisher.jws(rfc8785.dumps(unsigned), header, publisher.P256)
    return {**unsigned, "signature": {**unsigned["signature"], "jws": f"{protected}..{value}"}}


def test_a_catalog(desk: Desk) -> None:
    desk.write("did.json", publisher.did_document(publisher.jwk_method("c")))
    desk.write("c.json", catalog())
    told = desk.verify("c.json", "--now", PINNED_AT)
    assert (told["state"], told["verification_method"]) == ("verified", f"{DID}#c")
    assert told["proofs"] == [
        {"kind": "did-web-v1", "verification_method": f"{DID}#c", "valid": True, "reason": None}
    ]
    desk.write("c.json", {**catalog(), "entries": [1]})
    told = desk.verify("c.json", "--now", PINNED_AT)
    assert (told["reason"], told["proofs"][0]["reason"]) == ("signature_invalid", "signature_invalid")
    desk.write("c.json", without(catalog(), "signature"))
    told = desk.verify("c.json")
    assert (told["reason"], told["proofs"]) == ("unsigned", [])


# What is fetched.


def test_what_a_domain_publishes(desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.ED, "--out", "s.json")
    place = "/.well-known/uaix-agent-access.json"
    documents = {place: desk.read("s.json"), "/.well-known/did.json": desk.read("did.json"), "/page": b"<html>"}
    with internet(desk.folder, documents) as net:
        at = ("--did", DID, "--config", net.config)
        url = f"https://example.com{place}"
        ran = desk.run("verify", url, *at)
        assert ran.code == 0 and ran.out.startswith(f"{url}\n") and "fetched from the domain now" in ran.out
        assert desk.run("verify", "s.json", "--json", *at).json["state"] == "verified"
        told = desk.run("verify", "https://example.com/page", "--json", *at)
        assert (told.code, told.json["reason"]) == (1, "json_invalid")
        ran = desk.run("verify", "https://example.com/none", *at)
        assert (ran.code, ran.out) == (3, "") and "The origin answered 404" in ran.err
        net.documents["/.well-known/did.json"] = b"{"
        told = desk.run("verify", url, "--json", *at)
        assert (told.code, told.json["reason"], told.json["proofs"]) == (1, "did_doc_json_invalid", [])
        net.documents["/.well-known/did.json"] = {**desk.read("did.json"), "id": "did:web:other.example"}
        assert desk.run("verify", url, "--json", *at).json["reason"] == "did_doc_id_mismatch"


def test_a_did_with_a_log(desk: Desk) -> None:
    first = controller.first_entry()
    did = first["state"]["id"]
    secret = controller.KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    desk.write("log.pem", secret)
    argv = ("--key", "log.pem", "--method", "1", "--did", did, "--out", "s.json")
    assert desk.run("sign", "manifest.json", *argv).code == 0
    log = controller.to_log([first])
    with internet(desk.folder, {"/.well-known/did.jsonl": log}) as net:
        argv = ("verify", "s.json", "--did", did, "--config", net.config, "--json")
        assert desk.run(*argv).json["state"] == "verified"
        net.documents["/.well-known/did.jsonl"] = log.replace(b"2026-01-01", b"2026-01-02")
        assert desk.run(*argv).json["reason"] == "webvh_invalid"


ABSENT: dict[str, tuple[str, dict[str, object], bool, str]] = {
    "not there": (DID, {}, True, "none: the domain has none"),
    "failing": (DID, {"/.well-known/did.json": 503}, True, "none: it cannot be fetched (status-503)"),
    "a page": (DID, {"/.well-known/did.json": b"<html>"}, True, "none: it cannot be fetched (not-a-document)"),
    "down": (DID, {}, False, "none: it cannot be fetched ("),
    "not of the web": ("did:key:z6Mk", {}, True, "none: it cannot be fetched (did_invalid); give --did-document"),
}


@pytest.mark.parametrize(("did", "documents", "up", "origin"), ABSENT.values(), ids=ABSENT)
def test_nothing_to_verify_against(
    did: str, documents: dict[str, object], up: bool, origin: str, desk: Desk
) -> None:
    with internet(desk.folder, documents, up=up) as net:
        argv = ("verify", "manifest.json", "--did", did, "--host", "example.com", "--config", net.config)
        told = desk.run(*argv, "--json")
        assert told.code == 1
        assert told.json == {
            "state": "rejected",
            "reason": "trust_anchor_missing",
            "did": did,
            "verification_method": None,
            "proofs": [],
        }
        assert f"  DID document  {origin}" in desk.run(*argv).out


USAGE: dict[str, tuple[list[str], str]] = {
    "no file": (["none.json", "--did", DID], "none.json: cannot be read"),
    "no DID": (
        ["manifest.json", "--did", "example.com"],
        "--did: The identifier is neither did:web nor did:webvh.",
    ),
    "an address": (["manifest.json", "--did", "did:web:192.0.2.1"], "--did: The host is an address"),
    "host": (["manifest.json", "--did", DID, "--host", "https://x"], "--host: "),
    "now": (["manifest.json", "--did", DID, "--now", "noon"], "--now: give a time"),
    "age of nothing": (["manifest.json", "--did", DID, "--pinned-at", PINNED_AT], "give that too"),
    "age": (["manifest.json", "--did", DID, "--did-document", "did.json", "--pinned-at", "x"], "--pinned-at: give"),
    "no DID document": (["manifest.json", "--did", DID, "--did-document", "none"], "none: cannot be read"),
    "no baseline": (["manifest.json", "--did", DID, "--baseline", "none"], "none: cannot be read"),
    "broken baseline": (["manifest.json", "--did", DID, "--baseline", "ed25519.pem"], "(json_invalid)"),
    "baseline of a card": (["card.json", "--did", DID, "--baseline", "card.json"], "only manifests have versions"),
    "no URL": (["https://u:hush@example.com/", "--did", DID], "URL: The authority has userinfo"),
    "configuration": (["manifest.json", "--did", DID, "--config", "none.yaml"], "none.yaml: cannot be read"),
}


@pytest.mark.parametrize(("argv", "problem"), USAGE.values(), ids=USAGE)
def test_what_cannot_be_used(argv: list[str], problem: str, desk: Desk) -> None:
    ran = desk.run("verify", *argv)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err and "hush" not in ran.err


def test_a_certificate_store_that_is_not_there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_UPSTREAM__CA_FILE", "nowhere.pem")
    ran = desk.run("verify", "manifest.json", "--did", DID)
    assert ran.code == 2 and "upstream.ca_file nowhere.pem" in ran.err
