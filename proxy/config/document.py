"""YAML as configuration wants it: the values of JSON, text keys, no duplicates, errors that quote no content.

YAML 1.1 reads `off`, `no`, `on` and `yes` as booleans; here only `true` and `false` are, as in YAML 1.2.
Keys that hold a boolean accept the other words all the same.
"""

import re
from typing import Any, Final

import yaml

_TAG: Final = "tag:yaml.org,2002:"
_NOT_JSON: Final = frozenset(f"{_TAG}{name}" for name in ("timestamp", "binary", "set", "omap", "pairs"))
_RESOLVED_AS_TEXT: Final = frozenset({f"{_TAG}bool", f"{_TAG}timestamp"})
_KEY_TAGS: Final = frozenset({f"{_TAG}str", f"{_TAG}merge"})
_QUOTED: Final = re.compile(r"'([^']*)'")
_HARMLESS: Final = re.compile(r"\\?.|<[a-z ]+>")


class MalformedYaml(ValueError):
    """The text is no YAML document that can be used; `problems` has one line each."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class _Loader(yaml.SafeLoader):
    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.key_problems: list[str] = []

    # Here and not later: a merge key (`<<`) adds the keys of another mapping, and a repeat of those is meant.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            line = f"line {key.start_mark.line + 1}"
            if key.tag not in _KEY_TAGS:
                self.key_problems.append(f"{line}: a key that is not text; quote it")
            elif key.value in seen:
                self.key_problems.append(f"{line}: duplicate key {key.value}")
            else:
                seen.add(key.value)
        return node


_Loader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag not in _NOT_JSON
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _RESOLVED_AS_TEXT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))


def parse_yaml(text: str) -> object:
    """The one document in `text`, None when it is empty; raises MalformedYaml, all faulty keys at once."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        document = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise MalformedYaml(_told(error)) from error
    except yaml.YAMLError as error:
        raise MalformedYaml("control characters") from error
    except RecursionError as error:
        raise MalformedYaml("nested too deeply") from error
    except (ValueError, LookupError) as error:
        raise MalformedYaml("a value that is not of its type, or a number too long") from error
    if loader.key_problems:
        raise MalformedYaml(*loader.key_problems)
    return document


def _told(error: yaml.MarkedYAMLError) -> str:
    # What the library quotes, such as an undefined alias, may be a secret that should have been quoted.
    what = _QUOTED.sub(lambda quoted: quoted[0] if _HARMLESS.fullmatch(quoted[1]) else "'…'", str(error.problem))
    mark = error.problem_mark
    return what if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: {what}"
