"""HTTP caching as pure decisions (RFC 9111, 5861, 8246, 9213), in the order a response lives through them.

directives    what Cache-Control and CDN-Cache-Control say
freshness     how long a response is fresh and how old it is
vary          which request fields select a variant, and when two values are the same
storing       may this response be stored: `Storable` or `NotStored(reason)`
stored        the stored response and its versioned record
reuse         may a stored response answer: `Hit`, `StaleHit`, `Revalidate`, `Miss`, `Unsatisfiable`
validation    the conditional request, and what its answer does to the stored response
preconditions what the client's own conditions and ranges make of a stored response
invalidation  which target URIs a successful unsafe request makes stale
generations   what has been purged or invalidated since a response was fetched
serving       the fields of a served response: Age, Cache-Status, Via

Nothing here waits, reads a clock or touches a socket: `now` is an argument in Unix seconds.
"""
