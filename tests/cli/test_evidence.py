"""`evidence` against the pages of the admin port, and against ports that answer anything else."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from proxy.boundary.conflicts import Cause, Conflict, Settlement
from proxy.boundary.telling import BadSelection, parse_selection, told
from proxy.capability.resolution import Code, Rule
from proxy.cli import evidence as command
from proxy.cli import main
from proxy.cli.evidence import describe
from proxy.engine.boundary.control import AlreadyReleased, BoundaryControl
from proxy.engine.boundary.reading import read_page
from proxy.stores.memoryboundary import MemoryBoundary

START = 1_800_000_000.0
URL = "https://api.example.com/v1/orders"


def conflict(number: int, client: str = "alice", url: str = URL) -> Conflict:
    return Conflict(
        id=f"{number:032x}",
        intent=f"{number:064x}",
        client=client,
        method="POST",
        url=url,
        cause=Cause.PROXY,
        rule=Rule.D10,
        reason="missing_auth",
        code=Code.HUMAN_REVIEW_REQUIRED,
        review_url="https://api.example.com/review",
        observed_at=START + number / 4,
        envelope={"profile": "uai.agent.blocker.v1"},
    )


HELD, OTHER = conflict(1), conflict(2, "2001:db8::1")
RELEASED = conflict(3).released(Settlement.PERSON, START + 60)
ALL = (HELD, OTHER, RELEASED)
ID = HELD.id


@dataclass
class Port:
    """An admin port in a thread: its pages on the boundary, or what is scripted for everything."""

    records: MemoryBoundary = field(default_factory=MemoryBoundary)
    scripted: tuple[int, object] | None = None
    asked: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, method: str, path: str, query: str) -> tuple[int, bytes]:
        if self.scripted is not None:
            status, body = self.scripted
            return status, body if isinstance(body, bytes) else json.dumps(body).encode()
        if method == "GET":
            try:
                return 200, asyncio.run(read_page(self.records, parse_selection(query))).listed
            except BadSelection as error:
                return 400, json.dumps({"detail": error.detail}).encode()
        wanted = path.split("/")[3]
        try:
            one = asyncio.run(BoundaryControl(self.records, lambda: START).release(wanted))
        except AlreadyReleased:
            return 409, b'{"detail": "The conflict is released already."}'
        if one is None:
            return 404, json.dumps({"id": wanted, "detail": "No conflict is on record under this id."}).encode()
        return 200, json.dumps({"released": told(one)}).encode()


@contextmanager
def listening(*conflicts: Conflict, scripted: tuple[int, object] | None = None) -> Iterator[Port]:
    port = Port(scripted=scripted)
    for one in conflicts:
        asyncio.run(port.records.put(one))

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            port.asked.append(f"{self.command} {self.path}")
            port.tokens.append(self.headers.get("Authorization"))
            path, _, query = self.path.partition("?")
            status, body = port.answer(self.command, path, query)
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


@dataclass(frozen=True)
class Shell:
    capsys: pytest.CaptureFixture[str]

    def run(self, *argv: str) -> Ran:
        self.capsys.readouterr()
        code = main(["evidence", *argv])
        printed = self.capsys.readouterr()
        return Ran(code, printed.out, printed.err)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_the_table(shell: Shell) -> None:
    with listening(*ALL) as port:
        ran = shell.run("--via", port.url)
    assert (ran.code, ran.err) == (0, "")
    assert port.asked == ["GET /admin/boundary?limit=1000"]
    assert ran.out.splitlines() == [
        f"when                  client       what{'':34}  code                   why           state     id",
        f"2027-01-15T08:00:00Z  alice        POST {URL}  human_review_required  missing_auth  held      {1:032x}",
        f"2027-01-15T08:00:00Z  2001:db8::1  POST {URL}  human_review_required  missing_auth  held      {2:032x}",
        f"2027-01-15T08:00:00Z  alice        POST {URL}  human_review_required  missing_auth  released  {3:032x}",
        "",
        "To let a held one pass once a person agrees: discovery-proxy evidence release ID",
    ]


def test_a_long_url_stays_whole_and_pushes_nothing_away() -> None:
    long = f"https://api.example.com/{'a' * 200}"
    head, one, other = describe([told(conflict(1, url=long)), told(HELD)], colour=False).splitlines()
    assert f"POST {long}  human_review_required" in one
    assert head.index("code") == other.index("human_review_required") < 90


def test_columns_that_are_long_in_every_row() -> None:
    long = f"https://api.example.com/{'a' * 200}"
    head, one = describe([told(conflict(1, url=long))], colour=False).splitlines()
    assert f"POST {long}  human_review_required" in one and "what  code" in head


@pytest.mark.parametrize(
    "row",
    [{}, {"client": None, "url": 7, "state": ["x"]}, {"observed_at": "soon", "state": "lost", "id": "\x1b[2J"}],
    ids=repr,
)
def test_rows_of_anything(row: dict[str, object]) -> None:
    printed = describe([row], colour=True)
    assert "\x1b[2J" not in printed and "?" in printed


def test_colours() -> None:
    head, held, _, released = describe(list(map(told, ALL)), colour=True).splitlines()
    assert head.startswith("\x1b[1mwhen") and head.endswith("id\x1b[0m")
    assert "\x1b[33mheld\x1b[0m    " in held and "\x1b[32mreleased\x1b[0m" in released
    assert re_plain("\n".join((head, held, released))) == "\n".join(
        line for index, line in enumerate(describe(list(map(told, ALL)), colour=False).splitlines()) if index != 2
    )


def re_plain(text: str) -> str:
    for style in ("1", "33", "32", "0"):
        text = text.replace(f"\x1b[{style}m", "")
    return text


def test_colours_at_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with listening(HELD) as port:
        assert "\x1b[33mheld\x1b[0m" in shell.run("--via", port.url).out


NARROWED: dict[str, tuple[list[str], list[Conflict]]] = {
    "everything": ([], [*ALL]),
    "a client": (["--client", "2001:db8::1"], [OTHER]),
    "held": (["--state", "held"], [HELD, OTHER]),
    "released of a client": (["--state", "released", "--client", "alice"], [RELEASED]),
}


@pytest.mark.parametrize(("argv", "expected"), NARROWED.values(), ids=NARROWED)
def test_every_form_tells_the_same(argv: list[str], expected: list[Conflict], shell: Shell) -> None:
    with listening(*ALL) as port:
        as_json = shell.run(*argv, "--json", "--via", port.url)
        as_lines = shell.run(*argv, "--jsonl", "--via", port.url)
        as_table = shell.run(*argv, "--via", port.url)
    assert (as_json.code, as_lines.code, as_table.code) == (0, 0, 0)
    rows = [told(one) for one in expected]
    assert json.loads(as_json.out) == {"evidence": rows}
    assert [json.loads(line) for line in as_lines.out.splitlines()] == rows
    assert as_table.out.startswith(describe([*rows], colour=False))


NONE = {
    "at all": ([], (), "no evidence: nothing was held back\n"),
    "of a client": (["--client", "carol"], ALL, "no evidence of carol: nothing was held back\n"),
    "in a state": (["--state", "released"], (HELD,), "no evidence that is released: nothing was held back\n"),
    "of both": (
        ["--client", "c", "--state", "held"],
        ALL,
        "no evidence of c that is held: nothing was held back\n",
    ),
}


@pytest.mark.parametrize(("argv", "conflicts", "printed"), NONE.values(), ids=NONE)
def test_nothing(argv: list[str], conflicts: tuple[Conflict, ...], printed: str, shell: Shell) -> None:
    with listening(*conflicts) as port:
        assert shell.run(*argv, "--via", port.url) == Ran(1, printed, "")
        ran = shell.run(*argv, "--json", "--via", port.url)
        assert (ran.code, json.loads(ran.out)) == (1, {"evidence": []})
        assert shell.run(*argv, "--jsonl", "--via", port.url) == Ran(1, "", "")


def test_people_are_shown_the_first_ones(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MOST_SHOWN", 2)
    with listening(*ALL) as port:
        ran = shell.run("--via", port.url)
        assert ran.out.count("human_review_required") == 2 and "\n\nThese are the first " in ran.out
        assert len(json.loads(shell.run("--json", "--via", port.url).out)["evidence"]) == 3
        monkeypatch.setattr(command, "MOST_SHOWN", 3)
        assert "These are the first" not in shell.run("--via", port.url).out


@pytest.mark.parametrize("form", ["--json", "--jsonl"])
def test_pages_are_followed(form: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "HIGHEST_LIMIT", 2)
    many = [conflict(number, "a b") for number in range(1, 24)]
    with listening(*many) as port:
        ran = shell.run("--client", "a b", "--state", "held", form, "--via", port.url)
    rows = json.loads(ran.out)["evidence"] if form == "--json" else list(map(json.loads, ran.out.splitlines()))
    assert rows == [told(one) for one in many]
    assert port.asked[0] == "GET /admin/boundary?client=a+b&state=held&limit=2"
    assert port.asked[-1] == "GET /admin/boundary?client=a+b&state=held&limit=2&cursor=22" and len(port.asked) == 12


@pytest.mark.parametrize(
    "following", ["", 7, "0", ["x"], "-1", "9" * 5000, "x", "\u0663"], ids=lambda one: str(one)[:9]
)
def test_a_cursor_that_leads_nowhere(following: object, shell: Shell) -> None:
    with listening(scripted=(200, {"evidence": [], "next": following})) as port:
        assert shell.run("--via", port.url).code == 1
    assert len(port.asked) == 1


def test_a_cursor_that_leads_round(shell: Shell) -> None:
    with listening(scripted=(200, {"evidence": [told(HELD)], "next": "7"})) as port:
        assert shell.run("--via", port.url).code == 0
    assert len(port.asked) == 2


def test_release(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__TOKEN", "correct-horse")
    with listening(*ALL) as port:
        ran = shell.run("release", ID.upper(), "--via", port.url)
        assert ran == Ran(0, f"released: alice may POST {URL}\n", "")
        listed = json.loads(shell.run("--state", "released", "--json", "--via", port.url).out)
    assert port.asked[0] == f"POST /admin/boundary/{ID}/release" and port.tokens[0] == "Bearer correct-horse"
    assert {row["id"] for row in listed["evidence"]} == {ID, RELEASED.id}


def argv_of(text: str, url: str) -> list[str]:
    return [url if word == "URL" else ID if word == "ID" else word for word in text.split()]


@pytest.mark.parametrize(
    "argv",
    [
        "release ID --json --via URL",
        "release --json ID --via URL",
        "release --via URL --json ID",
        "--via URL release ID --json",
        "--json --via URL release ID",
        "--via http://127.0.0.1:9 --json release ID --via URL",
    ],
)
def test_flags_stand_where_they_like(argv: str, shell: Shell) -> None:
    with listening(*ALL) as port:
        ran = shell.run(*argv_of(argv, port.url))
    assert ran.code == 0, ran
    answer: Any = json.loads(ran.out)
    assert answer["released"]["id"] == ID and answer["released"]["released_by"] == "person"


UNUSABLE: dict[str, tuple[str, str]] = {
    "no id": ("release alice", "ID: the id of a conflict, 32 hexadecimal digits, as `discovery-proxy evidence`"),
    "a URL": (f"release {URL}", "ID: the id of a conflict"),
    "an empty id": ("release ", "ID: the id"),
    "a client of one": ("--client alice release ID", "--client, --state and --jsonl are for the list"),
    "a state of one": ("--state held release ID", "leave them out where one is released"),
    "lines of one": ("--jsonl release ID", "are for the list"),
    "no port": ("--via localhost:9090", "--via: The target is no absolute http or https URI. Give it as"),
    "no port to release at": ("release ID --via http://localhost/?a", "--via: The URL of a port has no query."),
    "no token": ("--token-file nowhere", "--token-file nowhere: No such file"),
    "no configuration": ("release ID --config nowhere.yaml", "nowhere.yaml: cannot be read"),
}


@pytest.mark.parametrize(("argv", "problem"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used(argv: str, problem: str, shell: Shell) -> None:
    words = [*argv_of(argv, ""), *([""] if argv.endswith(" ") else [])]
    ran = shell.run(*words)
    assert (ran.code, ran.out) == (2, "") and problem in ran.err


@pytest.mark.parametrize(
    "argv",
    ["--json --jsonl", "--state moved", "release", "release ID ID", "withdraw ID", "ID", "release ID --state held"],
)
def test_malformed_usage(argv: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["evidence", *argv_of(argv, "")])
    assert leaving.value.code == 2 and capsys.readouterr().err.startswith("usage: discovery-proxy")


@pytest.mark.parametrize(
    ("argv", "example"), [([], "evidence --state held"), (["release"], "evidence release 0123")]
)
def test_help_has_an_example(argv: list[str], example: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evidence", *argv, "--help"])
    assert f"example:\n  discovery-proxy {example}" in capsys.readouterr().out


READ: dict[str, tuple[str, int, object, int, str]] = {
    "the data port": ("", 404, {"detail": "No such page"}, 2, "has no admin API; is this the data port?"),
    "a site that has everything": ("", 200, b"<html>", 3, "answered 200, not as an admin port"),
    "another answer": ("", 200, {"records": []}, 3, "lists no evidence; is it a proxy of this version?"),
    "no list": ("", 200, {"evidence": {}}, 3, "lists no evidence"),
    "no token": ("", 401, {}, 2, "give the admin token"),
    "a refusal": ("", 400, {"detail": "state: \x1b[2J"}, 2, "refused: state: \\x1b[2J"),
    "records that are away": ("", 503, {"detail": "Ask again."}, 3, "failed: Ask again."),
    "release, the data port": ("release ID", 404, {"detail": "No"}, 2, "has no admin API; is this the data port?"),
    "release, unknown": ("release ID", 404, {"id": ID, "detail": "No conflict."}, 2, "refused: No conflict."),
    "release, released": ("release ID", 409, {"detail": "Released already."}, 2, "refused: Released already."),
    "release, away": ("release ID", 503, {"detail": "Release it again."}, 3, "failed: Release it again."),
}


@pytest.mark.parametrize(("argv", "status", "body", "code", "printed"), READ.values(), ids=READ)
def test_what_a_port_may_answer(
    argv: str, status: int, body: object, code: int, printed: str, shell: Shell
) -> None:
    with listening(scripted=(status, body)) as port:
        ran = shell.run(*argv_of(argv, ""), "--via", port.url)
    assert (ran.code, ran.out) == (code, "") and printed in ran.err


def test_a_release_of_nobody_knows_what(shell: Shell) -> None:
    with listening(scripted=(200, {"released": []})) as port:
        assert shell.run("release", ID, "--via", port.url) == Ran(0, "released: ? may ? ?\n", "")


def test_a_list_of_anything(shell: Shell) -> None:
    with listening(scripted=(200, {"evidence": [None, 5, {}, {"id": None}, {"url": "a b\r\n"}]})) as port:
        ran = shell.run("--via", port.url)
    assert ran.code == 0 and len(ran.out.splitlines()) == 6


def test_nothing_listens(shell: Shell) -> None:
    with listening() as port:
        pass
    for argv in ([], ["release", ID]):
        ran = shell.run(*argv, "--via", port.url)
        assert (ran.code, ran.out) == (3, "") and f"nothing listens at {port.url}" in ran.err


def test_the_configured_port_is_asked(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(HELD) as port:
        monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", port.url.rpartition(":")[2])
        assert shell.run().code == 0 and shell.run("release", ID).code == 0
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", "0")
    ran = shell.run()
    assert ran.code == 2 and "admin.port is 0, so the port is not known: name it with --via" in ran.err
