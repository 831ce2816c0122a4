"""The sections of the configuration on the origin's word and on catalogs that it overrules."""

from typing import Literal

from pydantic import Field

from proxy.config.sections import Section
from proxy.config.values import Count, Duration, HttpsUrl, Timeout


class Relocation(Section):
    """Records of permanent redirects and of what is gone."""

    max_age: Duration = 86400.0
    cross_domain: Literal["proof", "operator", "never"] = "proof"


class Catalogs(Section):
    """Third-party catalogs that are watched."""

    watch: tuple[HttpsUrl, ...] = Field(default=(), repr=False)
    interval: Timeout = 3600.0
    probe_concurrency: Count = 2
