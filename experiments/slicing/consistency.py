"""Whether the estimate of the smoothed-sliced divergence converges, and how fast: n from 100 to 100,000.

Rows are drawn from a mixture of two normals in ten dimensions, made rows from another; both are projected on the same
random directions, as the mechanism does, and each gets its own noise. A projection is then a mixture of two normals on
the line, so the true divergence of every slice is an integral over the line. docs/proofs/slicing.md, section 10, says
what is proved.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import rel_entr

from experiments.provenance import made_by
from experiments.slicing import runs
from sfumato.files import replacing
from sfumato.schema.layout import FloatArray

DIM, SLICES = 10, 8
SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
SIGMAS = (0.2, 2.0)  # of the noise, where a row's projections have a standard deviation of 0.2
TRIALS = 10
TAUS = {"1e-4": lambda n: 1e-4, "1": lambda n: 1.0, "sqrt n": math.sqrt}
MULTIPLES = (1.0, 2.0, 4.0)  # of the median distance: the bandwidths of `training.divergence`
MEDIAN_ROWS = 500
KEPT = 1e-13  # of a kernel's diagonal, that its factor leaves out
MOST = 100  # its rank, more than any here has
POINTS = 20_001  # of the integrals over the line
FILE = "consistency.json"


def generators(r: FloatArray) -> dict[str, FloatArray]:
    """f(r) of each divergence, as `training.divergence` has them."""
    middle = (1.0 + r) / 2.0
    return {
        "kl": rel_entr(r, 1.0) - r + 1.0,
        "js": 0.5 * (rel_entr(r, 1.0) - 2.0 * rel_entr(middle, 1.0)),
        "chi2": (r - 1.0) ** 2,
    }


@dataclass(frozen=True)
class Law:
    """A mixture of two normals of the same width in each coordinate."""

    centres: FloatArray
    """(2, dimensions)."""
    share: float
    """Of the first."""
    deviation: float

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        first = rng.random(n) < self.share
        return np.where(first[:, None], *self.centres[:, None]) + self.deviation * rng.standard_normal((n, DIM))

    def density(self, at: FloatArray, direction: FloatArray, sigma: float) -> FloatArray:
        """Of the projection on a direction, with noise."""
        variance = self.deviation**2 * (direction @ direction) + sigma**2
        parts = np.exp(-((at - (self.centres @ direction)[:, None]) ** 2) / (2.0 * variance))
        return (self.share * parts[0] + (1.0 - self.share) * parts[1]) / math.sqrt(2.0 * math.pi * variance)


def laws() -> tuple[Law, Law]:
    """What is private, and what a generator might make of it: other shares, other centres, a little narrower."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((2, DIM))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return Law(0.7 * centres, 0.6, 0.15), Law(0.5 * centres, 0.4, 0.14)


def directions() -> FloatArray:
    """The slices: entries N(0, 1/d), the same ones in every trial."""
    return np.random.default_rng(8).standard_normal((DIM, SLICES)) / math.sqrt(DIM)


@cache
def truth(sigma: float) -> dict[str, float]:
    """The mean over the slices of the divergence of made from real, by integration."""
    real, made = laws()
    found = []
    for direction in directions().T:
        at = np.linspace(-3.0 - 9.0 * sigma, 3.0 + 9.0 * sigma, POINTS)
        p, q = (law.density(at, direction, sigma) for law in (real, made))
        step = at[1] - at[0]
        found.append({name: float((p * f).sum() * step) for name, f in generators(q / p).items()})
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def trial(n: int, sigma: float, seed: int) -> dict[str, dict[str, float]]:
    """One estimate for each tau and divergence: the mean over slices and bandwidths, of n real and n made rows."""
    rng = np.random.default_rng([seed, n, int(1000 * sigma)])
    real, made = (law.draw(n, rng) @ directions() + sigma * rng.standard_normal((n, SLICES)) for law in laws())
    sums: dict[str, dict[str, float]] = {name: dict.fromkeys(generators(np.ones(1)), 0.0) for name in TAUS}
    for x, w in zip(real.T, made.T, strict=True):
        for width in bandwidths(x):
            factor = Factor.of(x, width)
            for name, tau in TAUS.items():
                for kind, values in generators(factor.ratio(w, tau(n))).items():
                    sums[name][kind] += float(values.mean()) / (SLICES * len(MULTIPLES))
    return sums


def bandwidths(x: FloatArray) -> FloatArray:
    """Multiples of the median distance of two of the first points."""
    some = x[:MEDIAN_ROWS]
    return np.median(np.abs(some[:, None] - some)[np.triu_indices(len(some), 1)]) * np.array(MULTIPLES)


@dataclass(frozen=True)
class Factor:
    """K_xx = L L^T of points on the line, up to a millionth of the smallest tau: by pivoted Cholesky, whose rank is a
    few dozen, because the kernel is smooth. It makes n = 100,000 a matter of a second."""

    rows: FloatArray
    pivots: FloatArray
    width: float

    @classmethod
    def of(cls, x: FloatArray, width: float) -> Factor:
        left, columns, pivots = np.ones(len(x)), np.zeros((MOST, len(x))), []
        while left[at := int(left.argmax())] > KEPT:
            rank = len(pivots)
            column = _kernel(x, x[at], width) - columns[:rank, at] @ columns[:rank]
            columns[rank] = column / math.sqrt(left[at])
            pivots.append(x[at])
            left = np.maximum(left - columns[rank] ** 2, 0.0)
            left[at] = 0.0
        return cls(columns[: len(pivots)].T, np.array(pivots), float(width))

    def ratio(self, made: FloatArray, tau: float) -> FloatArray:
        """`training.divergence.ratio` at the points: n L (L^T L + tau)^-1 times the made points' mean features."""
        at_pivots = _kernel(self.pivots[:, None], self.pivots, self.width)
        lower = np.linalg.cholesky(at_pivots + 1e-15 * np.eye(len(at_pivots)))
        mean = solve_triangular(lower, _kernel(self.pivots[:, None], made, self.width).mean(axis=1), lower=True)
        inside = self.rows.T @ self.rows + tau * np.eye(self.rows.shape[1])
        return np.maximum(len(self.rows) * (self.rows @ cho_solve(cho_factor(inside), mean)), 0.0)


def make(out: Path, *, sizes: Sequence[int] = SIZES, trials: int = TRIALS) -> Path:
    """Make the trials that are missing, write them, and draw what they come to."""
    path = out / FILE
    kept = json.loads(path.read_text()) if path.is_file() else {"trials": {}}
    for sigma in SIGMAS:
        for n in sizes:
            mine = kept["trials"].setdefault(f"{sigma:g}/{n}", [])
            while len(mine) < trials:
                mine.append(trial(n, sigma, len(mine)))
                _write(path, kept | {"seeds": f"0 to {trials - 1}"} | made_by())
            print(f"sigma {sigma:g}, n = {n:,}", file=sys.stderr, flush=True)
    draw(kept["trials"], out / "consistency.png")
    written = out / "consistency.md"
    written.write_text(f"{HEADING}\n{markdown(kept['trials'])}")
    return written


HEADING = f"""# How the estimate converges

    python -m experiments.slicing consistency

Root mean square error of the sliced estimate, {SLICES} slices, over {TRIALS} draws of n real and n made rows; the
exponent is the slope of log error over log n from n = 1,000 on. Kernel mean matching with three bandwidths, as in
training. The true divergence is in the first line of each table.
"""

Trials = dict[str, list[dict[str, dict[str, float]]]]


def errors(found: Trials, sigma: float, tau: str, kind: str = "kl") -> dict[int, float]:
    """The root mean square error at each n."""
    wanted = truth(sigma)[kind]
    sizes = sorted(int(name.partition("/")[2]) for name in found if name.partition("/")[0] == f"{sigma:g}")
    values = {n: np.array([each[tau][kind] for each in found[f"{sigma:g}/{n}"]]) for n in sizes}
    return {n: float(np.sqrt(np.mean((mine - wanted) ** 2))) for n, mine in values.items()}


def exponent(error: dict[int, float], start: int = 1_000) -> float:
    """The slope of log error over log n, by least squares."""
    sizes = [n for n in error if n >= start]
    return float(np.polyfit(np.log(sizes), np.log([error[n] for n in sizes]), 1)[0])


def markdown(found: Trials) -> str:
    """A table for each noise: a line for each divergence and tau."""
    parts = []
    for sigma in SIGMAS:
        known = truth(sigma)
        sizes = list(errors(found, sigma, "1"))
        lines = [["divergence", "tau", *(f"n = {n:,}" for n in sizes), "exponent"]]
        for kind in known:
            lines.append([kind, "truth", *[f"{known[kind]:.3g}"] * len(sizes), ""])
            for tau in TAUS:
                error = errors(found, sigma, tau, kind)
                lines.append([kind, tau, *(f"{error[n]:.2g}" for n in sizes), f"{exponent(error):.2f}"])
        parts.append(f"## Noise of sigma = {sigma:g}\n\n{runs.table(lines)}")
    return "\n".join(parts)


def draw(found: Trials, path: Path) -> None:
    """The error of KL over n, a panel for each noise."""
    figure, axes = plt.subplots(1, len(SIGMAS), figsize=(10, 4), layout="constrained")
    for axis, sigma in zip(axes, SIGMAS, strict=True):
        for tau in TAUS:
            error = errors(found, sigma, tau)
            axis.plot(list(error), list(error.values()), marker="o", label=f"tau = {tau}, n^{exponent(error):.2f}")
        sizes, start = list(error), errors(found, sigma, "1")
        guide = [start[sizes[0]] * math.sqrt(sizes[0] / n) for n in sizes]
        axis.plot(sizes, guide, color="grey", linestyle=":", label="n^-0.5")
        axis.axhline(truth(sigma)["kl"], color="black", linewidth=1, linestyle="--", label="the divergence itself")
        axis.set(xscale="log", yscale="log", xlabel="n, real and made rows each", title=f"noise of sigma = {sigma:g}")
        axis.legend(fontsize=8)
    axes[0].set_ylabel("root mean square error of KL, nats")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _kernel(a: Any, b: Any, width: float) -> FloatArray:
    return np.asarray(np.exp(-((a - b) ** 2) / (2.0 * width * width)))


def _write(path: Path, found: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(found) + "\n")
