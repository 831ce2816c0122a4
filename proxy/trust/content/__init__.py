"""Content named by its hash: any copy can be checked without asking who sent it (TRUST.md §7).

Identifiers, blocks, the files that are made of them, and the signed records that say which file is the current one.
"""
