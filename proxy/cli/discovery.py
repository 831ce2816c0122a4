"""What a domain publishes, as a tree for people.

Takes the JSON object of `/v1/discover`. What is there comes before what was looked for and is not, which is dimmed;
the steps come in its place on demand, and where nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from proxy.cli.parts import Part
from proxy.cli.terminal import BOLD, DIM, GREEN, RED, YELLOW, paint_for
from proxy.cli.tree import Branch, Row, aligned, draw

_ENDS: Final = {
    "found": (GREEN, "found"),
    "not-found": (RED, "nothing found: it publishes nothing for agents"),
    "gone": (RED, "gone: it has withdrawn what it published for agents"),
    "moved": (YELLOW, "moved: its origin sends to a domain that does not speak for it; discover that one"),
    "unavailable": (RED, "unavailable: it cannot be reached now; try again later"),
    "refused": (RED, "refused: policy lets nothing of it be used; the steps say why"),
}
_TRUST_STYLES: Final = {"rejected": RED, "hint": YELLOW, "unverified-local": YELLOW}
_STEP_STYLES: Final = {"failed": RED, "refused": YELLOW, "wrong-kind": YELLOW, "absent": DIM, "skipped": DIM}
_DECISION_STYLES: Final = {"no-op": DIM, "fallback": YELLOW}


def describe(told: Mapping[str, object], *, steps: bool, colour: bool) -> str:
    """The answer as lines of text; `steps` asks for the steps too."""
    whole = Part(told)
    outcome = whole.text("outcome") or "unknown"
    style, end = _ENDS.get(outcome, (YELLOW, outcome))
    # Where nothing was found the steps are the answer, and they tell what was looked for.
    steps = steps or outcome != "found"
    sections = [
        _manifest(whole),
        _dns(whole.part("dns")),
        _documents(whole.parts("documents"), with_absent=not steps),
        _section("endpoints", map(_endpoint, whole.parts("endpoints"))),
        _section("authorization", _authorization(whole.part("authorization"))),
        _routes(whole),
        _section("static", _members(whole.part("static"), ("robots", "sitemap", "llms", "markdown"))),
        _section("relocations", map(_relocation, whole.parts("relocations"))),
    ]
    if steps:
        sections.append(_section("steps", map(_step, whole.parts("steps"))))
    sections.append(Branch(f"overhead: {_overhead(whole.part('overhead'))}"))
    branches = tuple(section for section in sections if section is not None)
    paint = paint_for(colour=colour)
    head = f"{paint(whole.text('domain') or '?', BOLD)}: {paint(end, style)}"
    return "\n".join(draw(Branch(head, branches), paint))


def _section(name: str, rows: Iterator[Row]) -> Branch | None:
    branches = aligned(rows)
    return Branch(name, branches) if branches else None


def _members(part: Part, names: tuple[str, ...]) -> Iterator[Row]:
    for name in names:
        text = part.text(name)
        if text:
            yield Row((name.replace("_", " "), text))


def _manifest(whole: Part) -> Branch | None:
    manifest, trust, source = whole.part("manifest"), whole.part("trust"), whole.part("source")
    if not manifest.members:
        return None
    body = manifest.part("body")
    why = trust.text("reasons")
    state = trust.text("state") or "?"
    rows = [
        Row(("url", manifest.text("url"))),
        Row(("trust", f"{state} ({why})" if why else state), _TRUST_STYLES.get(state)),
        Row(("did", trust.text("did"))),
        Row(("readiness", body.text("readinessProfiles") or body.text("readiness_profiles"))),
        Row(("source", f"{source.text('kind') or '?'}, {source.text('cache') or '?'}")),
        Row(("fetched", manifest.text("fetched_at"))),
        Row(("fresh until", manifest.text("fresh_until"))),
    ]
    return _section("manifest", (row for row in rows if row.columns[1]))


def _dns(dns: Part) -> Branch | None:
    records = dns.parts("records")
    name = f"dns: {dns.text('dnssec') or 'indeterminate'}"
    return Branch(name if records else f"{name}, no records", aligned(map(_record, records)))


def _record(record: Part) -> Row:
    is_accepted = record.members.get("accepted") is True
    reason = record.text("reason")
    value = record.part("value").pairs()
    state = "accepted" if is_accepted else "refused"
    remark = f"{value} ({reason})" if value and reason else value or reason
    names = (record.text("type"), record.text("name"), record.text("kind"))
    return Row((*names, state, remark), None if is_accepted and not reason else YELLOW)


def _documents(documents: list[Part], *, with_absent: bool) -> Branch | None:
    found = [document for document in documents if document.members.get("found") is True]
    absent = (
        [document for document in documents if document.members.get("found") is not True] if with_absent else []
    )
    branches = aligned(map(_document, found))
    if absent:
        rows = (Row((one.text("class"), one.text("url"), one.text("reason")), DIM) for one in absent)
        branches += (Branch("looked for and not there", aligned(rows), DIM),)
    return Branch("documents" if found else "documents: none", branches) if branches else None


def _document(document: Part) -> Row:
    count = len(document.parts("lint"))
    trust = document.text("trust")
    lint = f"lint: {count} finding{'s' if count != 1 else ''}" if count else None
    columns = (document.text("class"), document.text("url"), document.text("media_type"), trust, lint)
    return Row(columns, _TRUST_STYLES.get(trust or ""))


def _endpoint(endpoint: Part) -> Row:
    trust, proof = endpoint.text("trust"), endpoint.part("pka")
    told = f"from {endpoint.text('from') or '?'}"
    if proof.members:
        verdict = proof.text("verdict") or "?"
        reason = proof.text("reason")
        told += f", key {verdict} ({reason})" if reason else f", key {verdict}"
    return Row((endpoint.text("protocol"), endpoint.text("url"), trust, told))


def _authorization(part: Part) -> Iterator[Row]:
    yield from _members(part, ("metadata_url", "issuer", "token_endpoint"))
    methods = part.text("token_endpoint_auth_methods_supported")
    if methods:
        yield Row(("methods", methods))
    for problem in part.parts("problems"):
        at = problem.text("url")
        detail = f"{problem.text('code') or '?'}: {problem.text('detail') or '?'}"
        yield Row(("problem", f"{detail} ({at})" if at else detail), YELLOW)


def _routes(whole: Part) -> Branch | None:
    client = whole.part("client")
    level = client.text("level")
    name = f"routes for {level} of {client.text('ladder') or '?'}" if level else "routes for an unknown client"
    return _section(name, map(_route, whole.parts("routes")))


def _route(route: Part) -> Row:
    decision, url = route.text("decision") or "?", route.text("url")
    use, reason, review = route.text("use"), route.text("reason"), route.text("review_url")
    told = [
        f"use {use}" if use and use != url else route.text("code"),
        f"review at {review}" if review else None,
        f"({reason})" if reason else None,
    ]
    columns = (decision, route.text("method"), url, " ".join(text for text in told if text))
    return Row(columns, _DECISION_STYLES.get(decision))


def _relocation(relocation: Part) -> Row:
    target = f"-> {relocation.text('target') or '?'}"
    return Row((relocation.text("url"), target, relocation.text("status"), relocation.text("state")))


def _step(step: Part) -> Row:
    outcome = step.text("outcome") or "?"
    cost = f"{step.number('ms') or 0:,.1f} ms"
    columns = (step.text("step"), outcome, step.text("target"), cost, step.text("detail"))
    return Row(columns, _STEP_STYLES.get(outcome))


def _overhead(part: Part) -> str:
    names = ("http_requests", "dns_queries", "bytes_sent", "bytes_received", "central_services")
    counts = [f"{name.replace('_', ' ')} {part.number(name) or 0:,.0f}" for name in names]
    return ", ".join((*counts, f"{part.number('elapsed_ms') or 0:,.0f} ms"))
