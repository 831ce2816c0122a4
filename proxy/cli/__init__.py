"""The command `discovery-proxy`.

Exit codes: 0 fine, 1 negative finding, 2 usage or configuration, 3 network; 130 when interrupted.

arguments    verbs, flags and their help; flags, publisherflags
verbs        what each verb does
discovering  `discover`
recording    `records`
evidence     `evidence`
linting      `lint`
keys         `keygen`, `did-document`
signing      `sign`; publishing, selfcheck, steps
verifying    `verify`; anchoring, judging
identifying  `cid`
identifiers  DIDs and names of keys as flags give them
moments      times as flags give them
files        what a command reads and writes
published    documents read from where they are published
ports        which ports of a running proxy are asked
remote       a running proxy's ports, asked from here
report       an explanation for people
discovery    what a domain publishes, for people
records      what is recorded of a URL, for people
tree         lines as a tree
parts        a JSON answer, read for people
terminal     what a terminal is fit for
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from proxy.cli.arguments import Unusable, parse_arguments
from proxy.cli.remote import RemoteFailure, RemoteRefusal
from proxy.cli.verbs import VERBS
from proxy.config import ConfigError

FINE, USAGE, NETWORK, INTERRUPTED = 0, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. Raises SystemExit for --help, --version and malformed arguments."""
    arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        code = VERBS[arguments.verb](arguments)
        sys.stdout.flush()
    except ConfigError as error:
        return _fail(USAGE, *error.problems)
    except (Unusable, RemoteRefusal) as error:
        return _fail(USAGE, str(error))
    except RemoteFailure as error:
        return _fail(NETWORK, str(error))
    except BrokenPipeError:
        return _leave_quietly()
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _fail(code: int, *problems: str) -> int:
    for problem in problems:
        print(f"discovery-proxy: {problem}", file=sys.stderr)
    return code


def _leave_quietly() -> int:
    """The reader of our output has gone, as `| head` does; nothing must be written at exit either."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FINE
