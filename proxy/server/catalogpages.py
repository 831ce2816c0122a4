"""Catalogs of others with the origins' word applied: `GET /v1/catalogs` and `GET /v1/merge` (CONTRACT.md §7)."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Final
from urllib.parse import parse_qsl

from proxy.caching.preconditions import matches_any
from proxy.caching.reuse import Forward
from proxy.caching.serving import CacheStatus
from proxy.catalogs.applying import applied
from proxy.catalogs.catalog import Catalog
from proxy.catalogs.claims import claims_of
from proxy.catalogs.merging import merged
from proxy.catalogs.reporting import report, serialised
from proxy.catalogs.verdicts import Standing, Verdict
from proxy.engine.catalogs.aside import aside
from proxy.engine.catalogs.judging import FOR_A_CLIENT, Claims, Judgement
from proxy.engine.catalogs.reading import CatalogRead, CatalogReader
from proxy.engine.outcome import Complete, Outcome, Refusal, Served
from proxy.http.problems import Problem, Slug
from proxy.http.secrets import masked
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.ports import Clock
from proxy.server.own import JSON, Asked, Own
from proxy.server.slots import NoSlot, Slots

CATALOGS: Final = "/v1/catalogs"
MERGE: Final = "/v1/merge"
MOST_MERGED: Final = 8
MOST_ENTRIES: Final = 50_000
"""Entries of all catalogs that are merged together."""
# Each takes memory for catalogs as large as they may be.
_MOST_UNDER_WAY: Final = 16
# A host that is slow keeps only those waiting who ask for its own catalogs.
_MOST_OF_HOST: Final = 4
# Seconds for reading and judging together, and how many of them are left for asking origins where they are asked.
_SECONDS: Final = 30.0
_FOR_ASKING: Final = 10.0
# A report is about that long for each entry.
_OCTETS_OF_AN_ENTRY: Final = 250
_MOST_PARAMETERS: Final = 20
_CLASS: Final = "catalog"
_FLAGS: Final = ("report", "probe")
_SIGNED: Final = "The catalog is signed, and so not edited: this is what would be changed."
_BUSY: Final = Problem(Slug.OVERLOADED, "Too many catalogs are being read. Ask again in a moment.")
_NO_RECORDS: Final = Problem(
    Slug.INTERNAL,
    "What origins have said of their documents cannot be read now, and no catalog is answered without it. Ask "
    "again in a moment; /readyz on the admin port says what is wrong.",
    at_status=503,
)
_HITS: Final = frozenset({Served.FRESH, Served.SWR, Served.SIE})
_FORWARDS: Final = {Served.EXPIRED: Forward.STALE, Served.REVALIDATED: Forward.STALE, Served.BYPASS: Forward.BYPASS}


@dataclass(frozen=True, slots=True)
class _Question:
    """Which catalogs, in which form, and whether origins are asked first."""

    targets: tuple[Target, ...]
    report: bool = False
    probe: bool = False


@dataclass(frozen=True, slots=True)
class _Form:
    """What is answered, before conditions: `moved` and `gone` are how many entries the origins overrule."""

    body: bytes
    media_type: str
    moved: int
    gone: int
    etag: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "etag", f'"{hashlib.sha256(self.body).hexdigest()[:32]}"')


class CatalogPages:
    """Answers for both resources."""

    def __init__(self, reader: CatalogReader, judgement: Judgement, clock: Clock) -> None:
        self._reader = reader
        self._judgement = judgement
        self._own = Own(clock)
        self._slots = Slots(_MOST_UNDER_WAY, _MOST_OF_HOST)

    async def answer(self, asked: Asked) -> Complete | Refusal | Problem:
        """The answer to a request for one of them."""
        is_merge = asked.path == MERGE
        question = _question(asked.query, is_merge=is_merge)
        if isinstance(question, Problem):
            return question
        until = asyncio.get_running_loop().time() + _SECONDS
        answering = self._merge if is_merge else self._catalog
        try:
            with self._slots.slot(target.host for target in question.targets):
                return await answering(asked, question, until)
        except NoSlot:
            return _BUSY
        except LedgerUnavailable:
            return _NO_RECORDS

    async def _catalog(self, asked: Asked, question: _Question, until: float) -> Complete | Refusal:
        (target,) = question.targets
        read_until = until - _FOR_ASKING if question.probe else until
        read = await (
            self._reader.read_all(target, until=read_until)
            if question.report
            else self._reader.read(target, read_until)
        )
        if isinstance(read, Refusal):
            return read
        size = _size([read])
        keys, claims = await aside(size, partial(_asked_of, [read.catalog]))
        standings = await self._judgement.standings(keys, FOR_A_CLIENT if question.probe else None, claims, until)
        forming = _reported if question.report or read.catalog.is_signed else _edited
        return self._answered(asked, await aside(size, partial(forming, read, standings)), read.outcomes)

    async def _merge(self, asked: Asked, question: _Question, until: float) -> Complete | Refusal | Problem:
        reading = [self._reader.read_all(target, until=until - _FOR_ASKING) for target in question.targets]
        ends = await asyncio.gather(*reading)
        reads = [end for end in ends if isinstance(end, CatalogRead)]
        if not reads:
            return next(end for end in ends if isinstance(end, Refusal))
        catalogs = [read.catalog for read in reads]
        if sum(len(catalog.entries) for catalog in catalogs) > MOST_ENTRIES:
            detail = f"The catalogs have more than {MOST_ENTRIES} entries together: merge fewer of them."
            return Problem(Slug.TOO_LARGE, detail, {"limit": MOST_ENTRIES})
        size = _size(reads)
        keys, claims = await aside(size, partial(_asked_of, catalogs))
        standings = await self._judgement.standings(keys, None, claims, until)
        # Where they disagree the origins decide (OV-8), and so are asked.
        in_dispute = await aside(size, partial(disputed, catalogs))
        standings |= await self._judgement.standings(in_dispute, FOR_A_CLIENT, claims, until)
        unread = [
            _unread(target, end)
            for target, end in zip(question.targets, ends, strict=True)
            if isinstance(end, Refusal)
        ]
        form = await aside(size, partial(_merged, reads, unread, standings))
        return self._answered(asked, form, [outcome for read in reads for outcome in read.outcomes])

    def _answered(self, asked: Asked, form: _Form, outcomes: Sequence[Outcome]) -> Complete:
        counts = f"{form.moved + form.gone};moved={form.moved};gone={form.gone}"
        extra: tuple[tuple[str, str], ...] = (("ETag", form.etag), ("Discovery-Overrides", counts))
        status, served = _came(outcomes)
        none_match = asked.fields.get("if-none-match")
        if none_match is not None and matches_any(none_match, form.etag):
            return self._own.complete(304, b"", "no-cache", extra, status, served, _CLASS)
        extra = (("Content-Type", form.media_type), *extra)
        return self._own.complete(200, form.body, "no-cache", extra, status, served, _CLASS)


def _size(reads: Sequence[CatalogRead]) -> int:
    """About how many octets work on all of these is on."""
    return sum(max(len(read.body), len(read.catalog.entries) * _OCTETS_OF_AN_ENTRY) for read in reads)


def _asked_of(catalogs: Sequence[Catalog]) -> tuple[list[str | None], Claims]:
    """The keys of all entries, and what is claimed of them."""
    entries = [entry for catalog in catalogs for entry in catalog.entries]
    return [entry.key for entry in entries], claims_of(entries)


def disputed(catalogs: Sequence[Catalog]) -> list[str]:
    """The URLs of every subject for which two catalogs each list one that the other does not."""
    claims: dict[str, dict[int, set[str]]] = {}
    for number, catalog in enumerate(catalogs):
        for entry in catalog.entries:
            if entry.key is not None:
                claims.setdefault(entry.subject, {}).setdefault(number, set()).add(entry.key)
    return [
        key
        for claimed in (list(of_catalogs.values()) for of_catalogs in claims.values())
        if any(not (one <= other or other <= one) for one, other in combinations(claimed, 2))
        for key in sorted(set().union(*claimed))
    ]


def _question(query: str, *, is_merge: bool) -> _Question | Problem:
    allowed = ("url",) if is_merge else ("url", *_FLAGS)
    try:
        given = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        return _bad(f"There are more than {_MOST_PARAMETERS} parameters.")
    names = [name for name, _ in given]
    if not set(names) <= set(allowed):
        listed = " and ".join(filter(None, [", ".join(allowed[:-1]), allowed[-1]]))
        return _bad(f"Here there are only {listed}. Percent-encode a URL that has a query of its own.")
    if any(names.count(name) > 1 for name in _FLAGS):
        return _bad("A parameter is given twice.")
    flags = {name: value for name, value in given if name != "url"}
    if not set(flags.values()) <= {"0", "1"}:
        return _bad("report and probe are 0 or 1.")
    targets = _targets([value for name, value in given if name == "url"], is_merge=is_merge)
    if isinstance(targets, Problem):
        return targets
    return _Question(targets, flags.get("report") == "1", flags.get("probe") == "1")


def _targets(urls: Sequence[str], *, is_merge: bool) -> tuple[Target, ...] | Problem:
    if not is_merge and len(urls) != 1:
        return _bad("Name one catalog by url.")
    if is_merge and not 2 <= len(urls) <= MOST_MERGED:
        return _bad(f"Name 2 to {MOST_MERGED} catalogs, each by a url of its own.")
    try:
        targets = tuple(map(parse_target, urls))
    except MalformedTarget as error:
        return Problem(Slug.BAD_TARGET, error.detail)
    if any(target.scheme != "https" for target in targets):
        return Problem(Slug.BAD_TARGET, "Catalogs are read over https only.")
    if len(set(targets)) < len(targets):
        return _bad("A catalog is named twice.")
    return targets


def _bad(detail: str) -> Problem:
    return Problem(Slug.BAD_REQUEST, detail)


def _edited(read: CatalogRead, standings: Mapping[str, Standing]) -> _Form:
    changed = applied(read.catalog, standings)
    body = read.body if changed.body is None else changed.body
    return _Form(body, read.catalog.media_type, changed.moved, changed.gone)


def _merged(
    reads: Sequence[CatalogRead], unread: Sequence[Mapping[str, object]], standings: Mapping[str, Standing]
) -> _Form:
    told = merged([(_shown(read.asked), read.catalog) for read in reads], standings)
    told["notes"] = [{"catalog": _shown(read.asked), "note": read.note} for read in reads if read.note]
    told["unread"] = unread
    return _listing(told)


def _reported(read: CatalogRead, standings: Mapping[str, Standing]) -> _Form:
    told = report(_shown(read.asked), read.catalog, standings)
    notes = [_SIGNED if read.catalog.is_signed else None, read.note]
    told["note"] = " ".join(filter(None, notes)) or None
    return _listing(told)


def _listing(told: dict[str, Any]) -> _Form:
    verdicts = Counter(row["verdict"] for row in (*told["entries"], *told.get("overruled", ())))
    body = serialised(told)
    return _Form(body, JSON, verdicts[Verdict.SUPERSEDED], verdicts[Verdict.REMOVED])


def _unread(target: Target, end: Refusal) -> dict[str, object]:
    problem = end.problem
    return {"catalog": _shown(target), "reason": problem.slug.value, "detail": problem.detail}


def _shown(target: Target) -> str:
    return masked(target.uri)


def _came(outcomes: Sequence[Outcome]) -> tuple[CacheStatus, Served]:
    """How the catalogs came: by the first that an origin had to be asked for, else by the one that ends first."""
    asked = [outcome for outcome in outcomes if outcome.served not in _HITS]
    if not asked:
        first = min(outcomes, key=lambda outcome: outcome.ttl or 0)
        return CacheStatus(hit=True, ttl=first.ttl), first.served
    first = asked[0]
    forward = _FORWARDS.get(first.served, Forward.URI_MISS)
    status = 304 if first.served is Served.REVALIDATED else first.status
    return CacheStatus(
        forward=forward, forward_status=status, ttl=first.ttl, collapsed=first.collapsed
    ), first.served
