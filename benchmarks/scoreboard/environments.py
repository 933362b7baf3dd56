"""Environments of peers, one each, made by one command: `python -m benchmarks.scoreboard --prepare NAME`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "peers"
PLACE = Path(os.environ.get("SCOREBOARD_ENVIRONMENTS", Path(__file__).parent / "environments"))
"""Ignored by git; elsewhere if the variable says so."""


class NotPrepared(Exception):
    """What a method needs is not there yet."""


def names() -> list[str]:
    """What can be prepared."""
    return sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))


def python_of(name: str) -> Path:
    """The interpreter of an environment."""
    path = PLACE / name / "bin" / "python"
    if not path.exists():
        raise NotPrepared(f"no environment for {name}: make it by python -m benchmarks.scoreboard --prepare {name}")
    return path


def prepare(name: str) -> None:
    """Make an environment with the pinned packages of its list, or bring it up to date."""
    folder = PLACE / name
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS / f"{name}.txt")], check=True)
