"""The canonical form of a JSON value (JCS, RFC 8785): the octets that are hashed and signed."""

from __future__ import annotations

from typing import Any, cast

import rfc8785

from proxy.trust.reasons import Reason, Untrusted


def canonical(value: object) -> bytes:
    """The one form of a value that `json` could have parsed. Raises Untrusted where there is none.

    The reasons are JSON_NUMBER_RANGE, JSON_SURROGATE and JSON_DEPTH, and JSON_INVALID for what is no JSON value.
    Nothing that `parse_ijson` gave is refused.
    """
    try:
        return rfc8785.dumps(cast(Any, value))
    except RecursionError:
        raise Untrusted(Reason.JSON_DEPTH, "The value is nested too deeply.") from None
    except UnicodeEncodeError:
        raise _surrogate() from None
    except (rfc8785.IntegerDomainError, rfc8785.FloatDomainError):
        raise Untrusted(Reason.JSON_NUMBER_RANGE, "A number has no canonical form.") from None
    except rfc8785.CanonicalizationError as error:
        if isinstance(error.__cause__, UnicodeEncodeError):
            raise _surrogate() from None
        raise Untrusted(Reason.JSON_INVALID, "The value is none of JSON.") from None
    except ValueError:
        # An integer so long that it cannot even be named in a message.
        raise Untrusted(Reason.JSON_NUMBER_RANGE, "An integer is beyond 2^53 - 1.") from None


def _surrogate() -> Untrusted:
    return Untrusted(Reason.JSON_SURROGATE, "A string has half of a surrogate pair.")
