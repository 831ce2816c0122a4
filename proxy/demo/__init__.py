"""The demonstration: the proxy's whole job against an internet that it starts itself, on loopback.

documents     what example.com publishes
publisher     its DID and its signature, and the copies for mirrors and IPFS
loopback      a server that can be killed and comes back
origin        example.com, and each of its mirrors: over TLS, counting what it is asked
gateway       an IPFS gateway that nobody has to trust
nameserver    the zone of example.com
process       the proxy, run as anybody would run it
agent         the client of its data port
admin         the client of its admin port
stage         all of these, started together and gone together
expectations  what an answer is held to
steps         the story; a step is one entry of STEPS
failover      its part in which the origin is dead for good
relocation    its part in which the origin has the last word
boundary      its part in which a person has it
screen        lines for people
walk          the steps in order, and what came of them
switchboard   for whoever stays: kills servers and starts them again
"""

from __future__ import annotations

import asyncio
import sys

from proxy.cli.terminal import may_colour
from proxy.demo.process import CannotStart
from proxy.demo.screen import Screen
from proxy.demo.steps import STEPS
from proxy.demo.walk import walk

_NEGATIVE, _UNUSABLE = 1, 2


def main(keep: bool) -> int:
    """Walk all steps; 0 only if each did what it says, 2 when the demo could not be set up.

    With `keep` everything goes on running afterwards, until Ctrl-C. An earlier one raises KeyboardInterrupt.
    """
    screen = Screen(sys.stdout, colour=may_colour(sys.stdout))
    try:
        return asyncio.run(walk(STEPS, keep=keep, screen=screen))
    except asyncio.CancelledError:  # ended by SIGTERM or SIGHUP
        return _NEGATIVE
    except CannotStart as error:
        screen.clear()
        print(f"discovery-proxy: the demo cannot start: {error}", file=sys.stderr)
        print("It needs free ports on 127.0.0.1 and a writable directory for temporary files.", file=sys.stderr)
        return _UNUSABLE
