"""The demonstration as people run it, once from beginning to end; and that it cannot be talked into success."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import aiohttp
import pytest
import trustme

from proxy import demo
from proxy.cli.terminal import may_colour
from proxy.demo.agent import Answer
from proxy.demo.documents import CATCH_ALL, MANIFEST, ORDER
from proxy.demo.gateway import LocalGateway
from proxy.demo.loopback import LoopbackServer
from proxy.demo.origin import LocalOrigin
from proxy.demo.publisher import DID, Publisher, tampered
from proxy.demo.screen import Screen
from proxy.demo.stage import Stage
from proxy.demo.steps import STEPS, Step, cold_fetch, only_if_cached
from proxy.demo.switchboard import Switchboard
from proxy.failover.attempts import Attempt, AttemptOutcome
from proxy.trust.content.cid import cid_of
from proxy.trust.did.document import parse_did_document
from proxy.trust.manifests import Anchor, TrustRules, verify_manifest
from proxy.trust.reasons import Reason
from proxy.trust.rollback import Version, version_of
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.verdict import CopySource, Rejected, UnverifiedCopy, Verdict, VerifiedCopy

WIDTH = 100
NOW = 1_800_000_000.0


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
        lines = lines_until(process, "/start/origin")
        whole = "\n".join(lines)
        told = [line for line in lines if line.startswith("STEP")]
        titles = [(int(line[5:7]), line[9:31].rstrip()) for line in told]
        assert titles == [(number, step.title) for number, step in enumerate(STEPS, start=1)], whole
        assert all(re.search(r" \d+(\.\d)? ms$", line) and len(line) == WIDTH for line in told), whole
        assert f"{len(STEPS)} of {len(STEPS)} steps did what they say (" in whole, whole
        assert "\x1b" not in whole and "\r" not in whole
        steps = re.split("^STEP", "\n".join(lines[: lines.index("", 6)]), flags=re.MULTILINE)[1:]
        details = [tuple(detail.split()) for detail in steps[14].splitlines()[1:]]
        assert [detail[:1] + detail[2:] for detail in details] == DETAILS, whole
        assert all(len(line) <= WIDTH for step in steps for line in step.splitlines()), whole
        ports = ports_in("\n".join(lines[:4]))
        switches = ports_in(lines[-1])
        assert len(ports) == 7 and ports_in(whole) == ports | switches, whole
        assert all(map(is_listening, ports | switches)), whole
        kill_the_origin(lines[-2])
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert not any(map(is_listening, ports | switches)) and not [*tmp_path.iterdir()], "something is left behind"


# What is told of the places where the first copy was looked for, without their URLs.
DETAILS = [
    ("ipfs", "skipped", "mirror_invalid"),
    ("mirror", "refused", "signature_invalid"),
    ("mirror", "served"),
    ("Discovery-Trust:",),
]


def kill_the_origin(line: str) -> None:
    """As the line says that may be pasted."""
    url = line.split()[-1]
    with urlopen(Request(url, method="POST")) as response:
        assert response.read() == b"origin is dead\n"


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
    monkeypatch.setattr(demo, "STEPS", (*broken, Step("good", "openapi", only_if_cached)))
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


def test_a_long_cache_status_leaves_the_time_in_its_place() -> None:
    stream = io.StringIO()
    fields = {"cache-status": "discovery-proxy; fwd=uri-miss; detail=no-trusted-copy"}
    Screen(stream, colour=False).step(18, STEPS[0], Answer(504, fields, b"", 0.84), 123.4)
    line = stream.getvalue().rstrip("\n")
    assert line.endswith("  detail=no-trusted-copy 123.4 ms") and len(line) == WIDTH, line


def test_of_a_detail_that_does_not_fit_the_value_is_told() -> None:
    stream = io.StringIO()
    fields = {"cache-status": "discovery-proxy; detail=idempotent-replay"}
    Screen(stream, colour=False).step(32, STEPS[0], Answer(201, fields, b"", 0.84), 123.4)
    line = stream.getvalue().rstrip("\n")
    assert line.endswith(f"  {'idempotent-replay':<23}123.4 ms") and len(line) == WIDTH, line


REVIEW = "https://example.com/review"
NO_OPS = {
    "held": (403, "application/json", f'{{"code": "human_review_required", "url": "{REVIEW}"}}', True),
    "with a charset": (403, "application/json; charset=utf-8", f'{{"code": "rejected", "url": "{REVIEW}"}}', True),
    "rejected": (400, "application/json", f'{{"code": "rejected", "url": "{REVIEW}"}}', True),
    "more members": (403, "application/json", f'{{"code": "rejected", "url": "{REVIEW}", "a": 1}}', False),
    "another status": (200, "application/json", f'{{"code": "rejected", "url": "{REVIEW}"}}', False),
    "a page": (403, "text/html", "<p>No.</p>", False),
}


@pytest.mark.parametrize(("status", "media_type", "body", "is_told"), NO_OPS.values(), ids=NO_OPS)
def test_who_decides_of_what_was_not_done(status: int, media_type: str, body: str, is_told: bool) -> None:
    answer = Answer(status, {"content-type": media_type}, body.encode(), 0.84)
    told = {}
    for step in (Step("brief", "order", cold_fetch), Step("whole", "order", cold_fetch, details=True)):
        stream = io.StringIO()
        Screen(stream, colour=False).step(1, step, answer, 1.0)
        told[step.title] = [line.strip() for line in stream.getvalue().splitlines()[1:]]
    code = "human_review_required" if "human" in body else "rejected"
    assert told == {"brief": [], "whole": [f"{code}: {REVIEW}"] if is_told else []}


LONG = "https://mirror1.example.net/.well-known/uaix-agent-access.json"
ATTEMPTS = {
    "served": (
        Attempt(CopySource.MIRROR, "https://a.example/m", AttemptOutcome.SERVED, ""),
        f"mirror  {'https://a.example/m':<54}  served",
    ),
    "refused": (
        Attempt(CopySource.MIRROR, LONG, AttemptOutcome.REFUSED, "signature_invalid"),
        "mirror  https://mirror1.example.net/.../uaix-agent-access.json  refused  signature_invalid",
    ),
    "failed": (
        Attempt(CopySource.IPFS, "ipfs://bafy", AttemptOutcome.FAILED, "origin-unreachable"),
        f"ipfs    {'ipfs://bafy':<54}  failed   origin-unreachable",
    ),
}


@pytest.mark.parametrize(("attempt", "shown"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_where_a_copy_was_looked_for(attempt: Attempt, shown: str) -> None:
    fields = {"discovery-trust": 'verified;source=mirror;checked="2027-01-15T08:00:00Z"'}
    answer = Answer(200, fields, b"", 0.84, (attempt,))
    for step in (Step("brief", "manifest", cold_fetch), Step("whole", "manifest", cold_fetch, details=True)):
        stream = io.StringIO()
        Screen(stream, colour=False).step(1, step, answer, 1.0)
        below = [line.strip() for line in stream.getvalue().splitlines()[1:]]
        assert below == ([shown, "Discovery-Trust: verified;source=mirror"] if step.details else [])


SOURCES = {
    "from the origin": ("fwd=uri-miss; fwd-status=200; stored", "verified;source=origin", "origin"),
    "a hit": ("hit; ttl=2", "verified;source=origin", "cache"),
    "a mirror's copy": ("fwd=stale; ttl=300; detail=mirror", "verified;source=mirror", "mirror"),
    "by IPFS": ("fwd=uri-miss; ttl=300; detail=ipfs", "verified;source=ipfs", "ipfs"),
    "that copy again": ("hit; ttl=299; detail=mirror", "verified;source=mirror", "cache"),
    "its own": ("fwd=uri-miss; detail=discovery", None, "proxy"),
    "held back": ("detail=no-op-D2", None, "proxy"),
    "its own pages": ("detail=local", None, "proxy"),
    "passed through": ("fwd=method; fwd-status=200", None, "origin"),
    "a result again": ("detail=idempotent-replay", None, "cache"),
}


@pytest.mark.parametrize(("status", "trust", "source"), SOURCES.values(), ids=SOURCES)
def test_where_an_answer_came_from(status: str, trust: str | None, source: str) -> None:
    fields = {"cache-status": f"discovery-proxy; {status}"} | ({"discovery-trust": trust} if trust else {})
    answer = Answer(200, fields, b"", 1.0)
    assert (answer.source, answer.trust) == (source, None if trust is None else "verified")


def judged(publisher: Publisher, body: bytes, baseline: Version | None = None) -> Verdict:
    anchor = Anchor(parse_did_document(publisher.did_document.body, DID), NOW)
    copy = UnverifiedCopy(body, CopySource.MIRROR, LONG)
    return verify_manifest(copy, DID, "example.com", anchor, baseline, TrustRules(), NOW)


def test_what_is_published_is_of_one_version_and_verifies() -> None:
    publisher = Publisher(NOW)
    first, second = (publisher.publication(MANIFEST, sequence) for sequence in (1, 2))
    bodies = (first.manifest.body, first.mirrored.body, first.copy)
    baseline, *others = (version_of(parse_ijson(body), NOW) for body in bodies)
    assert others == [baseline, baseline]
    for body in (*bodies, second.manifest.body, second.copy):
        assert isinstance(judged(publisher, body, baseline), VerifiedCopy)
    assert [(cid_of(block).text, block) for _, block in first.blocks] == [(first.blocks[0][0].text, first.copy)]
    assert f'"ipfs://{first.blocks[0][0].text}"'.encode() in first.manifest.body
    assert b"ipfs://" not in first.copy


def test_what_is_tampered_with_does_not_verify() -> None:
    publisher = Publisher(NOW)
    changed = tampered(publisher.publication(MANIFEST, 1).mirrored)
    assert b"https://auth.example.net/" in changed.body
    verdict = judged(publisher, changed.body)
    assert isinstance(verdict, Rejected) and verdict.reason is Reason.SIGNATURE_INVALID


@asynccontextmanager
async def listening(server: LoopbackServer) -> AsyncIterator[str]:
    await server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.kill()


async def reply(method: str, url: str, tls: ssl.SSLContext | bool = True) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.request(method, url, ssl=tls) as response:
        return response.status, await response.read()


async def test_the_origin_does_what_it_takes_and_counts_it() -> None:
    authority = trustme.CA()
    tls = ssl.create_default_context()
    authority.configure_trust(tls)
    origin = LocalOrigin(("127.0.0.1",), authority, CATCH_ALL)
    async with listening(origin):
        url = f"https://127.0.0.1:{origin.port}{ORDER.path}"
        assert (await reply("POST", url, tls))[0] == 405
        origin.take(ORDER, REVIEW)
        held = await reply("POST", f"{url}?retry=1", tls)
        assert (held[0], json.loads(held[1])) == (403, {"code": "human_review_required", "url": REVIEW})
        origin.take(ORDER)
        done = [await reply("POST", url, tls) for _ in range(2)]
        assert done == [(201, b'{"order": 1}'), (201, b'{"order": 2}')]
        assert (await reply("GET", url, tls))[0] == 200
    assert [(one.method, one.path, one.status) for one in origin.seen] == [
        *(("POST", ORDER.path, status) for status in (405, 403, 201, 201)),
        ("GET", ORDER.path, 200),
    ]


async def test_the_gateway_has_blocks_and_nothing_else() -> None:
    gateway = LocalGateway()
    cid = cid_of(b"block")
    gateway.pin([(cid, b"block")])
    async with listening(gateway) as url:
        assert url == gateway.url
        assert await reply("GET", f"{url}/ipfs/{cid.text}?format=raw") == (200, b"block")
        assert (await reply("GET", f"{url}/ipfs/{cid.text}"))[0] == 406
        assert (await reply("GET", f"{url}/ipfs/other?format=raw"))[0] == 404


async def test_the_switchboard_kills_and_starts_again() -> None:
    gateway = LocalGateway()
    async with listening(gateway), listening(Switchboard({"gateway": gateway})) as url:
        port = gateway.port
        for verb, lives in (("kill", False), ("kill", False), ("start", True), ("start", True)):
            assert (await reply("POST", f"{url}/{verb}/gateway"))[0] == 200
            assert is_listening(port) is lives
        for wrong in ("GET /kill/gateway", "POST /kill/other", "POST /stop/gateway", "POST /"):
            method, path = wrong.split()
            status, told = await reply(method, url + path)
            assert status == 404 and b"the names are gateway" in told and is_listening(port)


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
