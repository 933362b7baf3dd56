"""Figure 3: synthetic digits at epsilon 1 and 0.2."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments.three_a.data import DataSet, load
from experiments.three_a.methods import METHODS, NotThere

EPSILONS = (1.0, 0.2)
SHOWN = ("mixture", "clustmix")  # as printed was not run on so many rows and columns
ROWS = 2000  # made of each, of which a few are shown
EACH = 5  # images of every digit


def make(out: Path) -> Path:
    """One picture: methods down, epsilon across, and real digits above."""
    data = load("mnist")
    rows = [("real digits", [data.train] * len(EPSILONS))]
    for column in SHOWN:
        try:
            frames = [METHODS[column](data, epsilon, data.delta, seed=0, rows=ROWS).frame for epsilon in EPSILONS]
        except (KeyError, NotThere) as error:
            print(f"figure3, {column} left out: {error}", file=sys.stderr)
            continue
        rows.append((f"{METHODS[column].title} ({METHODS[column].guarantee})", frames))
    if len(rows) == 1:
        raise NotThere("no method can make digits")
    figure, axes = plt.subplots(len(rows), len(EPSILONS), figsize=(10, 2.9 * len(rows)), layout="constrained")
    for panels, (title, frames) in zip(axes, rows, strict=True):
        for panel, epsilon, frame in zip(panels, EPSILONS, frames, strict=True):
            panel.imshow(sheet(frame, data), cmap="gray_r", vmin=0, vmax=255)
            panel.set_title(
                title if frame is data.train else f"{title}, epsilon = {epsilon:g}, delta = 1e-5", fontsize=9
            )
            panel.set_axis_off()
    path = out / "figure3.png"
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path


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
