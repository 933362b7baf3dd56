"""What each of the three steps is worth, and alpha swept, for three judges.

A step is a function of its own that makes rows with all steps before it, the one before an adapt step being the other's
too: points and labels are adapted side by side.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import sfumato as sf
from experiments.provenance import made_by
from experiments.three_a.data import DataSet, load
from experiments.three_a.judge import JUDGES
from experiments.three_a.table1 import EPSILON, RELEASES, spread
from sfumato.files import replacing

DATA = ("adult",)
WITHOUT_NOISE = 50.0  # an epsilon at which noise is next to nothing beside sampling
ALPHAS = (0.0, 0.25, 0.5, 0.75)  # what remains at 1 is the step before
POINT_ALPHAS = (0.0, 0.25, 0.75)
JUDGED_BY = ("LightGBM", "logistic regression", "kernel ridge, NTK")


def approximate(data: DataSet, seed: int) -> pd.DataFrame:
    """Cells and their shape alone, as good as without noise."""
    return made(data, seed, epsilon=WITHOUT_NOISE, adapt=None)


def anonymise(data: DataSet, seed: int) -> pd.DataFrame:
    """The same with the noise that epsilon asks for."""
    return made(data, seed, adapt=None)


def adapted(what: str, alpha: float | None = None) -> Callable[[DataSet, int], pd.DataFrame]:
    """Points moved by the kernel's loss, or labels drawn anew, weighed by alpha."""
    return lambda data, seed: made(data, seed, adapt=what, alpha=alpha)


def made(data: DataSet, seed: int, *, epsilon: float = EPSILON, **options: Any) -> pd.DataFrame:
    """Rows of a strict clustmix release."""
    known = {"delta": data.delta, "rows": data.rows, "insecure_seed": seed}
    release = sf.fit(data.train, data.schema, epsilon=epsilon, mechanism=sf.Clustmix(**options), **known)
    return release.sample(len(data.train), seed=seed)


STEPS: dict[str, Callable[[DataSet, int], pd.DataFrame]] = {
    "approximate (not private)": approximate,
    "+ anonymise": anonymise,
    **{f"+ inducing points, alpha = {alpha:g}": adapted("points", alpha) for alpha in POINT_ALPHAS},
    **{f"+ label adaptation, alpha = {alpha:g}": adapted("labels", alpha) for alpha in ALPHAS},
}


IN_GROUPS = {title: step for title, step in STEPS.items() if "label" not in title} | {
    "+ label adaptation": adapted("labels")
}
"""Of columns in groups: their adapted labels are all the label model's, and alpha has nothing to weigh."""


def make(out: Path, *, only: Sequence[str] = DATA, releases: int = RELEASES) -> Path:
    """Judge every step of every data set, continuing where an earlier run stopped, and write the table."""
    path = out / "ablation.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    for name in only:
        for title, step in (IN_GROUPS if load(name).schema.groups else STEPS).items():
            fill(found, name, title, step, releases, path)
            print(f"{name}, {title}: done", file=sys.stderr, flush=True)
    written = out / "ablation.md"
    written.write_text(markdown(found))
    return written


def fill(
    found: dict[str, Any],
    name: str,
    title: str,
    step: Callable[[DataSet, int], pd.DataFrame],
    releases: int,
    path: Path,
) -> None:
    """Judge the releases of one step that are not there yet."""
    data = load(name)
    scores = found.get(f"{name}/{title}", [])
    for seed in range(len(scores), releases):
        frame = step(data, seed)
        judged = {judge: next(iter(JUDGES[judge](frame, data).values())) for judge in JUDGED_BY}
        scores.append({"seed": seed, **judged, **made_by()})
        found[f"{name}/{title}"] = scores
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")


def markdown(found: dict[str, Any]) -> str:
    """One line a step, one column a judge."""
    lines = [["data", "step", "releases", *JUDGED_BY], ["---"] * (len(JUDGED_BY) + 3)]
    for key, scores in found.items():
        name, title = key.split("/", 1)
        judged = [spread([score[judge] for score in scores]) for judge in JUDGED_BY]
        lines.append([name, title, str(len(scores)), *judged])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    heading = f"# What each step is worth\n\nTrained on synthetic rows, tested on real ones; epsilon = {EPSILON:g}."
    return f"{heading}\n\n{table}\n"
