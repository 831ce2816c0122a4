"""Logs: one line an event, one line a request, as JSON or as text.

Invariants: no query, userinfo, credential or header value reaches a line. A request is told by its target
without query; of an exception the type and a scrubbed first line are told and, at debug, where it was raised.

redaction    what of a text may be told
events       events, through the standard library's logging
access       requests, off the hot path
"""

from proxy.logs.access import AccessLog
from proxy.logs.events import Format, Level, configure, set_level

__all__ = ["AccessLog", "Format", "Level", "configure", "set_level"]
