"""A running proxy's admin port, asked over HTTP; no redirects, no proxies on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final

from proxy.config import Settings
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.logs.redaction import plain

_TIMEOUT_SECONDS: Final = 30
_TOKEN_ADVICE: Final = "give the admin token: --token-file or DISCOVERY_PROXY_ADMIN__TOKEN"
_LONGEST_DETAIL: Final = 500
_EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


class RemoteFailure(Exception):
    """The admin port gave no usable answer."""


class NothingListens(RemoteFailure):
    """Nobody accepts connections at `origin`."""

    def __init__(self, origin: str) -> None:
        super().__init__(f"nothing listens at {origin}; is the proxy running?")
        self.origin = origin


class RemoteRefusal(Exception):
    """The admin port would not do it: the order or the token is wrong."""


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
        status, content = self._exchange(method, path, None if body is None else json.dumps(body), headers)
        answer = _json_object(content)
        if answer is not None and 200 <= status < 300:
            return answer
        detail = (answer or {}).get("detail")
        if status == 401:
            raise RemoteRefusal(f"{self.base.origin} refused: {_TOKEN_ADVICE}")
        if status == 404:
            raise RemoteRefusal(f"{self.base.origin} has no admin API; is this the data port?")
        if answer is None or (status >= 500 and detail is None):
            raise RemoteFailure(f"{self.base.origin} answered {status}, not as an admin port that works would")
        kind, verb = (RemoteFailure, "failed") if status >= 500 else (RemoteRefusal, "refused")
        raise kind(f"{self.base.origin} {verb}: {plain(str(detail or status), _LONGEST_DETAIL)}")

    def _exchange(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        kind = HTTPSConnection if self.base.scheme == "https" else HTTPConnection
        connection = kind(self.base.host, self.base.port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, self.base.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except ConnectionRefusedError:
            raise NothingListens(self.base.origin) from None
        except (OSError, HTTPException) as error:
            raise RemoteFailure(f"{self.base.origin}: {error or type(error).__name__}") from None
        finally:
            connection.close()


def configured_admin_url(settings: Settings) -> str | None:
    """Where the configured admin port is reached from this machine; None when it takes any free port."""
    host, port = settings.admin.host, settings.admin.port
    name = _EVERY_ADDRESS.get(host) or (f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}" if port else None


def parse_admin_url(text: str) -> Target:
    """The base URL of an admin port; raises MalformedTarget."""
    base = parse_target(text)
    if base.query is not None:
        raise MalformedTarget("The URL of an admin port has no query.")
    return base


def _json_object(content: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
