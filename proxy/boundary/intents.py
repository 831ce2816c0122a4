"""When two requests are the same intent: one client, one method, one place (UAIX.md D2, §5.2).

A refused client may not get past the boundary by writing the same place otherwise, so everything that some server
reads alike is one place here: letter case, percent-encoding, doubled and trailing slashes, path parameters, the
query and the scheme. That two places which a server does tell apart count as one only holds back a client that was
refused at the other.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import unquote

from proxy.http.targets import DEFAULT_PORTS, Target

# Nobody decodes more often, and each round makes the text shorter.
_MOST_DECODINGS: Final = 4
_BLANK: Final = re.compile(r"[\s\x00-\x1f\x7f]+")


def intent_of(client: str, method: str, target: Target) -> str:
    """The intent, as the hex SHA-256 of who, how and where."""
    return _digest(client, _folded_method(method), _place(target), folded_path(target.path))


def secret_intent_of(client: str, method: str, target: Target, parameter: str) -> str:
    """The intent of putting a secret in a URL of that host under that name: of these one is enough on record."""
    return _digest(client, _folded_method(method), _place(target), "?" + parameter)


def folded_path(path: str) -> str:
    """The one path that stands for all that some server reads as this one; it begins with "/"."""
    decoded = path
    for _ in range(_MOST_DECODINGS):
        before, decoded = decoded, unquote(decoded)
        if decoded == before:
            break
    kept: list[str] = []
    for segment in decoded.partition("\0")[0].replace("\\", "/").split("/"):
        name = _BLANK.sub("", segment.partition(";")[0])
        # Dot segments that only decoding shows are resolved as servers do that decode first.
        if name == "..":
            del kept[-1:]
        elif name.rstrip("."):
            kept.append(name.rstrip(".").casefold())
    return "/" + "/".join(kept)


def _folded_method(method: str) -> str:
    upper = method.upper()
    return "GET" if upper == "HEAD" else upper


def _place(target: Target) -> str:
    return target.host if target.port in DEFAULT_PORTS.values() else f"{target.host}:{target.port}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
