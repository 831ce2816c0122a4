"""Documents and directives that the engine's tests share."""

from __future__ import annotations

import gzip
import json

from proxy.http.structured import parse_dictionary

CARD_PATH = "/.well-known/agent-card.json"
CARD = json.dumps({"name": "Agent", "url": "https://example.com/a2a"}).encode()
NEWER_CARD = json.dumps({"name": "Agent 2", "url": "https://example.com/a2a"}).encode()
HTML = b"<!doctype html><title>Not found</title>"
# Incompressible enough to be larger than one read of the network.
LARGE = b"".join(n.to_bytes(4, "big") for n in range(50_000))
ZIPPED = gzip.compress(CARD, mtime=0)

WINDOWS = "max-age=10, stale-while-revalidate=100, stale-if-error=200"


def parameters(cache_status: str) -> dict[str, object]:
    """The parameters of our member of Cache-Status."""
    own = cache_status.rpartition(", discovery-proxy")[2] or cache_status
    members = parse_dictionary((own.partition(";")[2].replace(";", ","),)) or {}
    return {name: value if isinstance(value, bool | int) else str(value) for name, value in members.items()}
