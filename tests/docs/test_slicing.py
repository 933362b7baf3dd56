"""What the pages show of slicing runs as it stands there, with next to no training."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.training import fitting
from sfumato.training.settings import Training

ROOT = Path(__file__).parents[2]
STEPS = 1
SCHEMA = """
label: readmitted
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  score: {type: number, min: 0, max: 100, step: 1}
  ward: {type: category, values: [a, b, c]}
  readmitted: {type: category, values: ["no", "yes"]}
"""


def blocks(page: str, heading: str = "") -> str:
    """The Python of a page, or of what stands under one of its headings."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text.split(f"### {heading}\n")[1].split("\n## ")[0] if heading else text
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the examples, in the folder where they run, and trainings that end soon."""
    rng = np.random.default_rng(0)
    late = rng.random(500) < 0.4
    age = np.clip(np.where(late, 60, 40) + rng.normal(0, 10, 500), 0, 100).round()
    ward, label = rng.choice(["a", "b", "c"], 500), np.where(late, "yes", "no")
    frame = pd.DataFrame({"age": age, "score": 100 - age, "ward": ward, "readmitted": label})
    frame.to_csv(tmp_path / "patients.csv", index=False)
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


def test_the_page_about_slicing_runs(patients: None) -> None:
    found: dict[str, Any] = {}
    exec(blocks("docs/slicing.md"), found)
    assert len(found["generators"]) == 5
    assert found["again"].guarantee == found["release"].guarantee
    rows = found["again"].sample(50, seed=1)
    pd.testing.assert_frame_equal(rows, found["mine"].sample(50, seed=1))
    assert list(rows.columns) == ["age", "score", "ward", "readmitted"]


def test_what_the_readme_says_of_generators_runs(patients: None) -> None:
    found: dict[str, Any] = {"sf": sf, "schema": sf.Schema.load("patients.yaml")}
    exec(blocks("README.md", "Generators"), found)
    seeds = [other.model.progress.settings.seed for other in found["others"]]
    assert seeds == [1, 2, 3, 4, 5]
    samples = [other.sample(20, seed=0) for other in found["others"]]
    assert not samples[0].equals(samples[1]), "another seed, another generator"
