"""Blocks: octets held against the identifier that they were asked for by (TRUST.md §6.2, §7.1)."""

from __future__ import annotations

import hashlib
from typing import Final

from proxy.trust.content.cid import Cid
from proxy.trust.reasons import Reason, Untrusted

LARGEST_BLOCK: Final = 2 * 2**20


def check_block(cid: Cid, octets: bytes, most: int = LARGEST_BLOCK) -> None:
    """Nothing, if these are the octets that `cid` names. Raises Untrusted.

    CID_UNSUPPORTED: nothing can be held against this identifier. IPFS_LIMITS: more than `most` octets.
    CID_MISMATCH: other octets; the sender is at fault, and another may have the right ones.
    """
    if not cid.names_content:
        raise Untrusted(Reason.CID_UNSUPPORTED, "The identifier is not of a block by its SHA-256.")
    if len(octets) > most:
        raise Untrusted(Reason.IPFS_LIMITS, f"A block has at most {most} octets.")
    if hashlib.sha256(octets).digest() != cid.digest:
        raise Untrusted(Reason.CID_MISMATCH, "The octets are not those that the identifier names.")
