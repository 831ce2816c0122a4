"""Decentralised identifiers of a domain: where their documents lie, and which keys may speak for them.

A DID is fixed before anything comes from a mirror, and compares byte for byte (TRUST.md §0, §1).
"""
