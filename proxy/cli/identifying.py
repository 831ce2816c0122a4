"""`cid`: the content identifier by which IPFS names a file."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.files import read_file, shown
from proxy.trust.content.blocks import LARGEST_BLOCK
from proxy.trust.content.cid import DAG_PB, RAW, Cid, cid_of
from proxy.trust.content.unixfs import add_file
from proxy.trust.reasons import Untrusted

CODECS: Final = {"raw": RAW, "dag-pb": DAG_PB}

_FINE: Final = 0


def cid(arguments: Namespace) -> int:
    """Tell the identifier of the exact bytes of a file."""
    octets = read_file(arguments.document)
    found, blocks = (_of_file if arguments.codec is None else _of_block)(arguments, octets)
    told = {"cid": found.text, "size": len(octets), "blocks": blocks}
    print(json.dumps(told, indent=2) if arguments.json else found.text)
    return _FINE


def _of_file(arguments: Namespace, octets: bytes) -> tuple[Cid, int]:
    try:
        found, blocks = add_file(octets)
    except Untrusted as error:
        raise _useless(arguments, error.detail) from None
    return found, len(blocks)


def _of_block(arguments: Namespace, octets: bytes) -> tuple[Cid, int]:
    if len(octets) > LARGEST_BLOCK:
        raise _useless(arguments, f"A block has at most {LARGEST_BLOCK} octets.")
    return cid_of(octets, CODECS[arguments.codec]), 1


def _useless(arguments: Namespace, detail: str) -> Unusable:
    return Unusable(f"{shown(arguments.document)}: no proxy would take it from IPFS: {detail}")
