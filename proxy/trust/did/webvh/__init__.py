"""did:webvh 1.0: a did:web with a signed history, which may be fetched from anywhere (TRUST.md §3).

A log proves that this is the history that the identifier commits to, and each step authorised; not that it is the
latest, and no tie to the domain. So whoever reads one has to know the self-certifying part (SCID) from elsewhere.
"""
