"""The verbs and flags of the command line, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from proxy import __version__
from proxy.boundary.telling import STATES as CONFLICT_STATES
from proxy.capability.ladders import Label, Ladder
from proxy.cli.flags import CONFIG_HELP, Verbs, add_verb
from proxy.cli.publisherflags import add_publisher_verbs
from proxy.relocation.records import State

# Flags of `serve` by the configuration key that each one sets, with its help.
SERVE_FLAGS: Final = {
    "listen.host": ("--host", "ADDRESS", "where the data port listens"),
    "listen.port": ("--port", "N", "the data port; 0 takes a free one"),
    "admin.host": ("--admin-host", "ADDRESS", "where the admin port listens; off loopback admin.token is needed"),
    "admin.port": ("--admin-port", "N", "the admin port; 0 takes a free one"),
    "listen.workers": ("--workers", "N", "worker processes; this version runs one"),
    "log.level": ("--log-level", "LEVEL", "debug, info, warning or error"),
    "log.format": ("--log-format", "FORMAT", "json or text"),
}

_DESCRIPTION: Final = "A caching discovery reverse proxy for fleets of AI agents."
_EXIT_CODES: Final = """\
exit codes: 0 fine, 1 negative finding, 2 usage or configuration, 3 network

example:
  discovery-proxy serve --port 8080
  curl http://127.0.0.1:8080/https/example.com/.well-known/agent-card.json
"""
_LEVELS: Final = tuple(label.value for label in Label)
_STATES: Final = tuple(state.value for state in State if state is not State.UNCONFIRMED)
_LADDERS: Final = tuple(ladder.value for ladder in Ladder)


class Unusable(Exception):
    """What the user gave cannot be used; the text says why and what would be."""


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The verb and its flags. Raises SystemExit: 0 after --help or --version, 2 for what is malformed."""
    return _parser().parse_args(argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "discovery-proxy",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"discovery-proxy {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_serve(verbs)
    _add_discover(verbs)
    _add_lint(verbs)
    add_publisher_verbs(verbs)
    _add_explain(verbs)
    _add_records(verbs)
    _add_evidence(verbs)
    _add_purge(verbs)
    _add_refresh(verbs)
    _add_check_config(verbs)
    _add_demo(verbs)
    return parser


def _add_serve(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "serve",
        "run the proxy; SIGTERM drains and stops it, SIGHUP reads the configuration again",
        "serve --config config.yaml --log-format text",
    )
    verb.add_argument("--config", metavar="FILE", help=CONFIG_HELP)
    for key, (flag, metavar, does) in SERVE_FLAGS.items():
        verb.add_argument(flag, dest=key, metavar=metavar, help=f"{does} ({key})")


def _add_discover(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "discover",
        "find out what a domain publishes for agents, and check it; without --via in this process",
        "discover example.com --level L4\n  discovery-proxy discover example.com --json --via http://127.0.0.1:8080",
    )
    verb.add_argument("domain", metavar="DOMAIN", help="the domain, such as example.com")
    verb.add_argument("--level", choices=_LEVELS, help="what the client claims to be capable of (default: nothing)")
    verb.add_argument("--ladder", choices=_LADDERS, help="the ladder that the level is of (default: exec)")
    verb.add_argument("--steps", action="store_true", help="show what was looked for, step by step")
    verb.add_argument("--json", action="store_true", help="print the answer of the API as one JSON value")
    verb.add_argument("--via", metavar="URL", help="ask the data port of a running proxy")
    verb.add_argument("--config", metavar="FILE", help=CONFIG_HELP)


def _add_lint(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "lint",
        "tell what a published document gets wrong",
        "lint agent-card.json\n  discovery-proxy lint https://example.com/.well-known/ai-catalog.json --json",
    )
    verb.add_argument("document", metavar="FILE_OR_URL", help="a file, an http(s) URL, or - for standard input")
    kind = "what the document is, such as agent-card (default: told from it); an unknown one lists them all"
    verb.add_argument("--kind", help=kind)
    verb.add_argument("--now", metavar="T", help="judge as of this time, such as 2026-11-30T12:00:00Z")
    verb.add_argument("--json", action="store_true", help="print the verdict as one JSON value")
    verb.add_argument("--config", metavar="FILE", help=f"{CONFIG_HELP}; it says how a URL is reached")


def _add_explain(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "explain",
        "tell how a URL would be answered now and why; without a running proxy, from its store",
        "explain https://example.com/.well-known/agent-card.json",
    )
    verb.add_argument("url", metavar="URL", help="the URL as an agent would ask for it, http or https")
    verb.add_argument("--json", action="store_true", help="print the explanation as one JSON value")
    _add_remote(verb)


def _add_records(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "records",
        "tell what origins say of where their documents are, and of those they have withdrawn",
        "records example.com --state moved\n  discovery-proxy records --confirm ID --via http://127.0.0.1:9090",
    )
    what = verb.add_mutually_exclusive_group()
    what.add_argument("host", nargs="?", metavar="HOST", help="records of this host alone, whatever the port")
    what.add_argument("--id", help="the record with this id")
    what.add_argument("--url", help="the record of this URL")
    what.add_argument("--confirm", metavar="ID", help="let a pending move be one; this asks the admin port")
    what.add_argument("--withdraw", metavar="ID", help="take a record away; this asks the admin port")
    verb.add_argument("--state", choices=_STATES, help="records in this state alone")
    verb.add_argument(
        "--json", action="store_true", help="print all records, with their histories, as one JSON value"
    )
    verb.add_argument(
        "--via",
        metavar="URL",
        help="the data port to ask, or the admin port to confirm and withdraw (default: the configured one)",
    )
    _add_configured(verb, "it says where the ports are")


def _add_evidence(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "evidence",
        "tell which requests a running proxy held back at the boundary, or release one of them",
        "evidence --state held\n  discovery-proxy evidence release ID --via http://127.0.0.1:9090",
    )
    verb.add_argument("--client", metavar="C", help="those of this client alone: its id, or its address")
    verb.add_argument("--state", choices=CONFLICT_STATES, help="those in this state alone")
    form = verb.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="print all of them, with their envelopes, as one JSON value"
    )
    form.add_argument("--jsonl", action="store_true", help="print all of them as JSON lines, one each")
    _add_remote(verb)
    decisions = verb.add_subparsers(dest="decision", metavar="[release ID]", title="to decide of one")
    release = add_verb(
        decisions,
        "release",
        "let what was held back pass, as a person's consent to this one intent",
        "evidence release 0123456789abcdef0123456789abcdef",
    )
    release.add_argument("id", metavar="ID", help="the id of the conflict, as the list has it")
    # What stands before the word `release` counts as well.
    json_help = "print the released conflict as one JSON value"
    release.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=json_help)
    _add_remote(release, default=argparse.SUPPRESS)


def _add_purge(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "purge",
        "remove stored responses from a running proxy",
        "purge --host example.com --soft",
    )
    what = _add_url_or_host(verb, "every stored response of")
    what.add_argument("--tag", help="every stored response with this tag")
    what.add_argument("--all", action="store_true", help="everything")
    verb.add_argument("--soft", action="store_true", help="mark stale instead of removing")
    _add_remote(verb)


def _add_refresh(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "refresh",
        "have a running proxy fetch stored responses again, in the background",
        "refresh https://example.com/.well-known/agent-card.json",
    )
    _add_url_or_host(verb, "everything in memory of")
    _add_remote(verb)


def _add_check_config(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "check-config",
        "check a configuration and print what it comes to, secrets masked",
        "check-config config.yaml",
    )
    verb.add_argument("config", nargs="?", metavar="FILE", help=f"{CONFIG_HELP}; none: the defaults")


def _add_demo(verbs: Verbs) -> None:
    verb = add_verb(
        verbs, "demo", "walk through the whole job against a local internet started for it", "demo --keep"
    )
    verb.add_argument("--keep", action="store_true", help="leave everything running and print curl lines")


def _add_url_or_host(verb: argparse.ArgumentParser, of: str) -> argparse._MutuallyExclusiveGroup:
    what = verb.add_mutually_exclusive_group(required=True)
    what.add_argument("url", nargs="?", metavar="URL", help="one URL, every variant of it")
    what.add_argument("--host", help=f"{of} a host; without a port, on every port")
    return what


def _add_remote(verb: argparse.ArgumentParser, default: str | None = None) -> None:
    via = "the admin port to ask (default: the configured one)"
    verb.add_argument("--via", metavar="ADMIN_URL", default=default, help=via)
    _add_configured(verb, "it says where the admin port is", default)


def _add_configured(verb: argparse.ArgumentParser, what_for: str, default: str | None = None) -> None:
    verb.add_argument("--config", metavar="FILE", default=default, help=f"{CONFIG_HELP}; {what_for}")
    verb.add_argument(
        "--token-file",
        metavar="FILE",
        default=default,
        help="file with the admin token (default: admin.token, DISCOVERY_PROXY_ADMIN__TOKEN)",
    )
