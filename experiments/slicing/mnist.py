"""Digits from slices of an 8 x 8 cosine transform: what they teach a classifier, and what they look like."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

from experiments.slicing import runs
from experiments.slicing.data import load
from experiments.slicing.methods import METHODS, REAL
from experiments.slicing.runs import Run
from experiments.three_a.data import DataSet
from experiments.three_a.figure3 import sheet
from experiments.three_a.judge import DCT_KEEP, Scores, _boosted, metric, numbers, project
from experiments.three_a.methods import NotThere

DATA = "mnist"
EPSILONS = (1.0, 10.0)
RELEASES = 1
SHOWN = (REAL, "mixture", "central", "conv", "tuned", "wasserstein", "merf", "gan", "pategan")
DRAWN = ("mixture", "central", "conv", "tuned")
DRAWN_ROWS = 2000  # made for the picture, of which a few are shown
FILE = "mnist.jsonl"


def make(
    out: Path,
    *,
    methods: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    releases: int | None = None,
    again: bool = False,
) -> Path:
    """Make the runs that are missing, write the table, draw the digits, and say where they are."""
    data = load(DATA)  # without which there is nothing to draw either
    path = out / FILE
    runs.make(
        path,
        projected_accuracy,
        data=[DATA],
        methods=methods or SHOWN,
        epsilons=epsilons or EPSILONS,
        releases=releases or RELEASES,
        again=again,
    )
    picture = out / "mnist.png"
    if not methods or not picture.is_file():  # some methods alone would leave the others out of it
        draw(data, [name for name in methods or DRAWN if name != REAL], epsilons or EPSILONS, picture)
    written = out / "mnist.md"
    written.write_text(f"{HEADING}\n{markdown(runs.kept(path))}")
    return written


HEADING = """# MNIST

    python -m experiments.slicing mnist

Accuracy on the test digits of LightGBM trained on as many synthetic digits as real ones, both in the space of the
lowest 8 x 8 frequencies; delta = 1e-5. Mean ± standard deviation over releases where there are several. Releases have
fixed seeds, so that the table can be made again, and so carry no guarantee themselves.
"""


def projected_accuracy(synthetic: pd.DataFrame, data: DataSet) -> Scores:
    """The judge of 3A's table, in the projected space only: in pixels it takes ten minutes and more."""
    assert data.image is not None  # digits are
    train, test = (project(numbers(frame, data), data.image) for frame in (synthetic, data.test))
    return {f"{metric(data)}, {DCT_KEEP} x {DCT_KEEP} DCT": _boosted(train, synthetic, test, data)[metric(data)]}


def markdown(found: Sequence[Run]) -> str:
    """A line for each method and epsilon."""
    return runs.summary(found, tuple(METHODS)) if found else "No runs yet.\n"


def draw(data: DataSet, methods: Sequence[str], epsilons: Sequence[float], path: Path) -> None:
    """Methods down, epsilon across, real digits above; a column of a sheet is a digit."""
    panels = [("real digits", [data.train] * len(epsilons))]
    for name in methods:
        try:
            frames = [METHODS[name](data, epsilon, data.delta, seed=0, rows=DRAWN_ROWS).frame for epsilon in epsilons]
        except NotThere as error:
            print(f"{path.name}, {name} left out: {error}", file=sys.stderr)
            continue
        panels.append((METHODS[name].title, frames))
    size = (5 * len(epsilons), 2.9 * len(panels))
    figure, axes = plt.subplots(len(panels), len(epsilons), figsize=size, squeeze=False, layout="constrained")
    for row, (title, frames) in zip(axes, panels, strict=True):
        for panel, epsilon, frame in zip(row, epsilons, frames, strict=True):
            panel.imshow(sheet(frame, data), cmap="gray_r", vmin=0, vmax=255)
            said = title if frame is data.train else f"{title}, epsilon = {epsilon:g}, delta = {data.delta:g}"
            panel.set_title(said, fontsize=9)
            panel.set_axis_off()
    figure.savefig(path, dpi=90)
    plt.close(figure)
