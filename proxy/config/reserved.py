"""The sections of the configuration that this version checks but does not act on: keys, defaults, units."""

from typing import Literal

from proxy.config.sections import Section
from proxy.config.values import Network, Port, Text


class Egress(Section):
    """Where the proxy may connect to."""

    mode: Literal["enforce", "report", "open"] = "enforce"
    ports: tuple[Port, ...] = (80, 443)
    allow_cidrs: tuple[Network, ...] = ()
    allow_hosts: tuple[Text, ...] = ()
    deny_hosts: tuple[Text, ...] = ()
