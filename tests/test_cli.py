"""The command line: verbs, flags, exit codes, what goes to the admin port, and the report for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from proxy import __version__, server
from proxy.cli import main
from proxy.cli.remote import configured_admin_url
from proxy.cli.report import report
from proxy.config import Settings, load

URL = "https://example.com/x?a=1&b=2"


@pytest.fixture(autouse=True)
def no_configuration_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("DISCOVERY_PROXY_") or name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name)


@dataclass
class Remote:
    """A scripted admin port: answers everything with `status` and `body`, notes what it was asked."""

    status: int = 200
    body: bytes = b"{}"
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    url: str = ""


@contextmanager
def remote(status: int = 200, body: object = None) -> Iterator[Remote]:
    port = Remote(status, body if isinstance(body, bytes) else json.dumps(body or {}).encode())

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            port.asked.append((self.command, self.path, json.loads(content) if content else None))
            port.tokens.append(self.headers.get("Authorization"))
            self.send_response(port.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(port.body)

        do_GET = do_POST = handle_one

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as listener:
        port.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield port
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture
def free_port() -> int:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as listener:
        return listener.server_port


USAGE = {
    "no verb": [],
    "unknown verb": ["dig"],
    "unknown flag": ["serve", "--prot", "1"],
    "abbreviated flag": ["serve", "--conf", "x"],
    "explain nothing": ["explain"],
    "purge nothing": ["purge"],
    "purge two": ["purge", URL, "--all"],
    "purge a host and a tag": ["purge", "--host", "a.example", "--tag", "b"],
    "refresh nothing": ["refresh"],
    "refresh a tag": ["refresh", "--tag", "a"],
}


@pytest.mark.parametrize("argv", USAGE.values(), ids=USAGE)
def test_malformed_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(argv)
    assert leaving.value.code == 2
    assert capsys.readouterr().err.startswith("usage: discovery-proxy")


VERBS = ["serve", "discover", "lint", "explain", "purge", "refresh", "records", "check-config", "demo"]


@pytest.mark.parametrize("argv", [["--help"], *([verb, "--help"] for verb in VERBS)], ids=["all", *VERBS])
def test_every_help_has_an_example(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(argv)
    help_text = capsys.readouterr().out
    assert leaving.value.code == 0
    assert "example:\n  discovery-proxy " in help_text
    assert all(f"\n    {verb}" in help_text for verb in VERBS) or argv != ["--help"]


def test_python_m_proxy() -> None:
    told = subprocess.run([sys.executable, "-m", "proxy", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"discovery-proxy {__version__}\n"


SERVE_FLAGS = {
    "--host 0.0.0.0": lambda settings: settings.listen.host == "0.0.0.0",
    "--port 8123": lambda settings: settings.listen.port == 8123,
    "--workers 1": lambda settings: settings.listen.workers == 1,
    "--admin-host ::1": lambda settings: settings.admin.host == "::1",
    "--admin-port 0": lambda settings: settings.admin.port == 0,
    "--log-level debug": lambda settings: settings.log.level == "debug",
    "--log-format text": lambda settings: settings.log.format == "text",
    "--config {file}": lambda settings: settings.log.level == "error",
    "--config {file} --log-level warning": lambda settings: settings.log.level == "warning",
}


@pytest.mark.parametrize("flags", SERVE_FLAGS)
def test_serve(flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("log: {level: error}\n")
    served: list[Settings] = []

    def run(settings: Settings, reload: Callable[[], Settings]) -> int:
        served.extend((settings, reload()))
        return 0

    monkeypatch.setattr(server, "run", run)
    assert main(["serve", *flags.format(file=file).split()]) == 0
    assert all(SERVE_FLAGS[flags](settings) for settings in served) and len(served) == 2


A_HOST = "a host such as example.com or example.com:8443"
BAD_CONFIGURATION = {
    "serve": (["serve", "--port", "high"], "flags: listen.port: given 'high'"),
    "no such file": (["check-config", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
    "explain": (["explain", URL, "--config", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
    "no URL": (["explain", "example.com/x"], "The target is no absolute http or https URI."),
    "URL with user": (["purge", "https://u:hush@example.com/"], "The authority has userinfo: leave it out."),
    "admin URL": (["purge", "--all", "--via", "localhost:9090"], "--via: The target is no absolute http or https"),
    "admin URL with query": (["purge", "--all", "--via", "http://localhost/?a"], "--via: The URL of a port"),
    "no token": (["refresh", URL, "--token-file", "nowhere"], "--token-file nowhere: No such file or directory"),
    "purge a URL for a host": (["purge", "--host", "https://example.com/"], f"--host: {A_HOST}"),
    "refresh a URL for a host": (["refresh", "--host", "https://example.com/"], f"--host: {A_HOST}"),
}


@pytest.mark.parametrize(("argv", "problem"), BAD_CONFIGURATION.values(), ids=BAD_CONFIGURATION)
def test_what_cannot_be_used(argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    told = capsys.readouterr()
    assert told.out == "" and "hush" not in told.err
    assert told.err.startswith("discovery-proxy: ") and problem in told.err


def test_check_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("listen: {port: 8181}\negress: {mode: open}\n")
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__TOKEN", "hush")
    assert main(["check-config", str(file)]) == 0
    told = capsys.readouterr()
    assert "port: 8181" in told.out and "hush" not in told.out
    assert told.err == "note: egress.mode is accepted but not in force in this version\n"
    assert main(["check-config"]) == 0
    assert "port: 8080" in capsys.readouterr().out


def test_every_problem_of_a_configuration_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("listen: {prot: 1}\nlog: {level: loud}\n")
    assert main(["check-config", str(file)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


PURGES = {
    "url": ([URL], {"url": URL, "soft": False}),
    "url, canonical": (["HTTPS://EXAMPLE.com:443"], {"url": "https://example.com/", "soft": False}),
    "host, soft": (["--host", "example.com", "--soft"], {"host": "example.com", "soft": True}),
    "tag": (["--tag", "blue"], {"tag": "blue", "soft": False}),
    "all": (["--all"], {"all": True, "soft": False}),
}


@pytest.mark.parametrize(("argv", "body"), PURGES.values(), ids=PURGES)
def test_purge(argv: list[str], body: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    with remote(body={"purged": 3}) as port:
        assert main(["purge", *argv, "--via", f"{port.url}/"]) == 0
    assert port.asked == [("POST", "/admin/purge", body)]
    assert capsys.readouterr().out == ("marked stale: 3\n" if body["soft"] else "purged: 3\n")


@pytest.mark.parametrize("body", [{"url": URL}, {"host": "example.com"}])
def test_refresh(body: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    argv = [body["url"]] if "url" in body else ["--host", body["host"]]
    with remote(body={"refreshing": 2}) as port:
        assert main(["refresh", *argv, "--via", port.url]) == 0
    assert port.asked == [("POST", "/admin/refresh", body)]
    assert capsys.readouterr().out == "refreshing: 2\n"


ANSWERS = {
    "unauthorized": (401, {"detail": "Send it."}, 2, "give the admin token: --token-file or DISCOVERY_PROXY_"),
    "unauthorized, no object": (401, b"", 2, "refused: give the admin token"),
    "another port": (404, {"detail": "To reach an origin write"}, 2, "has no admin API; is this the data port?"),
    "bad request": (400, {"detail": "Exactly one."}, 2, "refused: Exactly one."),
    "bad request, unexplained": (400, {}, 2, "refused: 400"),
    "redirect": (308, {}, 2, "refused: 308"),
    "not durable": (503, {"detail": "Repeat it when the store is back."}, 3, "failed: Repeat it when the store"),
    "steers the terminal": (500, {"detail": "\x1b[2J"}, 3, "failed: \\x1b[2J"),
    "fault": (500, {}, 3, "answered 500"),
    "no JSON": (200, b"<html>", 3, "answered 200"),
    "no object": (200, b"[]", 3, "answered 200"),
    "too deep": (200, b"[" * 100_000, 3, "answered 200"),
}


@pytest.mark.parametrize(("status", "body", "code", "told"), ANSWERS.values(), ids=ANSWERS)
def test_what_the_admin_port_answers(
    status: int, body: object, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with remote(status, body) as port:
        assert main(["purge", "--all", "--via", port.url]) == code
    assert told in capsys.readouterr().err
    assert len(port.asked) == 1, "a redirect is not followed: the token would go with it"


def test_the_token_comes_from_a_file_or_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    with remote(body={"purged": 0}) as port:
        main(["purge", "--all", "--via", port.url])
        monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__TOKEN", "from-environment")
        main(["purge", "--all", "--via", port.url])
        main(["purge", "--all", "--via", port.url, "--token-file", str(file)])
    assert port.tokens == [None, "Bearer from-environment", "Bearer from-file"]


@pytest.mark.parametrize("content", ["", "\n", "a\nb", "\x00", "\u00e9"])
def test_a_token_file_that_holds_no_token(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "token"
    file.write_text(content, encoding="utf-8")
    assert main(["purge", "--all", "--token-file", str(file)]) == 2
    assert f"--token-file {file}: " in capsys.readouterr().err


ADMIN_URLS = {
    "default": ({}, "http://127.0.0.1:9090"),
    "port": ({"admin.port": 9191}, "http://127.0.0.1:9191"),
    "IPv6": ({"admin.host": "::1"}, "http://[::1]:9090"),
    "every address": ({"admin.host": "0.0.0.0", "admin.token": "x"}, "http://127.0.0.1:9090"),
    "every IPv6 address": ({"admin.host": "::", "admin.token": "x"}, "http://[::1]:9090"),
    "any port": ({"admin.port": 0}, None),
}


@pytest.mark.parametrize(("flags", "url"), ADMIN_URLS.values(), ids=ADMIN_URLS)
def test_where_the_configured_admin_port_is(flags: dict[str, object], url: str | None) -> None:
    assert configured_admin_url(load(None, {}, flags)) == url


def test_an_admin_port_that_is_not_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", "0")
    assert main(["purge", "--all"]) == 2
    assert "--via" in capsys.readouterr().err


def test_nothing_listens(
    free_port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", str(free_port))
    via = ["--via", f"http://127.0.0.1:{free_port}"]
    for argv in (["purge", "--all"], ["refresh", URL], ["explain", URL, *via]):
        assert main(argv) == 3, argv
        told = capsys.readouterr()
        assert f"nothing listens at http://127.0.0.1:{free_port}; is the proxy running?" in told.err
        assert told.out == ""


def test_a_connection_that_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    # A TLS client against a plain port: no HTTP answer ever comes.
    with remote() as port:
        assert main(["purge", "--all", "--via", port.url.replace("http:", "https:")]) == 3
    assert "discovery-proxy: https://127.0.0.1:" in capsys.readouterr().err


STORED = {"url": URL, "variants": [{"selected": True, "status": 200}]}
EXPLAINED = {"stored": (STORED, 0), "not stored": ({"url": URL, "variants": []}, 1)}


@pytest.mark.parametrize(("told", "code"), EXPLAINED.values(), ids=EXPLAINED)
def test_explain(told: dict[str, object], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with remote(body=told) as port:
        assert main(["explain", URL, "--via", port.url]) == code
        assert capsys.readouterr().out.startswith(f"{URL}\n")
        assert main(["explain", URL, "--via", port.url, "--json"]) == code
        assert json.loads(capsys.readouterr().out) == told
    asked = ("GET", "/admin/explain?url=https%3A%2F%2Fexample.com%2Fx%3Fa%3D1%26b%3D2", None)
    assert port.asked == [asked, asked]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("memory://", "store.url is memory://, which no other process can read"),
        ("sqlite:///var/a.db", "there is no store at var/a.db (store.url, relative to the working directory)"),
        ("sqlite:////nowhere/a.db", "there is no store at /nowhere/a.db (store.url)"),
    ],
    ids=["memory", "relative", "absolute"],
)
def test_explain_without_a_proxy_and_a_store(
    url: str,
    why: str,
    free_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", str(free_port))
    monkeypatch.setenv("DISCOVERY_PROXY_STORE__URL", url)
    assert main(["explain", URL]) == 3
    told = f"discovery-proxy: nothing listens at http://127.0.0.1:{free_port}, and {why}\n"
    assert capsys.readouterr() == ("", told)
    assert list(tmp_path.iterdir()) == []


def test_explain_without_a_proxy_from_what_is_no_store(
    free_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "a.db"
    database.write_bytes(b"not a database" * 1000)
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", str(free_port))
    monkeypatch.setenv("DISCOVERY_PROXY_STORE__URL", f"sqlite:///{database}")
    assert main(["explain", URL]) == 3
    assert f"and the store at {database} cannot be read (file is not a database)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_explain_without_a_running_proxy(
    free_port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", str(free_port))
    monkeypatch.setattr(server, "explain_offline", lambda settings, url: STORED | {"url": url})
    assert main(["explain", URL, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == STORED
    assert told.err.endswith("Read from its store instead.\n") and told.err.count("\n") == 1


COLOURS = {
    "terminal": (True, {"TERM": "xterm"}, True),
    "NO_COLOR": (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    "NO_COLOR, empty": (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
    "dumb terminal": (True, {"TERM": "dumb"}, False),
    "pipe": (False, {"TERM": "xterm"}, False),
}


@pytest.mark.parametrize(("terminal", "environ", "coloured"), COLOURS.values(), ids=COLOURS)
def test_colour(
    terminal: bool,
    environ: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    with remote(body=STORED) as port:
        main(["explain", URL, "--via", port.url])
    assert ("\x1b[" in capsys.readouterr().out) is coloured


def test_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    module = ModuleType("proxy.demo")

    def run(*, keep: bool) -> int:
        kept.append(keep)
        return 1

    module.main = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "proxy.demo", module)
    assert (main(["demo"]), main(["demo", "--keep"]), kept) == (1, 1, [False, True])


class Missing:
    """Stands in front of the import of the demo: a package that it needs is not there."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name == "proxy.demo":
            raise ModuleNotFoundError(name=self.package)


def test_demo_without_its_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "proxy.demo", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing("trustme"), *sys.meta_path])
    assert main(["demo"]) == 2
    assert "the demo needs trustme: pip install 'discovery-proxy[demo]'" in capsys.readouterr().err


def test_a_demo_that_is_broken_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "proxy.demo", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing("proxy.demo.origin"), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError):
        main(["demo"])


def test_an_interrupt_leaves_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "run", interrupt)
    assert main(["serve"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_leaves_early_gets_no_trace() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([sys.executable, "-m", "proxy", "check-config"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


FRESHNESS: dict[str, object] = {
    "lifetime_seconds": 3600.0,
    "lifetime_source": "max-age",
    "age_value": 0.0,
    "apparent_age": 0.12,
    "response_delay": 0.05,
    "corrected_initial_age": 0.12,
    "resident_time": 3559.0,
    "current_age": 3559.12,
    "fresh_until": "2026-01-01T01:00:00.000Z",
    "is_fresh": True,
    "stale_while_revalidate": 60.0,
    "stale_if_error": 86400.0,
    "forbids_stale": False,
    "must_validate": False,
    "stale_permit": "stale-if-error",
}
TOLD: dict[str, object] = {
    "url": URL,
    "key": URL,
    "class": "agent-card",
    "now": "2026-01-01T00:59:19.000Z",
    "decision": {"answer": "hit", "why": "fresh for another 41 s"},
    "variants": [
        {
            "selected": True,
            "status": 200,
            "vary": ["accept-language", "accept"],
            "selecting": {"accept-language": "de", "accept": None},
            "stored_at": "2026-01-01T00:00:00.000Z",
            "source": "origin",
            "body_bytes": 20480,
            "etag": '"a"',
            "last_modified": None,
            "tags": ["blue", "green"],
            "freshness": FRESHNESS,
            "purge": {"generation": 17, "standing": "valid"},
            "keep_until": "2026-01-02T00:00:00.000Z",
        },
        {"selected": False, "status": 200, "vary": ["accept"]},
    ],
    "flight": {"generation": 17},
    "hold_off": {"failures": 2, "until": "2026-01-01T01:00:05.000Z"},
    "store": "sqlite",
}


def test_the_whole_report() -> None:
    assert report(TOLD, colour=False).splitlines() == [
        URL,
        "  explained for a request without fields",
        f"  key             {URL}",
        "  class           agent-card",
        "  now             2026-01-01T00:59:19.000Z",
        "  store           sqlite",
        "  decision        hit: fresh for another 41 s",
        "  fill under way  generation: 17",
        "  held off        failures: 2, until: 2026-01-01T01:00:05.000Z",
        "",
        "variant 1 of 2, selected",
        "  status          200",
        "  source          origin",
        "  stored at       2026-01-01T00:00:00.000Z",
        "  body            20,480 bytes",
        "  vary            accept-language, accept (accept-language: de, accept: -)",
        '  etag            "a"',
        "  tags            blue, green",
        "  freshness       seconds, RFC 9111 section 4.2",
        "    apparent_age          = max(0, response_time in whole seconds - date_value) = 0.120",
        "    corrected_initial_age = max(apparent_age, age_value + response_delay) = max(0.120, 0 + 0.050) = 0.120",
        "    current_age           = corrected_initial_age + resident_time = 0.120 + 3559 = 3559.120",
        "    freshness_lifetime    = 3600 (max-age)",
        "    fresh for another 41 s, until 2026-01-01T01:00:00.000Z",
        "    servable while revalidating until 2026-01-01T01:01:00Z",
        "    servable while the origin fails until 2026-01-02T01:00:00Z",
        "  purge           valid (generation 17)",
        "  keep until      2026-01-02T00:00:00.000Z",
        "",
        "variant 2 of 2",
        "  status          200",
        "  vary            accept (nothing selected)",
    ]


# What differs from FRESHNESS, and the lines that then stand in the report.
STANDINGS: dict[str, tuple[dict[str, object], list[str]]] = {
    "stale": (
        {"is_fresh": False, "current_age": 3612.0},
        [
            "stale for 12 s, since 2026-01-01T01:00:00.000Z",
            "if the origin failed now, this would be served (stale-if-error)",
        ],
    ),
    "too stale": (
        {"is_fresh": False, "current_age": 3612.0, "stale_permit": "too-old"},
        ["if the origin failed now, this would not be served (too-old)"],
    ),
    "nearly stale": ({"current_age": 3599.6}, ["fresh for another 0.4 s"]),
    "just stale": ({"is_fresh": False, "current_age": 3609.94}, ["stale for 9.9 s"]),
    "not said whether fresh": ({"is_fresh": None, "current_age": 3600.0}, ["stale for 0.0 s"]),
    "forbidden": ({"forbids_stale": True}, ["never servable stale: it must be validated first"]),
    "to be validated": ({"must_validate": True}, ["never servable stale: it must be validated first"]),
    "no permit told": ({"stale_permit": None}, ["servable while the origin fails"]),
    "no windows": (
        {"stale_while_revalidate": 0.0, "stale_if_error": None},
        ["no stale-while-revalidate window", "no stale-if-error window"],
    ),
    "endless window": ({"stale_if_error": 1e300}, ["servable while the origin fails until further notice"]),
    "unknown age": ({"current_age": None}, ["freshness unknown"]),
    "truth for a number": ({"current_age": True}, ["freshness unknown"]),
    "no moment": ({"fresh_until": "soon"}, ["no stale-while-revalidate window"]),
}


@pytest.mark.parametrize(("differing", "lines"), STANDINGS.values(), ids=STANDINGS)
def test_what_is_said_of_freshness(differing: dict[str, object], lines: list[str]) -> None:
    told = report({"variants": [{"freshness": FRESHNESS | differing}]}, colour=False)
    assert [line for line in lines if f"    {line}" not in told] == [], told


MISSES = {
    "nothing stored": ([], "Nothing is stored for this URL. "),
    "nothing selected": ([{"selected": False}], "\n\n"),
    "a hit": ([{"selected": True}], None),
}


@pytest.mark.parametrize(("variants", "before"), MISSES.values(), ids=MISSES)
def test_where_a_miss_is_explained(variants: list[object], before: str | None) -> None:
    answer = "hit" if before is None else "miss"
    told = report({"decision": {"answer": answer}, "variants": variants}, colour=False)
    advice = "Why an answer was not stored is the detail of its Cache-Status."
    assert advice not in told if before is None else told.endswith(f"{before}{advice}"), told


MISSING = {
    "everything": {},
    "null": {"decision": None, "variants": None, "flight": None},
    "other types": {"decision": [1], "variants": [1, {"freshness": 3, "vary": 4, "selecting": []}], "url": 5},
    "from a later version": {"variants": [{"trust": {"state": "verified"}}], "relocation": {"state": "moved"}},
}


@pytest.mark.parametrize("told", MISSING.values(), ids=MISSING)
def test_members_that_are_not_there(told: dict[str, object]) -> None:
    assert "decision        unknown: no reason given" in report(told, colour=False)


def test_nothing_stored_steers_the_terminal() -> None:
    told = report(
        {"url": "\x1b]0;x\x07", "variants": [{"etag": '"\x1b[2J\u202e"', "tags": ["\x07"]}]}, colour=False
    )
    assert told.isascii() and told.replace("\n", "").isprintable()


def test_colours_only_wrap() -> None:
    coloured = report(TOLD, colour=True)
    assert "\x1b[32mhit\x1b[0m" in coloured
    assert "".join(part.partition("m")[2] if at else part for at, part in enumerate(coloured.split("\x1b["))) == (
        report(TOLD, colour=False)
    )
