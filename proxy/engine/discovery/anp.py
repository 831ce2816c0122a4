"""ANP agent descriptions, asked for only where the operator wants them (AN-1)."""

from __future__ import annotations

from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument
from proxy.discovery.listings.anp import CollectionPage, parse_collection_page
from proxy.discovery.notes import UNPLACED
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.publications import HINT
from proxy.engine.discovery.reading import Manner
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.messages import ResponseHead
from proxy.http.targets import Target

_STEP: Final = "anp"
_MOST_PAGES: Final = 20


async def find_descriptions(call: Call, start: Target) -> None:
    """The agents of the pages from `start` on, each as the place of its description."""
    page: Target | None = start
    seen: set[Target] = set()
    while page is not None and page not in seen and len(seen) < _MOST_PAGES:
        seen.add(page)
        manner = Manner(accept="application/json, application/ld+json", judge=_is_page)
        reading = await call.read(_STEP, page, DocumentClass.OTHER, manner)
        parsed = parse_collection_page(reading.body, reading.target) if reading.is_found else None
        if not isinstance(parsed, CollectionPage):
            call.published.add_document(reading, document_class="other")
            return
        call.published.add_document(reading, parsed.findings, document_class="other")
        for item in parsed.items:
            call.published.add_endpoint("anp", item.url.uri, "agent-descriptions", HINT)
        page = parsed.next
    if page is not None:
        call.steps.note(_STEP, page.uri, StepOutcome.SKIPPED, f"No more than {_MOST_PAGES} pages, each once.")


def _is_page(_: ResponseHead, body: bytes) -> NotADocument | None:
    parsed = parse_collection_page(body, UNPLACED)
    return parsed if isinstance(parsed, NotADocument) else None
