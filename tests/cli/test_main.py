"""What holds for every verb: help, version, refusals in one line, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.calls import Call, Result
from tests.cli.lines import FIT, SCHEMA, altered

import sfumato as sf
from sfumato.cli import everything


def test_version_and_help(call: Call) -> None:
    assert call("--version") == Result(0, f"sfumato {sf.__version__}\n", "")
    shown = call("--help")
    assert shown.code == 0
    for verb in everything().commands:
        assert verb in shown.out
        assert "--json" in call(verb, "--help").out
    bare = call()
    assert bare.code == 2
    assert bare.out == ""
    assert "Usage" in bare.err


# --- refusals: one line on stderr, exit code 2, nothing written


def refusals() -> dict[str, tuple[tuple[Any, ...], str]]:
    return {
        "no table": (("fit", "none.csv", *FIT[2:]), "none.csv does not exist"),
        "no table to draft": (("schema", "none.csv", "-o", "x.yaml"), "none.csv does not exist"),
        "no schema": (altered(schema="none.yaml"), "none.yaml"),
        "no release": (("sample", "none.sfumato", "-n", 3, "-o", "x.csv"), "none.sfumato does not exist"),
        "a table of another kind": (("fit", "s.yaml", *FIT[2:]), "suffixes"),
        "a schema as release": (("inspect", "s.yaml"), "not a release file"),
        "missing column": (("fit", "narrow.csv", *FIT[2:]), "no column 'age'"),
        "no such label": (("schema", "data.csv", "--label", "zip", "-o", "x.yaml"), "has no column 'zip'"),
        "epsilon 0": (altered(epsilon="0"), "epsilon must be"),
        "epsilon negative": (altered(epsilon="-1"), "epsilon must be"),
        "epsilon nan": (altered(epsilon="nan"), "epsilon must be"),
        "epsilon infinite": (altered(epsilon="inf"), "epsilon must be"),
        "epsilon text": (altered(epsilon="abc"), "--epsilon"),
        "plan epsilon 0": (("plan", "s.yaml", "--epsilon", "1,0", "--delta", "1e-6"), "epsilon must be"),
        "plan epsilon text": (("plan", "s.yaml", "--epsilon", "1,abc", "--delta", "1e-6"), "epsilon must be a number"),
        "plan epsilon empty": (("plan", "s.yaml", "--epsilon", "", "--delta", "1e-6"), "epsilon must be a number"),
        "delta 0": (altered(delta="0"), "delta must"),
        "delta 1": (altered(delta="1"), "delta must"),
        "delta nan": (altered(delta="nan"), "delta must"),
        "delta text": (altered(delta="abc"), "--delta"),
        "rows 0": (altered(rows="0"), "rows must be"),
        "draft": (altered(schema="draft.yaml"), "draft"),
        "broken schema": (altered(schema="broken.yaml"), "broken.yaml"),
        "no folder": (altered(output="nowhere/new.sfumato"), "does not exist"),
        "output a folder": (altered(output="."), "it is a folder"),
        "no folder for a draft": (("schema", "data.csv", "-o", "nowhere/x.yaml"), "cannot write nowhere/x.yaml"),
        "no folder for rows": (("sample", "r.sfumato", "-n", 3, "-o", "nowhere/x.csv"), "cannot write nowhere/x.csv"),
        "bad suffix": (("sample", "r.sfumato", "-n", 3, "-o", "x.doc"), "ends in one of csv, tsv"),
        "negative rows": (("sample", "r.sfumato", "-n", "-3", "-o", "x.csv"), "--rows"),
        "negative seed": (("sample", "r.sfumato", "-n", 3, "-o", "x.csv", "--seed", "-3"), "--seed"),
        "adjacency": (altered(adjacency="cousin"), "adjacency must be"),
        "mechanism": (altered(mechanism="magic"), "mechanism must be"),
        "encoding": (altered(encoding="magic"), "encoding must be"),
        "label adjacency without a label": (
            altered(schema="bare.yaml", adjacency="label"),
            "needs a schema with a label",
        ),
        "missing option": (FIT[:4], "--epsilon"),
        "unknown option": ((*FIT, "--seed", "3"), "--seed"),
        "unknown verb": (("publish",), "publish"),
        "demo into a file": (("demo", "data.csv"), "cannot write into data.csv"),
    }


@pytest.mark.every(3)
@pytest.mark.parametrize("case", refusals())
def test_refusals(case: str, folder: Path, call: Call) -> None:
    (folder / "narrow.csv").write_text("town,ill\nUlm,no\n")
    (folder / "draft.yaml").write_text(SCHEMA + "unconfirmed: [columns.age.max]\n")
    (folder / "broken.yaml").write_text("columns: {age: {type: number, min: 9, max: 3}}\n")
    (folder / "bare.yaml").write_text("columns: {age: {type: number, min: 0, max: 100}}\n")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    arguments, words = refusals()[case]
    for extra in ((), ("--json",)):
        result = call(*arguments, *extra) if case != "unknown verb" else call(*arguments)
        assert result.code == 2
        assert result.out == ""
        *progress, line = result.err.splitlines()
        assert line.startswith("error: ")
        assert words in line
        assert all(each.startswith("asking for histograms") for each in progress)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# --- as a process

HEAVY = ("numpy", "pandas", "pyarrow", "scipy", "sklearn", "matplotlib", "yaml", "safetensors")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"], ["evaluate", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['sfumato', *{arguments!r}]\n"
        "from sfumato.cli import main\n"
        "main()\n"
        f"print(sorted(m for m in {HEAVY!r} if m in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == "[]\n"


def test_the_module_runs_as_a_process(folder: Path) -> None:
    code = "from sfumato.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "none.sfumato"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: none.sfumato does not exist\n"
