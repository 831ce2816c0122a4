"""The names under which secrets stand in URLs, by what kind of secret it is (UAIX.md §5.5)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final


class Category(StrEnum):
    """What kind of secret it is."""

    CREDENTIAL = "credential"
    ACCOUNT = "account"
    REGULATED = "regulated"
    PAYMENT = "payment"
    PRIVATE_MESSAGE = "private-message"


# Lower case, without the separators that people leave out or exchange.
_NAMES: Final = {
    name: category
    for category, names in {
        Category.CREDENTIAL: """
            apikey xapikey key accesskey secretkey passphrase passcode pass pwd pin otp mfa bearer authorization
            auth credential credentials cookie session sessionid jsessionid phpsessid sid jwt saml samlrequest
            samlresponse codeverifier privatekey sshkey signature sig xamzsignature xamzcredential xgoogsignature
            xgoogcredential awsaccesskeyid googleaccessid keypairid""",
        Category.ACCOUNT: "account accountid accountnumber iban bic routingnumber customerid",
        Category.REGULATED: """
            ssn nationalid passport passportnumber taxid nhsnumber mrn patient patientid diagnosis""",
        Category.PAYMENT: "card cardnumber creditcard pan cvv cvc payment paymentid paymentmethod",
        Category.PRIVATE_MESSAGE: "privatemessage dm",
    }.items()
    for name in names.split()
}
_CREDENTIAL_ENDINGS: Final = ("token", "secret", "password", "passwd")

_SEPARATORS: Final = re.compile(r"[-_. ]")


def plain_name(name: str) -> str:
    """A name for comparison: of `user[api-key]` it is `apikey`."""
    inner = name.rpartition("[")[2].removesuffix("]") or name.partition("[")[0]
    return _SEPARATORS.sub("", inner).lower()


def category_of(plain: str) -> Category | None:
    if plain.endswith(_CREDENTIAL_ENDINGS):
        return Category.CREDENTIAL
    return _NAMES.get(plain)
