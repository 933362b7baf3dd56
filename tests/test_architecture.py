"""The wall: what may import what, where randomness may come from, and what `import sfumato` costs."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato

PACKAGE = Path(sfumato.__file__).parent
ROOT = PACKAGE.parents[1]
CONTRACTS = ROOT / ".importlinter"
PUBLIC_SIDE = (
    "encoding",
    "mechanisms",
    "models",
    "training",
    "schema/columns.py",
    "schema/layout.py",
    "schema/notation.py",
    "schema/projections.py",
    "schema/schema.py",
)
HEAVY = ("pandas", "scipy", "pyarrow", "jax", "sklearn", "matplotlib", "pydantic", "sqlalchemy")

needs_contracts = pytest.mark.skipif(not CONTRACTS.exists(), reason="no contracts beside an installed package")


def lint(folder: Path, sources: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of `folder` on the package in `sources`."""
    pytest.importorskip("importlinter")
    run = "import sys; sys.path.insert(0, sys.argv.pop(1)); from importlinter.cli import lint_imports_command as f; f()"
    return subprocess.run(
        [sys.executable, "-c", run, str(sources), "--config", str(folder / ".importlinter"), "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


@needs_contracts
def test_the_wall_stands() -> None:
    result = lint(ROOT, PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


PLANTED = {
    "a mechanism opens a table": (
        "mechanisms/mixture/mixture_run.py",
        "from sfumato.tables import open_table",
        "never reaches",
    ),
    "a mechanism asks the engine": (
        "mechanisms/budget.py",
        "import sfumato.private.engines.local",
        "never reaches",
    ),
    "an encoding holds the curator, by a detour": ("text.py", "import sfumato.private.curator", "never reaches"),
    "the private side imports a model": (
        "private/queries/base.py",
        "import sfumato.models.gaussian_mixture",
        "knows nothing of what is made",
    ),
    "a model is held against real rows": ("models/tilt.py", "import sfumato.evaluation.measures", "never reaches"),
    "training opens a table": ("training/ntk.py", "from sfumato.tables import open_table", "never reaches"),
    "a projection is found in the rows": ("schema/projections.py", "import sfumato.private.source", "never reaches"),
    "the private side trains": (
        "private/queries/features.py",
        "import sfumato.training.inducing",
        "knows nothing of what is made",
    ),
    "the private side keeps the ledger": (
        "private/accounting.py",
        "import sfumato.ledger.account",
        "knows nothing of what is made",
    ),
    "the analyst's side opens a table": (
        "serving/remote.py",
        "from sfumato.tables import open_table",
        "through bytes alone",
    ),
    "a report opens a table": (
        "reporting/document.py",
        "from sfumato.tables import open_table",
        "made from the release alone",
    ),
    "a table knows the budget": ("tables/cells.py", "import sfumato.private.accounting", "know nothing of privacy"),
}


@pytest.mark.every(2)
@needs_contracts
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_import_is_seen(fault: str, tmp_path: Path) -> None:
    module, line, contract = PLANTED[fault]
    shutil.copytree(PACKAGE, tmp_path / "sfumato", ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copy(CONTRACTS, tmp_path)
    path = tmp_path / "sfumato" / module
    path.write_text(path.read_text() + f"\n{line}\n")
    result = lint(tmp_path, tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    broken = [text for text in result.stdout.splitlines() if text.endswith("BROKEN")]
    assert any(contract in text for text in broken), result.stdout


def modules(*places: str) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = PACKAGE / place
        found += [path] if path.suffix else sorted(path.rglob("*.py"))
    assert found
    return found


def names_in(source: str) -> set[str]:
    """Every dotted name that the code imports or reaches for."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module or ''}.{alias.name}" for alias in node.names} | {node.module or ""}
        elif isinstance(node, ast.Attribute | ast.Name):
            found.add(ast.unparse(node))
    return found


def weak_randomness(source: str) -> set[str]:
    """Names that lead to a generator which is no CSPRNG."""
    weak = {"random", "numpy.random", "np.random", "scipy.stats", "torch", "jax"}
    return {
        name
        for name in names_in(source)
        if any(name == start or name.startswith(f"{start}.") for start in weak)
        or {"default_rng", "RandomState", "PCG64", "rvs"} & set(name.split("."))
    }


@pytest.mark.parametrize("path", modules("private"), ids=lambda path: path.stem)
def test_the_private_side_draws_from_no_weak_generator(path: Path) -> None:
    assert weak_randomness(path.read_text()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nx = np.random.normal()",
        "rng = make().default_rng(0)",
        "from scipy.stats import norm",
    ],
)
def test_a_weak_generator_would_be_seen(source: str) -> None:
    assert weak_randomness(source)


def test_a_strong_one_is_not_mistaken_for_it() -> None:
    assert weak_randomness("import os, secrets\nfrom scipy.special import ndtri\nx = os.urandom(8)") == set()


def ways_round(source: str) -> set[str]:
    """Imports that the contracts cannot see, because they happen when the code runs."""
    hidden = {"importlib", "__import__", "sys.modules", "exec", "eval", "sfumato", "pkgutil", "runpy"}
    return {name for name in names_in(source) if name in hidden or name.startswith(("importlib.", "sys.modules."))}


# Mechanisms of other packages are named by entry points: code that whoever installed it trusts.
READS_ENTRY_POINTS = {"importlib.metadata", "importlib.metadata.EntryPoint", "importlib.metadata.entry_points"}
ENTRY_POINTS = {PACKAGE / "mechanisms/__init__.py": READS_ENTRY_POINTS}


@pytest.mark.parametrize("path", modules(*PUBLIC_SIDE, "private"), ids=lambda path: f"{path.parent.stem}-{path.stem}")
def test_no_module_finds_a_way_round_the_wall(path: Path) -> None:
    assert ways_round(path.read_text()) - ENTRY_POINTS.get(path, set()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import importlib",
        "from importlib import import_module",
        "import sfumato\nsfumato.fit",
        "__import__('sfumato.tables')",
    ],
)
def test_a_way_round_the_wall_would_be_seen(source: str) -> None:
    assert ways_round(source)


SEVERAL_VALUES = {  # constants that several modules have with different values, and why
    "_HOMES": "where the names of a package are, one table a package",
    "KEY": "of a section of the command line, one a module",
    "KINDS": "the registry of a module",
    "MOST_COORDINATES": "of a release, and of a row that is projected",
    "STEP": "of the studio, one a screen",
    "SUFFIXES": "of a file format, one a source",
}
TWO_SIDES = {  # modules of one name, and what they are two sides of
    "accounting": "the arithmetic of privacy: the curator's, and what others compute with it",
    "base": "what a package is about: a mechanism, a model, a query",
    "demo": "a verb",
    "guarantee": "what is promised, and how a file says it",
    "ledger": "a verb",
    "progress": "what is told, and how it is shown",
    "schema": "a verb",
    "sliced_wasserstein": "the distance, and the method that is printed with it",
}


def constants(source: str) -> dict[str, str]:
    """What a module calls by capital letters, as it is written."""
    found = {}
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper() and node.value is not None:
                found[target.id] = ast.unparse(node.value)
    return found


def is_same(one: str, two: str) -> bool:
    """Whether two expressions are one value: 2**16 is 1 << 16."""
    if one == two:
        return True
    try:
        values = [eval(each, {"__builtins__": {}}) for each in (one, two)]
    except (NameError, AttributeError, TypeError):
        return False
    return type(values[0]) is type(values[1]) and bool(values[0] == values[1])


def several_values(sources: list[str]) -> set[str]:
    """Names of constants that have different values in different modules."""
    values: dict[str, str] = {}
    differ = set()
    for source in sources:
        for name, value in constants(source).items():
            if not is_same(values.setdefault(name, value), value):
                differ.add(name)
    return differ


def test_a_constant_s_name_has_one_value() -> None:
    assert several_values([path.read_text() for path in modules(".")]) == set(SEVERAL_VALUES)


def test_a_name_with_two_values_would_be_seen() -> None:
    assert several_values(["FAR = 1", "FAR = 2.0", "NEAR = 1 << 3", "NEAR = 2**3"]) == {"FAR"}
    assert several_values(["FAR = f(1)", "FAR: int = f(2)"]) == {"FAR"}


def test_no_two_modules_share_a_name() -> None:
    names = [path.stem for path in modules(".") if path.stem != "__init__"]
    assert {name for name in names if names.count(name) > 1} == set(TWO_SIDES)


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, sfumato; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run_python(code) == "[]"
    assert run_python(code.replace("sfumato;", "sfumato.api;")) != "[]"  # what the check looks for


def test_every_public_name_resolves() -> None:
    assert len(set(sfumato.__all__)) == len(sfumato.__all__)
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(sfumato, "no_such_name")  # noqa: B009


def test_public_names_resolve_in_a_fresh_interpreter_in_any_order() -> None:
    code = "import sfumato; print([name for name in reversed(sfumato.__all__) if getattr(sfumato, name) is None])"
    assert run_python(code) == "[]"
