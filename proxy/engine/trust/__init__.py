"""Who vouches for what an origin, or somebody in its place, says.

*Known* is what is remembered of a domain. *Pinning* fetches and pins DID documents while the domain answers,
and *continuing* looks elsewhere for longer logs while it does not; the *voucher* judges what origins send; a
*standby* finds verified copies when they do not answer, and *probing* asks them until they do. *Verifying*
tells each verdict.
"""
