"""What is deployed: its files parse, name only what exists, and agree with the configuration that they start."""

from __future__ import annotations

import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from hishel import AsyncSqliteStorage

from proxy.config import Settings, load

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "discovery-proxy.service"
MANIFESTS = sorted(path for path in DEPLOY.rglob("*") if path.suffix in (".yaml", ".yml"))
DOCUMENTS = [
    ROOT / "CONTRIBUTING.md",
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "config", "deploy")),
]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
CONFIG = "/etc/discovery-proxy/"
# Kubernetes' own, where a pod names none.
GRACE_SECONDS = 30
MIB = 2**20


def logical_lines(path: Path) -> list[str]:
    """The lines of a Dockerfile or script block, continued ones joined, without comments."""
    text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if line and not line.startswith("#")]


DOCKERFILE = logical_lines(ROOT / "Dockerfile")
COPIED = [line.split()[1:] for line in DOCKERFILE if line.startswith("COPY ") and "--from=" not in line]
SOURCES = sorted({source for *sources, _ in COPIED for source in sources})
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def unit(key: str) -> str:
    """The one value of a key of the systemd unit."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    [value] = [line.partition("=")[2] for line in lines if line.startswith(f"{key}=")]
    return value


def manifest(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def sidecar() -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod's specification, and the proxy's container in it."""
    [pod] = manifest(DEPLOY / "kubernetes" / "sidecar.yaml")
    [container] = [one for one in pod["spec"]["initContainers"] if one["name"] == "discovery-proxy"]
    return pod["spec"], container


def sidecar_settings() -> Settings:
    _, container = sidecar()
    *_, config = container["args"]
    environ = {variable["name"]: variable["value"] for variable in container["env"]}
    return load(str(ROOT / "config" / config.removeprefix(CONFIG)), environ, {})


def mebibytes(quantity: str) -> int:
    number, factor = re.fullmatch(r"(\d+)(Mi|Gi)", quantity).groups()  # type: ignore[union-attr]
    return int(number) * {"Mi": 1, "Gi": 1024}[factor]


def named_configurations() -> Iterator[str]:
    """Every file of the image's configuration folder that a file of the deployment names."""
    for path in (*MANIFESTS, ROOT / "Dockerfile"):
        yield from re.findall(rf"{CONFIG}([\w.-]+)", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_parses(path: Path) -> None:
    assert all({"apiVersion", "kind", "metadata", "spec"} <= document.keys() for document in manifest(path))


@pytest.mark.parametrize("source", SOURCES)
def test_the_image_is_made_of_files_that_exist(source: str) -> None:
    assert (ROOT / source).exists()
    assert not any(fnmatch(source, pattern) for pattern in IGNORED), f".dockerignore keeps {source} out"


def test_the_image_holds_the_configurations_that_are_named() -> None:
    assert ["config", CONFIG.rstrip("/")] in COPIED
    named = set(named_configurations())
    assert named == {"sidecar.yaml"}
    assert all((ROOT / "config" / name).is_file() for name in named)


def test_the_image_starts_the_projects_script() -> None:
    [entry] = [line for line in DOCKERFILE if line.startswith("ENTRYPOINT ")]
    assert yaml.safe_load(entry.removeprefix("ENTRYPOINT ")) == list(SCRIPTS)


def test_the_images_environment_is_configuration() -> None:
    environ = dict(re.findall(r"(DISCOVERY_PROXY_\w+)=(\S+)", "\n".join(DOCKERFILE)))
    assert load(None, environ, {}).listen.host == "0.0.0.0"


def test_the_unit_starts_what_its_guide_installs() -> None:
    program, _, _, config = shlex.split(unit("ExecStart"))
    guide = (DEPLOY / "README.md").read_text(encoding="utf-8")
    environment, _, script = program.rpartition("/bin/")
    assert script in SCRIPTS
    assert f"-m venv {environment}\n" in guide
    installed = dict(re.findall(r"^install (?:-D )?-m \d+ (\S+) (\S+)$", guide, re.MULTILINE))
    assert config in installed.values()
    assert UNIT.name == f"{script}.service" and str(UNIT.relative_to(ROOT)) in installed
    assert all((ROOT / source).is_file() for source in installed)


def test_the_guide_installs_from_a_lock_that_exists() -> None:
    [lock] = re.findall(r"--require-hashes -r (\S+)", (DEPLOY / "README.md").read_text(encoding="utf-8"))
    assert "--hash=sha256:" in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_documents_links_lead_to_files(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_targets_that_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"(?:`|    )make ([a-z ]+)", path.read_text(encoding="utf-8"))
    targets = {target for names in named for target in re.split(r" {2,}", names)[0].split()}
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


def test_nothing_cuts_a_drain_short() -> None:
    spec, _ = sidecar()
    assert int(unit("TimeoutStopSec")) > Settings().listen.drain_timeout
    assert spec.get("terminationGracePeriodSeconds", GRACE_SECONDS) > sidecar_settings().listen.drain_timeout


def test_the_sidecar_is_on_loopback() -> None:
    settings = sidecar_settings()
    assert {settings.listen.host, settings.admin.host} == {"127.0.0.1"}


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe"])
def test_a_probe_asks_the_admin_port_and_outlasts_its_own_question(probe: str) -> None:
    _, container = sidecar()
    *_, code = container[probe]["exec"]["command"]
    assert f":{sidecar_settings().admin.port}/" in code
    assert container[probe]["timeoutSeconds"] == 5


def test_the_sidecar_fits_into_its_memory() -> None:
    """The budget, 80 MiB for the process, and a long text for each fill at two origins."""
    _, container = sidecar()
    settings = sidecar_settings()
    needed = settings.memory.max_bytes // MIB + 80 + 2 * settings.cache.fills_per_origin * 4
    assert needed <= mebibytes(container["resources"]["limits"]["memory"])


def test_the_sidecars_volume_holds_a_full_store_and_one_set_aside() -> None:
    spec, container = sidecar()
    [volume] = [one for one in spec["volumes"] if one["name"] == container["volumeMounts"][0]["name"]]
    store = inspect.signature(AsyncSqliteStorage).parameters["max_size"].default // MIB
    assert mebibytes(volume["emptyDir"]["sizeLimit"]) > 2 * (store + 64)
