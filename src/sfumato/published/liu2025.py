"""Liu, Scaglione and Peisert (2025), "Differentially private release of Gaussian mixtures by KL minimisation", as
printed. NOT DIFFERENTIALLY PRIVATE: the docstrings say where the proofs fail."""

from __future__ import annotations

import numpy as np

from sfumato.bins import FloatArray


def wishart_scale(epsilon: float, rows: int) -> float:
    """The gamma_k that Lemma 2 asks for: 3 gamma_k <= 2 N_k epsilon."""
    return 2.0 * rows * epsilon / 3.0


def wishart_covariance(covariance: FloatArray, gamma: float, rng: np.random.Generator) -> FloatArray:
    """Equation (6): the covariance plus Wishart noise with d + 1 degrees of freedom and scale I / gamma.

    Claimed (Lemma 2, after Jiang et al. 2016): (epsilon, 0)-DP for rows of norm at most 1. It is not. The noise is
    positive definite, so the released matrix always dominates the true one: where a row is replaced by zero, a share
    1 - e^(-epsilon / 3) of the outputs on the one table is impossible on the other. `sfumato audit published-wishart`
    shows it.
    """
    d = len(covariance)
    g = rng.standard_normal((d, d + 1)) / np.sqrt(gamma)
    return np.asarray(covariance + g @ g.T)
