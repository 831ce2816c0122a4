"""What is cached: agent cards of about 2 KB with the fields that a web server and a CDN give them."""

from __future__ import annotations

import json

from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, may_store
from proxy.engine.settings import EngineSettings, Rules
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.targets import parse_target

HOST = "https://agents.example.com"
FRESH = "public, max-age=86400, stale-while-revalidate=3600, stale-if-error=86400"
_BODY_BYTES = 2048
# Documents are not all fetched in the same second; so many dates are told apart.
_AN_HOUR = 3600
_POLICY = Rules(EngineSettings())


def path(number: int) -> str:
    """Where the card of agent `number` is."""
    return f"/agents/{number:06d}/.well-known/agent-card.json"


def card(number: int) -> bytes:
    """The card of agent `number`: JSON of 2,048 bytes, each its own."""
    document: dict[str, object] = {
        "protocolVersion": "0.3.0",
        "name": f"Agent {number}",
        "url": f"{HOST}/agents/{number:06d}/a2a",
        "preferredTransport": "JSONRPC",
        "version": "1.4.2",
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            {"id": f"skill-{number}-{index}", "name": f"Skill {index}", "tags": ["search", "plan"]}
            for index in range(12)
        ],
    }
    document["description"] = ""
    padding = _BODY_BYTES - len(json.dumps(document).encode())
    document["description"] = (f"Plans and books on behalf of customer {number}. " * 40)[:padding]
    return json.dumps(document).encode()


def etag(number: int) -> str:
    """The entity tag of card `number`."""
    return f'"{number * 2654435761 % 2**64:016x}"'


def response_lines(number: int, now: float, cache_control: str = FRESH, *vary: str) -> list[tuple[str, str]]:
    """The field lines of card `number` as sent at `now`, less those of its framing."""
    return [
        ("Date", format_http_date(now)),
        ("Server", "nginx"),
        ("Content-Type", "application/json"),
        ("Cache-Control", cache_control),
        ("ETag", etag(number)),
        ("Last-Modified", format_http_date(now - 86_400 - number)),
        ("Vary", ", ".join(("Accept-Encoding", *vary))),
        ("Access-Control-Allow-Origin", "*"),
        ("Strict-Transport-Security", "max-age=63072000; includeSubDomains"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Request-Id", f"{number:08x}-5f2e-4c1b-9a63-{number * 40503:012x}"),
    ]


REQUEST_LINES = (
    ("User-Agent", "agent-fleet/2.1"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "gzip"),
    ("Accept-Language", "en"),
    ("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
)
"""What an agent sends beside Host."""


def request(number: int, *lines: tuple[str, str], host: str = HOST) -> Request:
    """An agent's request for card `number`; `lines` are added to the usual ones."""
    return Request("GET", parse_target(host + path(number)), Fields((*REQUEST_LINES, *lines)))


def stored(number: int, now: float, *vary: str, asked: Request | None = None) -> StoredResponse:
    """Card `number` as it is stored, sent within the hour before `now`; no string is shared."""
    sent = now - number % _AN_HOUR
    wire = "\n".join(f"{name}\n{value}" for name, value in response_lines(number, sent, FRESH, *vary)).split("\n")
    head = ResponseHead(200, "OK", Fields(zip(wire[::2], wire[1::2], strict=True)))
    asked = asked or request(number)
    verdict = may_store(asked, head, Exchange(sent, sent), _POLICY.of(asked).storage, 0)
    assert not isinstance(verdict, NotStored), verdict
    return verdict.with_body(card(number))
