"""The shapes of no-op answers (UAIX.md §5.1, §7)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.conflicts import Cause
from proxy.boundary.no_ops import NoOpAnswer, NoOpOutcome, Shape, detail_of, no_op_answer, shape_for
from proxy.boundary.observing import no_op_in
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code, Field, NoOp, Reason, Rule
from proxy.discovery.findings import failures
from proxy.http.fields import Fields
from proxy.lint import lint
from proxy.lint.retrying import tells_to_retry

REVIEW = "https://example.com/review/route"
LOWER = "https://example.com/low.html"
MISSING = (Atom.AUTH, Atom.JSON_POST)
KINDS = {
    Shape.PROBLEM: "no-op-problem",
    Shape.TWO_KEY: "two-key-response",
    Shape.MINIMAL: "minimal-response",
}
REASONS = (*Reason, *Cause)


def outcome(
    reason: str = Reason.CONSENT_MISSING, code: Code = Code.HUMAN_REVIEW_REQUIRED, **members: object
) -> NoOpOutcome:
    given_members = {"url": REVIEW, "rule": "D5", "detail": detail_of(reason), **members}
    return NoOpOutcome(code=code, reason=reason, **given_members)  # type: ignore[arg-type]


def answer(shape: Shape, what: NoOpOutcome | None = None, status: int | None = None) -> NoOpAnswer:
    return no_op_answer(what or outcome(), shape, "request-1", two_key_status=status)


def told(one: NoOpAnswer) -> object:
    return json.loads(one.body)


# Accept: the shape
ACCEPTS: dict[str, tuple[str | None, Shape]] = {
    "absent": (None, Shape.TWO_KEY),
    "empty": ("", Shape.TWO_KEY),
    "anything": ("*/*", Shape.TWO_KEY),
    "json": ("application/json", Shape.TWO_KEY),
    "json and anything": ("application/json, */*;q=0.1", Shape.TWO_KEY),
    "text": ("text/plain", Shape.TWO_KEY),
    "images": ("image/avif,image/webp,*/*;q=0.8", Shape.TWO_KEY),
    "problem": ("application/problem+json", Shape.PROBLEM),
    "problem in another case": ("Application/Problem+JSON", Shape.PROBLEM),
    "problem among others": ("text/html, application/json, application/problem+json;q=0.1", Shape.PROBLEM),
    "problem with a parameter": ("application/problem+json;charset=utf-8", Shape.PROBLEM),
    "problem refused": ("application/problem+json;q=0", Shape.TWO_KEY),
    "problem refused at length": ("application/problem+json;q=0.000", Shape.TWO_KEY),
    "problem refused and wanted": ("application/problem+json;q=0, application/problem+json", Shape.PROBLEM),
    "problem with spaces": ("application/problem+json ; q=0.5", Shape.PROBLEM),
    "problem with a malformed weight": ("application/problem+json;q=2", Shape.TWO_KEY),
    "problem with no weight": ("application/problem+json;q=", Shape.TWO_KEY),
    "page": ("text/html", Shape.HTML),
    "XHTML page": ("application/xhtml+xml", Shape.HTML),
    "browser": ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Shape.HTML),
    "page refused": ("text/html;q=0", Shape.TWO_KEY),
    "page and less JSON": ("text/html, application/json;q=0.9", Shape.HTML),
    "page and as much JSON": ("text/html, application/json", Shape.TWO_KEY),
    "page and more JSON": ("text/html;q=0.5, application/json;q=0.9", Shape.TWO_KEY),
    "page and as much of another JSON": ("text/html, application/ld+json", Shape.TWO_KEY),
    "quoted comma": ('text/html;x="a,application/problem+json"', Shape.HTML),
    "not a field": ("\x00,;;,=,q=1", Shape.TWO_KEY),
}


@pytest.mark.parametrize(("accept", "expected"), ACCEPTS.values(), ids=ACCEPTS)
def test_the_shape_by_accept(accept: str | None, expected: Shape) -> None:
    assert shape_for(accept, is_minimal=False) is expected
    assert shape_for(accept, is_minimal=True) is Shape.MINIMAL


@given(st.text(max_size=80))
def test_any_accept_has_a_shape(accept: str) -> None:
    assert shape_for(accept, is_minimal=False) in Shape


# reason: slug of the type
TYPES: dict[str, str] = {
    **dict.fromkeys(REASONS, "human-review-required"),
    Reason.CONSENT_MISSING: "consent-required",
    Reason.SECRET_IN_URL: "secret-in-url",
    Reason.IDEMPOTENCY_MISSING: "idempotency-missing",
    Reason.RETRY_LOOP: "retry-loop",
    Reason.ROUTE_RECORD_MISSING: "manifest-invalid",
    Reason.ROUTE_RECORD_UNUSABLE: "manifest-invalid",
    Reason.ROUTE_ALIAS_CONFLICT: "manifest-invalid",
    "missing_auth": "human-review-required",
    "auth_unavailable_fallback_is_no_op": "human-review-required",
    "a slug that nobody knows": "human-review-required",
}


@pytest.mark.parametrize(("reason", "slug"), TYPES.items(), ids=TYPES)
def test_the_type_of_a_problem(reason: str, slug: str) -> None:
    document = told(answer(Shape.PROBLEM, outcome(reason)))
    assert isinstance(document, dict)
    assert document["type"] == f"https://uaix.org/errors/{slug}"
    assert document["title"] and document["reason"] == reason


def test_the_members_of_a_problem() -> None:
    rich = outcome(
        "missing_auth",
        rule="D9",
        detail="Stop.",
        missing=MISSING,
        fallback=LOWER,
        fallback_field=Field.AUTH_UNAVAILABLE_FALLBACK,
    )
    assert told(answer(Shape.PROBLEM, rich)) == {
        "type": "https://uaix.org/errors/human-review-required",
        "title": "A person has to decide",
        "status": 403,
        "detail": "Stop.",
        "code": "human_review_required",
        "url": REVIEW,
        "instance": "request-1",
        "rule": "D9",
        "reason": "missing_auth",
        "missing": ["auth", "json_post"],
        "fallback": {"url": LOWER, "field": "auth_unavailable_fallback"},
    }
    plain = told(answer(Shape.PROBLEM))
    assert isinstance(plain, dict)
    assert list(plain) == ["type", "title", "status", "detail", "code", "url", "instance", "rule", "reason"]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("code", Code)
def test_the_two_keys_are_two(code: Code, reason: str) -> None:
    rich = outcome(reason, code, missing=MISSING, fallback=LOWER, fallback_field="x", challenges=("Basic",))
    assert told(answer(Shape.TWO_KEY, rich)) == {"code": code, "url": REVIEW}


# code, reason: number of the Minimal Access tier, HTTP status
NUMBERS: dict[str, tuple[Code, str, int, int]] = {
    "capability": (Code.HUMAN_REVIEW_REQUIRED, "missing_auth", 428, 403),
    "consent": (Code.HUMAN_REVIEW_REQUIRED, Reason.CONSENT_MISSING, 428, 403),
    "fallback": (Code.HUMAN_REVIEW_REQUIRED, Reason.FALLBACK_IS_NO_OP, 428, 403),
    "route": (Code.HUMAN_REVIEW_REQUIRED, Reason.ROUTE_RECORD_MISSING, 428, 403),
    "again": (Code.HUMAN_REVIEW_REQUIRED, Reason.RETRY_LOOP, 428, 403),
    "the site's 401": (Code.HUMAN_REVIEW_REQUIRED, Cause.UPSTREAM_401, 403, 403),
    "the site's 403": (Code.HUMAN_REVIEW_REQUIRED, Cause.UPSTREAM_403, 403, 403),
    "the site's 428": (Code.HUMAN_REVIEW_REQUIRED, Cause.UPSTREAM_428, 428, 403),
    "the site's body": (Code.HUMAN_REVIEW_REQUIRED, Cause.UPSTREAM_BODY, 428, 403),
    "secret": (Code.REJECTED, Reason.SECRET_IN_URL, 400, 400),
    "key": (Code.REJECTED, Reason.IDEMPOTENCY_MISSING, 400, 400),
    "rejected by the site": (Code.REJECTED, Cause.UPSTREAM_403, 400, 400),
    "rejected again": (Code.REJECTED, Reason.RETRY_LOOP, 400, 400),
}


@pytest.mark.parametrize(("code", "reason", "number", "status"), NUMBERS.values(), ids=NUMBERS)
def test_the_numbers_of_the_minimal_tier(code: Code, reason: str, number: int, status: int) -> None:
    one = answer(Shape.MINIMAL, outcome(reason, code, missing=MISSING))
    assert (told(one), one.status) == ({"code": number, "url": REVIEW}, status)


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize(("code", "status"), [(Code.HUMAN_REVIEW_REQUIRED, 403), (Code.REJECTED, 400)])
def test_the_status(code: Code, status: int, shape: Shape) -> None:
    assert answer(shape, outcome(code=code)).status == status
    other = answer(shape, outcome(code=code), status=200)
    assert other.status == (200 if shape is Shape.TWO_KEY else status)
    assert other.body == answer(shape, outcome(code=code)).body


@pytest.mark.parametrize(
    ("shape", "media_type"),
    [
        (Shape.PROBLEM, "application/problem+json"),
        (Shape.TWO_KEY, "application/json"),
        (Shape.MINIMAL, "application/json"),
        (Shape.HTML, "text/html; charset=utf-8"),
    ],
)
def test_the_fields(shape: Shape, media_type: str) -> None:
    plain = Fields(answer(shape).fields)
    assert answer(shape).media_type == media_type
    assert plain.get("content-type") == media_type
    assert plain.get("cache-control") == "no-store"
    assert plain.get("vary") == "Accept"
    assert plain.get_all("link") == (f'<{REVIEW}>; rel="help"',)
    assert "retry-after" not in plain and "www-authenticate" not in plain
    rich = Fields(answer(shape, outcome(fallback=LOWER, challenges=("Bearer", 'Basic realm="x"'))).fields)
    assert rich.get_all("link") == (f'<{REVIEW}>; rel="help"', f'<{LOWER}>; rel="alternate"')
    assert rich.get_all("www-authenticate") == ("Bearer", 'Basic realm="x"')
    assert ("content-security-policy" in plain) is (shape is Shape.HTML)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [(shape, reason) for shape in KINDS for reason in (*REASONS, "missing_mcp", "post_blocked_fallback_is_no_op")],
)
@pytest.mark.parametrize("code", Code)
def test_every_body_passes_the_rules(code: Code, shape: Shape, reason: str) -> None:
    for missing in ((), MISSING):
        what = outcome(reason, code, detail=detail_of(reason, missing), missing=missing, fallback=LOWER)
        assert failures(lint(KINDS[shape], answer(shape, what).body, now=0)) == ()


@pytest.mark.parametrize("shape", KINDS)
@pytest.mark.parametrize("code", Code)
def test_a_proxy_of_the_same_kind_reads_it_as_the_same_no_op(code: Code, shape: Shape) -> None:
    one = answer(shape, outcome(code=code))
    assert no_op_in(one.body, one.media_type) == (code, REVIEW)


@pytest.mark.parametrize("missing", [(), MISSING, tuple(Atom)], ids=len)
@pytest.mark.parametrize("reason", [*REASONS, "missing_auth", "x_is_no_op", "unheard of", ""])
def test_details_say_what_to_do_next(reason: str, missing: tuple[Atom, ...]) -> None:
    detail = detail_of(reason, missing)
    assert detail.endswith(".") and len(detail) < 300
    assert not tells_to_retry(detail)
    assert re.search(r"stop|show|send|Choose", detail)


def test_details_name_what_is_missing() -> None:
    assert "auth, json_post" in detail_of("missing_auth", MISSING)
    said_by_the_site = detail_of("auth_unavailable_fallback_is_no_op", MISSING)
    assert said_by_the_site == detail_of(Reason.FALLBACK_IS_NO_OP) and "The site itself" in said_by_the_site
    assert detail_of(Reason.RETRY_LOOP, MISSING) == detail_of(Reason.RETRY_LOOP)
    of_route = NoOp(Rule.D10, Reason.CAPABILITY_MISSING, REVIEW, missing=MISSING)
    assert "auth" in detail_of(of_route.slug, of_route.missing)


class Page(HTMLParser):
    """What a reader of the page gets."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.attributes: dict[tuple[str, str], str | None] = {}
        self.text: dict[str, str] = {}
        self._open = ""
        self.feed(body.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open = tag
        self.attributes.update({(tag, name): value for name, value in attrs})
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.text[self._open] = self.text.get(self._open, "") + data


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("reason", REASONS)
def test_the_page(reason: str, code: Code) -> None:
    what = outcome(reason, code)
    page = Page(answer(Shape.HTML, what).body)
    assert page.attributes["html", "lang"] == "en"
    assert page.attributes["meta", "name"] == "viewport"
    assert page.tags.count("h1") == page.tags.count("title") == 1
    assert page.text["h1"] == page.text["title"] and page.text["h1"].startswith("Not done: ")
    assert page.links == [REVIEW]
    assert what.detail in page.text["p"]
    assert reason in page.text["small"] and "request-1" in page.text["small"] and "D5" in page.text["small"]
    assert not {"script", "form", "iframe", "img", "link"} & set(page.tags)


def test_the_page_names_the_lower_way() -> None:
    assert Page(answer(Shape.HTML, outcome(fallback=LOWER)).body).links == [REVIEW, LOWER]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;'\"", "é\u2028"]
)
def test_the_page_repeats_nothing_raw(text: str) -> None:
    url = f"https://example.com/{text}"
    what = outcome(text, url=url, rule=text, detail=text, fallback=url, fallback_field=text)
    page = Page(no_op_answer(what, Shape.HTML, text).body)
    plain = Page(answer(Shape.HTML, outcome(fallback=LOWER)).body)
    assert page.tags == plain.tags
    assert page.links == [url, url]
    assert text in page.text["p"] and text in page.text["small"]


def test_the_style_of_the_page_is_the_one_its_policy_admits() -> None:
    one = answer(Shape.HTML)
    fields = Fields(one.fields)
    style = re.search(rb"<style>(.*)</style>", one.body, re.DOTALL)
    assert style is not None and b"prefers-color-scheme: dark" in style[1]
    digest = base64.b64encode(hashlib.sha256(style[1]).digest()).decode()
    policy = fields.get("content-security-policy")
    assert policy is not None and policy.startswith("default-src 'none'") and f"'sha256-{digest}'" in policy
    assert fields.get("x-content-type-options") == "nosniff"
    assert b"style=" not in one.body
