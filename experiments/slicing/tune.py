"""Settings for slicing as printed, searched on tables that are reported nowhere here: credit default for tables,
scikit-learn's small digits for images. Both are public, so the search costs nothing.

Settings are drawn at random from a grid; then all that differ from the best of these in one thing are tried; the best
few of one release are tried with more seeds; the best mean of all scores wins, at each epsilon by itself. One line of
JSON a run: what is there is not run again.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.provenance import made_by
from experiments.slicing import runs
from experiments.slicing.judge import table_scores
from experiments.slicing.methods import Maker, from_arrays
from experiments.slicing.plain import Plain
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet
from experiments.three_a.judge import Scores, logistic
from sfumato.published.row_generator import Encoding
from sfumato.published.slicing import Ball, Training

RESULTS = Path(__file__).parent / "results"
FILE = "tuning.jsonl"
EPSILONS = {"credit": (1.0, 5.1), "digits": (1.0, 10.0)}
TRIED = 12  # settings, of the grid's 720
FINALISTS = 2
SEEDS = 3  # releases of a finalist
ROWS = 5_000  # of credit default: about as many as ACS has
SEEN, FULL, LONG = 200_000, 500_000, 1_000_000  # rows that a training looks at: on a table of any size as many steps
SLICES_A_STEP = 8
DRAWN = 20_241_025  # seed of the search


@dataclass(frozen=True)
class Settings:
    """What is searched. The radius is a share of the one that no row exceeds; the noise of the network and its width
    are left as they are."""

    slices: int
    radius: float
    tau: float
    batch: int
    rate: float
    kind: str
    seen: int = SEEN
    a_step: int | None = SLICES_A_STEP
    """Slices that a step looks at; all of them where None."""

    def options(self, rows: int, widest: float) -> dict[str, Any]:
        """What `published.slicing.synthesize` takes, on a table of so many rows."""
        epochs = max(1, round(self.seen / rows))
        training = Training(epochs=epochs, batch=self.batch, rate=self.rate, slices=self.a_step)
        found = {"slices": self.slices, "radius": self.radius * widest, "tau": self.tau, "kind": self.kind}
        return found | {"training": training, "slice_dim": 1}


GRID: dict[str, tuple[Any, ...]] = {
    "slices": (10, 25, 50, 100, 200),
    "radius": (1.0, 0.6, 0.3),
    "tau": (1e-4, 1e-2, 1.0),
    "batch": (32, 64, 128, 256),
    "rate": (1e-3, 3e-3),
    "kind": ("r-log-r", "kl"),
}


SHOWN = (*GRID, "rows seen", "slices a step")


def make(
    out: Path,
    *,
    data: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    tried: int | None = None,
    full: bool = False,
) -> Path:
    """Make the runs that are missing, and write what was chosen. A full search looks at all slices in every step, and
    at as many rows as the authors: for a GPU."""
    for name in data or ("credit",):
        for epsilon in epsilons or EPSILONS[name]:
            for settings in drawn(tried or TRIED, full):
                _run(out / FILE, name, epsilon, settings, 0)
            (leader, _), *_ = ranked(runs.kept(out / FILE), name, epsilon, seeds=1)
            for settings in neighbours(leader):
                _run(out / FILE, name, epsilon, settings, 0)
            for settings, _ in ranked(runs.kept(out / FILE), name, epsilon, seeds=1)[:FINALISTS]:
                for seed in range(1, SEEDS):
                    _run(out / FILE, name, epsilon, settings, seed)
    written = out / "tuning.md"
    written.write_text(f"{HEADING}\n{markdown(runs.kept(out / FILE))}")
    return written


HEADING = f"""# Settings of slicing as printed

    python -m experiments.slicing tune

Credit default (UCI), {ROWS:,} of its rows, by the mean of the five scores of the tables; scikit-learn's digits, by the
accuracy of logistic regression. {TRIED} settings at random, then what is next to the best of them, one release each;
the best {FINALISTS} with {SEEDS}. The chosen ones are first; mean ± standard deviation.
"""


def drawn(count: int, full: bool = False) -> list[Settings]:
    """So many settings at random, the same ones always, the first ones the same for any count."""
    known = {"seen": FULL, "a_step": None} if full else {}
    every = [Settings(*values, **known) for values in product(*GRID.values())]
    order = np.random.default_rng(DRAWN).permutation(len(every))
    return [every[place] for place in order[:count]]


def neighbours(settings: Settings) -> list[Settings]:
    """All that differ in one thing: one value of the grid more, or less, or a longer training."""
    found = [replace(settings, seen=LONG)]
    for name, values in GRID.items():
        at = values.index(getattr(settings, name))
        found += [replace(settings, **{name: values[i]}) for i in (at - 1, at + 1) if 0 <= i < len(values)]
    return found


def ranked(
    found: Sequence[runs.Run], data: str, epsilon: float, seeds: int = SEEDS
) -> list[tuple[Settings, list[float]]]:
    """Settings with at least so many releases, the best mean first, each with what its releases are worth."""
    worths: dict[Settings, list[float]] = {}
    for run in runs.select(found, data=data, epsilon=epsilon):
        worths.setdefault(Settings(**run["settings"]), []).append(run["worth"])
    there = [(settings, values) for settings, values in worths.items() if len(values) >= seeds]
    return sorted(there, key=lambda pair: -statistics.mean(pair[1]))


@cache
def best(data: str, epsilon: float, path: Path = RESULTS / FILE) -> Settings:
    """What the search chose, at the searched epsilon that is nearest by ratio."""
    found = runs.kept(path)
    searched = sorted({run["epsilon"] for run in runs.select(found, data=data)})
    if not searched:
        raise LookupError(f"no search on {data} yet: python -m experiments.slicing tune --only {data}")
    nearest = min(searched, key=lambda each: abs(np.log(each / epsilon)))
    return ranked(found, data, nearest)[0][0]


def chosen(found: Sequence[runs.Run]) -> str:
    """What won at each epsilon, beside the best and the worst of one release."""
    lines = [["data", "epsilon", *SHOWN, "worth", "worst", "settings tried"]]
    for data, epsilon in dict.fromkeys((run["data"], run["epsilon"]) for run in found):
        tried = ranked(found, data, epsilon, 1)
        winners = ranked(found, data, epsilon)
        if winners:
            settings, values = winners[0]
            _, worst = tried[-1]
            lines.append(
                [data, f"{epsilon:g}", *_cells(settings), runs.spread(values), runs.spread(worst), str(len(tried))]
            )
    return runs.table(lines) if len(lines) > 1 else "No runs yet.\n"


def markdown(found: Sequence[runs.Run]) -> str:
    """A table for each data set and epsilon."""
    parts = []
    for data, epsilon in dict.fromkeys((run["data"], run["epsilon"]) for run in found):
        lines = [[*SHOWN, "worth", "releases"]]
        for settings, values in sorted(ranked(found, data, epsilon, 1), key=lambda pair: -len(pair[1])):
            lines.append([*_cells(settings), runs.spread(values), str(len(values))])
        parts.append(f"## {data}, epsilon = {epsilon:g}\n\n{runs.table(lines)}")
    return "\n".join(parts)


def _cells(settings: Settings) -> list[str]:
    values = asdict(settings).values()
    return ["all" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values]


def printed(settings: Settings) -> Maker:
    """Slicing as printed with these settings."""

    def synthesize(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
        options = settings.options(len(data.train), widest(data))
        return from_arrays("slicing", "synthesize", **options)(data, epsilon, delta, seed, rows)

    return synthesize


def widest(data: DataSet) -> float:
    """The radius that no row of the table exceeds."""
    cube = Cube.of(data if data.bounds is not None else Plain(data).set)
    numbers = np.zeros(sum(not part.levels for part in cube.parts))
    return Ball.of(Encoding(numbers, numbers + 1.0, (*cube.levels, len(data.classes)))).radius


def credit() -> DataSet:
    """Credit default under the bounds of its code book."""
    from benchmarks.scoreboard.datasets import credit as load

    loaded = load()
    label = loaded.schema.label
    assert label is not None
    train = loaded.train.iloc[:ROWS].reset_index(drop=True)
    return DataSet("credit", train, loaded.test, label, (0, 1), 1 / ROWS, ROWS, loaded.schema)


def digits() -> DataSet:
    """Scikit-learn's images of 8 x 8 pixels."""
    from benchmarks.scoreboard.datasets import digits as load

    loaded = load()
    parts = [part.assign(digit=part["digit"].astype(int)) for part in (loaded.train, loaded.test)]
    rows = len(parts[0])
    return DataSet("digits", *parts, "digit", tuple(range(10)), 1e-5, rows, None, (0.0, 16.0), (8, 8))


SETS: dict[str, tuple[Callable[[], DataSet], Callable[[pd.DataFrame, DataSet], Scores]]] = {
    "credit": (cache(credit), table_scores),
    "digits": (cache(digits), logistic),
}


def _run(path: Path, name: str, epsilon: float, settings: Settings, seed: int) -> None:
    load, judge = SETS[name]
    data = load()
    run = {"data": name, "epsilon": epsilon, "delta": data.delta, "seed": seed, "settings": asdict(settings)}
    if runs.select(runs.kept(path), **run):
        return
    started = time.perf_counter()
    frame = printed(settings)(data, epsilon, data.delta, seed, len(data.train))
    seconds = time.perf_counter() - started
    scores = judge(frame, data)
    worth = statistics.mean(scores.values())
    done = run | {"worth": worth, "scores": scores, "seconds": round(seconds, 1), **made_by()}
    with path.open("a") as file:
        file.write(json.dumps(done) + "\n")
    print(f"{name}, epsilon {epsilon:g}, {settings}: {worth:.4f}, {seconds:.0f} s", file=sys.stderr, flush=True)
