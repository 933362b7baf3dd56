"""The site, built as `make docs` builds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.shown import ROOT


def build(folder: Path) -> Path:
    """Build the site into a folder; a warning fails."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
