"""Catalogs of others, with what the origins themselves say of the listed URLs applied (CONTRACT.md §7), pure.

A catalog lists URLs of others, and goes on listing those that have moved or are gone. An *entry* is one such URL:
where it stands in the document, what it is of (its *subject*), and the *key* under which an origin's word on it
would be recorded. A document is changed where a URL is overridden and nowhere else, and a sealed one not at all.

catalog     the values: an entry, a catalog, what is no catalog
reading     octets to a catalog; start reading here
listing     a JSON text, and where in it the elements of its lists are
keys        the key of a listed URL, or why it has none
seals       which members sign a document or a part of it
claims      of which class the document at a listed URL is said to be
collecting  what the formats have in common while they are read
aicatalogs, linksets, mcpregistries, agentcards, anpdescriptions   one format each
verdicts    where a URL stands, by the records and by what else is known
applying    the document with URLs replaced and entries removed
reporting   the same for people and programs that want to know why
merging     several catalogs as one; where they disagree, the origins decide (OV-8)
"""
