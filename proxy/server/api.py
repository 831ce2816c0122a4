"""The data port's own resources. They answer only where no site does."""

from __future__ import annotations

from proxy.caching.serving import VIA, CacheStatus
from proxy.engine.outcome import Complete, Outcome, Served
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug

_USAGE = """\
discovery-proxy: a caching discovery reverse proxy for agents.

Ask for any document through it:

  GET /https/example.com/.well-known/agent-card.json   gateway form: scheme, host, path
  http_proxy, https_proxy                              forward form and CONNECT tunnels

Cache-Status in each answer says where it came from. Health, metrics and purging are on the admin port.
"""


def api_answer(method: str, path: str, now: float) -> Complete | Problem:
    """What the proxy itself has at `path`."""
    if path != "/":
        return Problem(
            Slug.NOT_FOUND,
            "The proxy has no resource of its own here. To reach an origin write /https/HOST/PATH, "
            "send an absolute-form request, or configure a site for this Host.",
        )
    if method not in ("GET", "HEAD"):
        return Problem(Slug.BAD_REQUEST, "Only GET and HEAD are answered here.", at_status=405)
    status = CacheStatus(detail="local").serialise()
    fields = Fields(
        (
            ("Date", format_http_date(now)),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Cache-Control", "no-store"),
            ("Via", VIA),
            ("Cache-Status", status),
        )
    )
    outcome = Outcome(Served.LOCAL, 200, cache_status=status)
    return Complete(ResponseHead(200, "OK", fields), _USAGE.encode(), outcome)
