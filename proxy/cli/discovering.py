"""`discover`: what a domain publishes for agents, found out in this process or by a running proxy."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.discovery import describe
from proxy.cli.ports import data_port
from proxy.cli.terminal import may_colour, waiting
from proxy.config import Settings, load

_CODES: Final = {"found": 0, "unavailable": 3}
_NEGATIVE: Final = 1
# A running proxy may be given more time than this configuration says.
_LEAST_PATIENCE: Final = 30.0
_ON_THE_WAY: Final = 5.0


def discover(arguments: Namespace) -> int:
    """Tell what there is; 0 when something was found, 3 when the domain cannot be reached, else 1."""
    if arguments.ladder is not None and arguments.level is None:
        raise Unusable("--ladder says which ladder the level is of: give --level too")
    settings = load(arguments.config, os.environ, {})
    with waiting(f"discovering {arguments.domain}"):
        told = _in_process(arguments, settings) if arguments.via is None else _through(arguments, settings)
    if arguments.json:
        print(json.dumps(told, indent=2))
    else:
        print(describe(told, steps=arguments.steps, colour=may_colour(sys.stdout)))
    return _CODES.get(str(told.get("outcome")), _NEGATIVE)


def _in_process(arguments: Namespace, settings: Settings) -> dict[str, object]:
    from proxy import server  # the other verbs start without it
    from proxy.discovery.names import BadDomain

    try:
        return server.discover_once(settings, arguments.domain, arguments.level, arguments.ladder)
    except BadDomain as error:
        raise Unusable(f"DOMAIN: {error.detail}") from None
    except server.CannotOpen as error:
        raise Unusable(str(error)) from None


def _through(arguments: Namespace, settings: Settings) -> dict[str, object]:
    claim = {name: text for name in ("level", "ladder") if (text := getattr(arguments, name)) is not None}
    patience = max(settings.discovery.deadline + _ON_THE_WAY, _LEAST_PATIENCE)
    return data_port(arguments, settings, patience).discover(arguments.domain, claim)
