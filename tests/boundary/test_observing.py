"""What an origin's answer says of the boundary (UAIX.md D11, §5.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.conflicts import Cause
from proxy.boundary.observing import BODY_LIMIT, Boundary, boundary_in, is_readable, no_op_in
from proxy.capability.resolution import Code

REVIEW = "https://example.com/review"
HELD, REJECTED = Code.HUMAN_REVIEW_REQUIRED, Code.REJECTED
TWO_KEYS = {"code": "human_review_required", "url": REVIEW}
PROBLEM = {"type": "about:blank", "title": "Held", "status": 403, **TWO_KEYS}

# body: what it says
BODIES: dict[str, tuple[object, tuple[Code, str | None] | None]] = {
    "two keys": (TWO_KEYS, (HELD, REVIEW)),
    "rejected": ({"code": "rejected", "url": REVIEW}, (REJECTED, REVIEW)),
    "problem": (PROBLEM, (HELD, REVIEW)),
    "no url": ({"code": "rejected"}, (REJECTED, None)),
    "url null": ({"code": "rejected", "url": None}, (REJECTED, None)),
    "url a number": ({"code": "rejected", "url": 7}, (REJECTED, None)),
    "url an object": ({"code": "rejected", "url": {}}, (REJECTED, None)),
    "url empty": ({"code": "rejected", "url": ""}, (REJECTED, None)),
    "url http": ({"code": "rejected", "url": "http://example.com/"}, (REJECTED, None)),
    "url relative": ({"code": "rejected", "url": "/review"}, (REJECTED, None)),
    "url javascript": ({"code": "rejected", "url": "javascript:alert(1)"}, (REJECTED, None)),
    "url private": ({"code": "rejected", "url": "https://10.0.0.1/"}, (REJECTED, None)),
    "url with userinfo": ({"code": "rejected", "url": "https://u:p@example.com/"}, (REJECTED, None)),
    "url with a secret": ({"code": "rejected", "url": REVIEW + "?token=abc"}, (REJECTED, None)),
    "url with a secret in its fragment": ({"code": "rejected", "url": REVIEW + "#token=abc"}, (REJECTED, None)),
    "url in upper case": (
        {"code": "rejected", "url": "HTTPS://EXAMPLE.com/a"},
        (REJECTED, "https://example.com/a"),
    ),
    "url with a line break": ({"code": "rejected", "url": REVIEW + "\r\nX: y"}, (REJECTED, None)),
    "url long": ({"code": "rejected", "url": REVIEW + "/" * 9_000}, (REJECTED, REVIEW + "/" * 9_000)),
    "ok": ({"code": "ok", "url": REVIEW}, None),
    "another code": ({"code": "teapot", "url": REVIEW}, None),
    "code in another case": ({"code": "Rejected", "url": REVIEW}, None),
    "code null": ({"code": None, "url": REVIEW}, None),
    "code true": ({"code": True, "url": REVIEW}, None),
    "code a list": ({"code": ["rejected"], "url": REVIEW}, None),
    "code a float": ({"code": 403.0, "url": REVIEW}, None),
    "no code": ({"url": REVIEW}, None),
    "nested": ({"error": TWO_KEYS}, None),
    "in a list": ([TWO_KEYS], None),
    "a text": ("human_review_required", None),
    "null": (None, None),
    "428": ({"code": 428, "url": REVIEW}, (HELD, REVIEW)),
    "403": ({"code": 403, "url": REVIEW}, (HELD, REVIEW)),
    "202": ({"code": 202, "url": REVIEW}, (HELD, REVIEW)),
    "400": ({"code": 400, "url": REVIEW}, (REJECTED, REVIEW)),
    "200": ({"code": 200, "url": REVIEW}, None),
    "303": ({"code": 303, "url": REVIEW}, None),
    "410": ({"code": 410, "url": REVIEW}, None),
    "500": ({"code": 500, "url": REVIEW}, None),
    "a number and a third key": ({"code": 403, "url": REVIEW, "message": "no"}, None),
    "a number alone": ({"code": 403}, None),
    "a number and a bad url": ({"code": 403, "url": None}, (HELD, None)),
    "a number of many digits": ({"code": 10**300, "url": REVIEW}, None),
}


@pytest.mark.parametrize(("value", "expected"), BODIES.values(), ids=BODIES)
def test_bodies(value: object, expected: tuple[Code, str | None] | None) -> None:
    assert no_op_in(json.dumps(value).encode(), "application/json") == expected


MEDIA_TYPES: dict[str | None, bool] = {
    "application/json": True,
    "application/json; charset=utf-8": True,
    "Application/JSON": True,
    "application/problem+json": True,
    "application/vnd.example+json;v=1": True,
    "text/html": False,
    "text/json": False,
    "application/jsonp": False,
    "application/xml": False,
    "": False,
    None: False,
}


@pytest.mark.parametrize(("media_type", "expected"), MEDIA_TYPES.items(), ids=str)
def test_media_types(media_type: str | None, expected: bool) -> None:
    assert is_readable(media_type) is expected
    assert (no_op_in(json.dumps(TWO_KEYS).encode(), media_type) is not None) is expected


NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "html": b"<html>human_review_required</html>",
    "not UTF-8": b'{"code":"rejected","x":"\xff"}',
    "cut off": b'{"code":"rejected","url":"https://exam',
    "deep": b'{"code":"rejected","x":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "NaN": b'{"code":"rejected","x":NaN}',
    "two texts": b'{"code":"rejected"}{}',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_no_json(body: bytes) -> None:
    assert no_op_in(body, "application/json") is None


def test_the_last_of_two_members_of_one_name_counts() -> None:
    assert no_op_in(b'{"code":"ok","code":"rejected"}', "application/json") == (REJECTED, None)


def test_the_longest_body() -> None:
    whole = json.dumps(TWO_KEYS).encode()
    assert no_op_in(whole.ljust(BODY_LIMIT), "application/json") == (HELD, REVIEW)
    assert no_op_in(whole.ljust(BODY_LIMIT + 1), "application/json") is None


NO_OP = json.dumps({"code": "rejected", "url": REVIEW}).encode()
PLAIN = b'{"error":"no"}'

# status, body, listed: the boundary
ANSWERS: dict[str, tuple[int, bytes | None, bool, Boundary | None]] = {
    "200": (200, PLAIN, True, None),
    "200 unlisted": (200, PLAIN, False, None),
    "200 unread": (200, None, True, None),
    "401": (401, PLAIN, True, Boundary(Cause.UPSTREAM_401, HELD, None)),
    "403": (403, PLAIN, True, Boundary(Cause.UPSTREAM_403, HELD, None)),
    "428": (428, PLAIN, True, Boundary(Cause.UPSTREAM_428, HELD, None)),
    "403 unread": (403, None, True, Boundary(Cause.UPSTREAM_403, HELD, None)),
    "403 without a body": (403, b"", True, Boundary(Cause.UPSTREAM_403, HELD, None)),
    "401 unlisted": (401, PLAIN, False, None),
    "403 unlisted": (403, None, False, None),
    "428 unlisted": (428, b"", False, None),
    "400": (400, PLAIN, True, None),
    "402": (402, PLAIN, True, None),
    "404": (404, PLAIN, True, None),
    "409": (409, PLAIN, True, None),
    "429": (429, PLAIN, True, None),
    "300": (300, PLAIN, True, None),
    "503": (503, PLAIN, True, None),
    "body with 200": (200, NO_OP, True, Boundary(Cause.UPSTREAM_BODY, REJECTED, REVIEW)),
    "body with 200, unlisted": (200, NO_OP, False, Boundary(Cause.UPSTREAM_BODY, REJECTED, REVIEW)),
    "body with 400": (400, NO_OP, False, Boundary(Cause.UPSTREAM_BODY, REJECTED, REVIEW)),
    "body with 409": (409, NO_OP, True, Boundary(Cause.UPSTREAM_BODY, REJECTED, REVIEW)),
    "body with 500": (500, NO_OP, False, Boundary(Cause.UPSTREAM_BODY, REJECTED, REVIEW)),
    "body with 403": (403, NO_OP, True, Boundary(Cause.UPSTREAM_403, REJECTED, REVIEW)),
    "body with 403, unlisted": (403, NO_OP, False, Boundary(Cause.UPSTREAM_403, REJECTED, REVIEW)),
    "body with 401, unlisted": (401, NO_OP, False, Boundary(Cause.UPSTREAM_401, REJECTED, REVIEW)),
}


@pytest.mark.parametrize(("status", "body", "is_listed", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answers(status: int, body: bytes | None, is_listed: bool, expected: Boundary | None) -> None:
    assert boundary_in(status, body, "application/json", is_listed=is_listed) == expected


def test_a_body_of_another_type_leaves_the_status() -> None:
    assert boundary_in(403, NO_OP, "text/html", is_listed=True) == Boundary(Cause.UPSTREAM_403, HELD, None)
    assert boundary_in(200, NO_OP, None, is_listed=True) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["code", "url", "x"]), inner),
    max_leaves=10,
)


@given(st.integers(100, 599), st.binary(max_size=60) | _JSON.map(lambda value: json.dumps(value).encode()))
def test_nothing_is_raised(status: int, body: bytes) -> None:
    boundary_in(status, body, "application/json", is_listed=True)


@given(_JSON)
def test_only_an_outer_code_counts(value: Any) -> None:
    assert no_op_in(json.dumps({"data": value}).encode(), "application/json") is None
