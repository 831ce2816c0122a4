"""Which target URIs an unsafe request makes stale (RFC 9111 §4.4)."""

from __future__ import annotations

import pytest

from proxy.caching.invalidation import invalidated_uris
from tests.caching.samples import head, request

BASE = "https://example.com/a/b?c"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "post", "get"])
def test_unsafe_and_unknown_methods_invalidate_their_target(method: str) -> None:
    assert invalidated_uris(request(method=method, uri=BASE), head()) == (BASE,)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
def test_safe_methods_invalidate_nothing(method: str) -> None:
    assert invalidated_uris(request(method=method, uri=BASE), head("Location: /x")) == ()


@pytest.mark.parametrize(
    ("status", "invalidates"),
    [
        (199, False),
        (200, True),
        (204, True),
        (299, True),
        (303, True),
        (399, True),
        (400, False),
        (404, False),
        (500, False),
    ],
)
def test_non_error_is_2xx_and_3xx(status: int, invalidates: bool) -> None:
    assert invalidated_uris(request(method="POST", uri=BASE), head(status=status)) == (
        (BASE,) if invalidates else ()
    )


@pytest.mark.parametrize(
    ("lines", "others"),
    [
        pytest.param(("Location: /x",), ("https://example.com/x",), id="location"),
        pytest.param(("Content-Location: d",), ("https://example.com/a/d",), id="content-location"),
        pytest.param(
            ("Content-Location: ?e", "Location: https://EXAMPLE.com:443/x#f"),
            ("https://example.com/x", "https://example.com/a/b?e"),
            id="both",
        ),
        pytest.param(("Location: /a/b?c",), (), id="the-target-itself"),
        pytest.param(("Location: https://other.example/x",), (), id="another-host"),
        pytest.param(("Location: http://example.com/x",), (), id="another-scheme"),
        pytest.param(("Location: https://example.com:8443/x",), (), id="another-port"),
        pytest.param(
            ("Location: //other.example/x", "Content-Location: //example.com/y"),
            ("https://example.com/y",),
            id="network-path",
        ),
        pytest.param(
            ("Location: mailto:a@example.com", "Content-Location: /y"), ("https://example.com/y",), id="no-http"
        ),
        pytest.param(("Location: https://[/",), (), id="malformed"),
        pytest.param(("Location: /x", "Location: /y"), (), id="two-lines"),
    ],
)
def test_what_else_is_named(lines: tuple[str, ...], others: tuple[str, ...]) -> None:
    assert invalidated_uris(request(method="POST", uri=BASE), head(*lines, status=201)) == (BASE, *others)
