"""The pictures: lines with quartile bands, and marginal densities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

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
    "fitted": "black",
}


def lines(found: dict[str, Any], path: Path, *, log_y: bool) -> None:
    """Medians with quartile bands; solid lines are differentially private, dashed ones are not."""
    figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
    for method, line in found["lines"].items():
        style = "-" if line["differentially_private"] else "--"
        colour = COLOURS[method]
        axes.plot(found["values"], line["median"], style, color=colour, marker="o", ms=4, label=line["legend"])
        axes.fill_between(found["values"], line["lower_quartile"], line["upper_quartile"], color=colour, alpha=0.12)
    if found["axis"] in ("epsilon", "N"):
        axes.set_xscale("log")
    axes.set_xticks(found["values"], [f"{value:g}" for value in found["values"]])
    axes.minorticks_off()
    if log_y:
        axes.set_yscale("log")
    axes.set(xlabel=found["axis"], ylabel=found["measured"])
    axes.set_title(f"{found['title']}\nmedian and quartiles of {found['trials']} trials, delta = {found['delta']:g}")
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def marginals(
    setup: Setup, models: dict[str, tuple[str, GaussianMixture]], columns: list[int], path: Path, title: str
) -> None:
    """One panel for each class (across) and column (down): histogram of the rows, and every model's density."""
    size = (2.6 * setup.classes, 1.0 + 1.7 * len(columns)) if len(columns) > 1 else (4 * setup.classes, 4)
    figure, panels = plt.subplots(len(columns), setup.classes, figsize=size, squeeze=False, layout="constrained")
    for row, j in enumerate(columns):
        for k in range(setup.classes):
            axes = panels[row, k]
            values = setup.x[setup.y == k, j]
            top = axes.hist(values, bins=10, density=True, color="lightgray")[0].max()
            room = values.std() + (values.max() - values.min()) / 2
            grid = np.linspace(values.min() - room, values.max() + room, 300)
            for name, (label, model) in models.items():
                mean, variance = model.means[k, j], model.covariances[k, j, j]
                density = np.exp(-((grid - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
                style = ":" if name == "fitted" else "-" if "not DP" not in label else "--"
                axes.plot(grid, density, style, color=COLOURS[name], lw=1.3, label=label if row == k == 0 else None)
            axes.tick_params(labelsize=6)
            axes.set_ylim(0, 1.4 * top)
            if row == 0:
                axes.set_title(f"class {k + 1}, {len(values)} rows", fontsize=8)
            if k == 0:
                axes.set_ylabel(f"column {j + 1}", fontsize=7)
    figure.suptitle(title, fontsize=10)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
