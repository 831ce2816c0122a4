"""The demonstration as people run it, once from beginning to end; and that it cannot be talked into success."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proxy import demo
from proxy.cli.terminal import may_colour
from proxy.demo.agent import Answer
from proxy.demo.origin import LocalOrigin
from proxy.demo.screen import Screen
from proxy.demo.stage import Stage
from proxy.demo.steps import STEPS, Step, cold_fetch, only_if_cached

WIDTH = 100


@contextmanager
def running(directory: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """The demo in a process of its own, its temporary files in `directory`; surroundings it must not heed."""
    environ = os.environ | {"TMPDIR": str(directory), "DISCOVERY_PROXY_LISTEN__PORT": "1"}
    command = [sys.executable, "-m", "proxy", "demo", *flags]
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def lines_until(process: subprocess.Popen[str], last: str) -> list[str]:
    """What it writes up to the line that has `last` in it."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if last in line:
            return lines
    pytest.fail("\n".join(["it ended early:", *lines]))


def ports_in(text: str) -> set[int]:
    return {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", text)}


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_every_step_does_what_it_says(tmp_path: Path) -> None:
    with running(tmp_path, "--keep") as process:
        lines = lines_until(process, "/metrics")
        whole = "\n".join(lines)
        told = [line for line in lines if line.startswith("STEP")]
        titles = [(int(line[5:7]), line[9:31].rstrip()) for line in told]
        assert titles == [(number, step.title) for number, step in enumerate(STEPS, start=1)], whole
        assert all(re.search(r" \d+(\.\d)? ms$", line) and len(line) == WIDTH for line in told), whole
        assert f"{len(STEPS)} of {len(STEPS)} steps did what they say (" in whole, whole
        assert "\x1b" not in whole and "\r" not in whole
        ports = ports_in("\n".join(lines[:2]))
        assert len(ports) == 3 and ports_in(whole) == ports and all(map(is_listening, ports)), whole
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert not any(map(is_listening, ports)) and not [*tmp_path.iterdir()], "something is left behind"


ENDINGS = {"Ctrl-C": (signal.SIGINT, 130), "terminated": (signal.SIGTERM, 1), "hung up": (signal.SIGHUP, 1)}


@pytest.mark.parametrize(("number", "code"), ENDINGS.values(), ids=ENDINGS)
def test_ended_early_it_leaves_nothing_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with running(tmp_path) as process:
        ports = ports_in("\n".join(lines_until(process, "STEP  1")))
        assert all(map(is_listening, ports))
        process.send_signal(number)
        output, _ = process.communicate(timeout=10)
        assert (process.returncode, "Traceback" in output) == (code, False), output
    assert not any(map(is_listening, ports)) and not [*tmp_path.iterdir()]


async def _from_nowhere(stage: Stage) -> Answer:
    await stage.origin.kill()
    return await cold_fetch(stage)


async def _surprised(stage: Stage) -> Answer:
    raise KeyError("surprise")


def test_a_step_that_does_not_do_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = (Step("broken", "manifest", _from_nowhere), Step("odd", "-", _surprised))
    monkeypatch.setattr(demo, "STEPS", (*broken, Step("good", "did.json", only_if_cached)))
    assert demo.main(keep=False) == 1
    told = capsys.readouterr().out
    _, one, two, three = re.split("^STEP", told, flags=re.MULTILINE)
    assert re.match(r"  1  broken +manifest +proxy 504 .* ms\n +expected  200 with the manifest", one), told
    assert "came      504, cache-status: discovery-proxy; fwd=uri-miss; detail=origin-unreachable" in one
    assert re.match(r"  2  odd .* ms\n +expected  .*\n +came      KeyError: 'surprise'; the last answer", two), told
    assert re.match(r"  3  good .* ms\n\n1 of 3 steps did what they say", three), told


def _refusing(*_: object) -> None:
    raise OSError(98, "Address already in use")


def test_no_port_is_free(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(LocalOrigin, "start", _refusing)
    assert demo.main(keep=False) == 2
    told = capsys.readouterr()
    assert "cannot start: Address already in use\nIt needs free ports on 127.0.0.1" in told.err and not told.out


def test_the_proxy_does_not_come_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("listen: {prot: 1}\n")
    monkeypatch.setattr("proxy.demo.stage._written_config", lambda *_: config)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert demo.main(keep=False) == 2
    assert re.search(r"cannot start: the proxy did not come up\n.*listen\.prot", capsys.readouterr().err)
    assert [*tmp_path.iterdir()] == [config]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STATUSES = {
    "short": ("hit; ttl=-1", "hit; ttl=-1"),
    "stored": ("fwd=uri-miss; fwd-status=200; ttl=2; stored", "fwd=uri-miss; stored"),
    "stale": ("fwd=stale; ttl=-4; detail=stale-if-error", "detail=stale-if-error"),
    "revalidated": ("fwd=stale; fwd-status=304; ttl=2", "fwd=stale; ttl=2"),
    "none": ("", ""),
}


@pytest.mark.parametrize(("sent", "shown"), STATUSES.values(), ids=STATUSES)
def test_cache_status_in_its_column(sent: str, shown: str) -> None:
    fields = {"cache-status": f"other; hit, discovery-proxy; {sent}"} if sent else {}
    stream = io.StringIO()
    Screen(stream, colour=False).step(7, STEPS[0], Answer(200, fields, b"", 0.84), 1234.5)
    line = stream.getvalue().rstrip("\n")
    assert line[69:92] == f"{shown:<23}" and line.endswith("   1234 ms") and len(line) == WIDTH, line


def test_what_is_waited_for_shows_on_a_terminal_only() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        screen = Screen(stream, colour=False)
        screen.waiting("a moment")
        screen.line("done")
    assert (terminal.getvalue(), pipe.getvalue()) == ("\r\x1b[Ka moment\r\x1b[Kdone\n", "done\n")


COLOURS = {
    "terminal": (Terminal, {"TERM": "xterm"}, True),
    "NO_COLOR": (Terminal, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    "dumb terminal": (Terminal, {"TERM": "dumb"}, False),
    "pipe": (io.StringIO, {"TERM": "xterm"}, False),
}


@pytest.mark.parametrize(("stream", "environ", "coloured"), COLOURS.values(), ids=COLOURS)
def test_colour(
    stream: type[io.StringIO], environ: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    assert may_colour(stream()) is coloured


def test_titles_and_documents_fit_their_columns() -> None:
    assert [step for step in STEPS if len(step.title) > 22 or len(step.document) > 10] == []
