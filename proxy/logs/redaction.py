"""What of a text from outside may stand in a log line: printable ASCII of bounded length, no secrets."""

from __future__ import annotations

import json
import re
from typing import Final

from proxy.http.secrets import known_secret

MASK: Final = "********"

LONGEST_PATH: Final = 512
LONGEST_WORD: Final = 64
_LONGEST_TEXT: Final = 2048

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_URL_USERINFO: Final = re.compile(r"(?<=://)[^\s/?#]*(?=@)")
_AFTER_QUESTION_MARK: Final = re.compile(r"(?<=\?)[^\s'\"<>]+")
_CREDENTIALS: Final = re.compile(r"\b(basic|bearer|digest|token)\s+\S+", re.IGNORECASE)
_AT_SIGN: Final = re.compile(r"@|%(?:25)*40")
_PATH_USERINFO: Final = re.compile(r"[^/]*(?::|%(?:25)*3a).*(?:@|%(?:25)*40)", re.IGNORECASE)
_PATH_END: Final = re.compile(r"[?#]|%(?:25)*(?:3f|23)", re.IGNORECASE)


def plain(text: str, longest: int) -> str:
    """The text in printable ASCII, everything else escaped, at most `longest` characters."""
    if len(text) <= longest and text.isascii() and text.isprintable():
        return text
    escaped = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text[:longest])
    return escaped.encode("ascii", "backslashreplace").decode()[:longest]


def scrubbed(text: str) -> str:
    """The first line of a message, without credentials, userinfo and what follows a question mark."""
    line = text.strip().partition("\n")[0]
    line = _CREDENTIALS.sub(rf"\1 {MASK}", _URL_USERINFO.sub(MASK, line))
    return plain(_AFTER_QUESTION_MARK.sub(MASK, line), _LONGEST_TEXT)


def target_path(path: str) -> str:
    """What may be told of a target URI's path: all but the userinfo of a URL in it, and nothing with a secret."""
    told = path if _AT_SIGN.search(path) is None else _PATH_USERINFO.sub(MASK, path)
    return MASK if known_secret(told) is not None else told[:LONGEST_PATH]


def unparsed_path(received: str) -> str:
    """What may be told of a request target that became no target URI: its path, or nothing.

    Where userinfo ends in a malformed target cannot be known, so one with an at sign is not told at all.
    """
    told = _PATH_END.split(received, maxsplit=1)[0]
    return MASK if _AT_SIGN.search(received) or known_secret(told) is not None else plain(told, LONGEST_PATH)


def quoted(value: object) -> str:
    """A value as text logs show it: in quotes, as JSON, when it would not end at the next space."""
    text = str(value)
    return json.dumps(text) if not text or " " in text or '"' in text else text
