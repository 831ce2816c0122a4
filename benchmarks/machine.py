"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks.registry import CannotMeasure

MIB = 2**20


def machine() -> dict[str, object]:
    """Processor, cores at hand, Python and system."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"cpu": _cpu(), "cores": _cores(), "python": python, "system": platform.system()}


def machine_line() -> str:
    """The same on one line."""
    return "{cpu}, {cores} cores, {python}, {system}".format_map(machine())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resident_bytes(pid: int | str = "self") -> int:
    """The resident set of a process. Raises CannotMeasure where there is no /proc."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError as error:
        raise CannotMeasure("resident memory is read from /proc, so this needs Linux") from error
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
