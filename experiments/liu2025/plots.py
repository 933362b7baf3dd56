"""The pictures: lines with quartile bands, and marginal densities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from experiments.liu2025.setups import Setup
from sfumato.models.gaussian_mixture import GaussianMixture

COLOURS = {
    "printed": "tab:blue",
    "printed-leaving": "tab:cyan",
    "laplace": "tab:olive",
    "gaussian": "tab:gray",
    "coloured": "tab:brown",
    "naive-strict": "tab:orange",
    "strict": "tab:red",
    "strict-label": "tab:pink",
    "strict-components": "tab:purple",
    "fitted": "black",
}
FEW_COLOURS = 48  # of a picture with many panels, which is large otherwise
FEWEST_BANDED = 4  # trials that have quartiles
MOST_ROOM = 2.5  # times the highest bar, for a density that is higher
AXES = {"N": "number of rows N", "K": "number of classes K", "d": "dimension d"}


def lines(found: dict[str, Any], path: Path, *, log_y: bool) -> None:
    """Medians, with quartile bands where there are enough trials for them; solid lines are differentially private,
    dashed ones are not."""
    banded = found["trials"] >= FEWEST_BANDED
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    for method, line in found["lines"].items():
        style = "-" if line["differentially_private"] else "--"
        colour = COLOURS[method]
        axes.plot(found["values"], line["median"], style, color=colour, marker="o", ms=4, label=line["legend"])
        if banded:
            axes.fill_between(found["values"], line["lower_quartile"], line["upper_quartile"], color=colour, alpha=0.12)
    if found["axis"] in ("epsilon", "N"):
        axes.set_xscale("log")
    axes.set_xticks(found["values"], [f"{value:g}" for value in found["values"]])
    axes.minorticks_off()
    if log_y:
        axes.set_yscale("log")
    axes.set(xlabel=AXES.get(found["axis"], found["axis"]), ylabel=found["measured"])
    shown = "median and quartiles" if banded else "median"
    axes.set_title(f"{found['title']}\n{shown} of {found['trials']} trials, delta = {found['delta']:.0e}")
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, handlelength=3.5)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def marginals(
    setup: Setup,
    models: dict[str, tuple[str, GaussianMixture]],
    columns: dict[int, str],
    path: Path,
    title: str,
    unit: str,
) -> None:
    """One panel for each class (across) and column (down): histogram of the rows, and every model's density."""
    many = len(columns) > 1
    size = (2.1 * setup.classes, 1.0 + 1.35 * len(columns)) if many else (3.4 * setup.classes, 4)
    figure, panels = plt.subplots(len(columns), setup.classes, figsize=size, squeeze=False, layout="constrained")
    for row, (j, name_of_column) in enumerate(columns.items()):
        for k in range(setup.classes):
            axes = panels[row, k]
            values = setup.x[setup.y == k, j]
            top = axes.hist(values, bins=10, density=True, color="lightgray")[0].max()
            room = values.std() + (values.max() - values.min()) / 2
            grid = np.linspace(values.min() - room, values.max() + room, 300)
            highest = 1.4 * top
            for name, (label, model) in models.items():
                mean, variance = model.means[k, j], model.covariances[k, j, j]
                density = np.exp(-((grid - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
                highest = max(highest, min(1.05 * density.max(), MOST_ROOM * top))
                style = ":" if name == "fitted" else "-" if "not DP" not in label else "--"
                axes.plot(grid, density, style, color=COLOURS[name], lw=1.3, label=label if row == k == 0 else None)
            axes.tick_params(labelsize=7 if many else 9)
            axes.set_ylim(0, highest)
            if row == 0:
                axes.set_title(f"class {k + 1}, {len(values)} rows", fontsize=9)
            if k == 0:
                axes.set_ylabel(f"{name_of_column}: density", fontsize=8 if many else 9)
            if row == len(columns) - 1:
                axes.set_xlabel(unit, fontsize=8 if many else 9)
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, handlelength=3.5)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(FEW_COLOURS)
    few.save(path, optimize=True)
