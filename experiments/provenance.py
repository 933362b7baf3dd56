"""What made a result: commit, command, and the versions that figures depend on. A run's seeds stand in its own line."""

from __future__ import annotations

import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("sfumato", "numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "jax", "optax")


def provenance(command: str | None = None) -> dict[str, Any]:
    """Commit, command (the one that runs, by default) and versions, for a result file."""
    return {"commit": commit(), "command": command or running(), "versions": versions()}


@cache
def commit() -> str:
    """The commit of the code, with a plus where files that git knows were changed since; empty outside of git."""
    told = _git("rev-parse", "HEAD")
    return f"{told}+" if told and _git("status", "--porcelain", "--untracked-files=no", "--", "*.py") else told


def running() -> str:
    """The command line of this process, as it can be typed again.

    A module's command is known by the file that Python ran.
    """
    file, *arguments = sys.argv
    path = Path(file).resolve()
    if path.suffix != ".py" or ROOT not in path.parents:
        return " ".join([path.name, *arguments])
    parts = path.relative_to(ROOT).with_suffix("").parts
    return " ".join(["python -m", ".".join(part for part in parts if part != "__main__"), *arguments])


@cache
def versions() -> dict[str, str]:
    """Python and the packages that are there."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _git(*words: str) -> str:
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git here
        return ""
