"""Discovery of a domain: what it publishes for agents, in one answer (§10 of the formats).

A *call* is one discovery; a *step* is one thing it did, with what that cost; a *reading* is how reading one
document through the cache ended. A *source* is a place where a domain may publish. A *question* is what a client
asks, a *prepared* answer what it is sent.

discoverer      the story; calls for the same that come together share one
records         the DNS round
sources         the sources in their order; manifests, cards, catalogs, skills, apicatalogs, aid, anp are theirs
reader          a document through the gateway, hop by hop; landing asks for the landing page's fields
proof           AID's live proof; authorization finds OAuth metadata; locallink asks multicast DNS
description     everything found as the members of the answer
results         prepared answers, until the first of their sources is to be read again
"""
