"""A caching discovery reverse proxy for fleets of AI agents.

Floors, each importing only from those below it:

5  cli server admin metrics logs config demo    talk to people and sockets
4  engine/                                      the order of things, one request at a time
3  stores/ upstream/                            adapters, one per port
2  ports                                        protocols only
1  caching/ discovery/                          pure decisions
0  http/                                        the wire's vocabulary, pure
"""

__version__ = "0.1.0"
