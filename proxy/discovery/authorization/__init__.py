"""How a client gets authorized (RFC 8414, RFC 9728).

identifiers               issuers and resources, where their metadata lies, and whether it is theirs
metadata                  the two documents
challenges                what a 401 names
"""
