"""did:key: the identifier is the key (W3C CCG did:key; TRUST.md §2).

Such a key proves nothing about a domain. It is for anchors that an operator configured, and for did:webvh logs.
"""

from __future__ import annotations

from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.keys import PublicKey, parse_multikey

_METHOD: Final = "did:key:"


def parse_did_key(text: str) -> PublicKey:
    """The key of "did:key:z…", also when written as its one method "did:key:z…#z…". Raises Untrusted.

    The reasons are VM_FOREIGN_DID for another DID, VM_NOT_FOUND where the two halves differ, and KEY_*.
    """
    if not text.startswith(_METHOD):
        raise Untrusted(Reason.VM_FOREIGN_DID, "The identifier is no did:key.")
    multikey, mark, fragment = text.removeprefix(_METHOD).partition("#")
    if mark and fragment != multikey:
        raise Untrusted(Reason.VM_NOT_FOUND, "The fragment of the did:key is not its key.")
    return parse_multikey(multikey)
