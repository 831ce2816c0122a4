"""The start page: how the proxy stands and what this port offers, in plain HTML without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from proxy.engine.outcome import Served
from proxy.metrics import Totals


@dataclass(frozen=True, slots=True)
class AdminState:
    """What the process says of itself.

    `is_ready` answers None while it starts or drains, else why it is degraded, nothing when it is not.
    """

    is_ready: Callable[[], tuple[str, ...] | None]
    version: str


_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
th { font-weight: 500; }
td.number { text-align: right; font-variant-numeric: tabular-nums; padding-right: 0; }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
"""

_OUTCOMES: Final[Mapping[Served, str]] = {
    Served.FRESH: "from the store",
    Served.SWR: "stale, refreshed behind the answer",
    Served.SIE: "stale because the origin failed",
    Served.MIRROR: "a mirror's verified copy, for the origin is down",
    Served.IPFS: "a verified copy from IPFS, for the origin is down",
    Served.REVALIDATED: "confirmed by a 304",
    Served.MISS: "not in the store, fetched",
    Served.EXPIRED: "fetched anew in place of a stored one",
    Served.BYPASS: "passed on",
    Served.TUNNEL: "bytes passed both ways",
    Served.LOCAL: "a resource of the proxy's own",
    Served.NO_OP: "held back at the boundary, for a person to decide",
    Served.REPLAY: "the result of an earlier request with the same key",
    Served.ERROR: "a problem of the proxy's own",
}

# Method, path, whether a plain link shows it, and what it does.
_ENDPOINTS: Final = (
    ("GET", "/healthz", True, "The process is alive; nothing else is checked. Also /health."),
    ("GET", "/readyz", True, "Ready, or degraded and why; 503 while starting or draining. Also /ready."),
    ("GET", "/metrics", True, "Prometheus text, or OpenMetrics when asked for."),
    ("GET", "/version", True, "What is running."),
    ("GET", "/admin/entries?host=…&limit=…", False, "Stored responses, of one host or of all."),
    ("GET", "/admin/explain?url=…", False, "What a request for a URL would get, and the arithmetic behind it."),
    (
        "POST",
        "/admin/purge",
        False,
        'Remove by "url", "host", "tag" or "all"; with "soft" only mark stale.',
    ),
    ("PURGE", "/https/example.com/x", False, "Remove one URL; with Surrogate-Key, what carries those tags."),
    ("POST", "/admin/refresh", False, 'Fetch again in the background, by "url" or "host".'),
    ("GET", "/admin/trust?did=…", False, "What is known of domains: pinned keys, manifests, versions."),
    ("POST", "/admin/trust/pin", False, 'Ask a "host" for its keys now, and believe them.'),
    ("POST", "/admin/trust/unpin", False, 'Forget what is known of a "host".'),
    ("GET", "/admin/config", True, "The configuration in force, secrets masked."),
    ("PUT", "/admin/log-level", False, 'Change the log level: "debug", "info", "warning" or "error".'),
)


def start_page(state: AdminState, totals: Totals) -> str:
    """The page as it stands now."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>discovery-proxy</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>discovery-proxy {escape(state.version)}</h1>
<p>{escape(_standing(state.is_ready()))}</p>
<h2>Since the start</h2>
<table>{"".join(_numbers(totals))}</table>
<h2>Requests by outcome</h2>
<table>{"".join(_outcomes(totals)) or "<tr><td>None yet.</td></tr>"}</table>
<h2>On this port</h2>
<table>{"".join(_endpoint(*row) for row in _ENDPOINTS)}</table>
</body>
</html>
"""


def _standing(reasons: tuple[str, ...] | None) -> str:
    if reasons is None:
        return "Starting or shutting down."
    return f"Degraded: {'; '.join(reasons)}." if reasons else "Ready."


def _numbers(totals: Totals) -> Iterable[str]:
    ratio = totals.hit_ratio
    yield _number("Answered without waiting for an origin", "not yet" if ratio is None else f"{ratio:.1%}")
    yield _number("Requests spared the origins", f"{totals.origin_requests_saved:,}")
    yield _number("Bytes spared the origins", f"{totals.bytes_saved:,}")
    yield _number("Responses in memory", f"{totals.entries:,}")
    yield _number("Bytes in memory", f"{totals.entry_bytes:,}")
    yield _number("Background refreshes under way", f"{totals.background_refreshes:,}")


def _outcomes(totals: Totals) -> Iterable[str]:
    by_count = sorted(totals.requests.items(), key=lambda item: (-item[1], item[0]))
    return (_number(f"{served}: {_OUTCOMES[Served(served)]}", f"{count:,}") for served, count in by_count)


def _number(name: str, number: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th><td class="number">{number}</td></tr>\n'


def _endpoint(method: str, path: str, links: bool, purpose: str) -> str:
    shown = f"<code>{escape(path)}</code>"
    where = f'<a href="{escape(path)}">{shown}</a>' if links else shown
    return f"<tr><td><code>{method}</code></td><td>{where}</td><td>{escape(purpose)}</td></tr>\n"
