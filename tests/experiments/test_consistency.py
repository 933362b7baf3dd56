"""The smoothed-sliced estimate converges; what noise on rows leaves to learn (docs/proofs/slicing.md, 10 and 11)."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.slicing import ceiling, consistency
from experiments.slicing.consistency import Factor


def points(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=n), rng.normal(0.3, 0.9, size=n)


@pytest.mark.parametrize("tau", [1e-4, 1.0])
def test_the_factor_gives_the_ratio_of_the_whole_matrix(tau: float) -> None:
    x, w = points(300)
    kernels = [np.exp(-((x[:, None] - y) ** 2) / 2.0) for y in (x, w)]
    whole = np.maximum(np.linalg.solve(kernels[0] + tau * np.eye(300), kernels[1].sum(axis=1)), 0.0)
    assert Factor.of(x, 1.0).ratio(w, tau) == pytest.approx(whole, abs=1e-6)


@pytest.mark.slow
def test_it_is_the_estimate_that_generators_are_trained_by() -> None:
    divergence = pytest.importorskip("sfumato.training.divergence")
    x, w = points(300)
    for width in consistency.bandwidths(x):
        theirs = np.asarray(divergence.ratio(x[:, None], w[:, None], width, 1.0), dtype=np.float64)
        assert Factor.of(x, float(width)).ratio(w, 1.0) == pytest.approx(theirs, abs=1e-4)
    assert consistency.bandwidths(x) == pytest.approx(np.asarray(divergence.median_bandwidths(x[:, None])), rel=1e-5)
    ours = consistency.generators(np.array([0.0, 0.3, 1.0, 4.0]))
    for kind, values in ours.items():
        assert values == pytest.approx(np.asarray(divergence.KINDS[kind](np.array([0.0, 0.3, 1.0, 4.0]))), abs=1e-6)


def test_more_rows_bring_the_estimate_nearer() -> None:
    found = {f"0.2/{n}": [consistency.trial(n, 0.2, seed) for seed in range(3)] for n in (100, 4_000)}
    for tau in ("1e-4", "1"):
        error = consistency.errors(found, 0.2, tau)
        assert error[4_000] < error[100] / 3  # 40 times the rows: a sixth of it at the rate n^-1/2
        assert error[4_000] < 0.6 * consistency.truth(0.2)["kl"]


def test_the_smoothed_empirical_law_converges_as_one_over_n() -> None:
    """E chi2(p_n || p) = I / n, exactly: rows at -1 and 1, unit noise."""
    at = np.linspace(-12.0, 12.0, 2_001)
    normals = np.exp(-((at - np.array([[-1.0], [1.0]])) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
    p, step = normals.mean(axis=0), at[1] - at[0]
    information = float((normals**2 / p).mean(axis=0).sum() * step) - 1.0
    for n in (10, 1_000):
        shares = np.random.default_rng(n).binomial(n, 0.5, size=4_000) / n
        found = [((share * normals[0] + (1.0 - share) * normals[1] - p) ** 2 / p).sum() * step for share in shares]
        deviation = np.std(found) / math.sqrt(len(found))
        assert abs(np.mean(found) - information / n) < 5 * deviation


def test_no_estimate_of_a_share_is_better_than_its_bound() -> None:
    """The mean of noisy projections, rescaled, comes within a few percent of it, and not below."""
    rng, rows, moved, dim, projections, sigma = np.random.default_rng(5), 500, 0.3, 20, 40, 2.0
    bound = ceiling.share_deviation(rows, moved, dim, projections, sigma)
    found = []
    for _ in range(3_000):
        shift = moved * rng.standard_normal(projections) / math.sqrt(dim)  # of u^T U, u the direction between the two
        mean = 0.3 * shift + rng.standard_normal(projections) * sigma / math.sqrt(rows)
        found.append(mean @ shift / (shift @ shift))
    assert bound * 0.95 < np.std(found) < bound * 1.1
    whole = ceiling.noisy_row_deviation(rows, moved, sigma * math.sqrt(dim / projections))
    assert whole == pytest.approx(bound, rel=0.01)


def test_the_recorded_figures_converge() -> None:
    kept = json.loads((Path(consistency.__file__).parent / "results" / consistency.FILE).read_text())
    assert {"commit", "command", "seeds", "versions"} <= set(kept)
    for tau in ("1e-4", "1"):
        assert consistency.exponent(consistency.errors(kept["trials"], 0.2, tau)) < -0.4
