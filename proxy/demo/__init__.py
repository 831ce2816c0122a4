"""The demonstration: the proxy's whole job against an internet that it starts itself, on loopback.

documents   what the origin publishes
origin      example.com: a TLS server that counts what it is asked
process     the proxy, run as anybody would run it
agent       the client of its data port
admin       the client of its admin port
stage       all of these, started together and gone together
steps       the story; a step is one entry of STEPS
screen      lines for people
walk        the steps in order, and what came of them
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
