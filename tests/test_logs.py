"""Logs: the members of a line, what of a request may be told, batching, and that no secret gets through."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from proxy.engine.outcome import Outcome, Served
from proxy.http.targets import parse_target
from proxy.logs import AccessLog, Format, Level, configure, set_level
from proxy.logs.access import BACKLOG, BATCH
from proxy.logs.redaction import MASK, plain, quoted, scrubbed, unparsed_path

NOW = 1_700_000_000.25
NOW_TEXT = "2023-11-14T22:13:20.250Z"
TARGET = parse_target("https://example.com/a%20b?token=hush")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HIT = Outcome(Served.FRESH, 200, TARGET, "agent-card", "discovery-proxy; hit; ttl=41", 3, 41)


@pytest.fixture(autouse=True)
def kept_configuration() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("proxy")
    before = root.handlers[:], root.level, own.level
    # The test runner's own handlers must outlive a configuration that replaces what is there.
    root.handlers = []
    yield
    root.handlers, root.level, own.level = before
    own.setLevel(before[2])
    root.setLevel(before[1])


def access_lines(form: Format, *writes: tuple[Outcome, dict[str, object]]) -> list[str]:
    stream = io.StringIO()

    async def write_all() -> None:
        log = AccessLog(form, stream, lambda: NOW)
        for outcome, differing in writes:
            log.write(outcome, **(plain_request() | differing))  # type: ignore[arg-type]
        log.flush()

    logging.getLogger("proxy").setLevel(logging.INFO)
    asyncio.run(write_all())
    return stream.getvalue().splitlines()


def plain_request() -> dict[str, object]:
    return {
        "request_id": "r1",
        "method": "GET",
        "received": "/https/example.com/a%20b?token=hush",
        "form": "gateway",
        "seconds": 0.00125,
        "body_bytes": 2048,
    }


def told(outcome: Outcome, **differing: object) -> dict[str, object]:
    [line] = access_lines("json", (outcome, differing))
    members: dict[str, object] = json.loads(line)
    return members


def test_a_json_line_has_what_applies_and_nothing_else() -> None:
    assert told(HIT, traceparent=TRACE) == {
        "ts": NOW_TEXT,
        "level": "info",
        "msg": "request",
        "request_id": "r1",
        "traceparent": TRACE,
        "method": "GET",
        "host": "example.com",
        "path": "/a%20b",
        "secret": "token",
        "form": "gateway",
        "status": 200,
        "outcome": "fresh",
        "class": "agent-card",
        "cache_status": "discovery-proxy; hit; ttl=41",
        "age": 3,
        "ttl": 41,
        "total_ms": 1.25,
        "bytes": 2048,
    }


def test_upstream_time_and_detail() -> None:
    members = told(Outcome(Served.ERROR, 502, TARGET, upstream_seconds=0.5, detail="not-a-document"))
    assert (members["upstream_ms"], members["detail"]) == (500.0, "not-a-document")


def test_a_text_line_is_one_aligned_line() -> None:
    hit, error = access_lines(
        "text", (HIT, {}), (Outcome(Served.REVALIDATED, 504), {"method": "OPTIONS", "received": "/x"})
    )
    assert hit == (
        f"{NOW_TEXT} info    200 GET     fresh           1.250 ms      2048 B  example.com/a%20b"
        ' cache_status="discovery-proxy; hit; ttl=41" form=gateway request_id=r1'
    )
    assert error.index(" B  ") == hit.index(" B  ")


DETAILS = {
    "told by Cache-Status": ("discovery-proxy; fwd=miss; detail=no-store", "no-store", 1),
    "another": ("discovery-proxy; hit; detail=no-store-x", "no-store", 2),
    "no Cache-Status": (None, "client-gone", 1),
}


@pytest.mark.parametrize(("status", "detail", "count"), DETAILS.values(), ids=DETAILS)
def test_a_text_line_tells_a_detail_once(status: str | None, detail: str, count: int) -> None:
    [line] = access_lines("text", (Outcome(Served.MISS, 200, cache_status=status, detail=detail), {}))
    assert line.count(f"detail={detail}") == count, line


UNPARSED = {
    "own page": ("GET", "/v1/discover/example.com?level=hush", {"path": "/v1/discover/example.com"}),
    "userinfo": ("GET", "/https/user:hush@example.com/x", {"path": MASK}),
    "userinfo with a question mark": ("GET", "/https/user:hu?sh@example.com/x", {"path": MASK}),
    "userinfo, encoded": ("GET", "/https/user:hush%40example.com/x", {"path": MASK}),
    "userinfo, encoded twice": ("GET", "/https/user:hush%2540example.com/x", {"path": MASK}),
    "absolute form": ("GET", "http://user:hush@example.com/x", {"path": MASK}),
    "fragment": ("GET", "/x#hush", {"path": "/x"}),
    "encoded query": ("GET", "/https/example.com/%zz%3Ftoken=hush", {"path": "/https/example.com/%zz"}),
    "tunnel": ("CONNECT", "example.com:443", {"host": "example.com:443"}),
    "tunnel with userinfo": ("CONNECT", "user:hush@example.com:443", {"host": MASK}),
    "control characters": ("GET", "/a\x1b[31m\x7f\u00e9", {"path": "/a\\x1b[31m\\x7f\\xe9"}),
    "long": ("GET", "/" + "a" * 600, {"path": "/" + "a" * 511}),
}


@pytest.mark.parametrize(("method", "received", "expected"), UNPARSED.values(), ids=UNPARSED)
def test_a_target_that_is_none_of_ours(method: str, received: str, expected: dict[str, str]) -> None:
    members = told(Outcome(Served.ERROR, 400), method=method, received=received)
    assert {name: members[name] for name in ("host", "path") if name in members} == expected
    assert "hush" not in json.dumps(members)


PATHS = {
    "plain": ("/a/b", "/a/b"),
    "scope": ("/npm/@scope/name", "/npm/@scope/name"),
    "URL within": ("/http/u:hush@example.com/x", f"/http/{MASK}example.com/x"),
    "URL within, encoded": ("/https%3A%2F%2Fu%3Ahush%40example.com/x", f"/{MASK}example.com/x"),
    "slash in the password": ("/http/u:hu/sh@example.com/x", f"/http/{MASK}example.com/x"),
    "long": ("/" + "a" * 600, "/" + "a" * 511),
}


@pytest.mark.parametrize(("path", "expected"), PATHS.values(), ids=PATHS)
def test_the_path_of_a_target(path: str, expected: str) -> None:
    target = parse_target(f"https://example.com{path}")
    assert told(Outcome(Served.MISS, 200, target))["path"] == expected


@pytest.mark.parametrize("trace", ["", "Bearer hush", f"{TRACE}\n", TRACE.upper()])
def test_no_traceparent_but_a_well_formed_one(trace: str) -> None:
    assert "traceparent" not in told(HIT, traceparent=trace)


def test_words_of_a_client_are_cut_and_escaped() -> None:
    members = told(HIT, request_id="a\nb", method="X" * 200)
    assert (members["request_id"], members["method"]) == ("a\\x0ab", "X" * 64)


def test_no_secret_of_a_request_is_told() -> None:
    """Credentials in fields never get here; what the target holds is all that could leak."""
    target = parse_target("https://example.com/x?api_key=hush&password=hush")
    for form in ("json", "text"):
        lines = access_lines(form, (Outcome(Served.MISS, 200, target), {"received": "/?Cookie=hush"}))
        assert "hush" not in "".join(lines) and lines, form


class Watched(io.StringIO):
    """A stream that tells when it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = asyncio.Event()

    def flush(self) -> None:
        self.flushed.set()


async def test_lines_come_in_batches_a_little_later() -> None:
    stream = Watched()
    logging.getLogger("proxy").setLevel(logging.INFO)
    log = AccessLog("json", stream, lambda: NOW)
    counts = []
    for burst in (BATCH + 1, 1):
        for _ in range(burst):
            log.write(HIT, **plain_request())  # type: ignore[arg-type]
        assert not stream.flushed.is_set()
        async with asyncio.timeout(5):
            await stream.flushed.wait()
        counts.append(stream.getvalue().count("\n"))
        stream.flushed.clear()
    log.flush()
    assert counts == [BATCH, BATCH + 2] and stream.getvalue().count("\n") == BATCH + 2


async def test_the_backlog_is_bounded() -> None:
    stream = io.StringIO()
    logging.getLogger("proxy").setLevel(logging.INFO)
    log = AccessLog("json", stream, lambda: NOW)
    for _ in range(BACKLOG + 3 * BATCH):
        log.write(HIT, **plain_request())  # type: ignore[arg-type]
    waiting = BACKLOG + 3 * BATCH - stream.getvalue().count("\n")
    assert waiting < BACKLOG
    log.flush()


async def test_a_stream_that_is_gone_fails_no_request() -> None:
    stream = io.StringIO()
    logging.getLogger("proxy").setLevel(logging.INFO)
    log = AccessLog("json", stream, lambda: NOW)
    log.write(HIT, **plain_request())  # type: ignore[arg-type]
    stream.close()
    log.flush()
    configure("info", "json", stream)
    logging.getLogger("proxy.x").info("nobody reads this")


@pytest.mark.parametrize(("level", "heard"), [("debug", 1), ("info", 1), ("warning", 0), ("error", 0)])
def test_requests_are_told_at_info(level: Level, heard: int) -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    set_level(level)

    async def write() -> None:
        log = AccessLog("json", stream, lambda: NOW)
        log.write(HIT, **plain_request())  # type: ignore[arg-type]
        log.flush()

    asyncio.run(write())
    assert stream.getvalue().count("\n") == heard


# Level, logger, severity: is it heard?
HEARD = [
    ("info", "proxy.engine", logging.INFO, True),
    ("info", "proxy.engine", logging.DEBUG, False),
    ("debug", "proxy.engine", logging.DEBUG, True),
    ("error", "proxy.engine", logging.WARNING, False),
    ("debug", "aiohttp.server", logging.INFO, False),
    ("debug", "aiohttp.server", logging.WARNING, True),
    ("error", "aiohttp.server", logging.WARNING, False),
]


@pytest.mark.parametrize(("level", "name", "severity", "heard"), HEARD)
def test_who_is_heard(level: Level, name: str, severity: int, heard: bool) -> None:
    stream = io.StringIO()
    configure(level, "json", stream)
    logging.getLogger(name).log(severity, "said")
    assert bool(stream.getvalue()) is heard


def event(form: Format, level: Level, *, name: str = "proxy.x", error: Exception | None = None) -> str:
    stream = io.StringIO()
    configure(level, form, stream)
    extra = {"tier": "l2", "count": 3, "url": "http://u:hush@h/?q=hush", "ts": "forged"}
    logging.getLogger(name).error("a store\nfailed", exc_info=error, extra=extra)
    return stream.getvalue()


def raised() -> Exception:
    try:
        try:
            raise ValueError("Authorization: Bearer hush-0")
        except ValueError as error:
            raise OSError("cannot get https://u:hush@example.com/x?token=hush\nCookie: hush") from error
    except OSError as error:
        return error


def test_an_event() -> None:
    members = json.loads(event("json", "info"))
    moment = members.pop("ts")
    assert moment.endswith("Z") and len(moment) == len(NOW_TEXT)
    assert members == {
        "level": "error",
        "msg": "a store",
        "tier": "l2",
        "count": 3,
        "url": f"http://{MASK}@h/?{MASK}",
    }


def test_what_libraries_add_is_left_out() -> None:
    assert json.loads(event("json", "info", name="aiohttp.server")).keys() == {"ts", "level", "msg"}


def test_an_exception_is_told_in_one_line_and_its_frames_at_debug() -> None:
    brief = json.loads(event("json", "info", error=raised()))
    assert brief["error"] == "OSError"
    assert brief["reason"] == f"cannot get https://{MASK}@example.com/x?{MASK}"
    assert "traceback" not in brief
    [frame] = json.loads(event("json", "debug", error=raised()))["traceback"]
    assert frame.endswith(" raised") and "test_logs.py:" in frame


@pytest.mark.parametrize("level", ["info", "debug"])
@pytest.mark.parametrize("form", ["json", "text"])
def test_events_tell_no_secret_and_stay_on_one_line(form: Format, level: Level) -> None:
    line = event(form, level, error=raised())
    assert "hush" not in line
    assert line.count("\n") == 1 and line.endswith("\n")


def test_a_text_event() -> None:
    line = event("text", "info")
    assert line[len(NOW_TEXT) :] == f" error   a store tier=l2 count=3 url=http://{MASK}@h/?{MASK} ts=forged\n"


SCRUBBED = {
    "plain": ("store is slow", "store is slow"),
    "question": ("which one? this one", "which one? this one"),
    "query": ("GET /x?a=hush failed", f"GET /x?{MASK} failed"),
    "quoted": ("'http://h/?a=hush' failed", f"'http://h/?{MASK}' failed"),
    "basic": ("authorization: basic aHVzaA==", f"authorization: basic {MASK}"),
    "lines": ("first\nhush", "first"),
    "leading line": ("\n  first\nhush", "first"),
    "escape": ("a\x1b[0m\tb\u202e", "a\\x1b[0m\\x09b\\u202e"),
}


@pytest.mark.parametrize(("text", "expected"), SCRUBBED.values(), ids=SCRUBBED)
def test_scrubbing(text: str, expected: str) -> None:
    assert scrubbed(text) == expected


def test_cutting_counts_what_is_told() -> None:
    assert plain("\u00e9" * 10, 10) == "\\xe9\\xe9\\x"
    assert len(unparsed_path("/" + "\x00" * 600)) == 512


QUOTED = {
    "word": ("fresh", "fresh"),
    "number": (1.5, "1.5"),
    "spaces": ("a b", '"a b"'),
    "quotes": ('a="b"', '"a=\\"b\\""'),
    "nothing": ("", '""'),
}


@pytest.mark.parametrize(("value", "expected"), QUOTED.values(), ids=QUOTED)
def test_values_in_text(value: object, expected: str) -> None:
    assert quoted(value) == expected


def test_configuring_again_replaces() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure("info", "json", first)
    configure("info", "text", second)
    logging.getLogger("proxy").info("said")
    assert not first.getvalue() and "said" in second.getvalue()
    assert not sys.stdout.closed
