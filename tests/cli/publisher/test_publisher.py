"""What the commands write, verified by another program; and what that one signs, verified by the commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import CARD, DID, MANIFEST, Desk

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / ".build" / "publisher"


class Publisher:
    """The other program."""

    def __init__(self, node: str) -> None:
        self._node = node

    def run(self, *argv: str | Path) -> Any:
        command = [self._node, str(HERE / "publisher.mjs"), *map(str, argv)]
        return json.loads(subprocess.run(command, cwd=BUILD, check=True, capture_output=True).stdout)


@pytest.fixture(scope="session")
def publisher() -> Publisher:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not on this machine")
    wanted, lock = (HERE / "package-lock.json").read_bytes(), BUILD / "package-lock.json"
    if not (BUILD / "node_modules").exists() or lock.read_bytes() != wanted:
        BUILD.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, BUILD / name)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=BUILD, check=True, capture_output=True)
    return Publisher(node)


SIGNERS = {"Ed25519": Desk.ED, "P-256": Desk.P256, "P-384": Desk.P384}
FORMS: dict[str, list[str]] = {"proof": [], "signatures": ["--proof", "jws"]}


@pytest.mark.parametrize("signer", SIGNERS)
@pytest.mark.parametrize("container", FORMS)
def test_what_the_commands_sign(signer: str, container: str, desk: Desk, publisher: Publisher) -> None:
    argv = [*SIGNERS[signer], *FORMS[container], "--ipfs", "--mirror", "https://mirror1.example.net/m.json"]
    assert desk.run("sign", "manifest.json", *argv, "--expires", "90d", "--out", "s.json").code == 0
    for name in ("s.json", "s.ipfs.json"):
        assert publisher.run("verify", desk.folder / "did.json", desk.folder / name) == [True]
    desk.write("s.json", {**desk.read("s.json"), "supportBoundary": "Another."})
    assert publisher.run("verify", desk.folder / "did.json", desk.folder / "s.json") == [False]


def test_all_proofs_at_once(desk: Desk, publisher: Publisher) -> None:
    desk.write("s.json", {"@context": "https://example.com/v1", **MANIFEST})
    for form in ("--proof", "jws"), ():
        for signer in SIGNERS.values():
            assert desk.run("sign", "s.json", *signer, *form, "--out", "s.json").code == 0
    assert publisher.run("verify", desk.folder / "did.json", desk.folder / "s.json") == [True] * 6


@pytest.mark.parametrize("signer", SIGNERS)
def test_cards(signer: str, desk: Desk, publisher: Publisher) -> None:
    assert desk.run("sign", "card.json", *SIGNERS[signer], "--out", "s.json").code == 0
    assert publisher.run("verify", desk.folder / "did.json", desk.folder / "s.json") == [True]


@pytest.mark.parametrize("curve", SIGNERS)
@pytest.mark.parametrize(
    ("document", "container"),
    [(MANIFEST, "proof"), (MANIFEST, "signatures"), (CARD, "signatures")],
    ids=["manifest", "manifest, JWS", "card"],
)
def test_what_the_other_program_signs(
    curve: str, document: Any, container: str, desk: Desk, publisher: Publisher
) -> None:
    made = publisher.run("keygen", curve)
    desk.write("theirs.pem", made["pem"].encode())
    desk.write("m.json", document)
    desk.run("did-document", "--domain", "example.com", "--public", made["multikey"], "--out", "did.json")
    by_key = desk.run("did-document", "--domain", "example.com", "--key", "theirs.pem")
    assert by_key.out.encode() == (desk.folder / "did.json").read_bytes(), "both know the key by one text"
    argv = ("sign", desk.folder / "theirs.pem", f"{DID}#key-1", container, desk.folder / "m.json")
    desk.write("s.json", publisher.run(*argv))
    told = desk.verify("s.json", "--now", "2026-11-30T12:00:00Z")
    assert (told["state"], [one["valid"] for one in told["proofs"]]) == ("verified", [True])
