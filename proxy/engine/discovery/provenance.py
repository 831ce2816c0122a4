"""Whether a document that was read may be used for the domain it was looked for (OV-3)."""

from __future__ import annotations

from proxy.discovery.pages.links import parse_link_fields
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.publications import HINT
from proxy.engine.discovery.reading import Reading
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target


def vouches(reading: Reading, site: Target | None = None) -> bool:
    """Whether a document on another domain says itself that it belongs to the one asked: by its site, or a link."""
    if site is not None and site.host == reading.asked.host:
        return True
    links = parse_link_fields(reading.fields.get_all("link"), reading.target)
    return any(link.rel == "canonical" and link.target == reading.asked for link in links)


def is_usable(call: Call, reading: Reading) -> bool:
    """Whether there is a document, and it lies where it may, or vouches for the domain from elsewhere.

    What is not usable is listed here, as not there or as a hint, unless it was rejected before.
    """
    if not reading.is_found:
        call.published.add_document(reading)
        return False
    if call.published.is_rejected(reading.place):
        return False
    if reading.needs_proof and not vouches(reading):
        detail = "cross-domain: It lies on another domain, which does not say that it is this one's."
        call.steps.note(reading.document_class.value, reading.url, StepOutcome.REFUSED, detail)
        call.published.add_document(reading, trust=HINT)
        return False
    if reading.needs_proof:
        call.confirm(reading)
    return True
