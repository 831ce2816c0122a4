"""`discover`: in this process against an origin and a name server on loopback, and through a running proxy."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from proxy.cli import main
from proxy.cli.discovery import describe
from proxy.server.schema import DISCOVERY
from tests.cli.internet import Internet, internet, texts

SAMPLES = Path(__file__).parent.parent / "samples"
MANIFEST = json.loads((SAMPLES / "uaix" / "valid-manifest-camel.json").read_bytes())
CARD = json.loads((SAMPLES / "discovery" / "a2a_card_v10.json").read_bytes())
MANIFEST_PATH = "/.well-known/uaix-agent-access.json"
DOCUMENTS: dict[str, object] = {
    MANIFEST_PATH: MANIFEST,
    "/.well-known/agent-card.json": CARD,
    "/.well-known/ai-catalog.json": b"<html>",
    "/llms.txt": b"# Example\n\n> What there is.\n",
}
RECORDS = texts(
    "_agent.example.com",
    f"v=uaix1; endpoint=https://example.com{MANIFEST_PATH}; did=did:web:example.com",
    "v=aid2;u=https://example.com/mcp;p=mcp",
)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    with internet(tmp_path_factory.mktemp("net"), DOCUMENTS, RECORDS) as net:
        yield net


def test_json(net: Internet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "Example.COM.", "--json", "--config", net.config]) == 0
    printed = capsys.readouterr()
    told: dict[str, Any] = json.loads(printed.out)
    jsonschema.validate(told, DISCOVERY)
    assert printed.err == "" and printed.out.isascii()
    assert (told["domain"], told["outcome"]) == ("example.com", "found")
    assert told["manifest"]["body"] == MANIFEST
    assert told["overhead"]["elapsed_ms"] > 0 and told["overhead"]["http_requests"] > 3
    assert told["client"] == {"level": None, "ladder": None, "atoms": told["client"]["atoms"], "known": False}


def test_tree(net: Internet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "example.com", "--config", net.config]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "example.com: found" and printed.out.isascii() and printed.err == ""
    sections = [line.removeprefix("|-- ").removeprefix("`-- ") for line in lines if line[:4] in ("|-- ", "`-- ")]
    assert [section.partition(":")[0] for section in sections] == [
        *("manifest", "dns", "documents", "endpoints", "authorization"),
        *("routes for an unknown client", "static", "overhead"),
    ]
    # The card names metadata that nobody has.
    assert any("metadata_missing: A document names this URL" in line for line in lines)
    assert f"|   |-- url          https://example.com{MANIFEST_PATH}" in lines
    assert any("aid2" in line and "accepted" in line for line in lines)
    assert any("ai-catalog.json" in line and line.endswith("html") for line in lines)


def test_levels(net: Internet, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["discover", "example.com", "--config", net.config, "--level", "L1"]
    main([*argv, "--ladder", "surface", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["client"]["level"], told["client"]["ladder"], told["endpoints"]) == ("L1", "surface", [])
    main([*argv, "--steps"])
    printed = capsys.readouterr().out
    assert "routes for L1 of exec" in printed and "|-- steps\n|   |-- dns-txt" in printed


NAMES = {
    "a URL": ("https://example.com/", "DOMAIN: Give a domain alone, such as example.com"),
    "an address": ("192.0.2.1", "DOMAIN: An IP address publishes nothing"),
    "this machine": ("localhost", "DOMAIN: localhost is every machine's own name"),
    "a label": ("example", "DOMAIN: A single label is no domain"),
    "a long label": (f"{'a' * 64}.example", "DOMAIN: The host is neither a name nor an address."),
    "nothing": ("", "DOMAIN: "),
    "a name of the local link": ("printer.local", "DOMAIN: Names in .local are heard on the local link only"),
}


@pytest.mark.parametrize(("name", "problem"), NAMES.values(), ids=NAMES)
def test_bad_names(name: str, problem: str, net: Internet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", name, "--config", net.config]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and problem in printed.err


ISOLATED: dict[str, object] = {"enabled": True, "isolated": True, "interfaces": ["127.0.0.1"]}


@pytest.mark.parametrize(
    ("name", "mdns", "problem"),
    [
        ("example.com", ISOLATED, "DOMAIN: There is no public DNS here (discovery.mdns.isolated)"),
        ("a.printer.local", {}, "DOMAIN: Names in .local are heard on the local link only"),
        ("printer", {"enabled": True}, "DOMAIN: A single label is no domain"),
    ],
)
def test_names_that_may_not_be_asked_about_here(
    name: str, mdns: dict[str, object], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with internet(tmp_path, DOCUMENTS, sections={"discovery": {"mdns": mdns}}) as net:
        assert main(["discover", name, "--config", net.config]) == 2
        assert net.paths == []
    printed = capsys.readouterr()
    assert printed.out == "" and problem in printed.err


def test_a_ladder_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "example.com", "--ladder", "exec"]) == 2
    assert "--ladder says which ladder the level is of: give --level too" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--level", "4"], ["--level", "L4", "--ladder", "up"], []], ids=" ".join)
def test_malformed_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["discover", *argv, *(["example.com"] if argv else [])])
    assert leaving.value.code == 2
    assert "usage: discovery-proxy discover" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["UPSTREAM__CA_FILE", "DNS__TRUST_ANCHORS"])
def test_files_of_the_configuration(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"DISCOVERY_PROXY_{key}", "nowhere")
    assert main(["discover", "example.com"]) == 2
    told = f"discovery-proxy: {key.lower().replace('__', '.')} nowhere: No such file or directory\n"
    assert capsys.readouterr() == ("", told)


ENDS: dict[str, tuple[dict[str, object], bool, str, int, str]] = {
    "nothing": ({}, True, "not-found", 1, "nothing found: it publishes nothing for agents"),
    "withdrawn": ({MANIFEST_PATH: 410}, True, "gone", 1, "gone: it has withdrawn what it published for agents"),
    "down": ({}, False, "unavailable", 3, "unavailable: it cannot be reached now; try again later"),
}


@pytest.mark.parametrize(("documents", "up", "outcome", "code", "end"), ENDS.values(), ids=ENDS)
def test_ends(
    documents: dict[str, object],
    up: bool,
    outcome: str,
    code: int,
    end: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with internet(tmp_path, documents, up=up) as net:
        assert main(["discover", "example.com", "--config", net.config]) == code
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"example.com: {end}"
        assert "|-- steps" in lines and not any("looked for" in line for line in lines)
        assert main(["discover", "example.com", "--json", "--config", net.config]) == code
        told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, DISCOVERY)
    assert told["outcome"] == outcome and told["steps"]


def test_addresses_that_may_not_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.simulators.nameserver import records

    replies = {("example.com", "A"): records("example.com. 300 IN A 127.0.0.1")}
    with internet(tmp_path, {}, replies, sections={"upstream": {"connect_timeout": "1s"}}) as net:
        assert main(["discover", "example.com", "--config", net.config]) == 1
    assert "example.com: refused" in capsys.readouterr().out


ANSWER: dict[str, object] = {"domain": "example.com", "outcome": "found", "steps": [], "documents": []}
PROBLEM = {"type": "urn:x", "title": "Nothing", "status": 404, "detail": "Nothing is there.", "instance": "1"}


def through(net: Internet, *argv: str) -> int:
    return main(["discover", "example.com", "--via", f"{net.plain_url}/base/", *argv])


@pytest.mark.parametrize(
    ("status", "outcome", "code"),
    [
        (200, "found", 0),
        (200, "moved", 1),
        (404, "not-found", 1),
        (410, "gone", 1),
        (403, "refused", 1),
        (503, "unavailable", 3),
        (200, "splendid", 1),
    ],
)
def test_through_a_proxy(
    status: int, outcome: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ANSWER | {"outcome": outcome}
    sent = told if status == 200 else PROBLEM | told
    path = "/base/v1/discover/example.com"
    with internet(tmp_path, {path: (status, sent), f"{path}?level=L4&ladder=exec": (status, sent)}) as net:
        assert through(net, "--json") == code
        assert json.loads(capsys.readouterr().out) == told
        assert through(net, "--level", "L4", "--ladder", "exec") == code
        assert capsys.readouterr().out.startswith("example.com: ")
        assert net.paths == [path, f"{path}?level=L4&ladder=exec"]


def test_a_name_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with internet(tmp_path, {"/v1/discover/a%2F..%3Fb": (400, {"detail": "Give a domain alone."})}) as net:
        assert main(["discover", "a/..?b", "--via", net.plain_url]) == 2
    assert f"{net.plain_url} refused: Give a domain alone." in capsys.readouterr().err


REMOTE: dict[str, tuple[object, int, str]] = {
    "another port": (404, 2, "has no discovery API; is this the admin port, or a site?"),
    "unauthorized": ((401, {"detail": "Send a token."}), 2, "refused: Send a token."),
    "a redirect": (308, 3, "answered 308, not as a data port that works would"),
    "a page": (b"<html>", 3, "answered 200, not as a data port that works would"),
    "another answer": ({"a": 1}, 3, "answered 200, not as a data port that works would"),
    "no outcome": ({"outcome": None}, 3, "answered 200, not as a data port that works would"),
    "draining": ((503, {"detail": "Shutting\x1b down."}), 3, "failed: Shutting\\x1b down."),
    "broken": ((500, {}), 3, "answered 500"),
}


@pytest.mark.parametrize(("answer", "code", "problem"), REMOTE.values(), ids=REMOTE)
def test_what_a_proxy_answers(
    answer: object, code: int, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with internet(tmp_path, {"/base/v1/discover/example.com": answer}) as net:
        assert through(net) == code
    printed = capsys.readouterr()
    assert printed.out == "" and problem in printed.err


VIA = {
    "no URL": ("localhost:8080", 2, "--via: The target is no absolute http or https URI. Give it as http://127"),
    "a query": ("http://127.0.0.1/?a", 2, "--via: The URL of a port has no query."),
    "nobody there": ("http://127.0.0.1:1", 3, "nothing listens at http://127.0.0.1:1; is the proxy running?"),
}


@pytest.mark.parametrize(("via", "code", "problem"), VIA.values(), ids=VIA)
def test_where_to_ask(via: str, code: int, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "example.com", "--via", via]) == code
    assert problem in capsys.readouterr().err


def test_progress_leaves_nothing_on_the_terminal(
    net: Internet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["discover", "exam\x1bple." + "x" * 200, "--config", net.config])
    shown, erased, _ = capsys.readouterr().err.split("\r")
    assert shown.startswith("discovering exam\\x1bple.xxx") and shown.endswith("xxx ...")
    assert erased == " " * len(shown) and len(shown) < 80


def test_an_interrupt_leaves_no_trace(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        environ = os.environ | {"DISCOVERY_PROXY_DNS__RESOLVERS": f'["127.0.0.1:{port}"]'}
        command = [sys.executable, "-m", "proxy", "discover", "example.com"]
        environ |= {"DISCOVERY_PROXY_DNS__TRANSPORT": "tcp"}
        running = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        silent.accept()[0].close()
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=10) == (b"", b"")
    assert running.returncode == 130


TOLD: dict[str, Any] = {
    "domain": "example.com",
    "outcome": "found",
    "manifest": {
        "url": f"https://example.com{MANIFEST_PATH}",
        "fetched_at": "2026-11-30T12:00:00.000Z",
        "fresh_until": "2026-11-30T12:05:00.000Z",
        "body": {"readiness_profiles": ["ARW-F0", "ARW-F1"]},
    },
    "source": {"kind": "origin", "url": "", "cache": "hit"},
    "trust": {"state": "rejected", "did": None, "reasons": ["expired"]},
    "dns": {
        "dnssec": "secure",
        "records": [
            {
                "name": "_agent.example.com",
                "type": "TXT",
                "kind": "aid1",
                "value": {"text": "\x1b]0;owned\x07"},
                "accepted": False,
                "reason": "ERR_SECURITY: no",
            },
            {"name": "_index._agents.example.com", "type": "SVCB", "kind": "svcb", "value": {}, "accepted": True},
        ],
    },
    "documents": [
        {
            "class": "agent-card",
            "url": "https://example.com/a",
            "found": True,
            "media_type": "application/json",
            "trust": "rejected",
            "lint": [{"rule": "CAT-9"}, {"rule": "A2A-2"}],
        },
        {"class": "llms", "url": "https://example.com/llms.txt", "found": False, "reason": "status-404"},
    ],
    "endpoints": [
        {
            "protocol": "mcp",
            "url": "https://example.com/mcp",
            "from": "aid2",
            "trust": "hint",
            "pka": {"verdict": "failed", "reason": "window"},
        },
        {"protocol": "a2a", "url": "https://example.com/a2a", "from": "agent-card", "trust": "origin-tls"},
        {
            "protocol": "mcp",
            "url": "https://example.com/b",
            "from": "aid2",
            "trust": "hint",
            "pka": {"verdict": "verified"},
        },
    ],
    "authorization": {
        "metadata_url": "https://id.example.com/.well-known/oauth-authorization-server",
        "issuer": "https://id.example.com",
        "token_endpoint": None,
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
        "problems": [
            {"code": "issuer-mismatch", "url": "https://id.example.com/x", "detail": "Another issuer."},
            {"code": "stub", "url": None, "detail": "No flow."},
        ],
    },
    "client": {"level": "L4", "ladder": "exec", "atoms": [], "known": False},
    "routes": [
        {"method": "GET", "url": "https://example.com/a", "decision": "execute", "use": "https://example.com/a"},
        {
            "method": "POST",
            "url": "https://example.com/b",
            "decision": "fallback",
            "use": "https://example.com/c",
            "reason": "D9: missing auth",
        },
        {
            "method": "POST",
            "url": "https://example.com/d",
            "decision": "no-op",
            "use": None,
            "code": "human_review_required",
            "review_url": "https://example.com/review",
        },
    ],
    "static": {"robots": None, "sitemap": "https://example.com/sitemap.xml", "llms": None, "markdown": None},
    "relocations": [
        {"url": "https://example.com/a", "target": "https://example.com/b", "status": 308, "state": "observed"}
    ],
    "overhead": {
        "http_requests": 1,
        "dns_queries": 2,
        "bytes_sent": 1000,
        "bytes_received": 20000,
        "central_services": 0,
        "elapsed_ms": 12.6,
    },
    "steps": [
        {"step": "link", "target": "https://example.com/", "outcome": "absent", "ms": 1.25, "detail": "status-404"}
    ],
}


def test_the_whole_description() -> None:
    assert describe(TOLD, steps=False, colour=False).splitlines() == [
        "example.com: found",
        "|-- manifest",
        f"|   |-- url          https://example.com{MANIFEST_PATH}",
        "|   |-- trust        rejected (expired)",
        "|   |-- readiness    ARW-F0, ARW-F1",
        "|   |-- source       origin, hit",
        "|   |-- fetched      2026-11-30T12:00:00.000Z",
        "|   `-- fresh until  2026-11-30T12:05:00.000Z",
        "|-- dns: secure",
        "|   |-- TXT   _agent.example.com          aid1  refused   text: \\x1b]0;owned\\x07 (ERR_SECURITY: no)",
        "|   `-- SVCB  _index._agents.example.com  svcb  accepted",
        "|-- documents",
        "|   |-- agent-card  https://example.com/a  application/json  rejected  lint: 2 findings",
        "|   `-- looked for and not there",
        "|       `-- llms  https://example.com/llms.txt  status-404",
        "|-- endpoints",
        "|   |-- mcp  https://example.com/mcp  hint        from aid2, key failed (window)",
        "|   |-- a2a  https://example.com/a2a  origin-tls  from agent-card",
        "|   `-- mcp  https://example.com/b    hint        from aid2, key verified",
        "|-- authorization",
        "|   |-- metadata url  https://id.example.com/.well-known/oauth-authorization-server",
        "|   |-- issuer        https://id.example.com",
        "|   |-- methods       private_key_jwt, none",
        "|   |-- problem       issuer-mismatch: Another issuer. (https://id.example.com/x)",
        "|   `-- problem       stub: No flow.",
        "|-- routes for L4 of exec",
        "|   |-- execute   GET   https://example.com/a",
        "|   |-- fallback  POST  https://example.com/b  use https://example.com/c (D9: missing auth)",
        "|   `-- no-op     POST  https://example.com/d  human_review_required review at https://example.com/review",
        "|-- static",
        "|   `-- sitemap  https://example.com/sitemap.xml",
        "|-- relocations",
        "|   `-- https://example.com/a  -> https://example.com/b  308  observed",
        "`-- overhead: http requests 1, dns queries 2, bytes sent 1,000, bytes received 20,000, "
        "central services 0, 13 ms",
    ]


def test_steps_take_the_place_of_what_is_absent() -> None:
    lines = describe(TOLD, steps=True, colour=False).splitlines()
    assert "|   `-- link  absent  https://example.com/  1.2 ms  status-404" in lines
    assert not any("looked for" in line for line in lines)


def test_colours() -> None:
    printed = describe(TOLD, steps=False, colour=True)
    assert printed.startswith("\x1b[1mexample.com\x1b[0m: \x1b[32mfound\x1b[0m\n")
    assert "\x1b[2mllms  https://example.com/llms.txt  status-404\x1b[0m" in printed
    assert "\x1b[31magent-card  " in printed and "\\x1b]0;owned" in printed


@pytest.mark.parametrize("name", [None, *TOLD])
@pytest.mark.parametrize("value", [None, [], {}, [None], [[]], {"records": 5}, "text", 7, float("nan")], ids=repr)
def test_any_answer(name: str | None, value: Any) -> None:
    """Later versions tell more, and others something else: what is there is shown."""
    told = {} if name is None else {**TOLD, name: value}
    assert describe(told, steps=True, colour=False)
    assert describe({"outcome": "later"}, steps=False, colour=False).startswith("?: later\n")
