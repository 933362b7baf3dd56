"""Figure 3: synthetic digits at epsilon 1 and 0.2, and what the paper's accuracies would take.

The paper mixes 118 digits into one at epsilon 1 and 20 at epsilon 0.2, and has accuracies of 0.818 and 0.650. By its
own equation (8) a pixel, between 0 and 1, then gets noise of standard deviation 2.8 and 72. Here its algorithm is run
with these cluster sizes, and its points are judged with that noise, without any, and with less and less of it, by three
judges; each amount of noise is an epsilon by (8).
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from experiments.provenance import made_by
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet, load
from experiments.three_a.judge import lightgbm, numbers, target
from experiments.three_a.methods import METHODS
from sfumato.accounting import epsilon_of
from sfumato.published import clustmix

PRINTED = {1.0: (118, 0.818), 0.2: (20, 0.650)}
"""For each epsilon the paper's cluster size and accuracy."""
STRICT = "clustmix"
STRICT_ROWS = 10_000
SIGMAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
EACH = 5  # images of every digit
RED = "#b2182b"


def make(out: Path) -> Path:
    """One picture and the figures behind it."""
    data, found = load("mnist"), {}
    sheets: dict[str, pd.DataFrame] = {"real digits": data.train}
    for epsilon, (size, accuracy) in PRINTED.items():
        clean = centroids(data, epsilon, size)
        noise = clustmix.noise_sd(epsilon, data.delta, size, len(data.classes), len(data.features))
        noisy = with_noise(clean, data, noise)
        key = f"epsilon {epsilon:g}, l = {size}"
        sheets[f"as printed, {key}: noise {noise:.3g} a pixel"] = noisy
        sheets[f"its {len(clean):,} points without noise (not private), l = {size}"] = clean
        levels = [with_noise(clean, data, sigma) for sigma in SIGMAS]
        found[key] = {
            "paper": accuracy,
            "points": len(clean),
            "noise": round(noise, 3),
            "as printed": judged(noisy, data),
            "without noise": judged(clean, data),
            "less noise": [
                {"sigma": sigma, "epsilon by (8)": needed(sigma, size, data), **judged(frame, data)}
                for sigma, frame in zip(SIGMAS, levels, strict=True)
            ],
        }
        strict = METHODS[STRICT](data, epsilon, data.delta, seed=0, rows=STRICT_ROWS).frame
        sheets[f"strict ClustMix (DP), epsilon {epsilon:g}"] = strict
        found[key][f"strict, {STRICT_ROWS:,} rows"] = judged(strict, data)
        print(json.dumps({key: found[key]}), file=sys.stderr, flush=True)
    (out / "figure3.json").write_text(json.dumps(found | made_by() | {"seed": 0}, indent=1) + "\n")
    return draw(out / "figure3.png", sheets, found, data)


def centroids(data: DataSet, epsilon: float, size: int) -> pd.DataFrame:
    """The points of Algorithm 2 without their noise: means of clusters of `size` rows or more. Its adapt step is left
    out: it moves centroids towards the classifier, and then each row is mixed into the nearest again."""
    cube = Cube.of(data)
    x, y = cube.points(data.train)
    widest = clustmix.noise_sd(epsilon, data.delta, size, len(data.classes), x.shape[1])
    made = clustmix.release(
        x,
        y,
        len(data.classes),
        epsilon=epsilon,
        delta=data.delta,
        sigma_max=widest * (1 + 1e-9),
        rng=np.random.default_rng(0),
        adapt=False,
    )
    inside = made.membership >= 0
    means = np.zeros((len(made.y), x.shape[1]))
    np.add.at(means, made.membership[inside], x[inside])
    return cube.frame(means / made.sizes[:, None], made.y)


def with_noise(frame: pd.DataFrame, data: DataSet, sigma: float) -> pd.DataFrame:
    """The same points with noise of this size, in units of the pixels' range, and not clamped: a classifier that knows
    how they were made has no use for clamping."""
    noise = np.random.default_rng(0).standard_normal((len(frame), len(data.features)))
    pixels = frame[data.features].to_numpy(dtype=float) + 255.0 * sigma * noise
    return pd.DataFrame(pixels, columns=data.features).assign(**{data.label: frame[data.label].to_numpy()})


def judged(frame: pd.DataFrame, data: DataSet) -> dict[str, float]:
    """Accuracy on the test digits of LightGBM as it comes, logistic regression, and the nearest point."""
    train, test = (numbers(part, data) / 255.0 for part in (frame, data.test))
    labels, truth = target(frame, data), target(data.test, data)
    regression = LogisticRegression(max_iter=100, tol=1e-2).fit(train, labels)
    nearest = KNeighborsClassifier(1).fit(train, labels)
    found = {
        "LightGBM": lightgbm(frame, data)["accuracy, pixels"],
        "logistic regression": float((regression.predict(test) == truth).mean()),
        "nearest point": float((nearest.predict(test) == truth).mean()),
    }
    return {name: round(value, 4) for name, value in found.items()}


def needed(sigma: float, size: int, data: DataSet) -> float:
    """The epsilon that (8) gives noise of this size, at the data's delta."""
    mu = math.sqrt(len(data.classes) * len(data.features)) / (size * sigma)
    return round(epsilon_of(mu, data.delta), 3)


def draw(path: Path, sheets: dict[str, pd.DataFrame], found: dict[str, Any], data: DataSet) -> Path:
    """Digits above, accuracy over noise below."""
    real = sheets.pop("real digits")
    figure = plt.figure(figsize=(12.5, 10.5), layout="constrained")
    rows = figure.subplots(4, 2, height_ratios=[1, 1, 1, 1.5])
    half = len(sheets) // 2
    for column, titles in enumerate((list(sheets)[:half], list(sheets)[half:])):
        for panel, title in zip(rows[:3, column], titles, strict=True):
            panel.imshow(sheet(sheets[title], data), cmap="gray_r", vmin=0, vmax=255)
            panel.set_title(title, fontsize=10)
            panel.set_axis_off()
    for panel, (key, line) in zip(rows[3], found.items(), strict=True):
        _curves(panel, key, line)
    figure.suptitle(f"MNIST, delta = 1e-5; {len(real):,} private digits", fontsize=12)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path


def _curves(panel: plt.Axes, key: str, line: dict[str, Any]) -> None:
    sigmas = [each["sigma"] for each in line["less noise"]]
    for judge in line["as printed"]:
        panel.plot(sigmas, [each[judge] for each in line["less noise"]], marker="o", ms=3, label=judge)
    panel.axhline(line["paper"], color=RED, lw=1, ls="--", label=f"paper: {line['paper']}")
    panel.axvline(line["noise"], color="black", lw=1, ls=":", label=f"noise by (8): {line['noise']:.3g}")
    panel.set(xscale="log", ylim=(0, 1), xlabel="noise a pixel (range 1); above: epsilon by (8)", ylabel="accuracy")
    panel.set_title(key, fontsize=10, pad=16)
    for each in line["less noise"]:
        panel.text(each["sigma"], 1.02, f"{each['epsilon by (8)']:.3g}", fontsize=7, ha="center")
    panel.legend(fontsize=7, loc="lower left")


def sheet(frame: pd.DataFrame, data: DataSet) -> np.ndarray:
    """The first images of every digit, a column a digit; blank where a method made none."""
    assert data.image is not None  # only images are drawn
    height, width = data.image
    canvas = np.zeros((EACH * height, len(data.classes) * width))
    for k, digit in enumerate(data.classes):
        images = frame.loc[frame[data.label] == digit, data.features].to_numpy(dtype=float)[:EACH]
        for i, image in enumerate(images):
            place = np.s_[i * height : (i + 1) * height, k * width : (k + 1) * width]
            canvas[place] = image.reshape(height, width)
    return canvas
