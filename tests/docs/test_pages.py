"""The Python of README and of the pages runs as it stands there, with next to no training; their schemas are read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import BudgetError
from sfumato.training import fitting
from sfumato.training.settings import Training

ROOT = Path(__file__).parents[2]
STEPS = 1
SCHEMA = """
label: readmitted
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  score: {type: number, min: 0, max: 100, step: 1}
  ward: {type: category, values: [north, south, west]}
  readmitted: {type: category, values: ["no", "yes"]}
"""


def blocks(page: str, language: str = "python") -> list[str]:
    """What a page shows in a language, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(page: str, known: dict[str, Any]) -> dict[str, Any]:
    """The names that there are once all the Python of a page has run, with those that it takes as known."""
    for block in blocks(page):
        exec(block, known)
    return known


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the examples, in the folder where they run, and trainings that end soon."""
    rng = np.random.default_rng(0)
    late = rng.random(500) < 0.4
    age = np.clip(np.where(late, 60, 40) + rng.normal(0, 10, 500), 0, 100).round()
    ward, label = rng.choice(["north", "south", "west"], 500), np.where(late, "yes", "no")
    frame = pd.DataFrame({"age": age, "score": 100 - age, "ward": ward, "readmitted": label})
    frame.to_csv(tmp_path / "patients.csv", index=False)
    frame.to_parquet(tmp_path / "patients.parquet")
    frame.head(20).to_parquet(tmp_path / "new.parquet")
    (tmp_path / "patients.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    whole = fitting.train

    def short(target: Any, make: Any, dim: int, state: fitting.State, settings: Training, on_block: Any) -> Any:
        if isinstance(make, partial):  # a module of one's own
            return whole(target, make, dim, state, replace(settings, steps=STEPS, rows=4), on_block)
        # Networks of sfumato's own only pretend: each training would be compiled anew.
        moved = jax.tree.map(lambda weight: weight + 0.01 * (settings.seed + 1), state.weights)
        state = state._replace(step=settings.steps, weights=moved)
        on_block(state, 1.0)
        return state

    monkeypatch.setattr(fitting, "train", short)


def test_the_page_about_asking_runs(patients: None, small_pool: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sf, "fit", partial(sf.fit, insecure_seed=0))  # fresh noise would decide the sign of the slope
    release = run("docs/asking.md", {})["release"]
    assert release.count("age > 60").interval is not None
    assert release.regress("readmitted ~ age", kind="logistic")["age"].estimate > 0.0


def test_the_page_about_slicing_runs(patients: None) -> None:
    found = run("docs/slicing.md", {})
    assert len(found["generators"]) == 5
    assert found["again"].guarantee == found["release"].guarantee
    rows = found["again"].sample(50, seed=1)
    pd.testing.assert_frame_equal(rows, found["mine"].sample(50, seed=1))
    assert list(rows.columns) == ["age", "score", "ward", "readmitted"]


def test_the_readme_runs(patients: None, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    found = run("README.md", {})
    assert list(found["release"].sample(5)) == ["age", "score", "ward", "readmitted"]


def test_the_page_about_the_ready_release_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run("examples/README.md", {})["release"].guarantee.epsilon == 1.0


def test_the_page_about_mechanisms_runs(patients: None) -> None:
    found = run("docs/mechanisms.md", {})
    assert found["model"].means_.shape == (3, 2)
    seeds = [other.model.progress.settings.seed for other in found["others"]]
    assert seeds == [1, 2, 3, 4, 5]
    samples = [other.sample(20, seed=0) for other in found["others"]]
    assert not samples[0].equals(samples[1]), "another seed, another generator"


def test_the_page_about_merging_runs(patients: None, small_pool: None) -> None:
    found = run("docs/merging.md", {})
    assert found["everyone"].guarantee.joint.own.epsilon == 1.0
    assert list(found["everyone"].sample(5)) == ["age", "score", "ward", "readmitted"]


def test_the_page_about_conditions_runs() -> None:
    towns = sf.Schema.parse("""
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  home town: {type: category, values: [Ulm, Bonn, Rome]}
""")
    table = pd.DataFrame({"age": np.arange(300) % 90, "home town": np.repeat(["Ulm", "Bonn", "Rome"], 100)})
    release = sf.fit(table, towns, epsilon=1, delta=1e-6)
    (shown,) = blocks("docs/conditions.md")
    rows = eval(shown, {"release": release})
    assert len(rows) == 1000
    assert (rows["age"] > 40).all()
    assert set(rows["home town"]) == {"Ulm", "Bonn"}


def test_the_page_about_reports_runs(patients: None) -> None:
    made = sf.fit("patients.csv", "patients.yaml", epsilon=1, delta=1e-6, mechanism=sf.Mixture(pairs=None))
    made.save("adult.sfumato")
    assert run("docs/report.md", {})["page"].startswith("<!doctype html>")


def test_the_page_about_draws_runs(patients: None) -> None:
    pooled = run("docs/draws.md", {})["pooled"]
    assert list(pooled.index) == ["Intercept", "C(ward)[T.south]", "C(ward)[T.west]", "age"]
    assert (pooled["low"] < pooled["high"]).all()


@pytest.mark.parametrize("page", ["README.md", "docs/schema.md"])
def test_the_schemas_that_are_shown_are_schemas(page: str) -> None:
    shown = [sf.Schema.parse(block) for block in blocks(page, "yaml")]
    assert shown
    assert any(schema.label is not None for schema in shown)


@pytest.mark.slow
def test_the_page_about_time_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pool: None) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text("""
columns:
  age: {type: number, min: 15, max: 99, step: 1}
  hours: {type: number, min: 0, max: 99, step: 1}
  region: {type: category, values: [north, east, south, west]}
  works: {type: boolean}
""")
    frame = pd.DataFrame({"age": [40, 50], "hours": [38, 0], "region": ["north", "west"], "works": [True, False]})
    for year in range(2026, 2036):
        frame.to_csv(tmp_path / f"panel-{year}.csv", index=False)
    found = run("docs/over-time.md", {})
    assert found["each_year"] == 0.576
    (account,) = found["ledger"].accounts("panel")
    assert len(account.entries) == 10
    assert account.entries[-1].why == "wave of 2035"
    assert 1.997 < account.epsilon < 1.999
    widths = [
        sf.outlook(sf.plan("panel.yaml", epsilon=e, delta=1e-6, rows=20_000)).widths.mean("hours") for e in (0.576, 2)
    ]
    assert [f"{width:.2f}" for width in widths] == ["0.39", "0.12"]
    with pytest.raises(BudgetError):
        sf.fit(frame, "panel.yaml", epsilon=found["each_year"], delta=1e-6, ledger="panel.db", dataset="panel")


def test_the_page_about_planning_runs() -> None:
    found = run("docs/planning.md", {})
    assert found["found"].needed <= found["found"].allowed
    assert found["outlook"].risk.advantage <= 0.1
    assert found["outlook"].widths.mean("age") <= 1.0


@pytest.mark.slow
def test_the_page_about_a_curator_elsewhere_runs(patients: None, tmp_path: Path) -> None:
    """What the custodian types, the last line beside the others; then what the analyst does."""
    first, second = blocks("docs/remote.md", "sh")
    *before, served = first.splitlines()
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    env |= {"PYTHONPATH": str(ROOT / "src")}
    for line in before:
        subprocess.run(shlex.split(line), env=env, check=True, capture_output=True)
    with subprocess.Popen(shlex.split(served), env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "serving patients on unix:clinic.sock; Ctrl-C ends it\n"
            found = run("docs/remote.md", {})
            subprocess.run(shlex.split(second), env=env, check=True, capture_output=True)
        finally:
            server.terminate()
            assert server.wait(60) == 0
    assert found["clinic"].schema == sf.Schema.load("patients.yaml")
    entries = sf.Ledger("clinic.db").accounts("patients")[0].entries
    assert [entry.id for entry in entries] == [found["release"].guarantee.entry, sf.load("a.sfumato").guarantee.entry]
    assert entries[0].who == "A. Lovelace"
