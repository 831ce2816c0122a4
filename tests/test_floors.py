"""The import floors: what each part of `proxy/` may import, and how large it may grow.

Imports go downwards only, floors 0 and 1 stay pure, a foreign library enters at one border, and no module
or function outgrows what a reader can hold. Every finding is printed as `file:line: what is wrong`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = {
    0: {"http"},
    1: {"boundary", "caching", "catalogs", "discovery", "trust", "capability", "relocation", "failover", "lint"},
    2: {"boundaries", "ledgers", "metering", "ports", "single", "trustrecords"},
    3: {"stores", "upstream"},
    4: {"engine"},
    5: {"__init__", "__main__", "admin", "cli", "config", "demo", "logs", "metrics", "server"},
}
FLOOR_OF = {unit: floor for floor, units in FLOORS.items() for unit in units}
PURE = 1
TOP = 5
SIDEWAYS = {
    ("boundary", "proxy.capability"),
    ("boundary", "proxy.discovery"),
    ("boundary", "proxy.trust.signatures.canonical"),
    ("capability", "proxy.discovery.findings"),
    ("capability", "proxy.discovery.jsontext"),
    ("capability", "proxy.discovery.access.routes"),
    ("capability", "proxy.discovery.urls"),
    ("catalogs", "proxy.discovery"),
    ("catalogs", "proxy.relocation"),
    ("discovery", "proxy.trust.content"),
    ("discovery", "proxy.trust.reasons"),
    ("discovery", "proxy.trust.signatures"),
    ("failover", "proxy.discovery.access.mirrors"),
    ("failover", "proxy.trust"),
    ("lint", "proxy.boundary"),
    ("lint", "proxy.capability"),
    ("lint", "proxy.discovery"),
    ("lint", "proxy.trust"),
}

IMPURE = {"aiohttp", "asyncio", "hishel", "logging", "os", "random", "redis", "socket", "time"}
BORDERS = {
    "cryptography": ("proxy.trust.signatures", "proxy.upstream.dns.signatures"),
    "rfc8785": ("proxy.trust.signatures.canonical",),
    "dns": ("proxy.demo", "proxy.upstream.dns"),
    "zeroconf": ("proxy.upstream.mdns",),
    "aiohttp": ("proxy.admin", "proxy.cli", "proxy.demo", "proxy.server", "proxy.upstream"),
    "hishel": ("proxy.stores.persistent",),
    "prometheus_client": ("proxy.metrics",),
    "redis": ("proxy.stores.persistent",),
}

FORBIDDEN_NAMES = {"common", "helpers", "manager", "utils"}
MODULE_LINES = 300
FUNCTION_LINES = 50


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: where it lies, its dotted name, the unit of `proxy/` it belongs to, and its text."""

    path: Path
    name: str
    unit: str
    source: str

    @property
    def floor(self) -> int:
        return FLOOR_OF[self.unit]

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def modules_below(root: Path) -> list[Module]:
    """Every module of the package `proxy` in `root`, those that nobody has placed on a floor included."""
    return [module_at(path, root) for path in sorted((root / "proxy").rglob("*.py"))]


def module_at(path: Path, root: Path) -> Module:
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(path.relative_to(root), name, parts[1], path.read_text(encoding="utf-8"))


def imports(module: Module, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything imported; `from a import b` counts as `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def refusal_inside(module: Module, target: str) -> str | None:
    """Why this module may not import `target`, a name inside `proxy`."""
    unit = target.split(".")[1] if "." in target else "__init__"
    if unit not in FLOOR_OF:
        unit = "__init__"  # a name that proxy/__init__.py defines, not a module
    floor = FLOOR_OF[unit]
    if unit == module.unit or floor < module.floor or floor == module.floor == TOP:
        return None
    if any(module.unit == importer and is_within(target, allowed) for importer, allowed in SIDEWAYS):
        return None
    return f"{module.unit} (floor {module.floor}) imports {target} (floor {floor}): imports go downwards only"


def refusal_outside(module: Module, target: str) -> str | None:
    """Why this module may not import `target`, a name of the standard library or of a foreign package."""
    package = target.split(".")[0]
    if module.floor <= PURE and package in IMPURE:
        return f"{module.unit} (floor {module.floor}) imports {package}: floors 0 and 1 are pure"
    borders = BORDERS.get(package)
    if borders and not any(is_within(module.name, border) for border in borders):
        return f"{package} enters through {', '.join(borders)} only"
    return None


def import_findings(module: Module, tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, target in imports(module, tree):
        refusal = refusal_inside if is_within(target, "proxy") else refusal_outside
        reason = refusal(module, target)
        if reason is not None:
            yield line, reason


def size_findings(module: Module, tree: ast.AST) -> Iterator[tuple[int, str]]:
    lines = len(module.source.splitlines())
    if lines > MODULE_LINES:
        yield MODULE_LINES + 1, f"module of {lines} lines, at most {MODULE_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield node.lineno, f"function {node.name} of {length} lines, at most {FUNCTION_LINES}"


def name_findings(module: Module) -> Iterator[tuple[int, str]]:
    forbidden = FORBIDDEN_NAMES.intersection(module.name.split("."))
    if forbidden:
        yield 1, f"a module named {', '.join(sorted(forbidden))}: name it after its concept"


def findings(module: Module) -> list[str]:
    """Every breach in one module, each as `file:line: what is wrong`."""
    if module.unit not in FLOOR_OF:
        return [f"{module.path}:1: {module.unit} stands on no floor: place it in FLOORS of tests/test_floors.py"]
    tree = ast.parse(module.source)
    found = [*import_findings(module, tree), *size_findings(module, tree), *name_findings(module)]
    return [f"{module.path}:{line}: {what}" for line, what in sorted(found)]


MODULES = modules_below(ROOT)


@pytest.mark.parametrize("module", MODULES, ids=[str(module.path) for module in MODULES])
def test_floors(module: Module) -> None:
    breaches = findings(module)
    assert not breaches, "\n" + "\n".join(breaches)


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * FUNCTION_LINES

KEPT = {
    "downwards": (
        "proxy/engine/gateway.py",
        "from proxy.caching.reuse import decide\nfrom proxy import ports",
    ),
    "own package": ("proxy/caching/reuse.py", "from .freshness import age\nfrom proxy.caching import stored"),
    "allowed sideways": ("proxy/capability/resolve.py", "from proxy.discovery.access.routes import RouteRecord"),
    "allowed sideways, module": ("proxy/discovery/catalogue.py", "from proxy.trust import reasons"),
    "top floor among itself": ("proxy/cli.py", "from proxy import __version__, server\nimport proxy.config"),
    "package as top floor": ("proxy/server/app.py", "import aiohttp.web\nfrom ..admin import pages"),
    "border": ("proxy/stores/persistent.py", "import hishel, time"),
    "longest module": ("proxy/ports.py", "x = 1\n" * MODULE_LINES),
    "longest function": ("proxy/ports.py", LONG_FUNCTION.removesuffix("    x = 1\n")),
}
BROKEN = {
    "upwards": ("proxy/caching/reuse.py", "\nimport proxy.engine.gateway", "2: caching (floor 1) imports"),
    "upwards, relative": ("proxy/caching/reuse.py", "from ..engine import gateway", "1: caching (floor 1)"),
    "upwards, from a package": (
        "proxy/http/__init__.py",
        "from .. import ports",
        "1: http (floor 0) imports",
    ),
    "upwards to the root": (
        "proxy/upstream/origin.py",
        "from proxy import __version__",
        "imports proxy.__ver",
    ),
    "upwards, deferred": ("proxy/http/dates.py", "def f():\n    import proxy.ports", "2: http (floor 0)"),
    "sideways": ("proxy/caching/reuse.py", "from proxy.trust import reasons", "1: caching (floor 1) imports"),
    "sideways, other module": (
        "proxy/discovery/access/manifest.py",
        "from proxy.trust.proof import x",
        "proxy.trust.pr",
    ),
    "adapters": (
        "proxy/stores/tiered.py",
        "from proxy.upstream import origin",
        "1: stores (floor 3) imports",
    ),
    "impure": (
        "proxy/http/dates.py",
        "import time",
        "1: http (floor 0) imports time: floors 0 and 1 are pure",
    ),
    "impure submodule": (
        "proxy/relocation.py",
        "from os.path import join",
        "1: relocation (floor 1) imports os",
    ),
    "hishel elsewhere": (
        "proxy/stores/tiered.py",
        "import hishel",
        "1: hishel enters through proxy.stores.pers",
    ),
    "aiohttp elsewhere": ("proxy/engine/gateway.py", "from aiohttp import web", "1: aiohttp enters through"),
    "border by prefix": ("proxy/metrics_page.py", "x = 1", "1: metrics_page stands on no floor"),
    "unplaced package": ("proxy/plugins/a.py", "x = 1", "1: plugins stands on no floor: place it"),
    "long module": ("proxy/ports.py", "x = 1\n" * (MODULE_LINES + 1), "301: module of 301 lines"),
    "long function": ("proxy/ports.py", LONG_FUNCTION, "1: function f of 51 lines"),
    "long method": (
        "proxy/ports.py",
        "class A:\n    async def f(self):\n" + "        1\n" * 50,
        "2: function f of",
    ),
    "forbidden module": ("proxy/engine/utils.py", "", "1: a module named utils"),
    "forbidden package": ("proxy/engine/common/a.py", "", "1: a module named common"),
}


def written(root: Path, name: str, source: str) -> Module:
    path = root / name
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    [module] = modules_below(root)
    return module


@pytest.mark.parametrize(("name", "source"), KEPT.values(), ids=KEPT)
def test_what_the_floors_allow(tmp_path: Path, name: str, source: str) -> None:
    assert findings(written(tmp_path, name, source)) == []


@pytest.mark.parametrize(("name", "source", "finding"), BROKEN.values(), ids=BROKEN)
def test_what_the_floors_refuse(tmp_path: Path, name: str, source: str, finding: str) -> None:
    [breach] = findings(written(tmp_path, name, source))
    assert breach.startswith(f"{name}:") and finding in breach
