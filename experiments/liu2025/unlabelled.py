"""Remark 1 and footnote 1: Algorithm 1 where there are no labels, on what EM or K-means makes of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from experiments.liu2025.setups import DELTA, Setup, synthetic
from sfumato.published.liu2025 import Fit, cluster_labels, fit_by_em, fit_labelled, kl_divergence, release
from sfumato.schema.layout import IntArray

EPSILONS = (0.5, 1.0, 4.0)
KINDS = ("labels given", "labels by K-means (footnote 1)", "EM, weights made discrete (Remark 1)")


def table(trials: int, stem: Path) -> dict[str, Any]:
    """KL(released || its own fit) on set-up V-A; a data set in which a class has no covariance is left out."""
    found: dict[tuple[str, float], list[float]] = {}
    for trial in track(range(trials), "without labels", console=Console(stderr=True), transient=True):
        setup = synthetic(trial)
        for number, kind in enumerate(KINDS):
            fit, y = _fitted(kind, setup, trial)
            if np.bincount(y, minlength=setup.classes).min() <= setup.dim:
                continue
            for j, epsilon in enumerate(EPSILONS):
                rng = np.random.default_rng([trial, j, number])
                options = {"epsilon": epsilon, "delta": DELTA, "rng": rng}
                released = release(setup.x, y, setup.classes, **options, fit=fit).mixture
                found.setdefault((kind, epsilon), []).append(kl_divergence(released, fit.mixture))
    rows = [
        {"fit": kind, "epsilon": epsilon, "data_sets": len(kl), "median": float(f"{np.median(kl):.3g}")}
        for (kind, epsilon), kl in found.items()
    ]
    title = f"Algorithm 1 as printed (not DP) without labels: KL(released || fitted), set-up V-A, delta = {DELTA:g}"
    lines = [title, "", "| fit | epsilon | data sets | median |", "|---|---|---|---|"]
    lines += [f"| {r['fit']} | {r['epsilon']:g} | {r['data_sets']} | {r['median']:g} |" for r in rows]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    return {"title": title, "trials": trials, "delta": DELTA, "rows": rows}


def _fitted(kind: str, setup: Setup, seed: int) -> tuple[Fit, IntArray]:
    if kind == KINDS[2]:
        return fit_by_em(setup.x, setup.classes, seed=seed)
    y = setup.y if kind == KINDS[0] else cluster_labels(setup.x, setup.classes, seed=seed)
    return fit_labelled(setup.x, y, setup.classes), y
