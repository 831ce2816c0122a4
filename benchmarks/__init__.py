"""What the proxy costs and how it bears load: `python -m benchmarks [names…]`.

registry    what a benchmark is, and which there are
measures/   one module or package a benchmark
tables      rows a person reads, and the same rows as JSON
machine     what the figures were measured on
latency     median, p99 and maximum
turns       calls of one process timed in turns
load        requests at fixed moments
documents   the documents that are cached: about 2 KB, a dozen fields
publisher   signed manifests of any size, and the DID document of their keys
processes   the proxy and an origin as processes of their own
origin      that origin
client      connections that ask them
"""
