"""What is handed out: sdist and wheel hold what they must, and install in a clean environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

import sfumato

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LEFT_BEHIND = (".git", ".venv", "site", "build", "dist", "tests", "experiments", "benchmarks", "audits", "*.egg-info")
RELEASE_BYTES = 500_000
THREE_LINES = """
import sfumato as sf
release = sf.load({path!r})
print(len(release.sample(5)), release.guarantee.epsilon)
"""


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints; it has to end well, and finds no package but those of its own environment."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with sdist and wheel, made from a copy, so that nothing is left in the repository."""
    pytest.importorskip("build")
    copy = tmp_path_factory.mktemp("copy") / "sfumato"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_BEHIND, "__pycache__", ".*_cache"))
    run([sys.executable, "-m", "build", "--outdir", copy / "dist"], copy)
    return copy / "dist"


def package_files() -> set[str]:
    """Modules, data and pages: all that the package has in the repository."""
    found = (path for path in (ROOT / "src/sfumato").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT / "src").as_posix() for path in found}


@pytest.mark.slow
def test_the_sdist_has_what_it_must(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "CITATION.cff", "examples/adult.sfumato"} <= names
    assert {f"src/{name}" for name in package_files()} <= names


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    (path,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(path).namelist())
    assert package_files() <= names
    assert {name.split("/")[0] for name in names} == {"sfumato", f"sfumato-{sfumato.__version__}.dist-info"}
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in names if "dist-info/licenses" in name}


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a clean environment, into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("clean")
    run([sys.executable, "-m", "venv", folder], folder)
    (wheel,) = built.glob("*.whl")
    run([folder / "bin/pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel], folder)
    return folder / "bin"


def works(programs: Path, folder: Path) -> None:
    """Whether the installed command runs, and three lines load the ready release and sample it."""
    assert sfumato.__version__ in run([programs / "sfumato", "--version"], folder)
    code = THREE_LINES.format(path=str(ROOT / "examples/adult.sfumato"))
    assert run([programs / "python", "-I", "-c", code], folder) == "5 1.0\n"


@pytest.mark.slow
def test_the_wheel_installs_in_a_clean_environment(programs: Path, tmp_path: Path) -> None:
    works(programs, tmp_path)


@pytest.mark.slow
def test_the_sdist_installs_over_it(programs: Path, built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    run([programs / "pip", "install", "--quiet", "--force-reinstall", "--no-deps", sdist], tmp_path)
    works(programs, tmp_path)


def test_the_ready_release_is_small() -> None:
    assert (ROOT / "examples/adult.sfumato").stat().st_size < RELEASE_BYTES


def test_versions_agree() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert sfumato.__version__ == PROJECT["version"] == cited["version"]
    assert len(cited["references"]) == 3


def test_every_extra_is_told_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in PROJECT["optional-dependencies"] if f"`[{name}]`" not in readme] == []
