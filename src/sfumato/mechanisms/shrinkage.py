"""Shrinkage of noisy answers whose noise is known: means, covariances and eigenvalues. All of it is post-processing.

Unless said otherwise noise on a symmetric matrix has standard deviation `sd` on the diagonal and sd / sqrt(2) off it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.schema.layout import FloatArray, IntArray


def shrinkage_weight(noise_energy: float, distance: float, margin: float, most_signal: float = math.inf) -> float:
    """The James-Stein weight of a target: noise over noise and signal, where the signal is what the squared distance
    has beyond `margin` times the noise, and no more than `most_signal`.

    >>> shrinkage_weight(1.0, 0.5, 1.5), shrinkage_weight(1.0, 100.0, 1.5, most_signal=3.0)
    (1.0, 0.25)
    """
    signal = min(max(distance - margin * noise_energy, 0.0), most_signal)
    return noise_energy / (noise_energy + signal) if noise_energy > 0.0 else 0.0


def shrink_to_zero(vectors: FloatArray, sd: FloatArray, margin: float) -> FloatArray:
    """Each noisy vector, of noise `sd` a coordinate, shrunk to zero by the James-Stein weight."""
    energy, squared = vectors.shape[1] * sd**2, (vectors**2).sum(axis=1)
    weights = np.array([shrinkage_weight(e, s, margin) for e, s in zip(energy, squared, strict=True)])
    return np.asarray(vectors * (1.0 - weights)[:, None])


def shrink_class_means(means: FloatArray, variance: FloatArray, margin: float) -> FloatArray:
    """Each class's mean towards zero, where its histograms put it: no coordinate is far above one, which bounds the
    signal.
    """
    weights = [
        shrinkage_weight(v.sum(), (m**2).sum(), margin, most_signal=float(len(m)))
        for m, v in zip(means, variance, strict=True)
    ]
    return np.asarray(means * (1.0 - np.array(weights))[:, None])


def shrink_to_class(means: FloatArray, variance: FloatArray, counts: FloatArray, classes: IntArray) -> FloatArray:
    """Noisy means shrunk to their class's, coordinate by coordinate, as far as they differ by no more than noise."""
    shrunk = means.copy()
    for k in np.unique(classes):
        mine = classes == k
        weights = counts[mine] / counts[mine].sum()
        middle = weights @ means[mine]
        signal = np.maximum(weights @ (means[mine] - middle) ** 2 - weights @ variance[mine], 1e-6)
        shrunk[mine] = middle + (means[mine] - middle) * signal / (signal + variance[mine][:, None])
    return shrunk


def shrink_to_pooled(matrices: FloatArray, noise: FloatArray, target: FloatArray | float, margin: float) -> FloatArray:
    """All matrices together towards the target, then each towards all together; `noise` is the variance of entries."""
    energy = noise.sum(axis=(1, 2))
    precision = 1.0 / np.maximum(energy, 1e-300)
    pooling = precision / precision.sum()
    pooled = np.einsum("k,kij->ij", pooling, matrices)
    # In these units no entry is far above one, which bounds the signal.
    common = shrinkage_weight((pooling**2 * energy).sum(), ((pooled - target) ** 2).sum(), margin, pooled.size)
    pooled += common * (target - pooled)
    far = [((m - pooled)[n > 0] ** 2).sum() for m, n in zip(matrices, noise, strict=True)]
    weights = np.array([shrinkage_weight(e, f, margin, pooled.size) for e, f in zip(energy, far, strict=True)])
    return np.asarray(matrices + weights[:, None, None] * (pooled - matrices))


def shrink_eigenvalues(matrix: FloatArray, sd: float, margin: float) -> FloatArray:
    """A noisy symmetric matrix with its eigenvalues moved to where they were likeliest before: x - 2 s^2 H(x), with H
    the Hilbert transform of their density and s^2 = dim sd^2 / 2 (Bun, Bouchaud and Potters 2017, the additive case),
    and all of it shrunk to zero by the James-Stein weight.
    """
    dim = len(matrix)
    values, vectors = np.linalg.eigh(matrix)
    variance = dim * sd**2 / 2.0
    apart = values[:, None] - values[None, :]
    width = math.sqrt(variance / dim) + 1e-12
    hilbert = (apart / (apart**2 + width**2)).mean(axis=1)
    moved = values - 2.0 * variance * hilbert
    energy = sd**2 * dim * (dim + 1) / 2.0
    kept = 1.0 - shrinkage_weight(energy, float((values**2).sum()), margin)
    return np.asarray((vectors * np.sort(moved) * kept) @ vectors.T)


def floor_eigenvalues(matrix: FloatArray, floor: float) -> FloatArray:
    """A symmetric matrix with no eigenvalue below a floor."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    floored = (vectors * np.maximum(values, floor)) @ vectors.T
    return np.asarray((floored + floored.T) / 2.0)


def nearest_correlation(matrix: FloatArray, floor: float) -> FloatArray:
    """A symmetric matrix with no eigenvalue below `floor`, its diagonal then scaled back to one."""
    values, vectors = np.linalg.eigh(matrix)
    floored = (vectors * np.maximum(values, floor)) @ vectors.T
    scale = np.sqrt(np.diag(floored))
    result = floored / np.outer(scale, scale)
    np.fill_diagonal(result, 1.0)
    return np.asarray((result + result.T) / 2.0)


def inverse_root(shape: FloatArray, floor: float) -> FloatArray:
    """The symmetric matrix that whitens a shape (or a stack of them), no eigenvalue of which counts below `floor`."""
    values, vectors = np.linalg.eigh(shape)
    stretch = 1.0 / np.sqrt(np.maximum(values, floor))
    return np.asarray((vectors * stretch[..., None, :]) @ np.swapaxes(vectors, -1, -2))
