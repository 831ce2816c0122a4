"""The `link` and `base` elements in the head of an HTML page, in time linear in the page.

A scanner for the part of HTML's tokenisation (HTML Living Standard, 13.2.5) that a head can hold. The standard
library's parser takes time quadratic in hostile markup, and building a tree is not needed: the head ends with the
first text or element that belongs to the body. Contents of scripts, styles, comments and templates are not elements
of the page. Nothing is raised; a page cut short ends where it is cut.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Final

_SPACE: Final = "\t\n\f\r "
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\t\n\f\r />]*+)")
_ATTRIBUTE: Final = re.compile(
    r"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    r"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|(["'])|([^\t\n\f\r >"'][^\t\n\f\r >]*+)))?+"""
)
_TAG_END: Final = re.compile(r"[\t\n\f\r /]*+>")
_COMMENT_END: Final = re.compile(r"--!?>")
# Without its semicolon a reference in an attribute is more often a part of a query (13.2.5.73).
_CHARACTER_REFERENCE: Final = re.compile(
    r"&(?:#[0-9]{1,20}|#[xX][0-9A-Fa-f]{1,20}|[A-Za-z][A-Za-z0-9]{1,31});", re.ASCII
)

# Elements whose contents are text until their own end tag; `noscript` as where scripts run.
_TEXT_ELEMENTS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE)
    for name in ("iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp")
}
_OTHER_HEAD_ELEMENTS: Final = frozenset({"html", "head", "meta", "basefont", "bgsound"})
_BODY_ENDS: Final = frozenset({"head", "body", "html", "br"})
_WANTED: Final = frozenset({"base", "link"})


def head_elements(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Name and attributes of each `link` and `base`, in order; of attributes given twice, the first."""
    position = templates = 0
    while (opening := text.find("<", position)) >= 0:
        if not templates and text[position:opening].strip(_SPACE):
            return
        tag = _TAG.match(text, opening)
        if tag is None:
            position = _behind_no_tag(text, opening, is_template=templates > 0)
            if not position:
                return
            continue
        attributes, position = _read_attributes(text, tag.end())
        if not position:
            return
        name, is_end = tag[2].lower(), bool(tag[1])
        if name == "template":
            templates = max(0, templates + (-1 if is_end else 1))
        elif name in _TEXT_ELEMENTS and not is_end:
            closing = _TEXT_ELEMENTS[name].search(text, position)
            if closing is None:
                return
            position = closing.start()
        elif templates:
            continue
        elif name in _WANTED and not is_end:
            yield name, attributes
        elif name in _BODY_ENDS if is_end else name not in _OTHER_HEAD_ELEMENTS:
            return


def _behind_no_tag(text: str, opening: int, *, is_template: bool) -> int:
    """The position behind a `<` that begins no tag but a comment, a declaration or text; 0: the head ends there."""
    if text.startswith("<!--", opening):
        end = _COMMENT_END.search(text, opening + 2)
        return end.end() if end else 0
    if text.startswith(("<!", "<?", "</"), opening):
        return text.find(">", opening) + 1
    return opening + 1 if is_template else 0


def _read_attributes(text: str, position: int) -> tuple[Mapping[str, str], int]:
    """The attributes of the tag and the position behind it; 0 where the page ends inside the tag."""
    attributes: dict[str, str] = {}
    while (match := _ATTRIBUTE.match(text, position)) is not None:
        name, double_quoted, single_quoted, unclosed, unquoted = match.groups()
        if unclosed:
            return {}, 0
        value = double_quoted or single_quoted or unquoted or ""
        attributes.setdefault(name.lower(), _CHARACTER_REFERENCE.sub(_character, value))
        position = match.end()
    end = _TAG_END.match(text, position)
    return attributes, end.end() if end else 0


def _character(reference: re.Match[str]) -> str:
    return html.unescape(reference[0])
