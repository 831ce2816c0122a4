"""Whether bytes are what their publisher published, pure.

A *content identifier* (CID) names bytes by their hash, so that any copy can be checked without asking who sent it.
"""
