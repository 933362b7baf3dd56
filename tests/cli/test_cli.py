"""Every verb, what it prints where, and what it refuses in one line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.calls import Call, Result, caller

import sfumato as sf

SCHEMA = """\
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  town: {type: category, values: [Ulm, Bonn], missing: true}
  ill: {type: category, values: ["no", "yes"]}
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 101, 400), "town": rng.choice(["Ulm", "Bonn"], 400), "ill": "no"})
    frame.loc[frame["age"] > 60, "ill"] = "yes"
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    (tmp_path / "s.yaml").write_text(SCHEMA)
    sf.fit(frame, tmp_path / "s.yaml", epsilon=1, delta=1e-6).save(tmp_path / "r.sfumato")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ("fit", "data.csv", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "-o", "new.sfumato")


def altered(**options: Any) -> tuple[Any, ...]:
    """The arguments of a good fit with some options replaced."""
    arguments = list(FIT)
    for name, value in options.items():
        flag = "-o" if name == "output" else f"--{name}"
        if flag in arguments:
            arguments[arguments.index(flag) + 1] = value
        else:
            arguments += [flag, value]
    return tuple(arguments)


def document(result: Result) -> Any:
    assert result.code == 0, result.err
    return json.loads(result.out)  # fails if there is anything before or after it


# --- each verb


def test_schema(folder: Path, call: Call) -> None:
    result = call("schema", "data.csv", "--label", "ill", "-o", "draft.yaml")
    assert result.code == 0
    assert "wrote draft.yaml: 3 columns" in result.out
    assert "PRIVATE DRAFT" in result.out
    drafted = sf.Schema.load("draft.yaml")
    assert drafted.label == "ill"
    assert "columns.age.min" in drafted.unconfirmed


def test_schema_as_json(folder: Path, call: Call) -> None:
    (folder / "odd.csv").write_text("a,b\n" + "\n".join(f"{i},text {i}" for i in range(200)))
    found = document(call("schema", "odd.csv", "-o", "draft.json", "--json"))
    assert found["left_out"] == ["b"]
    assert found["schema"] == json.loads(Path("draft.json").read_text())
    assert found["output"] == "draft.json"
    told = call("schema", "odd.csv", "-o", "draft.json")
    assert "left out b" in told.out


def test_plan_of_several_epsilons_stands_side_by_side(folder: Path, call: Call) -> None:
    result = call("plan", "s.yaml", "--rows", 400, "--epsilon", "0.5,1,2", "--delta", "1e-6")
    assert result.code == 0
    lines = {line[:34].strip(): line[34:].split() for line in result.out.splitlines() if len(line) > 40}
    assert lines["epsilon"] == ["0.5", "1", "2"]
    assert lines["mu (Gaussian DP)"][1] == "0.23670"
    losses = [float(cell) for cell in lines["expected KL, total"]]
    assert losses == sorted(losses, reverse=True)
    assert "a guess of 400 rows" in result.out
    assert "No data was touched" in result.out
    assert result.err == ""


def test_plan_as_json(folder: Path, call: Call) -> None:
    found = document(call("plan", "s.yaml", "--epsilon", "0.5,1", "--delta", "1e-6", "--json"))
    assert [each["epsilon"] for each in found] == [0.5, 1.0]
    for each in found:
        assert sum(r["share"] for r in each["rounds"]) == pytest.approx(1.0)
        parts = {k: v for k, v in each["expected_kl"].items() if k != "total"}
        assert each["expected_kl"]["total"] == pytest.approx(sum(parts.values()))
        assert each["rows"] == 10_000


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_fit(data: str, folder: Path, call: Call) -> None:
    result = call("fit", data, *FIT[2:])
    assert result.code == 0
    assert "wrote new.sfumato" in result.out
    assert "(1, 1e-06)-differentially private" in result.out
    asked = result.err.splitlines()
    planned = sf.plan("s.yaml", epsilon=1, delta=1e-6)
    assert [line.split(":")[0] for line in asked] == [f"asking for {each.name}" for each in planned.rounds]
    assert all("% of the budget (mu 0." in line for line in asked)
    assert sf.load("new.sfumato").guarantee.epsilon == 1.0
    assert sorted(path.name for path in folder.glob("*.sfumato")) == ["new.sfumato", "r.sfumato"]


def test_each_round_is_announced_before_it_is_asked(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.private.engines.local import LocalEngine

    real = LocalEngine.total

    def fail_second(self: LocalEngine, query: Any) -> Any:
        if type(query).__name__ == "GroupSums":
            raise sf.errors.TableError("stopped here")
        return real(self, query)

    monkeypatch.setattr(LocalEngine, "total", fail_second)
    result = call(*FIT, "--components", 1)
    assert result.code == 2
    lines = result.err.splitlines()
    assert lines[0].startswith("asking for histograms: ")
    assert lines[1].startswith("asking for moments: ")
    assert lines[2:] == ["error: stopped here"]
    assert not Path("new.sfumato").exists()


def test_fit_with_adapted_labels(folder: Path, call: Call) -> None:
    found = document(call(*FIT, "--json", "--adapt", "labels"))
    assert [spend["name"] for spend in found["guarantee"]["spends"]][-4:] == [f"labels {i}" for i in range(1, 5)]
    assert 0 <= found["alpha"] < 1
    assert sum(found["classes"].values()) == pytest.approx(1.0)
    assert "of the labels are drawn from a logistic model" in call("inspect", "new.sfumato").out
    assert document(call(*FIT, "--json", "--adapt", "no"))["alpha"] is None
    assert "logistic" not in call("inspect", "new.sfumato").out


def test_clustmix(folder: Path, call: Call) -> None:
    options = ("--mechanism", "clustmix", "--sigma-max", "0.5", "--alpha", "0.5", "--adapt", "labels")
    found = document(call(*FIT, "--json", *options))
    assert found["mechanism"] == "clustmix"
    assert found["alpha"] == 0.5
    planned = document(call("plan", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "--json", *options))[0]
    assert [each["name"] for each in planned["rounds"]] == [each["name"] for each in found["guarantee"]["spends"]]
    assert planned["expected_kl"] == {}
    assert "A clustmix release (scores encoding) of 3 columns." in call("inspect", "new.sfumato").out
    assert call("sample", "new.sfumato", "-n", 3, "-o", "rows.csv", "--given", "town=Ulm").code == 0
    assert document(call(*FIT, "--json", "--mechanism", "clustmix", "--adapt", "no"))["alpha"] is None


def test_a_plan_of_clustmix_promises_no_loss(folder: Path, call: Call) -> None:
    arguments = ("plan", "s.yaml", "--epsilon", "0.5,1", "--delta", "1e-6", "--mechanism", "clustmix")
    told = call(*arguments)
    assert told.code == 0
    assert "KL" not in told.out
    assert told.out.count("share of labels") == told.out.count("\nlabels: one of 4 steps") == 1
    assert told.out.endswith("\n\nNo data was touched.\n")
    drawn = call(*arguments, "--plot", "plan.png")
    assert drawn.code == 2
    assert (
        drawn.err == "error: the loss of clustmix and of columns in groups is not forecast: there is nothing to plot\n"
    )
    assert not Path("plan.png").exists()


GROUPS = """\
label: ill
columns:
  ill: {type: category, values: ["no", "yes"]}
groups:
  pixels: {columns: "px_*", min: 0, max: 255, step: 1, shape: [2, 2]}
"""


def test_a_table_of_groups(folder: Path, call: Call) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 256, (300, 4)), columns=[f"px_{i}" for i in range(4)])
    table.assign(ill=np.where(table["px_0"] > 100, "yes", "no")).to_csv("images.csv", index=False)
    Path("g.yaml").write_text(GROUPS)
    told = call("plan", "g.yaml", "--epsilon", "1", "--delta", "1e-6")
    assert "share of centres" in told.out
    assert "histogram" not in told.out
    arguments = ("fit", "images.csv", "--schema", "g.yaml", "--epsilon", "1", "--delta", "1e-6", "-o", "g.sfumato")
    for mechanism in ("mixture", "clustmix"):
        found = document(call(*arguments, "--mechanism", mechanism, "--adapt", "no", "--json"))
        assert found["encoding"] == "projected"
        assert found["schema"]["groups"]["pixels"]["columns"] == "px_*"
        seen = call("inspect", "g.sfumato")
        assert "  pixels           a group of 4 numbers, projection pca\n" in seen.out
        assert "px_1" not in seen.out
        assert call("sample", "g.sfumato", "-n", 20, "-o", "rows.csv", "--given", "ill=yes").code == 0
        rows = pd.read_csv("rows.csv")
        assert list(rows) == ["ill", "px_0", "px_1", "px_2", "px_3"]
        assert set(rows["ill"]) == {"yes"}
    refused = call("sample", "g.sfumato", "-n", 2, "-o", "no.csv", "--given", "px_1=3")
    assert refused.code == 2
    assert refused.err == "error: given: 'px_1' is in a group; of columns in groups none can be fixed\n"
    assert not Path("no.csv").exists()


def test_fit_as_json(folder: Path, call: Call) -> None:
    result = call(*FIT, "--json", "--rows", 400, "--adjacency", "label")
    found = document(result)
    assert found["output"] == "new.sfumato"
    assert found["guarantee"]["adjacency"] == "label"
    assert found["guarantee"]["secure"] is True
    assert len(found["guarantee"]["spends"]) == 3
    assert sum(found["classes"].values()) == pytest.approx(1.0)
    assert list(found["classes"]) == ["no", "yes"]
    assert len(result.err.splitlines()) == 3


def test_a_seeded_fit_says_that_it_is_not_private(folder: Path, call: Call) -> None:
    first = call(*FIT, "--insecure-seed", 7)
    assert "NOT PRIVATE" in first.out
    assert "differentially private" not in first.out
    once = Path("new.sfumato").read_bytes()
    found = document(call(*FIT, "--insecure-seed", 7, "--json"))
    assert found["guarantee"]["epsilon"] is None
    assert Path("new.sfumato").read_bytes() == once
    assert "NOT PRIVATE" in call("inspect", "new.sfumato").out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "pq"])
def test_sample(suffix: str, folder: Path, call: Call) -> None:
    result = call("sample", "r.sfumato", "-n", 70_000, "-o", f"rows.{suffix}", "--seed", 3)
    assert result.code == 0
    assert result.out == f"wrote rows.{suffix}: 70000 synthetic rows of 3 columns\n"
    assert result.err == ""
    rows = pd.read_csv("rows.csv") if suffix == "csv" else pq.read_table(f"rows.{suffix}").to_pandas()
    assert list(rows) == ["age", "town", "ill"]
    assert len(rows) == 70_000
    expected = sf.load("r.sfumato").sample(70_000, seed=3)
    assert (rows["age"] == expected["age"]).all()
    assert (rows["town"].fillna("") == expected["town"].fillna("")).all()


def test_sample_as_json_and_by_the_same_seed(folder: Path, call: Call) -> None:
    arguments = ("sample", "r.sfumato", "-n", 50, "-o", "rows.csv")
    found = document(call(*arguments, "--seed", 1, "--json"))
    assert found == {"output": "rows.csv", "rows": 50, "columns": ["age", "town", "ill"]}
    once = Path("rows.csv").read_bytes()
    call(*arguments, "--seed", 1)
    assert Path("rows.csv").read_bytes() == once
    call(*arguments)
    assert Path("rows.csv").read_bytes() != once


def test_sample_of_no_rows(folder: Path, call: Call) -> None:
    assert call("sample", "r.sfumato", "-n", 0, "-o", "none.csv").code == 0
    assert pd.read_csv("none.csv").shape == (0, 3)


def test_inspect(folder: Path, call: Call) -> None:
    result = call("inspect", "r.sfumato")
    assert result.code == 0
    for words in ("(1, 1e-06)-differentially private", "moments", "Classes of ill", "town", "this release only"):
        assert words in result.out
    found = document(call("inspect", "r.sfumato", "--json"))
    assert found["mechanism"] == "mixture"
    assert found["guarantee"]["delta"] == 1e-6
    assert found["schema"]["label"] == "ill"


def test_demo_as_json(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato import demo

    made = demo.Demo(folder, sf.load("r.sfumato").guarantee, 0.9, 0.92, 0.01, 1.0, 2.0)

    def run(where: Path, say: Callable[[str], None]) -> demo.Demo:
        say(f"working in {where}")
        return made

    monkeypatch.setattr(demo, "run_demo", run)
    result = call("demo", "there", "--json")
    assert document(result)["auc_synthetic"] == 0.9
    assert result.err == "working in there\n"
    assert "AUC, trained on synthetic rows  0.900" in call("demo").out


def test_version_and_help(call: Call) -> None:
    assert call("--version") == Result(0, f"sfumato {sf.__version__}\n", "")
    shown = call("--help")
    assert shown.code == 0
    for verb in ("schema", "plan", "fit", "sample", "inspect", "demo"):
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
        "no such label": (("schema", "data.csv", "--label", "zip", "-o", "x.yaml"), "'zip' is not a column"),
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
        "bad suffix": (("sample", "r.sfumato", "-n", 3, "-o", "x.txt"), "ends in .csv or .parquet"),
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


def test_an_existing_release_survives_a_refused_fit(folder: Path, call: Call) -> None:
    before = (folder / "r.sfumato").read_bytes()
    assert call(*altered(output="r.sfumato", adjacency="cousin")).code == 2
    assert (folder / "r.sfumato").read_bytes() == before


def test_nothing_is_asked_when_the_output_cannot_be_written(folder: Path, call: Call) -> None:
    result = call(*altered(output="nowhere/new.sfumato"))
    assert "asking" not in result.err


def test_an_interrupt_is_one_line(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.api.fit", interrupt)
    result = call(*FIT)
    assert result == Result(130, "", "interrupted: nothing was written\n")


# --- as a process

HEAVY = ("numpy", "pandas", "pyarrow", "scipy", "sklearn", "matplotlib", "yaml", "safetensors")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
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
