"""What the parsers of all verbs have in common."""

from __future__ import annotations

import argparse
from typing import Final, TypeAlias

CONFIG_HELP: Final = "YAML file; flags and DISCOVERY_PROXY_ variables win over it"

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_verb(verbs: Verbs, name: str, does: str, example: str) -> argparse.ArgumentParser:
    """The parser of a verb; `example` is one command or several, each without the program's name on the first."""
    return verbs.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=f"example:\n  discovery-proxy {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
