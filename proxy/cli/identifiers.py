"""DIDs and the names of their keys as flags give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.http.targets import DEFAULT_PORTS, MalformedTarget, https_authority, parse_authority
from proxy.trust.did.web import MalformedDid, did_of, host_of

_HTTPS_PORT: Final = DEFAULT_PORTS["https"]
_NAME: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")


def domain_did(domain: str) -> str:
    """The did:web of a domain such as "example.com" or "example.com:8443". Raises Unusable."""
    try:
        return did_of(*parse_authority(domain, _HTTPS_PORT))
    except (MalformedTarget, MalformedDid) as error:
        raise Unusable(f"--domain: {error.detail} Give it as example.com or example.com:8443.") from None


def did_authority(did: str) -> str:
    """The authority that a did:web or did:webvh is of, without the port of https. Raises Unusable."""
    try:
        return https_authority(*host_of(did))
    except MalformedDid as error:
        raise Unusable(f"--did: {error.detail} Give it as did:web:example.com.") from None


def parse_host(text: str) -> str:
    """The authority that `--host` gives, without the port of https. Raises Unusable."""
    try:
        return https_authority(*parse_authority(text, _HTTPS_PORT))
    except MalformedTarget as error:
        raise Unusable(f"--host: {error.detail} Give it as example.com or example.com:8443.") from None


def method_ids(flag: str, names: Sequence[str], did: str, count: int) -> list[str]:
    """The ids of the verification methods for `count` keys, `key-N` for those that no name is given for.

    A name is the fragment, or the whole id under `did`. Raises Unusable.
    """
    if len(names) > count:
        raise Unusable(f"{flag}: {len(names)} names for {count} keys; give them in the order of the keys")
    given = [name.removeprefix(did).removeprefix("#") for name in names]
    fragments = [*given, *(f"key-{number}" for number in range(len(given) + 1, count + 1))]
    if not all(map(_NAME.fullmatch, fragments)):
        raise Unusable(f"{flag}: the name of a key has letters, digits, dots, dashes and no more, such as key-1")
    if len(set(fragments)) != count:
        raise Unusable(f"{flag}: two keys have one name; name each")
    return [f"{did}#{fragment}" for fragment in fragments]
