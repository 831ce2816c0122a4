"""A publisher's desk: a folder with a manifest, a card, a key pair of each type, and the commands run in it.

def test(desk: Desk) -> None:
    assert desk.run("sign", "manifest.json", *desk.ED, "--out", "signed.json").code == 0
"""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from proxy.cli import main

Json = dict[str, Any]

DID: Final = "did:web:example.com"
HTTPS_MIRROR: Final = "https://mirror1.example.net/m.json"
MANIFEST: Final[Json] = {
    "profileId": "uaix.ai-ready-web.manifest.v1",
    "site": {"name": "Zürich 納豆", "url": "https://example.com/"},
    "routes": [{"abilityLevel": "L1", "method": "GET", "highestSupportedPath": "/m", "x-weight": 0.25}],
    "x-big": 1e21,
    "supportBoundary": "Public discovery only.",
}
CARD: Final[Json] = json.loads((Path(__file__).parent.parent / "samples/discovery/a2a_card_v10.json").read_bytes())


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        value: Json = json.loads(self.out)
        return value


class Desk:
    """The folder is the working directory; `did.json` lists the Ed25519 key as key-1, then P-256 and P-384."""

    ED: Final = ("--key", "ed25519.pem", "--did", DID)
    P256: Final = ("--key", "p256.pem", "--method", "key-2", "--did", DID)
    P384: Final = ("--key", "p384.pem", "--method", "key-3", "--did", DID)

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.chdir(folder)
        self.folder: Final = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        keys: list[str] = []
        for key_type in ("ed25519", "p256", "p384"):
            assert self.run("keygen", "--type", key_type, "--out", f"{key_type}.pem").code == 0
            keys += ["--key", f"{key_type}.pem"]
        assert self.run("did-document", "--domain", "example.com", *keys, "--out", "did.json").code == 0
        self.write("manifest.json", MANIFEST)
        self.write("card.json", CARD)

    def run(self, *argv: str, stdin: bytes = b"") -> Ran:
        """Run a command; what cannot even be parsed raises SystemExit."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = main(argv)
        told = self._capsys.readouterr()
        return Ran(code, told.out, told.err)

    def verify(self, name: str, *more: str) -> Json:
        """The verdict on a file by `did.json`."""
        return self.run("verify", name, "--did", DID, "--did-document", "did.json", "--json", *more).json

    def write(self, name: str, value: object) -> None:
        octets = value if isinstance(value, bytes) else json.dumps(value).encode()
        (self.folder / name).write_bytes(octets)

    def read(self, name: str) -> Json:
        value: Json = json.loads((self.folder / name).read_bytes())
        return value

    @property
    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def without(document: Json, *names: str) -> Json:
    return {name: value for name, value in document.items() if name not in names}
