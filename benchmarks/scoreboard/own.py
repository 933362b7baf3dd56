"""Our own methods, and DP-MERF as written here: `python -m benchmarks.scoreboard.own FOLDER`, a driver like the peers'.

Noise is the secure one wherever a release is made.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from benchmarks.scoreboard.peers.exchange import Task
from sfumato.evaluation.comparison import log_likelihood
from sfumato.published import baselines
from sfumato.published.row_generator import LabelledRows

MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixture": ("Mixture", {"pairs": None}),
    "mixture adapted": ("Mixture", {"pairs": None, "adapt": "auto"}),
    "mixture pairs": ("Mixture", {"pairs": "auto"}),
    "pairs adapted": ("Mixture", {"pairs": "auto", "adapt": "auto"}),
    "clustmix": ("Clustmix", {}),
    "slicing central": ("Slicing", {"form": "central"}),
}


def release(task: Task) -> sf.Release:
    """A fit with the library's defaults but for what the method's name says."""
    kind, options = MECHANISMS[task.method]
    schema = sf.Schema.load(task.folder / "sfumato.json")
    mechanism = getattr(sf, kind)(**options)
    return sf.fit(task.train, schema, epsilon=task.epsilon, delta=task.delta, mechanism=mechanism)


def merf(task: Task) -> pd.DataFrame:
    """DP-MERF with numbers and categories; without a label all rows are of one class."""
    numbers = [name for name, column in task.columns.items() if column["type"] == "number"]
    listed = [name for name in task.columns if name not in numbers]
    label = task.schema["label"]
    codes, rng = task.codes(), np.random.default_rng()
    features = [name for name in listed if name != label]
    low, high = (np.array([task.columns[name][end] for name in numbers], dtype=float) for end in ("min", "max"))
    values = task.train[numbers].to_numpy(dtype=float)
    values = np.where(np.isnan(values), (low + high) / 2, values)
    classes = codes[label].to_numpy() if label else np.zeros(len(codes), dtype=int)
    levels = [task.sizes[name] for name in features]
    given = LabelledRows(
        values, codes[features].to_numpy(), classes, task.sizes[label] if label else 1, (low, high), levels
    )
    asked = {"epsilon": task.epsilon, "delta": task.delta, "rows": task.rows, "rng": rng}
    found, places, labels = baselines.dp_merf(given, **asked)
    drawn = dict(zip(features, places.T, strict=True)) | ({label: labels} if label else {})
    texts = {name: np.array([*task.columns[name]["values"], None], dtype=object)[drawn[name]] for name in listed}
    return pd.DataFrame({**dict(zip(numbers, found.T, strict=True)), **texts})


def main() -> None:
    task = Task(sys.argv[1])
    if task.method == "dp-merf":
        with task.timed():
            made = merf(task)
        task.finish(made, "add-remove", ["sfumato", "jax", "numpy"])
        return
    with task.timed():
        found = release(task)
        made = found.sample(task.rows)
    test = task.folder / "test.parquet"
    likelihood = log_likelihood(found, pd.read_parquet(test)) if test.exists() else float("nan")
    task.finish(made, found.guarantee.adjacency, ["sfumato", "numpy"], log_likelihood=likelihood)


if __name__ == "__main__":
    main()
