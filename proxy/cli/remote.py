"""A running proxy's two ports, asked over HTTP; no redirects, no proxies on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import quote, urlencode

from proxy.config import Settings
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.logs.redaction import plain

_TIMEOUT_SECONDS: Final = 30
_TOKEN_ADVICE: Final = "give the admin token: --token-file or DISCOVERY_PROXY_ADMIN__TOKEN"
_LONGEST_DETAIL: Final = 500
# RFC 9457; what an answer tells beside these is what it tells when there is no problem.
_OF_PROBLEMS: Final = frozenset({"type", "title", "status", "detail", "instance"})
_RECORDS_A_PAGE: Final = "1000"
_EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


class RemoteFailure(Exception):
    """The port gave no usable answer."""


class NothingListens(RemoteFailure):
    """Nobody accepts connections at `origin`."""

    def __init__(self, origin: str) -> None:
        super().__init__(f"nothing listens at {origin}; is the proxy running?")
        self.origin = origin


class RemoteRefusal(Exception):
    """The port would not do it: what was asked for, or the token, is wrong."""


@dataclass(frozen=True, slots=True)
class AdminPort:
    """Where to ask, and the token to show."""

    base: Target
    token: str | None = field(repr=False)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """The JSON object answered. Raises NothingListens, RemoteFailure, RemoteRefusal."""
        headers = {"Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else json.dumps(body)
        status, answer = _exchange(self.base, _TIMEOUT_SECONDS, method, path, content, headers)
        if answer is not None and 200 <= status < 300:
            return answer
        if status == 401:
            raise RemoteRefusal(f"{self.base.origin} refused: {_TOKEN_ADVICE}")
        # A problem that names a record is told by a port that knows of records.
        if status == 404 and "id" not in (answer or {}):
            raise RemoteRefusal(f"{self.base.origin} has no admin API; is this the data port?")
        raise _failure(self.base, "an admin port", status, answer)


@dataclass(frozen=True, slots=True)
class DataPort:
    """A running proxy as its clients reach it; an answer is waited for `patience` seconds."""

    base: Target
    patience: float

    def discover(self, domain: str, claim: Mapping[str, str]) -> dict[str, object]:
        """What `/v1/discover` tells of a domain for a client's claim, whatever the outcome.

        Raises NothingListens, RemoteFailure, RemoteRefusal.
        """
        path = f"/v1/discover/{quote(domain, safe='')}{'?' if claim else ''}{urlencode(claim)}"
        status, answer = self._read(path)
        if answer is not None and isinstance(answer.get("outcome"), str):
            return {name: value for name, value in answer.items() if name not in _OF_PROBLEMS}
        raise self._failed("discovery", status, answer)

    def records(self, asked: Mapping[str, str]) -> Iterator[dict[str, object]]:
        """What `/v1/records` lists for these parameters, without histories; each page when it is needed.

        Raises NothingListens, RemoteFailure, RemoteRefusal.
        """
        query, cursor = {**asked, "limit": _RECORDS_A_PAGE}, ""
        while True:
            status, answer = self._read(f"/v1/records?{urlencode(query)}")
            rows = (answer or {}).get("records")
            if answer is None or not isinstance(rows, list):
                raise self._failed("records", status, answer)
            yield from (row for row in rows if isinstance(row, dict))
            following = answer.get("next")
            # One that does not lead on would be followed for ever.
            if not isinstance(following, str) or following <= cursor:
                return
            query["cursor"] = cursor = following

    def record(self, record_id: str) -> dict[str, object] | None:
        """What `/v1/records/{id}` tells, None where nothing is recorded. Raises as `records` does."""
        status, answer = self._read(f"/v1/records/{record_id}")
        if answer is not None and isinstance(answer.get("history"), list):
            return answer
        if status == 404 and answer is not None and "id" in answer:
            return None
        raise self._failed("records", status, answer)

    def _read(self, path: str) -> tuple[int, dict[str, object] | None]:
        return _exchange(self.base, self.patience, "GET", path, None, {"Accept": "application/json"})

    def _failed(self, what: str, status: int, answer: Mapping[str, object] | None) -> RemoteFailure | RemoteRefusal:
        if status == 404:
            return RemoteRefusal(f"{self.base.origin} has no {what} API; is this the admin port, or a site?")
        return _failure(self.base, "a data port", status, answer)


def _exchange(
    base: Target, patience: float, method: str, path: str, body: str | None, headers: Mapping[str, str]
) -> tuple[int, dict[str, object] | None]:
    """Status and JSON object of an answer, None where it is none. Raises NothingListens, RemoteFailure."""
    kind = HTTPSConnection if base.scheme == "https" else HTTPConnection
    connection = kind(base.host, base.port, timeout=patience)
    try:
        connection.request(method, base.path.rstrip("/") + path, body, dict(headers))
        response = connection.getresponse()
        return response.status, _json_object(response.read())
    except ConnectionRefusedError:
        raise NothingListens(base.origin) from None
    except (OSError, HTTPException) as error:
        raise RemoteFailure(f"{base.origin}: {error or type(error).__name__}") from None
    finally:
        connection.close()


def _failure(
    base: Target, what: str, status: int, answer: Mapping[str, object] | None
) -> RemoteFailure | RemoteRefusal:
    """What to raise for an answer that is none of `what` is asked for."""
    detail = (answer or {}).get("detail")
    if answer is None or status < 300 or (status >= 500 and detail is None):
        return RemoteFailure(f"{base.origin} answered {status}, not as {what} that works would")
    kind, verb = (RemoteFailure, "failed") if status >= 500 else (RemoteRefusal, "refused")
    return kind(f"{base.origin} {verb}: {plain(str(detail or status), _LONGEST_DETAIL)}")


def configured_admin_url(settings: Settings) -> str | None:
    """Where the configured admin port is reached from this machine; None when it takes any free port."""
    return _local_url("http", settings.admin.host, settings.admin.port)


def configured_data_url(settings: Settings) -> str | None:
    """Where the configured data port is reached from this machine; None when it takes any free port."""
    listen = settings.listen
    return _local_url("http" if listen.tls.cert is None else "https", listen.host, listen.port)


def _local_url(scheme: str, host: str, port: int) -> str | None:
    name = _EVERY_ADDRESS.get(host) or (f"[{host}]" if ":" in host else host)
    return f"{scheme}://{name}:{port}" if port else None


def parse_base_url(text: str) -> Target:
    """The base URL of a port; raises MalformedTarget."""
    base = parse_target(text)
    if base.query is not None:
        raise MalformedTarget("The URL of a port has no query.")
    return base


def _json_object(content: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
