"""Which bodies are answers: codings undone, formats of document classes."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace

import pytest

from proxy.discovery.classes import DocumentClass
from proxy.engine.acceptance import Refused, accept, is_held_to_format, too_large_for
from proxy.engine.settings import ClassRules, EngineSettings, Rules
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from tests.engine.samples import CARD, HTML, ZIPPED

RULES = Rules(EngineSettings(max_body=1000))
CARD_RULES = replace(RULES.of_class(DocumentClass.AGENT_CARD), max_body=1000)
OTHER_RULES = RULES.of_class(DocumentClass.OTHER)
BOMB = gzip.compress(b" " * 999 + CARD)

ACCEPTED = {
    "plain document": (CARD_RULES, 200, None, CARD),
    "gzip document": (CARD_RULES, 200, "gzip", ZIPPED),
    "deflate in gzip": (CARD_RULES, 200, "deflate, gzip", gzip.compress(zlib.compress(CARD))),
    "404 page at a document's place": (CARD_RULES, 404, None, HTML),
    "empty body under a coding": (CARD_RULES, 404, "gzip", b""),
    "coding we cannot read, no gate": (OTHER_RULES, 200, "br", b"\x0b\x02"),
    "too many codings, no gate": (OTHER_RULES, 200, "gzip, gzip, gzip, gzip, gzip", b"x"),
    "expands far, no gate": (OTHER_RULES, 200, "gzip", gzip.compress(b" " * 100_000)),
    "HTML of class other": (OTHER_RULES, 200, None, HTML),
}
REFUSED = {
    "HTML for a document": (CARD_RULES, 200, None, HTML, "not-a-document"),
    "HTML as 203": (CARD_RULES, 203, None, HTML, "not-a-document"),
    "empty document": (CARD_RULES, 200, None, b"", "not-a-document"),
    "gzip HTML": (CARD_RULES, 200, "gzip", gzip.compress(HTML), "not-a-document"),
    "coding that a gate cannot read": (CARD_RULES, 200, "br", b"\x0b\x02", "origin-invalid-response"),
    "cut gzip": (CARD_RULES, 200, "gzip", ZIPPED[:-5], "origin-invalid-response"),
    "cut gzip, no gate": (OTHER_RULES, 200, "gzip", ZIPPED[:-5], "origin-invalid-response"),
    "cut gzip of a 404": (CARD_RULES, 404, "gzip", ZIPPED[:-5], "origin-invalid-response"),
    "no gzip at all": (OTHER_RULES, 200, "gzip", CARD, "origin-invalid-response"),
    "bytes after gzip": (OTHER_RULES, 200, "gzip", ZIPPED + b"x", "origin-invalid-response"),
    "larger than its class once decoded": (CARD_RULES, 200, "gzip", BOMB, "too-large"),
    "decompression bomb": (CARD_RULES, 200, "gzip", gzip.compress(b" " * 100_000), "too-large"),
}


def head_of(status: int, coding: str | None) -> ResponseHead:
    return ResponseHead(status, "", Fields([] if coding is None else [("Content-Encoding", coding)]))


@pytest.mark.parametrize(("rules", "status", "coding", "body"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(rules: ClassRules, status: int, coding: str | None, body: bytes) -> None:
    accept(rules, head_of(status, coding), body)


@pytest.mark.parametrize(("rules", "status", "coding", "body", "slug"), REFUSED.values(), ids=REFUSED)
def test_refused(rules: ClassRules, status: int, coding: str | None, body: bytes, slug: str) -> None:
    with pytest.raises(Refused) as refused:
        accept(rules, head_of(status, coding), body)
    problem = refused.value.problem
    assert (problem.slug, problem.status) == (slug, 502)
    assert b"doctype" not in problem.body("id")


@pytest.mark.parametrize(
    ("rules", "status", "held"),
    [
        pytest.param(CARD_RULES, 200, True, id="document"),
        pytest.param(CARD_RULES, 203, True, id="transformed-document"),
        pytest.param(CARD_RULES, 204, False, id="no-content"),
        pytest.param(CARD_RULES, 308, False, id="redirect"),
        pytest.param(CARD_RULES, 404, False, id="absent"),
        pytest.param(OTHER_RULES, 200, False, id="class-other"),
    ],
)
def test_who_is_held_to_a_format(rules: ClassRules, status: int, held: bool) -> None:
    assert is_held_to_format(rules, status) is held


def test_too_large_names_class_and_limit() -> None:
    problem = too_large_for(CARD_RULES).problem
    assert problem.members == {"limit": 1000, "class": "agent-card"}
