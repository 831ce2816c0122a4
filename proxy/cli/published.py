"""Documents that a command reads from where they are published, in this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from proxy.cli.arguments import Unusable
from proxy.cli.remote import RemoteFailure
from proxy.cli.terminal import waiting
from proxy.config import load
from proxy.discovery.classes import DocumentClass
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.logs.redaction import plain

if TYPE_CHECKING:
    from proxy.engine.discovery.reading import Reading

_LONGEST: Final = 500


def is_url(text: str) -> bool:
    """Whether what names a document names no file."""
    return text.lower().startswith(("http://", "https://"))


def parse_url(text: str) -> Target:
    """The target of a URL. Raises Unusable."""
    try:
        return parse_target(text)
    except MalformedTarget as error:
        raise Unusable(f"URL: {error.detail} Give it as https://example.com/path.") from None


def read_published(target: Target, document_class: DocumentClass, config: str | None) -> Reading:
    """What is there, read as a document of its class under the configuration in the file. Raises Unusable."""
    from proxy import server  # it takes its time, and most commands do without

    settings = load(config, os.environ, {})
    try:
        with waiting(f"reading {target.uri}"):
            return server.read_once(settings, target, document_class)
    except server.CannotOpen as error:
        raise Unusable(str(error)) from None


def nothing_there(reading: Reading) -> RemoteFailure:
    """The error for a reading without a document."""
    detail = plain(reading.detail or reading.reason, _LONGEST).removesuffix(".")
    return RemoteFailure(f"{plain(reading.url, _LONGEST)}: {detail}. There is nothing to judge.")
