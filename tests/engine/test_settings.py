"""What holds for each document class under a configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.discovery.classes import POLICIES, DocumentClass, DocumentFormat
from proxy.engine.settings import CHECKABLE_CODINGS, EngineSettings, Rules
from proxy.http.fields import NO_FIELDS
from proxy.http.messages import Request
from proxy.http.targets import parse_target


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/.well-known/agent-card.json", DocumentClass.AGENT_CARD, id="card"),
        pytest.param("/.well-known/agent%2Dcard.json", DocumentClass.AGENT_CARD, id="normal-form-decides"),
        pytest.param("/x/.well-known/agent-card.json?v=1", DocumentClass.AGENT_CARD, id="prefix-and-query"),
        pytest.param("/robots.txt", DocumentClass.ROBOTS, id="robots"),
        pytest.param("/anything", DocumentClass.OTHER, id="other"),
    ],
)
def test_rules_of_a_target(path: str, name: DocumentClass) -> None:
    request = Request("GET", parse_target(f"https://example.com{path}"), NO_FIELDS)
    rules = Rules(EngineSettings()).of(request)
    assert rules.document_class is name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/card", DocumentClass.AGENT_CARD, id="where-the-path-tells-nothing"),
        pytest.param("/robots.txt", DocumentClass.ROBOTS, id="not-where-it-does"),
    ],
)
def test_a_request_may_tell_the_class(path: str, name: DocumentClass) -> None:
    target = parse_target(f"https://example.com{path}")
    request = Request("GET", target, NO_FIELDS, document_class=DocumentClass.AGENT_CARD.value)
    assert Rules(EngineSettings()).of(request).document_class is name


@pytest.mark.parametrize("name", DocumentClass)
def test_gate_codings_and_minted_tags_go_with_the_format(name: DocumentClass) -> None:
    rules = Rules(EngineSettings())._rules[name]
    is_gated = POLICIES[name].format is not DocumentFormat.ANY
    assert rules.is_gated is is_gated
    assert rules.checkable == (CHECKABLE_CODINGS if is_gated else None)
    assert rules.storage.mints_etag is (name is not DocumentClass.OTHER)


@pytest.mark.parametrize(
    ("of_class", "expected"), [pytest.param(None, 77, id="configured"), pytest.param(5, 5, id="of-the-class")]
)
def test_body_limit(of_class: int | None, expected: int) -> None:
    policies = {**POLICIES, DocumentClass.OTHER: replace(POLICIES[DocumentClass.OTHER], max_body=of_class)}
    assert Rules(EngineSettings(max_body=77), policies)._rules[DocumentClass.OTHER].max_body == expected


def test_outage_and_s_maxage_switches_reach_the_storage_policy() -> None:
    settings = EngineSettings(outage_stale=60.0, s_maxage_forbids_stale=False)
    storage = Rules(settings)._rules[DocumentClass.OTHER].storage
    assert (storage.outage_stale, storage.s_maxage_forbids_stale) == (60.0, False)
