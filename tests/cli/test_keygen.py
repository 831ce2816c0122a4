"""`keygen` and `did-document`: keys that nobody else can read, and documents that readers take."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from proxy.cli.keys import parsed_keys
from proxy.trust.did.document import parse_did_document
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.signing import PrivateKey
from tests.cli.desk import DID, Desk

TYPES = {"ed25519": KeyType.ED25519, "p256": KeyType.P256, "p384": KeyType.P384}
MULTIKEY = PrivateKey.generate(KeyType.ED25519).public.multikey
WEAK = "z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP"  # the all-zero key


@pytest.mark.parametrize("key_type", TYPES)
def test_a_key_pair(key_type: str, desk: Desk) -> None:
    ran = desk.run("keygen", "--type", key_type, "--out", "k.pem")
    key = PrivateKey.from_pem((desk.folder / "k.pem").read_bytes())
    assert (ran.code, key.public.type, ran.err) == (0, TYPES[key_type], "")
    assert ran.out.splitlines()[0] == f"public key   {key.public.multikey}" and "k.pem" in ran.out
    assert "PRIVATE" not in ran.out
    assert stat.S_IMODE((desk.folder / "k.pem").stat().st_mode) == 0o600


def test_the_defaults(desk: Desk) -> None:
    assert desk.run("keygen").code == 0
    assert PrivateKey.from_pem((desk.folder / "key.pem").read_bytes()).public.type is KeyType.ED25519


def test_a_key_that_is_there_stays(desk: Desk) -> None:
    before, files = (desk.folder / "p256.pem").read_bytes(), desk.files
    ran = desk.run("keygen", "--out", "p256.pem")
    assert (ran.code, ran.out) == (2, "") and "take another name, or --force" in ran.err
    assert (desk.folder / "p256.pem").read_bytes() == before
    (desk.folder / "p256.pem").chmod(0o644)
    assert desk.run("keygen", "--out", "p256.pem", "--force").code == 0
    assert (desk.folder / "p256.pem").read_bytes() != before
    assert stat.S_IMODE((desk.folder / "p256.pem").stat().st_mode) == 0o600
    assert desk.files == files


def test_a_link_is_no_way_around(desk: Desk) -> None:
    os.symlink("elsewhere.pem", desk.folder / "link.pem")
    assert desk.run("keygen", "--out", "link.pem").code == 2
    assert "elsewhere.pem" not in desk.files


def test_standard_output(desk: Desk) -> None:
    ran = desk.run("keygen", "--out", "-")
    key = PrivateKey.from_pem(ran.out.encode())
    assert ran.err == f"public key: {key.public.multikey}\n"


@pytest.mark.parametrize("out", ["nowhere/key.pem", ".", "a\0b"], ids=["no folder", "a folder", "no name"])
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["new", "replacing"])
def test_where_no_file_can_be(out: str, force: list[str], desk: Desk) -> None:
    files = desk.files
    ran = desk.run("keygen", "--out", out, *force)
    assert (ran.code, ran.out) == (2, "") and "PRIVATE" not in ran.err
    assert desk.files == files


def test_a_document_lists_the_keys_of_a_rotation(desk: Desk) -> None:
    ran = desk.run(
        "did-document", "--domain", "Example.COM", "--key", "ed25519.pem", "--public", MULTIKEY, "--id", "old"
    )
    document = parse_did_document(ran.out.encode(), DID)
    ed = PrivateKey.from_pem((desk.folder / "ed25519.pem").read_bytes()).public.multikey
    assert document.assertion_key(f"{DID}#old", 0).key.multikey == ed
    assert document.assertion_key(f"{DID}#key-2", 0).key.multikey == MULTIKEY
    assert ran.err == "publish it at https://example.com/.well-known/did.json\n"


def test_a_document_of_a_port_in_a_file(desk: Desk) -> None:
    ran = desk.run("did-document", "--domain", "example.com:8443", "--key", "p256.pem", "--out", "d.json")
    did = "did:web:example.com%3A8443"
    assert ran.out == f"{did}: d.json, publish it at https://example.com:8443/.well-known/did.json\n"
    document = parse_did_document((desk.folder / "d.json").read_bytes(), did)
    key = PrivateKey.from_pem((desk.folder / "p256.pem").read_bytes()).public
    assert document.keys == parsed_keys(did, {f"{did}#key-1": key}).keys == {key.multikey}


USAGE: dict[str, tuple[list[str], str]] = {
    "no key": (["--domain", "example.com"], "--key or --public"),
    "an address": (["--domain", "192.0.2.1", "--public", MULTIKEY], "--domain: "),
    "no domain": (["--domain", "https://example.com", "--public", MULTIKEY], "Give it as example.com"),
    "one label": (["--domain", "localhost", "--public", MULTIKEY], "Give it as example.com"),
    "no multikey": (["--domain", "example.com", "--public", "ed25519.pem"], "Give it as keygen prints it"),
    "weak": (["--domain", "example.com", "--public", WEAK], "--public: "),
    "no key in the file": (
        ["--domain", "example.com", "--key", "did.json"],
        "Make one with: discovery-proxy",
    ),
    "no file": (["--domain", "example.com", "--key", "none.pem"], "none.pem: cannot be read: No such file"),
    "twice": (["--domain", "example.com", "--key", "p256.pem", "--key", "p256.pem"], "the same key is given twice"),
    "names of none": (
        ["--domain", "example.com", "--key", "p256.pem", "--id", "a", "--id", "b"],
        "--id: 2 names for 1 keys",
    ),
    "no name": (["--domain", "example.com", "--key", "p256.pem", "--id", "a b"], "--id: the name of a key"),
    "one name": (
        ["--domain", "example.com", "--key", "p256.pem", "--key", "p384.pem", "--id", "key-2"],
        "two keys have one name",
    ),
}


@pytest.mark.parametrize(("argv", "problem"), USAGE.values(), ids=USAGE)
def test_what_makes_no_document(argv: list[str], problem: str, desk: Desk) -> None:
    ran = desk.run("did-document", *argv)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["new", "replacing"])
def test_a_disk_that_is_full(force: list[str], desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    files = desk.files

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = desk.run("keygen", "--out", "new.pem", *force)
    assert ran.code == 2 and "new.pem: cannot be written: No space left on device" in ran.err
    assert desk.files == files, "no half of a key stays"


def test_a_document_is_replaced_in_one_step(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = (desk.folder / "did.json").read_bytes(), desk.files

    def full(path: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    ran = desk.run("did-document", "--domain", "example.com", "--public", MULTIKEY, "--out", "did.json")
    assert ran.code == 2 and "did.json: cannot be written: No space left on device" in ran.err
    assert (desk.folder / "did.json").read_bytes() == before and desk.files == files


def test_a_device_is_written_to(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe")
    reader = os.open(desk.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert desk.run("did-document", "--domain", "example.com", "--public", MULTIKEY, "--out", "pipe").code == 0
        assert json.loads(os.read(reader, 65536))["id"] == DID
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((desk.folder / "pipe").stat().st_mode)
