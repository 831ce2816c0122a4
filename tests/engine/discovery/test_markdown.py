"""Pages in Markdown in a discovery: by negotiation, else under a name of their own (TX-2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.discovery.documents import CARD_AT, HTML, SITE, agent_card
from tests.simulators.discovery import Neighbourhood, neighbourhood

PAGE = b"# Example\n\nWelcome.\n"
INDEX = "/index.html.md"


def negotiating(n: Neighbourhood, **how: Any) -> None:
    """The landing page as HTML, and as Markdown for who asks for that."""
    origin = n.engine.origin
    n.publish("/", HTML, content_type="text/html", vary="Accept", **how)
    as_html = origin.answering("/")
    n.publish("/", PAGE, content_type="text/markdown; charset=utf-8", vary="Accept", **how)
    as_markdown = origin.answering("/")
    origin.answer(
        "/",
        lambda request: (as_markdown if "markdown" in (request.fields.get("accept") or "") else as_html)(request),
    )


class TestNegotiation:
    async def test_the_page_is_markdown_where_the_site_has_that(self) -> None:
        n = neighbourhood()
        negotiating(n)
        answer = await n.discover()
        assert answer["static"]["markdown"] == f"{SITE}/"
        assert answer.document(f"{SITE}/")["media_type"] == "text/markdown"
        assert INDEX not in n.paths

    async def test_browsers_still_get_the_page(self) -> None:
        n = neighbourhood()
        negotiating(n)
        await n.discover()
        got = await n.engine.ask("/", {"Accept": "text/html"})
        assert (got.field("Content-Type"), got.body) == ("text/html", HTML)

    async def test_a_site_that_does_not_say_that_it_varies_gives_browsers_no_markdown(self) -> None:
        n = neighbourhood()
        n.publish("/", PAGE, content_type="text/markdown")
        await n.discover()
        n.publish("/", HTML, content_type="text/html")
        got = await n.engine.ask("/", {"Accept": "text/html"})
        assert got.body == HTML

    async def test_it_is_asked_for_by_the_accept_field(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        await n.discover()
        sent = [one.field("Accept") or "" for one in n.engine.origin.requests if one.path == "/"]
        assert len(sent) == 2 and all(accept.startswith("text/markdown") for accept in sent)

    @pytest.mark.parametrize("media_type", ["text/markdown", "TEXT/Markdown", "text/markdown;variant=GFM"])
    async def test_the_type_decides(self, media_type: str) -> None:
        n = neighbourhood()
        n.publish("/", PAGE, content_type=media_type)
        assert (await n.discover())["static"]["markdown"] == f"{SITE}/"

    async def test_plain_text_is_no_markdown(self) -> None:
        n = neighbourhood()
        n.publish("/", PAGE, content_type="text/plain")
        assert (await n.discover())["static"]["markdown"] is None

    async def test_clients_that_only_read_cost_no_search_for_it(self) -> None:
        n = neighbourhood()
        negotiating(n)
        answer = await n.discover(level="L0")
        assert (answer["static"]["markdown"], n.paths.count("/")) == (None, 0)


class TestOwnName:
    @pytest.mark.parametrize(
        ("how", "is_found"),
        [
            ({"content_type": "text/markdown"}, True),
            ({"content_type": "text/plain; charset=utf-8"}, True),
            ({"content_type": "text/html"}, False),
            ({"content_type": "application/octet-stream"}, False),
            ({"content_type": None}, False),
            ({"content_type": "text/markdown", "status": 404}, False),
        ],
        ids=["markdown", "plain", "HTML", "octets", "none", "404"],
    )
    async def test_a_page_beside_the_html_one(self, how: dict[str, Any], is_found: bool) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish(INDEX, PAGE, **how)
        answer = await n.discover()
        assert answer["static"]["markdown"] == (f"{SITE}{INDEX}" if is_found else None)

    async def test_is_not_looked_for_beside_an_llms_txt(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish("/llms.txt", b"# Example\n", content_type="text/plain")
        await n.discover()
        assert INDEX not in n.paths

    async def test_is_looked_for_where_cards_were_found(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish(CARD_AT, agent_card())
        n.publish(INDEX, PAGE, content_type="text/markdown")
        assert (await n.discover())["static"]["markdown"] == f"{SITE}{INDEX}"

    @pytest.mark.parametrize("status", [404, 410, 500, 503])
    async def test_is_not_looked_for_where_there_is_no_page(self, status: int) -> None:
        n = neighbourhood()
        n.publish("/", b"", status=status)
        await n.discover()
        assert INDEX not in n.paths

    @pytest.mark.parametrize("status", [403, 405])
    async def test_a_page_that_answers_no_head_is_read_by_get(self, status: int) -> None:
        n = neighbourhood()
        n.publish("/", PAGE, content_type="text/markdown")
        page = n.engine.origin.answering("/")
        n.publish("/", b"", status=status)
        refused = n.engine.origin.answering("/")
        n.engine.origin.answer("/", lambda request: (refused if request.method == "HEAD" else page)(request))
        assert (await n.discover())["static"]["markdown"] == f"{SITE}/"

    async def test_a_second_discovery_costs_nothing(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish(INDEX, PAGE, content_type="text/markdown")
        await n.discover()
        asked = len(n.paths)
        assert (await n.discover())["static"]["markdown"] == f"{SITE}{INDEX}"
        assert len(n.paths) == asked
