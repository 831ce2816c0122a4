"""A small internet for commands that run in this process: an origin for `example.com` over TLS, and a name server.

Both serve from threads of their own, since a command has an event loop of its own.

    with internet(tmp_path, {"/.well-known/agent-card.json": CARD}) as net:
        main(["discover", "example.com", "--config", net.config])
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme
import yaml

from tests.simulators.nameserver import Reply, ScriptedNameserver, records


@dataclass
class Internet:
    """`config` and `flags` reach it. `documents` by path: a body, a status, a value for JSON, a status with one."""

    documents: dict[str, object]
    config: str = ""
    flags: dict[str, object] = field(default_factory=dict)
    plain_url: str = ""
    paths: list[str] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        self.paths.append(path)
        document = self.documents.get(path, 404)
        if isinstance(document, int):
            return document, "text/plain", b""
        status, value = document if isinstance(document, tuple) else (200, document)
        if isinstance(value, bytes):
            return status, "text/html" if value.startswith(b"<") else "text/plain", value
        return status, "application/json", json.dumps(value).encode()


@contextmanager
def internet(
    folder: Path,
    documents: Mapping[str, object],
    replies: Mapping[tuple[str, str], Reply] | None = None,
    *,
    up: bool = True,
    sections: Mapping[str, dict[str, object]] | None = None,
) -> Iterator[Internet]:
    """Not `up`: the origin accepts no connections. `sections` are laid over the configuration."""
    net = Internet(dict(documents))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("example.com").configure_cert(tls)
    with _origin(net, tls) as port, _origin(net, None) as plain_port, _nameserver(replies or {}) as dns_port:
        net.plain_url = f"http://127.0.0.1:{plain_port}"
        settings: dict[str, dict[str, object]] = {
            "dns": {"resolvers": [f"127.0.0.1:{dns_port}"], "trust_anchors": "none"},
            "discovery": {"deadline": "3s"},
            "store": {"url": "memory://"},
            "upstream": {
                "ca_file": str(folder / "ca.pem"),
                "connect_timeout": "1s",
                "connect_to": [f"example.com:443:127.0.0.1:{port if up else 1}"],
            },
            **(sections or {}),
        }
        net.flags = {f"{name}__{key}": value for name, keys in settings.items() for key, value in keys.items()}
        path = folder / "config.yaml"
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")
        net.config = str(path)
        yield net


@contextmanager
def _origin(net: Internet, tls: ssl.SSLContext | None) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, media_type, body = net.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Listener(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up is no news."""

    with Listener(("127.0.0.1", 0), Handler) as listener:
        if tls is not None:
            listener.socket = tls.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener.server_port
        finally:
            listener.shutdown()
            thread.join()


@contextmanager
def _nameserver(replies: Mapping[tuple[str, str], Reply]) -> Iterator[int]:
    ports: list[int] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        async with ScriptedNameserver(replies) as server:
            ports.append(server.port)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(5)
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def texts(name: str, *values: str) -> dict[tuple[str, str], Reply]:
    """TXT records at a name."""
    return {(name, "TXT"): records(*(f'{name}. 300 IN TXT "{value}"' for value in values))}
