"""Who may be answered by another's fill, and which codings select."""

from __future__ import annotations

import pytest

from proxy.caching.directives import NO_REQUEST_DIRECTIVES, RequestDirectives
from proxy.caching.reuse import Forward
from proxy.engine.question import Question, as_filled
from proxy.engine.settings import EngineSettings, Rules
from tests.engine.samples import CARD_PATH
from tests.simulators.engine import request

RULES = Rules(EngineSettings())


@pytest.mark.parametrize(
    ("directives", "forward", "fields", "shareable"),
    [
        pytest.param(NO_REQUEST_DIRECTIVES, Forward.URI_MISS, {}, True, id="plain"),
        pytest.param(NO_REQUEST_DIRECTIVES, Forward.STALE, {"Cookie": "a=1"}, True, id="stale-with-cookie"),
        pytest.param(RequestDirectives(max_age=5), Forward.URI_MISS, {}, True, id="max-age"),
        pytest.param(RequestDirectives(max_age=0), Forward.URI_MISS, {}, False, id="max-age-0"),
        pytest.param(RequestDirectives(no_cache=True), Forward.STALE, {}, False, id="no-cache"),
        pytest.param(RequestDirectives(no_store=True), Forward.URI_MISS, {}, False, id="no-store"),
        pytest.param(NO_REQUEST_DIRECTIVES, Forward.REQUEST, {}, False, id="declined-the-stored"),
        pytest.param(NO_REQUEST_DIRECTIVES, Forward.URI_MISS, {"authorization": "x"}, False, id="authorization"),
    ],
)
def test_is_shareable(
    directives: RequestDirectives, forward: Forward, fields: dict[str, str], shareable: bool
) -> None:
    question = Question(request("/a", fields), directives, "k", forward, None, None)
    assert question.is_shareable is shareable


@pytest.mark.parametrize(
    ("path", "accepted", "selects"),
    [
        pytest.param(CARD_PATH, "br, GZIP;q=0.5, zstd", "gzip", id="document"),
        pytest.param(CARD_PATH, "br", "identity", id="document-nothing-readable"),
        pytest.param(CARD_PATH, "*", "deflate, gzip", id="document-anything"),
        pytest.param(CARD_PATH, None, None, id="document-unsaid"),
        pytest.param("/a", "br, gzip", "br, gzip", id="other-as-it-is"),
        pytest.param("/a", "gzip,br", "gzip,br", id="other-untouched"),
    ],
)
def test_codings(path: str, accepted: str | None, selects: str | None) -> None:
    asked = request(path, {} if accepted is None else {"Accept-Encoding": accepted, "Accept": "*/*"})
    filled = as_filled(asked, RULES.of(asked))
    assert filled.fields.get("accept-encoding") == selects
    assert filled.fields.get("accept") == asked.fields.get("accept")
    assert as_filled(filled, RULES.of(asked)).fields.get("accept-encoding") == selects
