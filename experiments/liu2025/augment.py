"""Example 3: a classifier trained on rows that are drawn from the released mixture, beside the bound of the paper.

A rule has error R~ on rows of the released mixture and R on rows of the fitted one; |R - R~| is at most the mixtures'
total variation distance, which Pinsker's inequality bounds by sqrt(KL / 2).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from experiments.liu2025.runners import ALL, release
from experiments.liu2025.setups import DELTA, synthetic
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.liu2025 import fit_labelled, kl_divergence
from sfumato.schema.layout import FloatArray, IntArray

METHODS = ("printed", "printed-leaving", "naive-strict", "strict", "strict-label")
EPSILONS = (0.5, 1.0, 4.0)
DRAWN = 5000  # rows to train on, and to measure an error or a distance with
LEAST = 5  # rows of a class, or it is no part of the training


def table(trials: int, stem: Path) -> dict[str, Any]:
    """Medians over data sets 0 to trials - 1 of set-up V-A."""
    found: dict[tuple[str, float], list[tuple[float, ...]]] = {}
    for trial in track(range(trials), "augmentation", console=Console(stderr=True), transient=True):
        setup = synthetic(trial)
        fitted = fit_labelled(setup.x, setup.y, setup.classes).mixture
        for j, epsilon in enumerate(EPSILONS):
            for method in METHODS:
                released = release(method, setup, epsilon, DELTA, (trial, j))
                found.setdefault((method, epsilon), []).append(_measure(released, fitted, trial))
    rows = []
    for (method, epsilon), measured in found.items():
        values = np.array(measured)
        error, there, distance, bound = np.median(values, axis=0)
        within = np.abs(values[:, 0] - values[:, 1]) <= values[:, 3] + 0.02  # what 5,000 rows leave to chance
        rows.append(
            {
                "method": ALL[method].legend,
                "epsilon": epsilon,
                "error": float(f"{error:.3g}"),
                "error_on_released_rows": float(f"{there:.3g}"),
                "total_variation": float(f"{distance:.3g}"),
                "sqrt_half_kl": float(f"{bound:.3g}"),
                "bound_holds": float(within.mean()),
            }
        )
    base = float(np.median([_measure_fitted(trial) for trial in range(trials)]))
    title = f"Error of a quadratic rule trained on {DRAWN:,} released rows, set-up V-A, medians of {trials} data sets"
    _write(stem.with_suffix(".md"), title, base, rows)
    return {"title": title, "trials": trials, "delta": DELTA, "error_of_the_fitted_mixture": base, "rows": rows}


def _measure(released: GaussianMixture, fitted: GaussianMixture, seed: int) -> tuple[float, ...]:
    """Error on fitted rows, on released rows, total variation and the bound on it by Pinsker."""
    rng = np.random.default_rng([seed, 3])
    rule = _train(*_draw(released, rng))
    x, y = _draw(fitted, rng)
    other, labels = _draw(released, rng)
    ratio = np.exp(np.minimum(_log_joint(released, x, y) - _log_joint(fitted, x, y), 50.0))
    distance = np.maximum(1.0 - ratio, 0.0).mean()
    bound = np.sqrt(max(kl_divergence(released, fitted), 0.0) / 2)
    return float((rule.predict(x) != y).mean()), float((rule.predict(other) != labels).mean()), distance, bound


def _measure_fitted(trial: int) -> float:
    setup = synthetic(trial)
    fitted = fit_labelled(setup.x, setup.y, setup.classes).mixture
    return _measure(fitted, fitted, trial)[0]


def _train(x: FloatArray, y: IntArray) -> QuadraticDiscriminantAnalysis:
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= max(LEAST, x.shape[1] + 1)))
    return QuadraticDiscriminantAnalysis(reg_param=1e-6).fit(x[kept], y[kept])


def _draw(model: GaussianMixture, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    y = rng.choice(len(model.weights), size=DRAWN, p=model.weights / model.weights.sum())
    x = np.empty((DRAWN, model.means.shape[1]))
    for k in np.unique(y):
        x[y == k] = rng.multivariate_normal(model.means[k], model.covariances[k], int((y == k).sum()))
    return x, y


def _log_joint(model: GaussianMixture, x: FloatArray, y: IntArray) -> FloatArray:
    out = np.empty(len(x))
    for k in np.unique(y):
        factor = np.linalg.cholesky(model.covariances[k])
        z = np.linalg.solve(factor, (x[y == k] - model.means[k]).T)
        size = np.log(np.diag(factor)).sum() + 0.5 * x.shape[1] * np.log(2 * np.pi)
        out[y == k] = np.log(max(model.weights[k], 1e-300)) - 0.5 * (z**2).sum(axis=0) - size
    return out


def _write(path: Path, title: str, base: float, rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    lines = [title, "", f"Trained on rows of the fitted mixture: {base:.3g}.", ""]
    lines += ["| " + " | ".join(name.replace("_", " ") for name in names) + " |", "|---" * len(names) + "|"]
    lines += ["| " + " | ".join(f"{v:g}" if isinstance(v, float) else v for v in row.values()) + " |" for row in rows]
    path.write_text("\n".join(lines) + "\n")
