"""Problem details (RFC 9457)."""

import json
import re

import pytest

from proxy.http.problems import MEDIA_TYPE, Problem, Slug
from proxy.http.structured import Token, parse_dictionary

STATUSES = {
    Slug.BAD_TARGET: 400,
    Slug.BAD_REQUEST: 400,
    Slug.EGRESS_DENIED: 403,
    Slug.ORIGIN_UNREACHABLE: 504,
    Slug.ORIGIN_TIMEOUT: 504,
    Slug.ORIGIN_INVALID_RESPONSE: 502,
    Slug.NOT_A_DOCUMENT: 502,
    Slug.NOT_FOUND: 404,
    Slug.GONE: 410,
    Slug.NO_TRUSTED_COPY: 504,
    Slug.TOO_LARGE: 502,
    Slug.REDIRECT_REFUSED: 502,
    Slug.IDEMPOTENCY_CONFLICT: 422,
    Slug.ONLY_IF_CACHED: 504,
    Slug.UNAUTHORIZED: 401,
    Slug.OVERLOADED: 503,
    Slug.DRAINING: 503,
    Slug.NOT_IMPLEMENTED: 501,
    Slug.INTERNAL: 500,
}


@pytest.mark.parametrize("slug", Slug)
def test_every_slug_has_one_status_and_one_title(slug: Slug) -> None:
    problem = Problem(slug, "Something.")
    assert problem.status == STATUSES[slug]
    assert problem.title == Problem(slug, "Something else.").title
    assert re.fullmatch(r"[A-Z].*[^.]", problem.title)


@pytest.mark.parametrize("slug", Slug)
def test_every_slug_is_a_token_of_cache_status_9211_2_8(slug: Slug) -> None:
    assert parse_dictionary((f"detail={slug}",)) == {"detail": Token(slug)}


def test_body_9457_3_1() -> None:
    problem = Problem(Slug.TOO_LARGE, "Larger than 5 bytes, \u00fc \udcff.", {"limit": 5, "class": "aid"})
    body = problem.body("request-1")
    assert body.isascii()
    assert json.loads(body) == {
        "type": "urn:discovery-proxy:problem:too-large",
        "title": "Larger than is allowed",
        "status": 502,
        "detail": "Larger than 5 bytes, \u00fc \udcff.",
        "instance": "request-1",
        "limit": 5,
        "class": "aid",
    }


def test_another_status_shows_in_the_body_too() -> None:
    problem = Problem(Slug.TOO_LARGE, "Too many fields.", at_status=431)
    assert problem.status == 431
    assert json.loads(problem.body("x"))["status"] == 431


def test_media_type_9457_3() -> None:
    assert MEDIA_TYPE == "application/problem+json"
