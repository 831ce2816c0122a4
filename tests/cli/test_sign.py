"""`sign`: what it writes verifies, in which order it is made, which proofs stay, and what cannot be signed."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from proxy.trust.content.cid import cid_of
from proxy.trust.rollback import version_of
from proxy.trust.signatures.jws import decode_header
from tests.cli.desk import CARD, DID, HTTPS_MIRROR, MANIFEST, Desk, Json, without

THEN = ("--created", "2026-11-30T12:00:00Z")
MIRRORS = "x-independent-mirrors"
STALE_MIRROR = f"ipfs://{cid_of(b'an earlier version').text}"


# What is made.


@pytest.mark.parametrize(
    ("signer", "more", "kind", "method"),
    [
        pytest.param(Desk.ED, [], "eddsa-jcs-2022", "key-1", id="Ed25519"),
        pytest.param(Desk.P256, [], "ecdsa-jcs-2019", "key-2", id="P-256"),
        pytest.param(Desk.P384, ["--proof", "ecdsa-jcs-2019"], "ecdsa-jcs-2019", "key-3", id="P-384"),
        pytest.param(Desk.ED, ["--proof", "jws"], "jws", "key-1", id="JWS, Ed25519"),
        pytest.param(Desk.P256, ["--proof", "jws"], "jws", "key-2", id="JWS, P-256"),
        pytest.param(Desk.P384, ["--proof", "jws"], "jws", "key-3", id="JWS, P-384"),
    ],
)
def test_what_is_signed_verifies(
    signer: tuple[str, ...], more: list[str], kind: str, method: str, desk: Desk
) -> None:
    ran = desk.run("sign", "manifest.json", *signer, *more, "--out", "signed.json")
    assert (ran.code, ran.err) == (0, "")
    told = desk.verify("signed.json")
    assert (told["state"], told["verification_method"]) == ("verified", f"{DID}#{method}")
    assert told["proofs"] == [
        {"kind": kind, "verification_method": f"{DID}#{method}", "valid": True, "reason": None}
    ]
    assert without(desk.read("signed.json"), "proof", "signatures") == MANIFEST


def test_the_report(desk: Desk) -> None:
    argv = ("--mirror", HTTPS_MIRROR, "--expires", "90d", "--ipfs", "--out", "signed.json")
    lines = desk.run("sign", "manifest.json", *desk.ED, *THEN, *argv).out.splitlines()
    cid = cid_of((desk.folder / "signed.ipfs.json").read_bytes()).text
    assert lines[0] == "signed    manifest of example.com, 2026-11-30T12:00:00Z, until 2027-02-28T12:00:00Z"
    assert lines[1] == f"by        {DID}#key-1 (Ed25519)"
    assert lines[2].startswith("document  signed.json, ") and "SHA-256 " in lines[2]
    assert lines[3].startswith("for IPFS  signed.ipfs.json, ")
    assert lines[4] == f"its CID   {cid}"
    place = "https://example.com/.well-known/uaix-agent-access.json"
    assert lines[6:] == [
        "next steps",
        "  1. Have https://example.com/.well-known/did.json list the public key as key-1; did-document makes one.",
        "  2. Add the copy to IPFS and keep it pinned: ipfs add --cid-version=1 signed.ipfs.json",
        f"  3. Put signed.json, byte for byte, at its mirrors: {HTTPS_MIRROR}",
        f"  4. Publish signed.json, byte for byte, at {place}",
        f"  5. See that it verifies from there: discovery-proxy verify {place} --did {DID}",
        "  6. Sign again before 2027-02-28T12:00:00Z.",
    ]


def test_standard_input_and_output(desk: Desk) -> None:
    ran = desk.run("sign", "-", *desk.ED, stdin=json.dumps(MANIFEST).encode())
    desk.write("signed.json", ran.out.encode())
    assert desk.verify("signed.json")["state"] == "verified"
    assert ran.err.startswith("signed    manifest of example.com") and "what was printed" in ran.err
    assert "Sign again within 90 days" in ran.err


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("90d", "2027-02-28T12:00:00Z"),
        ("3600", "2026-11-30T13:00:00Z"),
        ("2027-01-01T00:00:00+01:00", "2026-12-31T23:00:00Z"),
        ("2027-01-01", "2027-01-01T00:00:00Z"),
    ],
)
def test_the_end_of_a_proof(given: str, written: str, desk: Desk) -> None:
    assert desk.run("sign", "manifest.json", *desk.ED, *THEN, "--expires", given, "--out", "s.json").code == 0
    proof = desk.read("s.json")["proof"]
    assert (proof["created"], proof["expires"]) == ("2026-11-30T12:00:00Z", written)


def test_several_keys_sign_at_once(desk: Desk) -> None:
    keys = ("--key", "p384.pem", "--key", "p256.pem", "--method", f"{DID}#key-3", "--method", "#key-2")
    assert desk.run("sign", "manifest.json", *keys, "--did", DID, "--ipfs", "--out", "s.json").code == 0
    for name in ("s.json", "s.ipfs.json"):
        proofs = desk.verify(name)["proofs"]
        assert [(one["verification_method"], one["valid"]) for one in proofs] == [
            (f"{DID}#key-3", True),
            (f"{DID}#key-2", True),
        ]


def test_a_card(desk: Desk) -> None:
    ran = desk.run("sign", "card.json", *desk.P256, "--out", "s.json")
    assert (ran.code, ran.err) == (0, "") and "https://example.com/.well-known/agent-card.json" in ran.out
    told = desk.verify("s.json")
    assert (told["state"], told["proofs"][0]["kind"]) == ("verified", "jws")
    assert without(desk.read("s.json"), "signatures") == CARD
    before = desk.read("s.json")["signatures"]
    assert desk.run("sign", "s.json", *desk.P256, "--created", "2026-11-30", "--out", "s.json").code == 0
    [again] = desk.read("s.json")["signatures"]
    assert again != before[0] and decode_header(again["protected"])["iat"] == 1795996800


def test_a_context_is_signed_for(desk: Desk) -> None:
    desk.write("manifest.json", {"@context": ["https://example.com/v1"], **MANIFEST})
    assert desk.run("sign", "manifest.json", *desk.ED, "--out", "s.json").code == 0
    assert desk.read("s.json")["proof"]["@context"] == ["https://example.com/v1"]
    assert desk.verify("s.json")["state"] == "verified"


# Mirrors, versions and the copy for IPFS.


def test_the_copy_for_ipfs_is_of_the_same_version(desk: Desk) -> None:
    desk.write("manifest.json", {**MANIFEST, MIRRORS: [STALE_MIRROR, HTTPS_MIRROR]})
    another = "https://mirror2.example.net/m.json"
    argv = ("--mirror", another, "--mirror", HTTPS_MIRROR, "--ipfs", "--out", "s.json", "--ipfs-out", "copy")
    assert desk.run("sign", "manifest.json", *desk.ED, *argv).code == 0
    manifest, copy = desk.read("s.json"), desk.read("copy")
    cid = cid_of((desk.folder / "copy").read_bytes()).text
    assert copy[MIRRORS] == [HTTPS_MIRROR, another]
    assert manifest[MIRRORS] == [*copy[MIRRORS], f"ipfs://{cid}"]
    assert version_of(manifest, 0.0) == version_of(copy, 0.0)
    for name, baseline in (("s.json", "copy"), ("copy", "s.json")):
        assert desk.verify(name, "--baseline", baseline)["state"] == "verified"
    assert desk.run("cid", "copy").out.strip() == cid


def test_the_only_mirror_may_be_the_copy(desk: Desk) -> None:
    assert desk.run("sign", "manifest.json", *desk.ED, "--ipfs", "--out", "s").code == 0
    assert MIRRORS not in desk.read("s.ipfs") and len(desk.read("s")[MIRRORS]) == 1


@pytest.mark.parametrize(
    ("given", "stated", "published", "written"),
    [
        pytest.param("7", 3, None, 7, id="a number"),
        pytest.param("auto", None, None, 1, id="the first"),
        pytest.param("auto", 41, None, 42, id="after the file"),
        pytest.param("auto", 3, 41, 42, id="after what it replaces"),
        pytest.param("auto", 41.0, 3, 42, id="written as a fraction"),
        pytest.param("auto", "x", None, 1, id="after none"),
    ],
)
def test_the_sequence(given: str, stated: Any, published: int | None, written: int, desk: Desk) -> None:
    desk.write("manifest.json", {**MANIFEST, **({} if stated is None else {"x-sequence": stated})})
    if published is not None:
        desk.write("s.json", {**MANIFEST, "x-sequence": published})
    assert desk.run("sign", "manifest.json", *desk.ED, "--sequence", given, "--out", "s.json").code == 0
    assert desk.read("s.json")["x-sequence"] == written
    assert desk.verify("s.json")["state"] == "verified"


def test_what_is_replaced_may_be_anything(desk: Desk) -> None:
    desk.write("s.json", b"\xff")
    assert desk.run("sign", "manifest.json", *desk.ED, "--sequence", "auto", "--out", "s.json").err == ""


@pytest.mark.parametrize(
    ("sequence", "reason"),
    [("5", "equivocation"), ("4", "rollback"), ("auto", None)],
    ids=["equal", "lower", "next"],
)
def test_a_version_that_mirrors_could_not_bring(sequence: str, reason: str | None, desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.ED, "--sequence", "5", "--out", "s.json")
    desk.write("manifest.json", {**MANIFEST, "supportBoundary": "Another."})
    ran = desk.run("sign", "manifest.json", *desk.ED, "--sequence", sequence, "--out", "s.json")
    assert ran.code == 0
    assert (reason is None and ran.err == "") or f"({reason}): sign with --sequence auto" in ran.err


# Which proofs stay.


def test_a_second_key_signs_beside_the_first(desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.ED, "--out", "s.json")
    ran = desk.run("sign", "s.json", *desk.P256, "--out", "s.json")
    assert ran.err == ""
    desk.run("sign", "s.json", *desk.ED, "--expires", "1d", "--out", "s.json")
    told = desk.verify("s.json")
    assert [(one["kind"], one["valid"]) for one in told["proofs"]] == [
        ("ecdsa-jcs-2019", True),
        ("eddsa-jcs-2022", True),
    ]
    assert "expires" in desk.read("s.json")["proof"][1]


def test_both_containers_with_one_key(desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.ED, "--proof", "jws", "--out", "s.json")
    assert desk.run("sign", "s.json", *desk.ED, "--out", "s.json").err == ""
    assert [one["valid"] for one in desk.verify("s.json")["proofs"]] == [True, True]
    assert [*desk.read("s.json")][-2:] == ["signatures", "proof"]
    ran = desk.run("sign", "s.json", *desk.ED, "--proof", "jws", "--expires", "1d", "--out", "s.json")
    assert "1 older proof(s) removed" in ran.err, "Data Integrity signs the signatures too"
    assert [one["kind"] for one in desk.verify("s.json")["proofs"]] == ["jws"]


def test_proofs_that_no_longer_hold_are_removed(desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.P256, "--proof", "jws", "--out", "s.json")
    desk.run("sign", "s.json", *desk.P256, "--out", "s.json")
    ran = desk.run("sign", "s.json", *desk.ED, "--mirror", HTTPS_MIRROR, "--out", "s.json")
    assert "2 older proof(s) removed" in ran.err
    assert [one["kind"] for one in desk.verify("s.json")["proofs"]] == ["eddsa-jcs-2022"]


def test_an_edited_document_keeps_what_nobody_can_tell(desk: Desk) -> None:
    desk.run("sign", "manifest.json", *desk.ED, "--proof", "jws", "--out", "s.json")
    desk.write("s.json", {**desk.read("s.json"), "supportBoundary": "Another."})
    ran = desk.run("sign", "s.json", *desk.ED, "--out", "s.json")
    assert (
        f"an older proof by {DID}#key-1 does not hold (signature_invalid): sign with --proof jws first" in ran.err
    )
    told = desk.verify("s.json")
    assert told["state"] == "verified"
    assert [(one["kind"], one["valid"]) for one in told["proofs"]] == [("eddsa-jcs-2022", True), ("jws", False)]


@pytest.mark.parametrize(
    "members",
    [
        {"proof": [None]},
        {"proof": ["x", {"verificationMethod": 1}]},
        {"signatures": [1, {"protected": "?", "signature": "x"}, {}]},
    ],
    ids=["null", "text", "signatures"],
)
@pytest.mark.parametrize("form", [[], ["--proof", "jws"]], ids=["Data Integrity", "JWS"])
def test_malformed_proofs_are_no_hindrance(members: Json, form: list[str], desk: Desk) -> None:
    desk.write("manifest.json", {**MANIFEST, **members})
    assert desk.run("sign", "manifest.json", *desk.ED, *form, "--out", "s.json").code == 0
    assert desk.verify("s.json")["state"] == "verified"
    if "signatures" in members:
        assert desk.read("s.json")["signatures"][:3] == members["signatures"]


def test_a_useless_mirror_that_is_listed_stays(desk: Desk) -> None:
    desk.write("manifest.json", {**MANIFEST, MIRRORS: [1, "ipfs://nothing"]})
    assert desk.run("sign", "manifest.json", *desk.ED, "--mirror", HTTPS_MIRROR, "--out", "s.json").code == 0
    assert desk.read("s.json")[MIRRORS] == [1, "ipfs://nothing", HTTPS_MIRROR]


# What is said, and what cannot be signed.


def test_what_lint_finds_is_said(desk: Desk) -> None:
    desk.write("manifest.json", without(MANIFEST, "routes"))
    ran = desk.run("sign", "manifest.json", *desk.ED, "--out", "s.json")
    assert ran.code == 0 and "discovery-proxy: warning: " in ran.err and "/routes" in ran.err


def test_the_did_of_a_path(desk: Desk) -> None:
    ran = desk.run("sign", "manifest.json", "--key", "ed25519.pem", "--did", f"{DID}:u:bob", "--out", "s.json")
    assert "only where they are configured to" in ran.err
    assert "Have https://example.com/u/bob/did.json list" in ran.out


def test_a_did_with_a_log(desk: Desk) -> None:
    did = f"did:webvh:Qm{'a' * 44}:example.com"
    ran = desk.run("sign", "manifest.json", "--key", "ed25519.pem", "--did", did, "--out", "s.json")
    assert ran.code == 0 and "Have https://example.com/.well-known/did.jsonl list" in ran.out


REFUSED: dict[str, tuple[object, list[str], str]] = {
    "another site": (
        {**MANIFEST, "site": {"url": "https://www.example.com/"}},
        [],
        "did:web:example.com is of example.com, and the manifest of www.example.com by its site.url",
    ),
    "another port": ({**MANIFEST, "site": {"url": "https://example.com:8443/"}}, [], "of example.com:8443"),
    "site without TLS": ({**MANIFEST, "site": {"url": "http://example.com/"}}, [], "has to be the https URL"),
    "no site": ({**MANIFEST, "site": {"url": "x"}}, [], "has to be the https URL"),
    "site is null": ({**MANIFEST, "site": None}, [], "manifest.json: its site.url has to be"),
    "another profile": (
        {**without(MANIFEST, "profileId"), "profile_id": MANIFEST["profileId"]},
        [],
        "(profile_mismatch)",
    ),
    "a name twice": (json.dumps(MANIFEST)[:-1].encode() + b', "site": 1}', [], "(json_duplicate_key)"),
    "no JSON": (b"<html>", [], "manifest.json: no such text can be signed: The text is not JSON in UTF-8."),
    "a catalog": ({"specVersion": "1.0", "entries": []}, [], "manifests and agent cards are signed, and it is of"),
    "of no kind": ({}, [], "manifests and agent cards are signed, and its kind cannot be told"),
    "proof of another form": ({**MANIFEST, "proof": "x"}, [], "the document's proof is no list: remove it first"),
    "signatures of another form": ({**MANIFEST, "signatures": {}}, [], "the document's signatures is no list"),
    "too many proofs": ({**MANIFEST, "proof": [{}] * 8}, [], "(too_many_proofs)"),
    "mirrors of another form": (
        {**MANIFEST, MIRRORS: {}},
        ["--ipfs", "--out", "s"],
        "x-independent-mirrors is no list",
    ),
    "mirrors of another name": (
        {**MANIFEST, "independent_mirrors": []},
        ["--mirror", HTTPS_MIRROR],
        "rename that to x-independent-mirrors",
    ),
    "mirror at the site": (MANIFEST, ["--mirror", "https://example.com/m"], "(own-host)"),
    "mirror without TLS": (MANIFEST, ["--mirror", "http://mirror1.example.net/m"], "(scheme)"),
    "mirror of no CID": (MANIFEST, ["--mirror", "ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d"], "(cid)"),
    "too many mirrors": (
        {**MANIFEST, MIRRORS: [f"https://mirror{number}.example.net/" for number in range(8)]},
        ["--mirror", HTTPS_MIRROR],
        f"mirror {HTTPS_MIRROR}: proxies would not use it (too-many); they try 8 mirrors",
    ),
    "sequence": (MANIFEST, ["--sequence", "-1"], "--sequence: a number from 0 to"),
    "huge sequence": (MANIFEST, ["--sequence", "9" * 5000], "--sequence: a number from 0 to 9007199254740991"),
    "end": (MANIFEST, ["--expires", "soon"], "--expires: give a length of time such as 90d"),
    "end before the beginning": (MANIFEST, ["--expires", "2020-01-01"], "--expires: it has to be after"),
    "end after all": (MANIFEST, [*THEN, "--created", "9999-12-30", "--expires", "9d"], "before the year 10000"),
    "creation": (MANIFEST, ["--created", "noon"], "--created: give a time"),
    "long ago": (MANIFEST, ["--created", "1969-12-31"], "--created: before 1970"),
    "proof of another key": (MANIFEST, ["--proof", "ecdsa-jcs-2019"], "a key of type P-256 or P-384"),
    "copy without one": (MANIFEST, ["--ipfs-out", "x"], "there is a copy for IPFS only with --ipfs"),
    "copy to nowhere": (MANIFEST, ["--ipfs"], "--ipfs-out: name the file"),
    "copy in its place": (MANIFEST, ["--ipfs", "--out", "s", "--ipfs-out", "./s"], "is another file than"),
    "copy to standard output": (MANIFEST, ["--ipfs", "--out", "s", "--ipfs-out", "-"], "--ipfs-out: name the file"),
    "nowhere to write": (MANIFEST, ["--out", "none/s.json"], "none/s.json: cannot be written: No such file"),
    "too large": ({**MANIFEST, "x": "y" * 2**20}, [], "(too_large)"),
    "a card with mirrors": (CARD, ["--mirror", HTTPS_MIRROR], "--mirror: an agent card has none"),
    "a card for IPFS": (CARD, ["--ipfs"], "--ipfs: an agent card has none"),
    "a card with too many": ({**CARD, "signatures": [{}] * 8}, [], "(too_many_proofs)"),
    "a card by Data Integrity": (CARD, ["--proof", "eddsa-jcs-2022"], "signed with --proof jws"),
}


@pytest.mark.parametrize(("document", "more", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_signed(document: object, more: list[str], problem: str, desk: Desk) -> None:
    desk.write("manifest.json", document)
    files = desk.files
    ran = desk.run("sign", "manifest.json", *desk.ED, *more)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err
    assert desk.files == files


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (("--key", "p256.pem", "--did", DID, "--proof", "eddsa-jcs-2022"), "a key of type Ed25519"),
        (
            ("--key", "ed25519.pem", "--did", "did:key:z6Mk"),
            "--did: The identifier is neither did:web nor did:webvh.",
        ),
        (("--key", "ed25519.pem", "--did", "did:web:192.0.2.1"), "Give it as did:web:example.com."),
        (("--key", "ed25519.pem", "--did", DID, "--method", "did:web:other.example#key-1"), "--method: "),
        (("--key", "did.json", "--did", DID), "no unencrypted private key in PEM"),
        (("--key", "none.pem", "--did", DID), "none.pem: cannot be read"),
    ],
    ids=["key of another proof", "did:key", "address", "method of another", "no key", "no file"],
)
def test_what_does_not_sign(argv: tuple[str, ...], problem: str, desk: Desk) -> None:
    ran = desk.run("sign", "manifest.json", *argv)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err


def test_a_link_is_followed(desk: Desk) -> None:
    (desk.folder / "site").mkdir()
    desk.write("site/m.json", b"{}")
    os.symlink("site/m.json", desk.folder / "s.json")
    assert desk.run("sign", "manifest.json", *desk.ED, "--out", "s.json").code == 0
    assert (desk.folder / "s.json").is_symlink() and "proof" in desk.read("site/m.json")
