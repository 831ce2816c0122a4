"""Which target URIs a successful unsafe request makes stale (RFC 9111 §4.4)."""

from __future__ import annotations

from proxy.http.messages import Request, ResponseHead
from proxy.http.targets import MalformedTarget, Target, resolve


def invalidated_uris(request: Request, head: ResponseHead) -> tuple[str, ...]:
    """The target URI, and Location and Content-Location of the same origin; empty for safe or failed requests.

    "Non-error" is 2xx and 3xx. A URI of another origin is left alone, or anyone could empty our cache of it.
    """
    if request.is_safe or not 200 <= head.status < 400:
        return ()
    uris = {request.target.uri: None}
    for name in ("location", "content-location"):
        reference = head.fields.get(name)
        named = None if reference is None else _resolve(request.target, reference)
        if named is not None and named.origin == request.target.origin:
            uris[named.uri] = None
    return tuple(uris)


def _resolve(base: Target, reference: str) -> Target | None:
    try:
        return resolve(base, reference)
    except MalformedTarget:
        return None
