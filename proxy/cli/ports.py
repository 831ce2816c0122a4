"""Which ports of a running proxy a command asks: the ones that flags name, else the configured ones."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from proxy.cli.arguments import Unusable
from proxy.cli.remote import (
    AdminPort,
    DataPort,
    configured_admin_url,
    configured_data_url,
    parse_base_url,
)
from proxy.config import Settings
from proxy.http.targets import MalformedTarget, Target


def admin_port(arguments: Namespace, settings: Settings) -> AdminPort:
    """The admin port of --via or of the configuration. Raises Unusable."""
    url = configured_admin_url(settings) if arguments.via is None else arguments.via
    if url is None:
        raise Unusable("admin.port is 0, so the port is not known: name it with --via")
    return AdminPort(_base(url, "http://127.0.0.1:9090"), _read_token(arguments.token_file) or settings.admin.token)


def data_port(arguments: Namespace, settings: Settings, patience: float) -> DataPort:
    """The data port of --via or of the configuration, waited for `patience` seconds. Raises Unusable."""
    url = configured_data_url(settings) if arguments.via is None else arguments.via
    if url is None:
        raise Unusable("listen.port is 0, so the port is not known: name it with --via")
    return DataPort(_base(url, "http://127.0.0.1:8080"), patience)


def _base(url: str, example: str) -> Target:
    try:
        return parse_base_url(url)
    except MalformedTarget as error:
        raise Unusable(f"--via: {error.detail} Give it as {example}.") from None


def _read_token(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        raise Unusable(f"--token-file {path}: {error.strerror}") from None
    except UnicodeError:
        raise Unusable(f"--token-file {path}: not ASCII text") from None
    if not token or not token.isprintable():
        raise Unusable(f"--token-file {path}: must hold one token on one line")
    return token
