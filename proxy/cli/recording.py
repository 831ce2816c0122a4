"""`records`: what a running proxy has recorded of relocations, and what an operator decides of a record."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from itertools import islice
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.parts import Part
from proxy.cli.ports import admin_port, data_port
from proxy.cli.records import describe
from proxy.cli.remote import DataPort
from proxy.cli.terminal import may_colour, waiting
from proxy.config import load
from proxy.http.targets import MalformedTarget, parse_host, parse_target
from proxy.relocation.records import is_record_id, record_id, record_url

MOST_SHOWN: Final = 100
"""Records that are shown to people, who would not read more."""

_FINE, _NEGATIVE = 0, 1
_PATIENCE: Final = 30.0
_CUT: Final = f"These are the first {MOST_SHOWN}: name a HOST or a --state, or take all of them with --json."

_Records = list[dict[str, object]]


def records(arguments: Namespace) -> int:
    """Tell what is recorded, 1 where that is nothing; or have the admin port decide of one record."""
    if arguments.state is not None and _names_one(arguments):
        raise Unusable("--state narrows a list: leave it out where one record is named")
    if arguments.confirm is not None:
        return _decide(arguments, "confirm", arguments.confirm)
    if arguments.withdraw is not None:
        return _decide(arguments, "withdraw", arguments.withdraw)
    return _tell(arguments)


def _tell(arguments: Namespace) -> int:
    wanted, narrowed = _wanted_id(arguments), _narrowed(arguments)
    port = data_port(arguments, load(arguments.config, os.environ, {}), _PATIENCE)
    with waiting("reading what is recorded"):
        if wanted is None:
            found, is_cut = _listed(port, narrowed, None if arguments.json else MOST_SHOWN)
        else:
            found, is_cut = _one(port, wanted), False
    if arguments.json:
        print(json.dumps({"records": found}, indent=2))
    elif found:
        colour = may_colour(sys.stdout)
        print("\n\n".join(describe(record, colour=colour) for record in found))
    else:
        print(f"no records{_of_what(arguments)}")
    if is_cut:
        print(f"\n{_CUT}")
    return _FINE if found else _NEGATIVE


def _decide(arguments: Namespace, decision: str, text: str) -> int:
    wanted = _parsed_id(f"--{decision}", text)
    port = admin_port(arguments, load(arguments.config, os.environ, {}))
    answer = port.ask("POST", f"/admin/records/{wanted}/{decision}")
    if arguments.json:
        print(json.dumps(answer, indent=2))
    elif decision == "confirm":
        print(describe(answer, colour=may_colour(sys.stdout)))
    else:
        print(f"withdrawn: {Part(answer).part('withdrawn').text('url') or '?'}")
    return _FINE


def _listed(port: DataPort, narrowed: dict[str, str], most: int | None) -> tuple[_Records, bool]:
    """Records with their histories, and whether there are more than `most`."""
    rows = port.records(narrowed)
    ids = [Part(row).text("id") or "" for row in islice(rows, most)]
    is_cut = next(rows, None) is not None
    return [record for wanted in ids for record in _one(port, wanted)], is_cut


def _one(port: DataPort, wanted: str) -> _Records:
    """The record, or nothing; a listed one may be withdrawn meanwhile."""
    record = port.record(wanted)
    return [] if record is None else [record]


def _names_one(arguments: Namespace) -> bool:
    return any(getattr(arguments, name) is not None for name in ("id", "url", "confirm", "withdraw"))


def _wanted_id(arguments: Namespace) -> str | None:
    if arguments.id is not None:
        return _parsed_id("--id", arguments.id)
    if arguments.url is None:
        return None
    try:
        return record_id(record_url(parse_target(arguments.url)))
    except MalformedTarget as error:
        raise Unusable(f"--url: {error.detail} Give it as https://example.com/path.") from None


def _narrowed(arguments: Namespace) -> dict[str, str]:
    """The parameters of a list."""
    narrowed = {} if arguments.state is None else {"state": str(arguments.state)}
    if arguments.host is None:
        return narrowed
    try:
        return {"host": parse_host(arguments.host), **narrowed}
    except MalformedTarget:
        raise Unusable("HOST: a host without a port, such as example.com; for one URL give --url") from None


def _parsed_id(flag: str, text: str) -> str:
    if not is_record_id(text.lower()):
        raise Unusable(f"{flag}: the id of a record, 64 hexadecimal digits, as this command prints it")
    return text.lower()


def _of_what(arguments: Namespace) -> str:
    if arguments.id is not None:
        return " of this id"
    named = arguments.host or arguments.url
    of = f" of {named}" if named else ""
    return f"{of} that are {arguments.state}" if arguments.state else of
