"""Where the public HTTP cache suite lies and how its two editions are started.

`npm` is the package pinned by `package-lock.json` beside this file; `git` is the suite's repository, newer,
with other tests. Their figures can't be compared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / ".build" / "conformance"

# The npm edition's client adds the surrogate suite to the index by itself.
DEFINITIONS_SCRIPT = """
const { default: suites } = await import('./tests/index.mjs')
const { existsSync } = await import('node:fs')
if (existsSync('./tests/surrogate-control.mjs')) {
  suites.push((await import('./tests/surrogate-control.mjs')).default)
}
console.log(JSON.stringify(suites))
"""


class SuiteError(Exception):
    """The suite could not be installed or run to its end; says what to do."""


class Edition(StrEnum):
    NPM = "npm"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class Suite:
    """One installed copy of the suite."""

    root: Path
    edition: Edition
    version: str

    @property
    def engine(self) -> Path:
        return self.root / "test-engine" if self.edition is Edition.GIT else self.root

    @property
    def label(self) -> str:
        return f"http-cache-tests {self.version} ({self.edition})"

    def origin_command(self) -> list[str]:
        loopback = ["--require", str(HERE / "loopback.cjs")]
        return [node(), "--no-warnings", *loopback, str(self.engine / "server" / "server.mjs")]

    def client_command(self) -> list[str]:
        return [node(), "--no-warnings", str(self.engine / "cli.mjs")]

    def definitions(self) -> list[dict[str, Any]]:
        """The suites of tests, as the suite's own files define them."""
        command = [node(), "--no-warnings", "--input-type=module", "--eval", DEFINITIONS_SCRIPT]
        suites: list[dict[str, Any]] = json.loads(subprocess.check_output(command, cwd=self.root))
        return suites


def suite_at(root: Path) -> Suite:
    """The copy of the suite in `root`. Raises SuiteError when there is none."""
    try:
        description = json.loads((root / "package.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteError(f"no copy of the suite in {root}: {error.strerror}") from error
    edition = Edition.GIT if (root / "test-engine").is_dir() else Edition.NPM
    return Suite(root.resolve(), edition, description["version"])


def installed_suite() -> Suite:
    """The npm edition, installed first where its lock has changed. Raises SuiteError without npm."""
    lock = BUILD / "package-lock.json"
    installed = BUILD / "node_modules" / ".package-lock.json"
    wanted = (HERE / "package-lock.json").read_bytes()
    if not (installed.exists() and lock.exists() and lock.read_bytes() == wanted):
        lock.unlink(missing_ok=True)
        _install()
        lock.write_bytes(wanted)
    return suite_at(BUILD / "node_modules" / "http-cache-tests")


def _install() -> None:
    npm = _program("npm")
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, BUILD / name)
    command = [npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SuiteError(f"npm could not install the suite:\n{done.stderr.strip()}")


def node() -> str:
    return _program("node")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SuiteError(f"{name} not found: the HTTP cache suite needs Node.js 20 or newer with npm")
    return path


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment for the suite's programs, which read their settings where npm would put them.

    What an npm around us has set is left out. The id must be set and empty, else the client looks for a test
    of the name `undefined`.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.lower().startswith("npm_")}
    unset = {"npm_config_id": "", "npm_package_config_id": "", "npm_package_config_base": ""}
    return {**inherited, **unset, **{f"npm_config_{name}": value for name, value in settings.items()}}
