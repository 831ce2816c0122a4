"""Where stored responses and purge marks live: memory in front, an optional persistent store behind it.

`tiered` is what the engine holds. Everything below it may be slow, damaged or gone without a request failing.
"""
