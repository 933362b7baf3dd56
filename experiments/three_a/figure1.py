"""Figure 1: approximate, adapt and anonymise on two classes that a line tells apart."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from sfumato.published import clustmix
from sfumato.published.clustmix import Kip
from sfumato.schema.layout import FloatArray, IntArray

EPSILON, ROWS, SEED = 1.0, 1200, 0
LEAST = 60  # rows in a cluster of the first panels
KIP = Kip(alpha=0.02, steps=400, rate=0.02, depth=2, random_kernel=True)
COLOURS = np.array(["#2166ac", "#b2182b"])
MISSED = "#e08214"


def make(out: Path) -> Path:
    """Five panels, as in the paper; the classifier is a logistic regression, its line dashed."""
    x, y = rows()
    rng = np.random.default_rng(SEED)
    centroids, classes = clustmix.approximate(x, y, 2, LEAST, rng)
    moved = clustmix.adapted(x, y, centroids, classes, 2, KIP, rng)
    # The widest noise that leaves a handful of clusters of either class.
    sigma_max = clustmix.noise_sd(EPSILON, 1 / ROWS, ROWS // 6, 2, 2)
    known = {"epsilon": EPSILON, "delta": 1 / ROWS, "sigma_max": sigma_max, "rng": rng, "kip": KIP, "cuts": 0}
    made = clustmix.release(x, y, 2, **known)
    figure, panels = plt.subplots(1, 5, figsize=(15, 3.6), layout="constrained", sharex=True, sharey=True)
    titles = ("1 approximate: cluster means", "2 classifier of all rows", "3 classifier of the means")
    titles += ("4 adapt: means moved by KIP", f"5 anonymise: epsilon {EPSILON:g}, claimed, not DP")
    for number, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        points, labels = ((centroids, classes), (x, y), (centroids, classes), (moved, classes), (made.scaled, made.y))[
            number
        ]
        panel.scatter(*x.T, c=COLOURS[y], s=3, alpha=0.25, linewidths=0)
        if number != 1:
            panel.scatter(*points.T, c=COLOURS[labels], s=60, edgecolors="black", linewidths=1.2)
        if number:
            title = f"{title}\n{_line(panel, points, labels, x, y):.3f} of the rows right"
        panel.set(xlim=(-0.15, 1.15), ylim=(-0.15, 1.15), xticks=[], yticks=[])
        panel.set_title(title, fontsize=10)
    path = out / "figure1.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def rows() -> tuple[FloatArray, IntArray]:
    """A long class beside a round one, in [0, 1]: the means of their clusters say little about the edge between."""
    rng = np.random.default_rng(SEED)
    y = (rng.random(ROWS) < 0.4).astype(np.int64)
    long = rng.normal(size=(ROWS, 2)) * [0.2, 0.04] @ np.array([[0.8, 0.6], [-0.6, 0.8]]) + [0.5, 0.4]
    round_ = rng.normal(size=(ROWS, 2)) * 0.07 + [0.33, 0.6]
    return np.clip(np.where(y[:, None] == 1, round_, long), 0.0, 1.0), y


def _line(panel: plt.Axes, points: FloatArray, labels: IntArray, x: FloatArray, y: IntArray) -> float:
    """Draw where the classifier of these points changes its mind, ring the rows that it gets wrong, and say how many it
    gets right."""
    model = LogisticRegression(C=100.0).fit(points, labels)
    (a, b), c = model.coef_[0], model.intercept_[0]
    across = np.array([-0.15, 1.15])
    panel.plot(across, -(c + a * across) / b, color="black", ls="--", lw=1)
    wrong = model.predict(x) != y
    panel.scatter(*x[wrong].T, s=16, facecolors="none", edgecolors=MISSED, linewidths=0.8)
    return float(1.0 - wrong.mean())
