"""`lint`: the verdict as JSON and for people, its exit codes, and what it cannot read."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxy.cli import main
from proxy.lint import KINDS
from tests.cli.internet import Internet, internet

SAMPLES = Path(__file__).parent.parent / "samples"
MODELLED = json.loads((SAMPLES / "uaix" / "EXPECTED.json").read_bytes())["samples"]
CARD = json.loads((SAMPLES / "discovery" / "a2a_card_v10.json").read_bytes())
CARD_PATH = "/.well-known/agent-card.json"


@pytest.mark.parametrize("name", [name for name, entry in MODELLED.items() if entry["kind"] in KINDS])
def test_samples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = MODELLED[name]
    argv = ["lint", str(SAMPLES / "uaix" / name), "--kind", entry["kind"]]
    assert main([*argv, "--json"]) == (0 if entry["valid"] else 1)
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["valid"]) == (entry["kind"], entry["valid"])
    assert {one["rule"] for one in told["failures"]} == set(entry["failures"])
    assert {one["rule"] for one in told["warnings"]} == set(entry["warnings"])
    assert all(one.keys() == {"rule", "path", "detail"} for one in told["failures"] + told["warnings"])
    main(argv)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"  kind     {entry['kind']}"
    rules = [*entry["failures"], *entry["warnings"]]
    assert all(any(line.startswith(f"  {rule} ") for line in lines) for rule in rules)


@pytest.fixture
def card_file(tmp_path: Path) -> Path:
    broken = {**CARD, "description": "", "skills": [], "provider": "nobody"}
    path = tmp_path / "card\x1b[2J.json"
    path.write_text(json.dumps(broken), encoding="utf-8")
    return path


def test_the_report(card_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(card_file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        str(card_file).replace("\x1b", "\\x1b"),
        "  kind     agent-card",
        "  verdict  not valid: 2 failures, 1 warning",
        "",
        "failures",
        "  A2A-2  /description  description is missing.",
        "  A2A-2  /provider     provider is no object with organization and url.",
        "",
        "warnings",
        "  A2A-2  /skills  skills is empty.",
    ]


def test_colours(card_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(["lint", str(card_file)])
    assert "\x1b[31mnot valid\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["lint", str(card_file)])
    assert "\x1b" not in capsys.readouterr().out


def test_standard_input() -> None:
    command = [sys.executable, "-m", "proxy", "lint", "-", "--json"]
    ran = subprocess.run(command, input=json.dumps(CARD).encode(), capture_output=True)
    told = {"kind": "agent-card", "valid": True, "failures": [], "warnings": []}
    assert (ran.returncode, json.loads(ran.stdout), ran.stderr) == (0, told, b"")


def test_too_much_on_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" " * (64 * 2**20 + 1))))
    assert main(["lint", "-"]) == 2
    assert "larger than 67108864 bytes" in capsys.readouterr().err


@pytest.mark.parametrize("now", ["2026-11-30T12:00:00Z", "2026-11-30T12:00:00+01:00", "2026-11-30"])
def test_a_given_time(now: str, card_file: Path) -> None:
    assert main(["lint", str(card_file), "--now", now]) == 1


USAGE: dict[str, tuple[list[str], str]] = {
    "unknown kind": (["-", "--kind", "poem"], "--kind: there is no such kind; use one of manifest, route-record"),
    "no file": (["nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
    "a folder": (["."], ".: cannot be read: Is a directory"),
    "no name of a file": (["a\0b"], "a\\x00b: cannot be read: no file has such a name"),
    "no time": (["nowhere.json", "--now", "noon"], "--now: give a time such as 2026-11-30T12:00:00Z"),
    "no moment": (["nowhere.json", "--now", "0001-01-01T00:00:00+14:00"], "nowhere.json: cannot be read"),
    "no URL": (["https://u:hush@example.com/"], "URL: The authority has userinfo: leave it out."),
    "URL with a dot segment": (["HTTP://example.com/a/../b"], "URL: The path has a dot segment"),
    "configuration": (["https://example.com/", "--config", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
}


@pytest.mark.parametrize(("argv", "problem"), USAGE.values(), ids=USAGE)
def test_what_cannot_be_used(argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", *argv]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "hush" not in told.err
    assert told.err.startswith("discovery-proxy: ") and problem in told.err


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"\xff\xfe", b"<html>", b"[" * 50_000], ids=lambda body: body[:6]
)
def test_documents_of_no_kind(body: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    path.write_bytes(body)
    assert main(["lint", str(path)]) == 2
    assert f"{path}: its kind cannot be told: say --kind, one of manifest" in capsys.readouterr().err
    assert main(["lint", str(path), "--kind", "agent-card", "--json"]) == 1
    [failure] = json.loads(capsys.readouterr().out)["failures"]
    assert failure["rule"] in ("C-15", "C-16")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    documents: dict[str, object] = {
        CARD_PATH: CARD,
        "/card": {**CARD, "name": ""},
        "/empty/.well-known/ai-catalog.json": b"",
        "/page/.well-known/agent-card.json": b"<html>",
        "/.well-known/mcp/server-card.json": {"name": "a", "version": "1"},
        "/llms.txt": b"# Example\n",
        "/text/llms.txt": b"<html>",
        "/down": 503,
    }
    with internet(tmp_path_factory.mktemp("net"), documents) as net:
        yield net


PUBLISHED: dict[str, tuple[str, int, str, list[str]]] = {
    "https": (f"https://example.com{CARD_PATH}", 0, "agent-card", []),
    "http, on an address": (f"PLAIN{CARD_PATH}", 0, "agent-card", []),
    "at any path": ("https://example.com/card", 1, "agent-card", ["C-16"]),
    "empty": ("https://example.com/empty/.well-known/ai-catalog.json", 1, "ai-catalog", ["C-16"]),
    "a page": ("https://example.com/page/.well-known/agent-card.json", 1, "agent-card", ["C-16"]),
    "told by its place": ("https://example.com/.well-known/mcp/server-card.json", 0, "mcp-server-card", []),
}


@pytest.mark.parametrize(("url", "code", "kind", "rules"), PUBLISHED.values(), ids=PUBLISHED)
def test_published_documents(
    url: str, code: int, kind: str, rules: list[str], net: Internet, capsys: pytest.CaptureFixture[str]
) -> None:
    url = url.replace("PLAIN", net.plain_url)
    assert main(["lint", url, "--json", "--config", net.config]) == code
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (told["kind"], [one["rule"] for one in told["failures"]]) == (kind, rules)
    assert main(["lint", url, "--config", net.config]) == code
    assert capsys.readouterr().out.startswith(f"{url}\n")


def test_a_kind_that_is_given_holds(net: Internet, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["lint", "https://example.com/card", "--kind", "mcp-server-card", "--json", "--config", net.config]
    main(argv)
    assert json.loads(capsys.readouterr().out)["kind"] == "mcp-server-card"


UNREADABLE: dict[str, tuple[str, int, str]] = {
    "absent": (
        "https://example.com/none",
        3,
        "https://example.com/none: The origin answered 404. There is nothing",
    ),
    "failing": ("https://example.com/down", 3, "The origin answered 503."),
    "no such host": ("https://nowhere.example/x", 3, "The origin's host name does not resolve."),
    "nothing listens": ("http://127.0.0.1:1/x", 3, "http://127.0.0.1:1/x: "),
    "no kind": ("https://example.com/llms.txt", 2, "https://example.com/llms.txt: its kind cannot be told"),
    "wrong kind of none": ("https://example.com/text/llms.txt", 3, "markup"),
}


@pytest.mark.parametrize(("url", "code", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_not_there(
    url: str, code: int, problem: str, net: Internet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", url, "--config", net.config]) == code
    told = capsys.readouterr()
    assert told.out == "" and problem in told.err


def test_what_the_configuration_names_and_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_UPSTREAM__CA_FILE", "nowhere.pem")
    assert main(["lint", "https://example.com/"]) == 2
    assert "upstream.ca_file nowhere.pem: No such file or directory" in capsys.readouterr().err
