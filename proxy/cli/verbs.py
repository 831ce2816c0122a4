"""What each verb does; each takes its arguments and answers the exit code."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from proxy.cli.arguments import SERVE_FLAGS, Unusable
from proxy.cli.discovering import discover
from proxy.cli.evidence import evidence
from proxy.cli.identifying import cid
from proxy.cli.keys import did_document, keygen
from proxy.cli.linting import lint
from proxy.cli.ports import admin_port
from proxy.cli.recording import records
from proxy.cli.remote import NothingListens, RemoteFailure
from proxy.cli.report import report
from proxy.cli.signing import sign
from proxy.cli.terminal import may_colour
from proxy.cli.verifying import verify
from proxy.config import Settings, effective_yaml, load
from proxy.http.targets import MalformedTarget, parse_authority, parse_target

_FINE, _NEGATIVE = 0, 1


def serve(arguments: Namespace) -> int:
    """Run the proxy until it is told to stop."""
    from proxy import server  # the other verbs start without it

    flags = {key: getattr(arguments, key) for key in SERVE_FLAGS}

    def settings() -> Settings:
        return load(arguments.config, os.environ, flags)

    return server.run(settings(), settings)


def explain(arguments: Namespace) -> int:
    """Tell how a URL would be answered; 1 when nothing is stored for it."""
    url = _target_uri(arguments.url)
    settings = load(arguments.config, os.environ, {})
    try:
        told = admin_port(arguments, settings).ask("GET", f"/admin/explain?url={quote(url, safe='')}")
    except NothingListens as error:
        if arguments.via is not None:
            raise
        told = _explain_offline(settings, url, error)
    print(json.dumps(told, indent=2) if arguments.json else report(told, colour=may_colour(sys.stdout)))
    return _FINE if told.get("variants") else _NEGATIVE


def purge(arguments: Namespace) -> int:
    """Purge in a running proxy."""
    answer = _order(arguments, "/admin/purge", {**_scope(arguments), "soft": arguments.soft})
    print(f"{'marked stale' if arguments.soft else 'purged'}: {answer.get('purged')}")
    return _FINE


def refresh(arguments: Namespace) -> int:
    """Refresh in a running proxy."""
    answer = _order(arguments, "/admin/refresh", _scope(arguments))
    print(f"refreshing: {answer.get('refreshing')}")
    return _FINE


def check_config(arguments: Namespace) -> int:
    """Print the effective configuration; notes on what has no effect yet go to stderr."""
    settings = load(arguments.config, os.environ, {})
    print(effective_yaml(settings), end="")
    for key in settings.not_in_force:
        print(f"note: {key} is accepted but not in force in this version", file=sys.stderr)
    return _FINE


def demo(arguments: Namespace) -> int:
    """Run the demonstration, whose certificates need a package of their own."""
    try:
        from proxy.demo import main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("proxy"):
            raise
        raise Unusable(f"the demo needs {error.name}: pip install 'discovery-proxy[demo]'") from None
    return main(keep=arguments.keep)


VERBS: Final[Mapping[str, Callable[[Namespace], int]]] = {
    "serve": serve,
    "discover": discover,
    "lint": lint,
    "verify": verify,
    "keygen": keygen,
    "did-document": did_document,
    "sign": sign,
    "cid": cid,
    "explain": explain,
    "records": records,
    "evidence": evidence,
    "purge": purge,
    "refresh": refresh,
    "check-config": check_config,
    "demo": demo,
}


def _order(arguments: Namespace, path: str, body: Mapping[str, object]) -> dict[str, object]:
    settings = load(arguments.config, os.environ, {})
    return admin_port(arguments, settings).ask("POST", path, body)


def _scope(arguments: Namespace) -> dict[str, object]:
    if arguments.url is not None:
        return {"url": _target_uri(arguments.url)}
    if arguments.host is not None:
        _check_host(arguments.host)
    named = {name: getattr(arguments, name, None) for name in ("host", "tag", "all")}
    return {name: value for name, value in named.items() if value}


def _target_uri(text: str) -> str:
    try:
        return parse_target(text).uri
    except MalformedTarget as error:
        raise Unusable(f"URL: {error.detail} Give it as https://example.com/path.") from None


def _check_host(text: str) -> None:
    try:
        parse_authority(text, 0)
    except MalformedTarget:
        raise Unusable("--host: a host such as example.com or example.com:8443") from None


def _explain_offline(settings: Settings, url: str, failure: NothingListens) -> dict[str, object]:
    from proxy import server  # only this way of explaining needs it

    try:
        told = server.explain_offline(settings, url)
    except server.NoStore as error:
        raise RemoteFailure(f"nothing listens at {failure.origin}, and {error}") from None
    print(f"discovery-proxy: {failure} Read from its store instead.", file=sys.stderr)
    return told
