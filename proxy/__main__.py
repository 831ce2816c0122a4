"""`python -m proxy`: the command line."""

from proxy.cli import main

raise SystemExit(main())
