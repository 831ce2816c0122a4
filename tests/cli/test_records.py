"""`records` against the pages that a proxy answers with, and against ports that answer anything else."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from proxy.cli import main, recording
from proxy.cli.records import describe
from proxy.cli.remote import configured_data_url
from proxy.config import load
from proxy.engine.outcome import Complete
from proxy.http.fields import NO_FIELDS
from proxy.relocation.records import Observation, Proof, Record, State, record_id, told, told_with_history
from proxy.server.own import Asked
from proxy.server.recordpages import RecordPages
from proxy.stores.memoryledger import MemoryLedger

START = 1_800_000_000.0
URL = "https://example.com/.well-known/agent-card.json"
TARGET = "https://agents.example.com/card.json"
MOVED = Record(
    URL,
    State.MOVED,
    308,
    observed_at=START,
    checked_at=START + 3600,
    fresh_until=START + 90_000,
    due_at=START + 90_000,
    location=TARGET,
    target=TARGET,
    proof=Proof.SAME_SITE,
    history=(
        Observation(START, 308, State.PENDING, TARGET, "", START + 86_400),
        Observation(START + 1.5, 308, State.MOVED, TARGET, "", START + 86_400),
    ),
)
GONE_URL = "https://example.com:8443/mcp.json"
GONE = Record(
    GONE_URL,
    State.GONE,
    410,
    observed_at=START + 60,
    checked_at=START + 60,
    fresh_until=START + 86_460,
    due_at=START + 86_460,
    failures=3,
    successor="https://example.com/v2/mcp.json",
    history=(
        Observation(START - 200_000, 404, State.UNCONFIRMED, None, "Not found. That alone says nothing of why."),
        Observation(START - 1000, 308, State.PENDING, "https://elsewhere.example/", ""),
        Observation(START - 500, 200, None, None, "The origin has the document."),
        Observation(START + 60, 410, State.GONE, None, ""),
    ),
)
PENDING = replace(
    MOVED,
    url="https://other.example/a",
    state=State.PENDING,
    proof=Proof.NONE,
    history=(
        Observation(START, 308, State.PENDING, TARGET, "It leads to another domain, without proof that suffices."),
    ),
)


@dataclass
class Port:
    """A port in a thread: the pages of a ledger as a proxy answers them, or what is scripted for everything."""

    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    scripted: tuple[int, object] | None = None
    asked: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, query: str) -> tuple[int, bytes]:
        if self.scripted is not None:
            status, body = self.scripted
            return status, body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = asyncio.run(RecordPages(self.ledger, lambda: START).answer(Asked(path, query, NO_FIELDS)))
        if isinstance(answer, Complete):
            return answer.head.status, answer.body
        return answer.status, answer.body("1")


@contextmanager
def listening(*records: Record, scripted: tuple[int, object] | None = None) -> Iterator[Port]:
    port = Port(scripted=scripted)
    for record in records:
        asyncio.run(port.ledger.put(record))

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            port.asked.append(f"{self.command} {self.path}")
            port.tokens.append(self.headers.get("Authorization"))
            path, _, query = self.path.partition("?")
            status, body = port.answer(path, query)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

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


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def urls(self) -> set[str]:
        """Of the records in a JSON answer."""
        return {record["url"] for record in json.loads(self.out)["records"]}


@dataclass(frozen=True)
class Shell:
    capsys: pytest.CaptureFixture[str]

    def run(self, *argv: str) -> Ran:
        self.capsys.readouterr()
        code = main(["records", *argv])
        printed = self.capsys.readouterr()
        return Ran(code, printed.out, printed.err)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_state_and_history(shell: Shell) -> None:
    with listening(MOVED, GONE, PENDING) as port:
        ran = shell.run("example.com", "--via", port.url)
    assert (ran.code, ran.err) == (0, "")
    assert port.asked[0] == "GET /v1/records?host=example.com&limit=1000"
    blocks = ran.out.removesuffix("\n").split("\n\n")
    assert sorted(blocks) == sorted(describe(told_with_history(record), colour=False) for record in (MOVED, GONE))


def test_a_move() -> None:
    assert describe(told_with_history(MOVED), colour=False).splitlines() == [
        f"moved  {URL} -> {TARGET}",
        "  status          308",
        "  first observed  2027-01-15T08:00:00Z",
        "  last checked    2027-01-15T09:00:00Z",
        "  fresh until     2027-01-16T09:00:00Z",
        "  proof           same-site",
        f"  id              {record_id(URL)}",
        "  history",
        "    2027-01-15T08:00:00Z  308  pending",
        "    2027-01-15T08:00:01Z  308  moved",
    ]


def test_a_tombstone() -> None:
    assert describe(told_with_history(GONE), colour=False).splitlines() == [
        f"gone  {GONE_URL}",
        "  status          410",
        "  first observed  2027-01-15T08:01:00Z",
        "  last checked    2027-01-15T08:01:00Z",
        "  fresh until     2027-01-16T08:01:00Z",
        "  suggests        https://example.com/v2/mcp.json",
        "  failed checks   3 in a row",
        f"  id              {record_id(GONE_URL)}",
        "  history",
        "    2027-01-13T00:26:40Z  404  unconfirmed  Not found. That alone says nothing of why.",
        "    2027-01-15T07:43:20Z  308  pending      -> https://elsewhere.example/",
        "    2027-01-15T07:51:40Z  200  withdrawn    The origin has the document.",
        "    2027-01-15T08:01:00Z  410  gone",
    ]


def test_what_does_not_fit_a_line_goes_on_in_the_next() -> None:
    note = "It leads to another domain, without proof that suffices. " * 2
    far, near = f"https://example.com/{'a' * 80}", f"https://example.com/{'b' * 90}"
    seen = Observation(START, 308, State.MOVED, near, note.strip())
    record = replace(MOVED, url=far, target=near, location=TARGET, history=(seen,))
    lines = describe(told_with_history(record), colour=False).splitlines()
    assert lines[:2] == [f"moved  {far}", f"  -> {near}"]
    assert f"  origin names    {TARGET}" in lines
    assert all(len(line) <= 100 for line in lines if "https://" not in line)
    assert lines[-2].startswith("    2027-01-15T08:00:00Z  308  moved  It leads to another domain, without")
    assert lines[-1].startswith(" " * 38)
    assert " ".join(line[38:] for line in lines[-2:]) == note.strip()


def test_colours() -> None:
    for record, style in ((MOVED, "32"), (PENDING, "33"), (GONE, "31")):
        printed = describe(told_with_history(record), colour=True)
        assert printed.startswith(f"\x1b[{style}m{record.state}\x1b[0m  \x1b[1m{record.url}\x1b[0m")


WHOLE = told_with_history(MOVED)


@pytest.mark.parametrize("name", [None, *WHOLE])
@pytest.mark.parametrize("value", [None, [], {}, [None], [[]], {"note": 5}, "\x1b[2J", 7, float("nan")], ids=repr)
def test_any_answer(name: str | None, value: Any) -> None:
    """Later versions tell more, and others something else: what is there is shown, and steers no terminal."""
    printed = describe({} if name is None else {**WHOLE, name: value}, colour=False)
    assert printed and "\x1b" not in printed
    assert describe({**WHOLE, "evidence": {"note": value, "failures": value}}, colour=False)
    assert describe({**WHOLE, "history": [{"at": value, "note": value, "state": value}]}, colour=False)


def test_json(shell: Shell) -> None:
    with listening(MOVED, GONE, PENDING) as port:
        ran = shell.run("example.com", "--json", "--via", port.url)
        assert ran.code == 0
        records = {record["url"]: record for record in json.loads(ran.out)["records"]}
        assert records == {record.url: told_with_history(record) for record in (MOVED, GONE)}
        assert shell.run("--json", "--via", port.url).urls == {MOVED.url, GONE.url, PENDING.url}


SELECTED: dict[str, tuple[list[str], set[str]]] = {
    "a host, as people write it": (["Example.COM."], {URL, GONE_URL}),
    "a host and a state": (["example.com", "--state", "gone"], {GONE_URL}),
    "a state": (["--state", "pending"], {PENDING.url}),
    "an id": (["--id", record_id(URL)], {URL}),
    "an id in capitals": (["--id", record_id(URL).upper()], {URL}),
    "a URL": (["--url", URL], {URL}),
    "a URL in another form": (["--url", "HTTPS://EXAMPLE.com:443/%2Ewell-known/agent-c%61rd.json"], {URL}),
    "nothing": ([], {URL, GONE_URL, PENDING.url}),
}


@pytest.mark.parametrize(("argv", "expected"), SELECTED.values(), ids=SELECTED)
def test_what_is_selected(argv: list[str], expected: set[str], shell: Shell) -> None:
    with listening(MOVED, GONE, PENDING) as port:
        ran = shell.run(*argv, "--json", "--via", port.url)
        shown = shell.run(*argv, "--via", port.url)
    assert (ran.code, shown.code) == (0, 0) and ran.urls == expected
    assert sum(line.startswith("  first observed") for line in shown.out.splitlines()) == len(expected)


NONE = {
    "a host": (["never.example"], "no records of never.example\n"),
    "a host and a state": (["example.com", "--state", "gone"], "no records of example.com that are gone\n"),
    "a state": (["--state", "missing"], "no records that are missing\n"),
    "an id": (["--id", "0" * 64], "no records of this id\n"),
    "a URL": (["--url", "https://example.com/"], "no records of https://example.com/\n"),
    "a URL that is never recorded": (["--url", URL.replace("https", "http")], "no records of http://example.com/"),
}


@pytest.mark.parametrize(("argv", "told"), NONE.values(), ids=NONE)
def test_nothing_recorded(argv: list[str], told: str, shell: Shell) -> None:
    with listening(MOVED) as port:
        ran = shell.run(*argv, "--via", port.url)
        assert (ran.code, ran.err) == (1, "") and ran.out.startswith(told)
        ran = shell.run(*argv, "--json", "--via", port.url)
        assert (ran.code, json.loads(ran.out)) == (1, {"records": []})


def test_an_empty_ledger(shell: Shell) -> None:
    with listening() as port:
        assert shell.run("--via", port.url) == Ran(1, "no records\n", "")


def test_people_are_shown_the_first_ones(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_SHOWN", 2)
    many = [replace(GONE, url=f"https://example.com/{number}") for number in range(5)]
    with listening(*many) as port:
        ran = shell.run("example.com", "--via", port.url)
        assert len(port.asked) == 3, "the histories of those that are shown, and no others"
        assert ran.out.count("first observed") == 2 and "\n\nThese are the first " in ran.out
        assert len(shell.run("example.com", "--json", "--via", port.url).urls) == 5
        monkeypatch.setattr(recording, "MOST_SHOWN", 5)
        assert "These are the first" not in shell.run("example.com", "--via", port.url).out


def test_pages_are_followed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.remote._RECORDS_A_PAGE", "2")
    many = {f"https://example.com/{number}" for number in range(5)}
    with listening(*(replace(GONE, url=url) for url in many)) as port:
        assert shell.run("example.com", "--state", "gone", "--json", "--via", port.url).urls == many
    lists = [asked for asked in port.asked if "?" in asked]
    assert len(lists) == 3 and all("host=example.com&state=gone&limit=2" in asked for asked in lists)


@pytest.mark.parametrize("following", ["", 7, "0", ["x"]], ids=repr)
def test_a_cursor_that_leads_nowhere(following: object, shell: Shell) -> None:
    with listening(scripted=(200, {"records": [], "next": following, "history": []})) as port:
        assert shell.run("--via", port.url).code == 1
    assert len(port.asked) <= 2


def test_one_that_is_withdrawn_meanwhile(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MOVED) as port:
        monkeypatch.setattr(port.ledger, "by_id", lambda _: None)
        assert shell.run("example.com", "--via", port.url) == Ran(1, "no records of example.com\n", "")


def test_confirm(shell: Shell) -> None:
    confirmed = told_with_history(MOVED)
    with listening(scripted=(200, confirmed)) as port:
        ran = shell.run("--confirm", record_id(URL).upper(), "--via", port.url)
        assert (ran.code, ran.out) == (0, describe(confirmed, colour=False) + "\n")
        assert json.loads(shell.run("--confirm", record_id(URL), "--json", "--via", port.url).out) == confirmed
    assert port.asked == [f"POST /admin/records/{record_id(URL)}/confirm"] * 2


def test_withdraw(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__TOKEN", "correct-horse")
    withdrawn = {"withdrawn": told(GONE)}
    with listening(scripted=(200, withdrawn)) as port:
        ran = shell.run("--withdraw", record_id(GONE_URL), "--via", port.url)
        assert (ran.code, ran.out) == (0, f"withdrawn: {GONE_URL}\n")
        assert (
            json.loads(shell.run("--withdraw", record_id(GONE_URL), "--json", "--via", port.url).out) == withdrawn
        )
    assert port.asked == [f"POST /admin/records/{record_id(GONE_URL)}/withdraw"] * 2
    assert port.tokens == ["Bearer correct-horse"] * 2


ID = record_id(URL)
UNUSABLE = {
    "a host with a port": (["example.com:443"], "HOST: a host without a port, such as example.com"),
    "a URL for a host": ([URL], "for one URL give --url"),
    "no URL": (["--url", "example.com/a"], "--url: The target is no absolute http or https URI."),
    "a URL with userinfo": (["--url", "https://u:hush@example.com/"], "--url: The authority has userinfo"),
    "no id": (["--id", "1"], "--id: the id of a record, 64 hexadecimal digits"),
    "confirm a host": (["--confirm", "example.com"], "--confirm: the id of a record"),
    "withdraw a URL": (["--withdraw", URL], "--withdraw: the id of a record"),
    "a state of one": (["--id", ID, "--state", "gone"], "--state narrows a list"),
    "a state of a URL": (["--url", URL, "--state", "gone"], "--state narrows a list"),
    "confirm a state": (["--confirm", ID, "--state", "pending"], "--state narrows a list"),
    "data port": (
        ["--via", "localhost:8080"],
        "--via: The target is no absolute http or https URI. Give it as",
    ),
    "no data port": (["--via", ""], "--via: "),
    "admin port": (["--confirm", ID, "--via", "http://localhost/?a"], "--via: The URL of a port has no query."),
    "no token": (["--withdraw", ID, "--token-file", "nowhere"], "--token-file nowhere: No such file"),
    "no configuration": (["--config", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
}


@pytest.mark.parametrize(("argv", "problem"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used(argv: list[str], problem: str, shell: Shell) -> None:
    ran = shell.run(*argv)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err and "hush" not in ran.err


@pytest.mark.parametrize(
    "argv",
    [
        ["example.com", "--id", ID],
        ["--id", ID, "--url", URL],
        ["--confirm", ID, "--withdraw", ID],
        ["--state", "x"],
    ],
    ids=" ".join,
)
def test_malformed_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["records", *argv])
    assert leaving.value.code == 2 and capsys.readouterr().err.startswith("usage: discovery-proxy records")


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["records", "--help"])
    assert "example:\n  discovery-proxy records example.com" in capsys.readouterr().out


PROBLEM = {"type": "about:blank", "detail": "Only a pending record can be confirmed."}
READ: dict[str, tuple[list[str], int, object, int, str]] = {
    "another port, list": (
        ["example.com"],
        404,
        {"detail": "No such page"},
        2,
        "has no records API; is this the adm",
    ),
    "another port, one": (
        ["--id", ID],
        404,
        {"detail": "No such page"},
        2,
        "has no records API; is this the admin",
    ),
    "a site": (["--id", ID], 404, b"<html>", 2, "has no records API; is this the admin port, or a site?"),
    "a site that has everything": (["example.com"], 200, b"<html>", 3, "answered 200, not as a data port"),
    "another answer": (["--id", ID], 200, {"id": ID}, 3, "answered 200, not as a data port"),
    "records that are no list": (["example.com"], 200, {"records": {}}, 3, "answered 200"),
    "too deep": (["example.com"], 200, b"[" * 100_000, 3, "answered 200"),
    "a ledger that is away": (["example.com"], 503, {"detail": "Ask again."}, 3, "failed: Ask again."),
    "a refusal": (["example.com"], 400, {"detail": "host: \x1b[2J"}, 2, "refused: host: \\x1b[2J"),
    "confirm, the data port": (
        ["--confirm", ID],
        404,
        {"detail": "No"},
        2,
        "has no admin API; is this the data port?",
    ),
    "confirm, unknown": (
        ["--confirm", ID],
        404,
        {"id": ID, "detail": "Nothing there."},
        2,
        "refused: Nothing there.",
    ),
    "confirm, not pending": (
        ["--confirm", ID],
        409,
        PROBLEM,
        2,
        "refused: Only a pending record can be confirmed.",
    ),
    "withdraw, no token": (["--withdraw", ID], 401, {}, 2, "give the admin token"),
    "withdraw, away": (["--withdraw", ID], 503, {"detail": "Cannot be used."}, 3, "failed: Cannot be used."),
}


@pytest.mark.parametrize(("argv", "status", "body", "code", "told"), READ.values(), ids=READ)
def test_what_a_port_may_answer(
    argv: list[str], status: int, body: object, code: int, told: str, shell: Shell
) -> None:
    with listening(scripted=(status, body)) as port:
        ran = shell.run(*argv, "--via", port.url)
    assert (ran.code, ran.out) == (code, "") and told in ran.err


def test_a_list_of_anything(shell: Shell) -> None:
    rows = [None, 5, {}, {"id": None}, {"id": "a b\r\n"}]
    with listening(scripted=(200, {"records": rows, "history": []})) as port:
        assert shell.run("--via", port.url).code in (0, 3)


def test_nothing_listens(shell: Shell) -> None:
    with listening() as port:
        pass
    for argv in (["example.com"], ["--id", ID], ["--confirm", ID]):
        ran = shell.run(*argv, "--via", port.url)
        assert (ran.code, ran.out) == (3, "") and f"nothing listens at {port.url}" in ran.err


def test_the_configured_port_is_asked(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(MOVED) as port:
        monkeypatch.setenv("DISCOVERY_PROXY_LISTEN__PORT", port.url.rpartition(":")[2])
        assert shell.run("example.com").code == 0
    monkeypatch.setenv("DISCOVERY_PROXY_LISTEN__PORT", "0")
    ran = shell.run("example.com")
    assert ran.code == 2 and "listen.port is 0, so the port is not known: name it with --via" in ran.err


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"listen.host": "::"}, "http://[::1]:8080"),
        ({"listen.port": 0}, None),
        ({"listen.tls.cert": "a.pem", "listen.tls.key": "a.key"}, "https://127.0.0.1:8080"),
    ],
    ids=["default", "every address", "any port", "TLS"],
)
def test_where_the_configured_data_port_is(flags: dict[str, object], url: str | None) -> None:
    assert configured_data_url(load(None, {}, flags)) == url


def test_colours_at_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with listening(MOVED) as port:
        assert "\x1b[32mmoved\x1b[0m" in shell.run("example.com", "--via", port.url).out
