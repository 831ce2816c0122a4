"""Signatures over JSON documents: strict JSON in, canonical form, keys, and the two containers of a proof.

`cryptography` and `rfc8785` enter the trust package here and nowhere else. Everything raises `Untrusted` only.
"""
