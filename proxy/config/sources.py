"""Where values come from: a YAML file, environment variables, flags.

Each source sets leaves by path, a later source replacing leaf by leaf; a list or a free mapping is a leaf.
What cannot be placed is told as a problem, never raised.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from proxy.config.document import MalformedYaml, parse_yaml
from proxy.config.problems import describe_kind, describe_unknown
from proxy.config.sections import Section
from proxy.config.settings import Settings

PREFIX: Final = "DISCOVERY_PROXY_"

# Kubernetes tells every pod about a service named discovery-proxy, or discovery-proxy-…, by such variables.
_SERVICE_NAME: Final = re.compile(
    r"(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_URL: Final = re.compile(r"(tcp|udp|sctp)://.+")

KeyPath = tuple[str, ...]


def _keys(section: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    for name, info in section.model_fields.items():
        yield (*path, name), info.annotation
        if _is_section(info.annotation):
            yield from _keys(info.annotation, (*path, name))


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)


# Every key that a source can set by itself, sections included, with the type of its value.
_KEYS: Final[Mapping[KeyPath, Any]] = dict(_keys(Settings, ()))


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody set, and in which source: a file's path, a variable's name, "flags"."""

    value: object
    source: str


@dataclass(frozen=True, slots=True)
class Sources:
    """The leaves set so far, the latest source winning, and the problems met on the way."""

    leaves: dict[KeyPath, Given] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_file(self, path: str) -> None:
        """Takes a YAML file; an empty one sets nothing."""
        try:
            document = parse_yaml(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            self.problems.append(f"{path}: cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            self.problems.append(f"{path}: cannot be read: not UTF-8 text")
        except MalformedYaml as error:
            self.problems.extend(f"{path}: {problem}" for problem in error.problems)
        else:
            self._add((), Given(document, path))

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Takes the variables with our prefix, the more specific name winning; empty ones set nothing."""
        ours = {name.removeprefix(PREFIX): text for name, text in environ.items() if name.startswith(PREFIX)}
        for name in sorted(filter(ours.get, ours), key=lambda name: (name.count("__"), name)):
            path = tuple(name.lower().split("__"))
            if path in _KEYS:
                self._add_variable(path, PREFIX + name, ours[name])
            elif not _is_service_link(name, ours[name]):
                names = ("__".join(path).upper() for path in _KEYS)
                self.problems.append(f"{PREFIX}{name}: {describe_unknown(name, names, PREFIX)}")

    def add_flags(self, flags: Mapping[str, object]) -> None:
        """Takes values by dotted key; None means that the flag was not given."""
        for key, value in flags.items():
            path = tuple(key.split("."))
            if path not in _KEYS:
                self.problems.append(f"flags: {key}: {describe_unknown(key, map('.'.join, _KEYS))}")
            elif value is not None:
                self._add(path, Given(value, "flags"))

    def nested(self) -> dict[str, Any]:
        """The leaves as the mapping of mappings that a file would hold."""
        root: dict[str, Any] = {}
        for path, given in self.leaves.items():
            section = root
            for name in path[:-1]:
                section = section.setdefault(name, {})
            section[path[-1]] = given.value
        return root

    def _add_variable(self, path: KeyPath, name: str, text: str) -> None:
        try:
            self._add(path, Given(_read_variable(_KEYS[path], text), name))
        except MalformedYaml as error:
            self.problems.extend(f"{name}: {'.'.join(path)}: {problem}" for problem in error.problems)

    def _add(self, path: KeyPath, given: Given) -> None:
        if path and not _is_section(_KEYS[path]):
            self.leaves[path] = given
        elif isinstance(given.value, Mapping):
            self._add_section(path, given.value, given.source)
        elif given.value is not None:
            where = ": ".join((given.source, *filter(None, [".".join(path)])))
            names = ", ".join(_names_in(path))
            self.problems.append(
                f"{where}: given {describe_kind(given.value)}; allowed: a mapping with the keys {names}"
            )

    def _add_section(self, path: KeyPath, values: Mapping[object, object], source: str) -> None:
        for name, value in values.items():
            inner = (*path, str(name))
            if inner in _KEYS:
                self._add(inner, Given(value, source))
            else:
                self.problems.append(f"{source}: {'.'.join(inner)}: {describe_unknown(str(name), _names_in(path))}")


def _names_in(path: KeyPath) -> Iterable[str]:
    return [key[-1] for key in _KEYS if key[:-1] == path]


def _read_variable(annotation: Any, text: str) -> object:
    """The value of a variable: YAML for a section, list or mapping, else the text itself."""
    if _is_section(annotation) or get_origin(annotation) in (tuple, Mapping):
        return parse_yaml(text)
    return None if text == "null" and type(None) in get_args(annotation) else text


def _is_service_link(name: str, text: str) -> bool:
    is_url = name.endswith("PORT") and _SERVICE_URL.fullmatch(text) is not None
    return is_url or _SERVICE_NAME.fullmatch(name) is not None
