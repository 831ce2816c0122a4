"""Configuration: a YAML file, the environment and flags become one frozen, checked `Settings`.

Precedence: flags over environment over file over defaults, key by key. Reading `os.environ` is the
caller's part.
"""

from collections.abc import Mapping

import yaml
from pydantic import ValidationError

from proxy.config.problems import Location, describe_invalid
from proxy.config.settings import NOT_IN_FORCE, Settings
from proxy.config.sources import Sources
from proxy.upstream.connect_to import ConnectTo

__all__ = ["ConfigError", "ConnectTo", "Settings", "effective_yaml", "load"]


class ConfigError(Exception):
    """The configuration cannot be used; `problems` has every reason found, one line each, secrets masked."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(path: str | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Settings:
    """The settings of a YAML file (None: no file), DISCOVERY_PROXY_ variables and flags by dotted key.

    Raises ConfigError.
    """
    sources = Sources()
    if path is not None:
        sources.add_file(path)
    sources.add_environment(environ)
    sources.add_flags(flags)
    try:
        settings = Settings.model_validate(sources.nested())
    except ValidationError as error:
        origins: dict[Location, str] = {key: given.source for key, given in sources.leaves.items()}
        raise ConfigError((*sources.problems, *describe_invalid(error, origins))) from None
    if sources.problems:
        raise ConfigError(tuple(sources.problems))
    return settings


def effective_yaml(settings: Settings) -> str:
    """Every key with its effective value, in a fixed order; secrets masked, idle sections marked."""
    sections = settings.model_dump(mode="json").items()
    return "".join(_section_yaml(name, values) for name, values in sections)


def _section_yaml(name: str, values: object) -> str:
    text: str = yaml.safe_dump({name: values}, sort_keys=False, allow_unicode=True, width=1000)
    head, *lines = text.splitlines()
    marked = (line + _comment(f"{name}.{line[2:].partition(':')[0]}") for line in lines)
    return "\n".join((f"{head}{_comment(name)}", *marked, ""))


def _comment(path: str) -> str:
    return "  # accepted, not in force in this version" if path in NOT_IN_FORCE else ""
