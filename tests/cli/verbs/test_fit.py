"""`sfumato fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.calls import Call, Result
from tests.cli.lines import FIT, altered, document

import sfumato as sf
from sfumato.config import option


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_fit(data: str, folder: Path, call: Call) -> None:
    result = call("fit", data, *FIT[2:])
    assert result.code == 0
    assert "wrote new.sfumato" in result.out
    assert "(1, 1e-06)-differentially private" in result.out
    asked = result.err.splitlines()
    planned = sf.plan("s.yaml", epsilon=1, delta=1e-6)
    assert [line.split(":")[0] for line in asked] == [f"asking for {each.title}" for each in planned.rounds]
    assert all("% of the budget (mu 0." in line for line in asked)
    assert sf.load("new.sfumato").guarantee.epsilon == 1.0
    assert sorted(path.name for path in folder.glob("*.sfumato")) == ["new.sfumato", "r.sfumato"]


def test_what_is_there_is_not_replaced_unasked_and_nothing_is_spent(folder: Path, call: Call) -> None:
    sf.Ledger("l.db").open("data", 3, 1e-5)
    before = Path("r.sfumato").read_bytes()
    counted = ("--ledger", "l.db", "--dataset", "data")
    fit = [word for word in altered(output="r.sfumato") if word != "--replace"]
    result = call(*fit, *counted)
    told = "error: r.sfumato is there already; give another name, or --replace to write over it\n"
    assert (result.code, result.out, result.err) == (2, "", told)
    assert sf.Ledger("l.db").accounts()[0].entries == ()
    assert Path("r.sfumato").read_bytes() == before
    assert call(*fit, *counted, "--replace").code == 0
    assert Path("r.sfumato").read_bytes() != before


def test_each_round_is_announced_before_it_is_asked(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.private.engines.local import LocalEngine

    real = LocalEngine.total

    def fail_second(self: LocalEngine, query: Any) -> Any:
        if type(query).__name__ != "Histograms":
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
    asked = [spend["name"] for spend in found["guarantee"]["spends"]]
    assert [name for name in asked if name.startswith("labels")] == [f"labels {i}" for i in range(1, 5)]
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
    assert [each["title"] for each in planned["rounds"]] == [each["name"] for each in found["guarantee"]["spends"]]
    assert planned["expected_kl"] == {}
    assert "A clustmix release (scores encoding) of 3 columns." in call("inspect", "new.sfumato").out
    assert call("sample", "new.sfumato", "-n", 3, "-o", "rows.csv", "--given", "town=Ulm").code == 0
    assert document(call(*FIT, "--json", "--mechanism", "clustmix", "--adapt", "no"))["alpha"] is None


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
    told = call("plan", "g.yaml", "--epsilon", "1", "--delta", "1e-6", "--details")
    assert "share of centres" in told.out
    assert "histogram" not in told.out
    arguments = (
        "fit",
        "images.csv",
        "--schema",
        "g.yaml",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "-o",
        "g.sfumato",
        "--replace",
    )
    for mechanism in ("mixture", "clustmix"):
        found = document(call(*arguments, "--mechanism", mechanism, "--adapt", "no", "--json"))
        assert found["encoding"] == "projected"
        assert found["schema"]["groups"]["pixels"]["columns"] == "px_*"
        seen = call("inspect", "g.sfumato")
        assert "  pixels           a group of 4 numbers, projection pca\n" in seen.out
        assert "px_1" not in seen.out
        assert call("sample", "g.sfumato", "-n", 20, "-o", "rows.csv", "--given", "ill=yes", "--replace").code == 0
        rows = pd.read_csv("rows.csv")
        assert list(rows) == ["ill", "px_0", "px_1", "px_2", "px_3"]
        assert set(rows["ill"]) == {"yes"}
    refused = call("sample", "g.sfumato", "-n", 2, "-o", "no.csv", "--given", "px_1=3", "--replace")
    assert refused.code == 2
    assert refused.err == "error: --given: 'px_1' is in a group; of columns in groups none can be fixed\n"
    assert not Path("no.csv").exists()


def test_fit_as_json(folder: Path, call: Call) -> None:
    result = call(*FIT, "--json", "--rows", 400, "--adjacency", "label", "--pairs", "none")
    found = document(result)
    assert found["output"] == "new.sfumato"
    assert found["guarantee"]["adjacency"] == "label"
    assert found["guarantee"]["secure"] is True
    assert len(found["guarantee"]["spends"]) == 3
    assert sum(found["classes"].values()) == pytest.approx(1.0)
    assert list(found["classes"]) == ["no", "yes"]
    assert found["tables"] == []
    assert len(result.err.splitlines()) == 3


def test_tables_of_pairs_unless_there_are_to_be_none(folder: Path, call: Call) -> None:
    found = document(call(*FIT, "--json"))
    asked = [spend["name"] for spend in found["guarantee"]["spends"]]
    assert asked[-6:] == [f"{name} {i}" for i in (1, 2, 3) for name in ("distances", "tables")]
    assert found["tables"]
    assert all({"age", "town"} <= set(table) <= {"age", "town", "ill"} for table in found["tables"])
    assert "  age x town\n" in call("inspect", "new.sfumato").out
    for word in ("none", "no"):
        without = document(call(*FIT, "--json", "--pairs", word))
        assert not any("tables" in spend["name"] for spend in without["guarantee"]["spends"])
        assert without["tables"] == []
    assert "Tables of columns" not in call("inspect", "new.sfumato").out


def test_other_pairs_are_refused_in_one_line(folder: Path, call: Call) -> None:
    result = call(*FIT, "--pairs", "all")
    assert (result.code, result.err) == (2, "error: --pairs must be one of 'auto' or None, not 'all'\n")


@pytest.mark.parametrize("cells", ["", "?\n", "41\n", "900\n"])
def test_fit_names_check_whatever_the_rows_hold(cells: str, folder: Path, call: Call) -> None:
    Path("rows.csv").write_text(f"age\n{cells}")
    Path("rows.yaml").write_text("columns: {age: {type: number, min: 0, max: 100, step: 1}}")
    rest = ("rows.csv", "--schema", "rows.yaml", *FIT[4:])
    assert "see `sfumato check`" in call("fit", *rest).out
    assert "see `sfumato check`" in document(call("fit", *rest, "--json"))["see"]


def test_a_seeded_fit_says_that_it_is_not_private(folder: Path, call: Call) -> None:
    first = call(*FIT, "--insecure-seed", 7)
    assert "NOT PRIVATE" in first.out
    assert "differentially private" not in first.out
    once = Path("new.sfumato").read_bytes()
    found = document(call(*FIT, "--insecure-seed", 7, "--json"))
    assert found["guarantee"]["epsilon"] is None
    assert Path("new.sfumato").read_bytes() == once
    assert "NOT PRIVATE" in call("inspect", "new.sfumato").out


def test_an_existing_release_survives_a_refused_fit(folder: Path, call: Call) -> None:
    before = (folder / "r.sfumato").read_bytes()
    assert call(*altered(output="r.sfumato", adjacency="cousin")).code == 2
    assert (folder / "r.sfumato").read_bytes() == before


def test_a_release_that_came_meanwhile_is_not_written_over(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fits to one file: both were paid for, and both are kept."""
    usual = sf.fit

    def slow(*given: Any, **more: Any) -> Any:
        Path("new.sfumato").write_bytes(b"another release")
        return usual(*given, **more)

    monkeypatch.setattr("sfumato.api.fit", slow)
    result = call(*FIT)
    assert result.code == 0
    assert "wrote new-2.sfumato" in result.out
    assert "another file has come to new.sfumato meanwhile" in result.err
    assert Path("new.sfumato").read_bytes() == b"another release"
    assert sf.load("new-2.sfumato").guarantee.epsilon == 1.0


def test_nothing_is_asked_when_the_output_cannot_be_written(folder: Path, call: Call) -> None:
    result = call(*altered(output="nowhere/new.sfumato"))
    assert "asking" not in result.err


def test_an_interrupt_is_one_line(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.api.fit", interrupt)
    result = call(*FIT)
    assert result == Result(130, "", "interrupted: nothing was written\n")


@pytest.mark.parametrize("verb", ["fit", "plan"])
def test_a_verb_has_few_parameters_of_its_own(verb: str) -> None:
    """What one mechanism alone understands is a field of its config."""
    module = import_module(f"sfumato.cli.verbs.{verb}")
    assert len(signature(getattr(module, verb)).parameters) <= 14


@dataclass(frozen=True)
class Guess:
    """A mechanism from outside: it asks for the histograms alone."""

    name: ClassVar[str] = "guess"
    share: float = option(1.0, help="Part of the budget for the histograms.", unit="of mu^2")

    def plan(self, public: Any) -> Any:
        from sfumato.mechanisms import Mixture

        return replace(Mixture(components=1).plan(public), mechanism=self.name, notes={"share": self.share})

    def run(self, curator: Any, plan: Any) -> Any:
        from sfumato.mechanisms import Mixture

        return Mixture(components=1).run(curator, plan)


def test_a_mechanism_of_another_package(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato import mechanisms

    point = EntryPoint("guess", f"{__name__}:Guess", mechanisms.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Guess)
    monkeypatch.setattr(mechanisms, "entry_points", lambda group: (point,))
    monkeypatch.setattr(mechanisms, "_registered", dict(mechanisms._registered))
    shown = " ".join(call("fit", "--mechanism", "guess", "--help").out.split())
    assert "Options of guess: --share <float> Part of the budget for the histograms. [default: 1 of mu^2]" in shown
    planned = document(
        call("plan", "s.yaml", "--epsilon", 1, "--delta", "1e-6", "--mechanism", "guess", "--share", 0.5, "--json")
    )
    assert planned[0]["notes"] == {"share": 0.5}
    assert call(*altered(mechanism="guess", share="0.5")).code == 0
    assert "A guess release (scores encoding) of 3 columns." in call("inspect", "new.sfumato").out
    assert call("sample", "new.sfumato", "-n", 3, "-o", "rows.csv").code == 0
    refused = call(*altered(share="0.5"))
    assert (refused.code, refused.err.split(";")[0]) == (2, "error: --share is for mechanism guess")
