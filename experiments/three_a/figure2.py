"""Figure 2: points made from three toy data sets at epsilon 0.1, 1 and 10."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs, make_circles, make_moons

from experiments.three_a.data import DataSet
from experiments.three_a.judge import metric, score, target
from experiments.three_a.methods import METHODS, NotThere, printed_for
from sfumato.schema.schema import Schema

ROWS = 2000  # half of them for the test
EPSILONS = (0.1, 1.0, 10.0)
REACH = 3.0  # of the public range, to both sides
SHOWN = ("printed", "mixture", "clustmix")
NEIGHBOURS = 5
MOST_POINTS = 1000  # drawn in a panel

TOYS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "blobs": lambda: make_blobs(ROWS, centers=[(-1.0, -1.0), (1.0, 0.7)], cluster_std=0.45, random_state=0),
    "moons": lambda: make_moons(ROWS, noise=0.12, random_state=0),
    "circles": lambda: make_circles(ROWS, noise=0.08, factor=0.45, random_state=0),
}


def make(out: Path) -> Path:
    """One picture: data sets and methods down, epsilon across."""
    panels = [(toy(name), column, frames) for column in SHOWN for name, frames in points_of(column).items()]
    figure, axes = plt.subplots(
        len(panels), len(EPSILONS) + 1, figsize=(11, 2.6 * len(panels)), squeeze=False, layout="constrained"
    )
    for row, (data, column, frames) in zip(axes, panels, strict=True):
        _draw(row[0], data.train, f"{data.name}: real")
        for panel, epsilon, made in zip(row[1:], EPSILONS, frames, strict=True):
            worth = f"{metric(data)} {near(made, data):.2f}"
            _draw(panel, made, f"{METHODS[column].title}, epsilon {epsilon:g}\n{len(made)} points, {worth}")
    figure.suptitle(
        f"Toy data, {ROWS // 2} rows, delta = 1 / N. AUC on real rows by the {NEIGHBOURS} nearest of the points made"
    )
    path = out / "figure2.png"
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path


def points_of(column: str) -> dict[str, list[pd.DataFrame]]:
    """What a method makes of every toy at every epsilon; nothing, and it says so, where it is not there."""
    try:
        return {name: [points(column, toy(name), epsilon) for epsilon in EPSILONS] for name in TOYS}
    except (KeyError, NotThere) as error:
        print(f"figure2, {column} left out: {error}", file=sys.stderr)
        return {}


def points(column: str, data: DataSet, epsilon: float) -> pd.DataFrame:
    """What a method makes; ClustMix as printed chooses its sigma_max by the neighbours that judge it here."""
    if column == "printed":
        return printed_for(data, epsilon, data.delta, 0, near)
    return METHODS[column](data, epsilon, data.delta, seed=0).frame


def toy(name: str) -> DataSet:
    """A toy data set with a public range that holds it."""
    x, y = TOYS[name]()
    table = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "side": y.astype(np.int64)})
    number = {"type": "number", "min": -REACH, "max": REACH}
    columns = {"x0": number, "x1": number, "side": {"type": "category", "values": [0, 1]}}
    train, test = table.iloc[: ROWS // 2], table.iloc[ROWS // 2 :].reset_index(drop=True)
    schema = Schema.of({"label": "side", "columns": columns})
    return DataSet(name, train, test, "side", (0, 1), 2 / ROWS, ROWS // 2, schema)


def near(made: pd.DataFrame, data: DataSet) -> float:
    """AUC of the nearest neighbours' share, which a handful of points suffices for."""
    from sklearn.neighbors import KNeighborsRegressor

    if not len(made):
        return 0.5
    model = KNeighborsRegressor(min(NEIGHBOURS, len(made)))
    model.fit(made[data.features].to_numpy(dtype=float), target(made, data))
    found = model.predict(data.test[data.features].to_numpy(dtype=float))
    return score(np.stack([1.0 - found, found], axis=1), data)


def _draw(panel: plt.Axes, points: pd.DataFrame, title: str) -> None:
    few = points.iloc[:MOST_POINTS]
    panel.scatter(few["x0"], few["x1"], c=few["side"].astype(int), s=5, cmap="coolwarm", alpha=0.6, linewidths=0)
    panel.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), xticks=[], yticks=[])
    panel.set_title(title, fontsize=7)
