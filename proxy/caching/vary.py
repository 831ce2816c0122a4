"""Selecting fields: when two requests ask for the same variant (RFC 9111 §4.1).

Values are normalised only as far as the result is provably the same: white space, case and order where the field
does not give them meaning, weights that are equal. `Accept-Encoding` goes further, because the proxy also *sends*
the normalised form: a plain set of codings the client takes, so any answer to it suits every client with that set.
"""

from __future__ import annotations

from dataclasses import dataclass

from proxy.http.fields import Fields, is_token, split_list

ANY = "*"


@dataclass(frozen=True, slots=True)
class _Weighted:
    thousandths: int
    text: str


def parse_vary(fields: Fields) -> tuple[str, ...] | None:
    """The selecting field names, lower-case and sorted; None for `Vary: *`, which selects nothing twice.

    What is no field name cannot be compared either, so it counts as `*`.
    """
    names = {name.lower() for value in fields.get_all("vary") for name in split_list(value)}
    return None if ANY in names or not all(map(is_token, names)) else tuple(sorted(names))


def selecting_values(names: tuple[str, ...], request: Fields) -> tuple[str | None, ...]:
    """The normalised request value of each selecting field, None where the request has none."""
    return tuple(normalise(name, request.get(name)) for name in names)


def normalise(name: str, value: str | None) -> str | None:
    """One form for all values of the field `name` (lower-case) that select the same variant."""
    if value is None:
        return None
    if name == "accept-encoding":
        return normalise_codings(value)
    if name in ("accept", "accept-language", "accept-charset"):
        return _canonical(value)
    return ", ".join(split_list(value))


def _parse_weighted(value: str) -> list[_Weighted] | None:
    """Elements with their weights (RFC 9110 §12.4.2); None when a weight is malformed."""
    elements = []
    for element in split_list(value):
        # Parameter values may be case-sensitive (RFC 9110 §5.6.6): those of `Accept` keep their case.
        first, *parameters = (part.strip(" \t") for part in element.split(";"))
        thousandths = 1000
        if parameters and parameters[-1].lower().startswith("q="):
            weight = _parse_weight(parameters.pop()[2:])
            if weight is None:
                return None
            thousandths = weight
        elements.append(_Weighted(thousandths, ";".join((first.lower(), *parameters))))
    return elements


def _parse_weight(text: str) -> int | None:
    whole, _, fraction = text.partition(".")
    digits = fraction.ljust(3, "0")
    if whole not in ("0", "1") or len(digits) > 3 or not (digits.isascii() and digits.isdigit()):
        return None
    thousandths = int(whole) * 1000 + int(digits)
    return thousandths if thousandths <= 1000 else None


def _canonical(value: str) -> str:
    elements = _parse_weighted(value)
    if elements is None or '"' in value:
        return ", ".join(split_list(value))
    ordered = sorted({(-element.thousandths, element.text) for element in elements})
    return ", ".join(text if weight == -1000 else f"{text};q={-weight / 1000:g}" for weight, text in ordered)


def normalise_codings(value: str, checkable: frozenset[str] | None = None) -> str:
    """The Accept-Encoding to send and to select by: the sorted set of codings with a weight above zero.

    A wildcard or a refused identity keeps the weighted form, whose meaning no set can carry. With `checkable`
    it is always a set: those of them that the client takes. No coding at all is spelled `identity`.
    """
    elements = _parse_weighted(value)
    if checkable is not None:
        weights = {_coding(element): element.thousandths for element in elements or ()}
        codings = {coding for coding in checkable if weights.get(coding, weights.get(ANY, 0))}
    elif elements is None or any(_is_special(element) for element in elements):
        return _canonical(value)
    else:
        codings = {_coding(element) for element in elements if element.thousandths} - {"identity"}
    return ", ".join(sorted(codings)) or "identity"


_ALIASES = {"x-gzip": "gzip", "x-compress": "compress"}  # RFC 9110 §8.4.1


def _coding(element: _Weighted) -> str:
    return _ALIASES.get(element.text, element.text)


def _is_special(element: _Weighted) -> bool:
    return element.text == ANY or (element.text == "identity" and element.thousandths == 0)


def favourite_language(value: str | None) -> str | None:
    """The one language range the client prefers to every other, lower-case; None without a single favourite."""
    elements = _parse_weighted(value or "")
    if not elements:
        return None
    best = max(element.thousandths for element in elements)
    favourites = {element.text for element in elements if element.thousandths == best}
    return favourites.pop() if best > 0 and len(favourites) == 1 else None
