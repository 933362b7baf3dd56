"""What made a figure, so that it can be made again: commit, command, versions, and the machine."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "matplotlib", "jax", "optax")


def made_by(command: str | None = None) -> dict[str, object]:
    """The commit (with a plus where files differ from it), the command as it was given, versions, and the machine."""
    return {"commit": commit(), "command": command or as_given(), "versions": versions(), "machine": machine()}


def as_given() -> str:
    """The command that is running, as one would type it; where its files went is no part of it."""
    program, given = Path(sys.argv[0]), sys.argv[1:]
    module = f"experiments.{program.parent.name}" if program.name == "__main__.py" else program.stem
    if "--out" in given:
        at = given.index("--out")
        given = given[:at] + given[at + 2 :]
    return shlex.join(["python", "-m", module, *given])


@cache
def commit() -> str:
    """The commit of the sources, and a plus where a tracked file of theirs has changed since. A copy without history
    says in a file COMMIT what it is a copy of."""
    if (ROOT / "COMMIT").is_file():
        return (ROOT / "COMMIT").read_text().strip()
    found = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "experiments/*.py")
    return f"{found}+" if found and changed else found or "not in a repository"


@cache
def versions() -> dict[str, str]:
    """Of Python, and of the packages that figures depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """How many cores of which kind, and what JAX computes on where that is something else."""
    cores = f"{os.cpu_count()} x {_processor()}"
    jax = sys.modules.get("jax")
    kinds = dict.fromkeys(device.device_kind for device in jax.devices()) if jax else {}
    return ", ".join([cores, *(kind for kind in kinds if kind != "cpu")])


@cache
def _processor() -> str:
    """The processor's name, as Linux has it; elsewhere its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
