"""Discovery of a domain: what it publishes for agents, in one answer (§10 of the formats).

A *call* is one discovery, within its *budget*; a *step* is one thing it did, with what that cost; a *reading* is
how reading one document through the cache ended, in the *manner* it was asked for. A *source* is a place where a
domain may publish, a *publication* what was found there. A *question* is what a client asks, a *prepared* answer
what it is sent.

discoverer      the story; calls for the same that come together share one
records         the DNS round; listing says how records are told
sources         the sources in their order; manifests, cards, catalogs, skills, apicatalogs, aid, anp are theirs
reader          a document through the gateway, hop by hop; landing asks for the landing page's fields
provenance      whether a document found elsewhere may be used
proof           AID's live proof; authorization finds OAuth metadata; locallink asks multicast DNS
description     everything found as the members of the answer, for one client; preparation makes it ready to send
results         prepared answers; memory is what forgets what a purge concerns
"""
