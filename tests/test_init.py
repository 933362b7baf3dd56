"""The public names: what `dir` and tab completion show, and one version everywhere."""

from __future__ import annotations

import rlcompleter
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import sfumato as sf

ROOT = Path(__file__).parents[1]


def test_dir_shows_the_public_names_and_no_others() -> None:
    assert dir(sf) == sorted(sf.__all__)
    assert {"fit", "plan", "Schema", "Mixture", "Clustmix", "Slicing", "Local", "accounting"} <= set(dir(sf))


def test_dir_of_a_fresh_interpreter_imports_nothing_heavy() -> None:
    code = "import sys, sfumato; print('fit' in dir(sfumato), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_tab_completion() -> None:
    complete = rlcompleter.Completer({"sf": sf}).complete
    found = {complete("sf.", i) for i in range(100)} - {None}
    public = {f"sf.{name}" for name in sf.__all__ if not name.startswith("_")}
    assert {each.rstrip("()") for each in found if each is not None} >= public
    assert not any("import_module" in each for each in found if each is not None)


@pytest.mark.skipif(not (ROOT / "CITATION.cff").exists(), reason="no sources beside an installed package")
def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    assert sf.__version__ == project == cited
