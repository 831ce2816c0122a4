"""What a client may be sent to, pure.

A *capability atom* is one thing a client can reliably do; a *level* is a label on a *ladder* and stands for
atoms, but never grants permission; a *client class* is a kind of client with its atoms. A route *needs*
atoms. *Resolution* weighs a route against a client and ends in one of three: execute it, *fall back* to a
lower way that the site published, or a *no-op*: show a person the review URL and stop.

atoms       the capability atoms and the order in which a missing one is named
ladders     levels, ladders and client classes, and the atoms that each stands for
effects     what a route or a request changes
needs       the atoms that a route needs
resolution  the three outcomes with their rules and reasons
fallbacks   the published way down when atoms are missing, and the review URL
resolve     the decision procedure D1 to D10
covering    which route record speaks of a request; pathtree, the templates of paths
profiles    what a client says of itself; profilerules, what a profile gets wrong
claims      what is claimed in a request, and what counts beside what is proven

Source of all: UAIX.md §2, §4.1 to §4.5, §5.3 to §5.5.
"""
