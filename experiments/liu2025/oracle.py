"""What is left to gain: the strict release's last question, asked by someone who knows all but its answer.

The oracle asks for the count, the sum and the second moment of every class once, with the whole budget, around the
class's true mean and in the space where its rows are white: what the histograms and the first looks of a strict
release have to find out first. It is not DP. It is no bound either: it clips at the radius that is best for the
second moment, and it puts no belief about covariances into what it releases.
"""

from __future__ import annotations

import math

import numpy as np

from experiments.liu2025.setups import Setup
from sfumato.accounting import calibrate
from sfumato.mechanisms.budget import moment_costs, radius
from sfumato.mechanisms.clipping import Clip, best_radii
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.liu2025 import fit_labelled

FLATTEST = 0.05  # the least eigenvalue released, where 1 is the truth
LEAST_ROWS = 1.0


def oracle(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    """A mixture with the noise that the whole budget leaves on moments in the true space."""
    fitted = fit_labelled(setup.x, setup.y, setup.classes).mixture
    mu, dim = calibrate(epsilon, delta), setup.dim
    counts = np.bincount(setup.y, minlength=setup.classes).astype(np.float64)
    count_sd, mean_sd, second_sd = (1 / (mu * math.sqrt(s)) for s in moment_costs(counts, dim, radius(dim)).shares)
    radii = best_radii(dim, counts, mu, np.zeros(setup.classes))
    clip = Clip(dim, radii)
    noisy = np.maximum(counts + count_sd * rng.standard_normal(setup.classes), LEAST_ROWS)
    means, covariances = np.empty_like(fitted.means), np.empty_like(fitted.covariances)
    for k, r in enumerate(radii):
        root = np.linalg.cholesky(fitted.covariances[k])
        z = np.linalg.solve(root, (setup.x[setup.y == k] - fitted.means[k]).T)
        z *= np.minimum(1.0, r / np.maximum(np.linalg.norm(z, axis=0), r / 2))
        noise = rng.standard_normal((dim, dim))
        second = (z @ z.T + r**2 * second_sd * (noise + noise.T) / 2) / (noisy[k] * clip.second[k])
        mean = (z.sum(axis=1) + r * mean_sd * rng.standard_normal(dim)) / (noisy[k] * clip.mean[k])
        values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
        means[k] = fitted.means[k] + root @ mean
        covariances[k] = root @ ((vectors * np.maximum(values, FLATTEST)) @ vectors.T) @ root.T
    return GaussianMixture(noisy / noisy.sum(), means, covariances)
