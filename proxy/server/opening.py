"""Opening files and ports: a failure says which setting it is about."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proxy.config import Settings


class CannotOpen(Exception):
    """Something that the configuration names cannot be opened; the text says what and why."""


@contextmanager
def opening(what: str) -> Iterator[None]:
    """Raises CannotOpen, about `what`, for an OSError inside."""
    try:
        yield
    except OSError as error:
        raise CannotOpen(f"{what}: {_cause(error)}") from error


@contextmanager
def opening_port(section: str, flag: str, host: str, port: int) -> Iterator[None]:
    """Raises CannotOpen for a port that cannot be listened on; `section` and `flag` are where it is configured."""
    name = "data port" if section == "listen" else "admin port"
    where = f"{name} {address_of(host, port)}"
    configured = f"({section}.port, {flag})"
    try:
        yield
    except socket.gaierror as error:
        raise CannotOpen(f"{section}.host {host}: {error.strerror}") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotOpen(f"{where} is in use {configured}") from error
        if error.errno == errno.EADDRNOTAVAIL:
            raise CannotOpen(f"{section}.host {host}: {_cause(error)}") from error
        raise CannotOpen(f"{where}: {_cause(error)} {configured}") from error


def address_of(host: str, port: int) -> str:
    """host:port, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def server_tls(settings: Settings) -> ssl.SSLContext | None:
    """TLS of the data port, None without it. Raises CannotOpen for a file that cannot be used."""
    tls = settings.listen.tls
    if tls.cert is None or tls.key is None:
        return None
    for name, path in (("cert", tls.cert), ("key", tls.key), ("client_ca", tls.client_ca)):
        if path is not None:
            with opening(f"listen.tls.{name} {path}"):
                Path(path).read_bytes()
    with opening(f"listen.tls.client_ca {tls.client_ca}"):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.client_ca)
    with opening(f"listen.tls.cert {tls.cert} with listen.tls.key {tls.key}"):
        context.load_cert_chain(tls.cert, tls.key)
    context.set_alpn_protocols(["http/1.1"])
    if tls.client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _cause(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "no usable PEM file" if error.reason is None else error.reason.replace("_", " ").lower()
    # Event loops wrap the text, with the address in it a second time.
    return os.strerror(error.errno) if error.errno else str(error)
