"""The objective that 3A trades off: L = alpha L1 + (1 - alpha) L2, for the strict mechanisms.

L1 is the mean negative log likelihood of real rows under the released density (nats a row, of test rows: what the paper
writes, of the rows it was fitted to, would reward fitting them). L2 is the loss gap: how far the loss of a classifier
that is trained and tested on synthetic rows lies from that of one trained and tested on real ones, as the paper has it.
Beside it stands the gap that matters, both classifiers on real test rows. The classifier is LightGBM as it comes and
its loss is logarithmic. Only a model with a density has an L1: the strict ones.
"""

from __future__ import annotations

import json
import statistics
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

import sfumato as sf
from experiments.provenance import made_by
from experiments.three_a.data import DataSet, load
from experiments.three_a.judge import encoded, target
from sfumato.files import replacing

EPSILON, RELEASES = 1.0, 3
DATA = ("adult", "fraud")
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
MECHANISMS: dict[str, Any] = {
    "mixture": sf.Mixture(),
    "mixture, adapted": sf.Mixture(adapt="labels"),
    "mixture, adapted where it pays": sf.Mixture(adapt="auto"),
    "ClustMix": sf.Clustmix(),
    "ClustMix, nothing adapted": sf.Clustmix(adapt=None),
    "ClustMix, inducing points": sf.Clustmix(adapt="points"),
}
COLUMNS = ("L1", "L2", "gap on test rows", "AUC")


def make(out: Path, *, data: tuple[str, ...] | list[str] = DATA, releases: int = RELEASES) -> Path:
    """Measure what is not there yet, and write the table."""
    path = out / "objective.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    for name in data:
        for title in MECHANISMS:
            rounds = found.setdefault(f"{name}/{title}", {"releases": []})
            for seed in range(len(rounds["releases"]), releases):
                rounds["releases"].append(measured(name, title, seed))
                rounds |= made_by()
                print(f"{name}, {title}: {rounds['releases'][-1]}", file=sys.stderr, flush=True)
                with replacing(path) as temporary:
                    temporary.write_text(json.dumps(found, indent=1) + "\n")
    written = out / "objective.md"
    written.write_text(markdown(found))
    return written


def measured(name: str, title: str, seed: int) -> dict[str, float]:
    """L1, L2, the gap on test rows and the AUC of one release."""
    from sklearn.metrics import roc_auc_score

    data = load(name)
    known = {"delta": data.delta, "rows": data.rows, "insecure_seed": seed}
    release = sf.fit(data.train, data.schema, epsilon=EPSILON, mechanism=MECHANISMS[title], **known)
    made = release.sample(len(data.train), seed=seed)
    trained, ours = classifier(made, data), losses(classifier(made, data), made, data)
    real = real_losses(name)
    chance = trained.predict_proba(encoded(data.test, data))[:, 1]
    density = release.log_density(data.test)
    found = {
        "seed": seed,
        "L1": float(-np.mean(density)),
        "L2": abs(real[0] - ours[0]),
        "gap on test rows": ours[1] - real[1],
        "AUC": float(roc_auc_score(target(data.test, data), chance)),
    }
    return {key: round(value, 4) for key, value in found.items()}


@cache
def real_losses(name: str) -> tuple[float, float]:
    """Of the classifier that is trained on real rows."""
    data = load(name)
    return losses(classifier(data.train, data), data.train, data)


def classifier(rows: pd.DataFrame, data: DataSet) -> Any:
    """LightGBM as it comes."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(verbose=-1, deterministic=True, force_col_wise=True, random_state=0, n_jobs=1)
    return model.fit(encoded(rows, data), target(rows, data))


def losses(model: Any, rows: pd.DataFrame, data: DataSet) -> tuple[float, float]:
    """The logarithmic loss on the rows it was trained on, and on real test rows."""
    own, test = (
        float(log_loss(target(part, data), model.predict_proba(encoded(part, data)), labels=[0, 1]))
        for part in (rows, data.test)
    )
    return own, test


def markdown(found: dict[str, Any]) -> str:
    """One line a mechanism, with L at every alpha."""
    head = ["data", "mechanism", "releases", *COLUMNS, *(f"L, alpha {alpha:g}" for alpha in ALPHAS)]
    lines = [head, ["---"] * len(head)]
    for key, kept in found.items():
        name, title = key.split("/", 1)
        means = {column: statistics.mean(each[column] for each in kept["releases"]) for column in COLUMNS}
        sums = [alpha * means["L1"] + (1 - alpha) * means["L2"] for alpha in ALPHAS]
        shown = [f"{value:.3f}" for value in (*means.values(), *sums)]
        lines.append([name, title, str(len(kept["releases"])), *shown])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# alpha L1 + (1 - alpha) L2\n\n{(__doc__ or '').split(chr(10), 2)[2]}\nepsilon = {EPSILON:g}.\n\n{table}\n"
