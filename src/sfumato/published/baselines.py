"""Random mixing (DPMix) and random Fourier features (DP-MERF), the methods that 3A builds on and compares with.

Both are what they claim, for the adjacency that each names, with ideal noise and exact sums. This code draws from the
generator that it is given and adds floats: for experiments, not for releases. Rows are raw arrays; bounds, classes and
categories are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from sfumato.accounting import calibrate
from sfumato.published.row_generator import STEPS_A_CALL, Bounds, Encoding, LabelledRows, Made, limits, trainers
from sfumato.schema.layout import FloatArray, IntArray

ORDERS = np.unique(np.geomspace(2, 512, 50).astype(int))
"""Orders of Renyi divergence that are tried: whole numbers, as the bound for random mixing is stated for those."""

_TERMS = np.arange(2, ORDERS[-1] + 1)
_LOG_CHOOSE = np.where(
    ORDERS[:, None] >= _TERMS,
    gammaln(ORDERS[:, None] + 1) - gammaln(_TERMS + 1) - gammaln(np.maximum(ORDERS[:, None] - _TERMS, 0) + 1),
    -np.inf,
)

COUNT_SHARE = 0.05
"""Of mu^2, for the class counts of DP-MERF."""


# --- Random mixing


def mix(
    x: FloatArray,
    y: IntArray,
    classes: int,
    *,
    bounds: Bounds,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    points: int | None = None,
    rows_per_point: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """DPMix (Lee et al. 2019): points in data units, and their soft labels, (points, classes), which need not add to 1.

    Each point is the mean of l rows, drawn at random without replacement, with Gaussian noise: features scaled to
    [0, 1] by the public bounds, and one-hot labels. By default there are as many points as rows, and l is
    `best_mixture`.

    Formal guarantee: (epsilon, delta)-DP where one row is replaced and the number of rows is public, by `mixing_sigma`.
    Which rows went into a point must stay secret. The noise is ours, of one size for features and labels.
    """
    low, high = limits(bounds, x.shape[1])
    rows = np.hstack([(np.clip(x, low, high) - low) / (high - low), np.eye(classes)[y]])
    points = len(x) if points is None else points
    mixture = rows_per_point or best_mixture(epsilon, delta, len(x), points, x.shape[1])
    sigma = mixing_sigma(epsilon, delta, len(x), points, mixture, x.shape[1])
    drawn = np.stack([rows[rng.choice(len(x), mixture, replace=False)].mean(axis=0) for _ in range(points)])
    noisy = drawn + sigma * rng.standard_normal(drawn.shape)
    return low + (high - low) * noisy[:, : x.shape[1]], noisy[:, x.shape[1] :]


def mixing_sigma(epsilon: float, delta: float, rows: int, points: int, mixture: int, columns: int) -> float:
    """The noise for `points` means of `mixture` random rows out of `rows`.

    A replaced row moves a mean that it is in by at most sqrt(D + 2) / l: every feature by 1, two one-hot entries by 1.
    It is in each with probability l / rows, secretly, which is worth much: see `subsampled_epsilon`.
    """
    share = mixture / rows
    # The least noise multiplier, by bisection on a logarithm: epsilon falls with it.
    low, high = -10.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        enough = subsampled_epsilon(share, math.exp(middle), points, delta) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high) * math.sqrt(columns + 2) / mixture


def subsampled_epsilon(share: float, multiplier: float, times: int, delta: float) -> float:
    """The epsilon of a Gaussian mechanism on random rows drawn without replacement, asked `times` times.

    With noise `multiplier` times the L2 sensitivity, where a row is replaced: the Renyi divergence of a whole order a
    is e(a) = a / (2 multiplier^2) for all rows, and for random ones at most that and (Wang, Balle and Kasiviswanathan
    2019, Theorem 9) log(1 + s) / (a - 1), where s is

        share^2 C(a, 2) min(4 (e^e(2) - 1), 2 e^e(2)) + sum over j from 3 to a of share^j C(a, j) 2 e^((j - 1) e(j)).

    It adds up over the times, and gives epsilon by Canonne, Kamath and Steinke (2020), Proposition 12. The theorem is
    not tight where the share and the multiplier are large together.
    """
    total = times * _subsampled_renyi(share, multiplier)
    return float(np.min(total + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)))


def best_mixture(epsilon: float, delta: float, rows: int, points: int, columns: int) -> int:
    """The l with the best signal to noise: mixing l rows leaves 1 / l of their variance, so it is the largest of
    1 / (l sigma(l)^2), among powers of sqrt(2).

    Lee et al. show that there is such a sweet spot. This rule for it is ours.
    """
    sizes = np.unique(np.geomspace(1, rows, 2 * math.ceil(math.log2(rows)) + 1).astype(int))
    return int(min(sizes, key=lambda size: size * mixing_sigma(epsilon, delta, rows, points, int(size), columns) ** 2))


def _subsampled_renyi(share: float, multiplier: float) -> FloatArray:
    """The bound of Theorem 9 for each of ORDERS."""
    j, squared = _TERMS, multiplier**-2
    terms = _LOG_CHOOSE + j * math.log(share) + math.log(2) + (j - 1) * j * squared / 2
    # j = 2: the smaller of 2 e^e(2), as in the sum, and 4 (e^e(2) - 1).
    terms[:, 0] += min(0.0, math.log(2) + math.log(-math.expm1(-squared)))
    random = np.logaddexp(0.0, logsumexp(terms, axis=1)) / (ORDERS - 1)
    return np.minimum(random, ORDERS * squared / 2)


# --- Random Fourier features


@dataclass(frozen=True)
class Features(Encoding):
    """phi(x), public: cos and sin of random frequencies of the numbers, and the categories one-hot.

    Each of the two parts has norm 1 (the one-hot part less where a code is none of its levels), and where both are
    there both are divided by sqrt(2): |phi(x)| <= 1.
    """

    frequencies: FloatArray
    """(columns, frequencies), of the scaled numbers."""

    @property
    def size(self) -> int:
        """How many features a row has."""
        return 2 * self.frequencies.shape[1] * bool(len(self.low)) + sum(self.levels)

    def __call__(self, encoded: Any) -> Any:
        """phi of encoded rows, of NumPy or of JAX."""
        np_or_jax = np if isinstance(encoded, np.ndarray) else import_module("jax.numpy")
        d, parts = len(self.low), bool(len(self.low)) + bool(self.levels)
        phase = encoded[:, :d] @ self.frequencies
        waves = [np_or_jax.cos(phase), np_or_jax.sin(phase)] if d else []
        blocks = [wave / math.sqrt(parts * self.frequencies.shape[1]) for wave in waves]
        if self.levels:
            blocks.append(encoded[:, d:] / math.sqrt(parts * len(self.levels)))
        return np_or_jax.concatenate(blocks, axis=1)


@dataclass(frozen=True)
class Embedding:
    """What DP-MERF asks of the private rows: noisy class counts, and the noisy sum of phi over each class."""

    counts: FloatArray
    sums: FloatArray


@dataclass(frozen=True)
class Training:
    """The generator: a network of two hidden layers, Adam's steps and rate, synthetic rows of each class in a step."""

    width: int = 128
    noise: int = 16
    steps: int = 1000
    rate: float = 3e-3
    batch: int = 256


def random_features(
    bounds: Bounds,
    columns: int,
    levels: Sequence[int],
    frequencies: int,
    length: float | None,
    rng: np.random.Generator,
) -> Features:
    """Frequencies of a Gaussian kernel of this length on numbers scaled to [0, 1].

    Without a length it is sqrt(columns / 6), the root mean square distance of two uniform rows. The authors take the
    median distance of the private rows, which they do not pay for.
    """
    low, high = limits(bounds, columns)
    scale = math.sqrt(max(columns, 1) / 6.0) if length is None else length
    return Features(low, high, tuple(levels), rng.standard_normal((columns, frequencies)) / scale)


def embed(
    features: Features,
    numbers: FloatArray,
    codes: IntArray,
    y: IntArray,
    classes: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> Embedding:
    """The private step of DP-MERF: two Gaussian queries, of the class counts and of the sums of phi.

    Formal guarantee: (epsilon, delta)-DP, add-remove. phi is drawn without looking at the rows, and |phi(x)| <= 1. A
    row adds phi(x) to the sum of its own class alone: the matrix sum of onehot(y) phi(x)^T changes by
    |onehot(y)| |phi(x)| <= 1 in Frobenius norm, the counts by 1. Asked with mu_1^2 + mu_2^2 = mu^2, both together are
    mu-GDP; `calibrate` makes mu of (epsilon, delta). Where a row is replaced, mu is at most twice as large.
    """
    mu = calibrate(epsilon, delta)
    phi, member = features(features.encode(numbers, codes)), np.eye(classes)[y]
    counts = member.sum(axis=0) + rng.standard_normal(classes) / (mu * math.sqrt(COUNT_SHARE))
    sums = member.T @ phi
    return Embedding(counts, sums + rng.standard_normal(sums.shape) / (mu * math.sqrt(1 - COUNT_SHARE)))


def dp_merf(
    table: LabelledRows,
    *,
    epsilon: float,
    delta: float,
    rows: int,
    rng: np.random.Generator,
    frequencies: int = 500,
    length: float | None = None,
    training: Training | None = None,
) -> Made:
    """DP-MERF (Harder, Adamczewski and Park 2021): `rows` synthetic rows as numbers, category codes and classes.

    The guarantee is that of `embed`; what follows sees its answer only. A generator is trained so that for each class
    the mean of phi over its rows is that of the private rows. Categories are probabilities in training and drawn in the
    end, which leaves the mean of phi as it is.
    """
    features = random_features(table.bounds, table.numbers.shape[1], table.levels, frequencies, length, rng)
    embedding = embed(
        features, table.numbers, table.codes, table.y, table.classes, epsilon=epsilon, delta=delta, rng=rng
    )
    counts = np.maximum(embedding.counts, 1.0)
    labels = rng.choice(table.classes, size=rows, p=counts / counts.sum())
    found = generate(features, embedding.sums / counts[:, None], labels, training or Training(), rng)
    return (*features.decode(found, rng), labels)


def generate(
    features: Features, means: FloatArray, labels: IntArray, training: Training, rng: np.random.Generator
) -> FloatArray:
    """Encoded rows with these labels, from a generator trained to have those means of phi in each class."""
    jax, optax = trainers("DP-MERF")
    classes = len(means)
    weights = features.weights(training.noise + classes, training.width, rng)
    optimiser = optax.adam(training.rate)

    def loss(weights: Any, z: Any) -> Any:
        made = features.generate(weights, z)
        phi = features(made).reshape(classes, training.batch, -1).mean(axis=1)
        return ((phi - means) ** 2).sum()

    def step(carry: Any, z: Any) -> Any:
        weights, state = carry
        change, state = optimiser.update(jax.grad(loss)(weights, z), state)
        return (optax.apply_updates(weights, change), state), None

    run = jax.jit(lambda carry, blocks: jax.lax.scan(step, carry, blocks)[0])
    carry = (weights, optimiser.init(weights))
    every = np.repeat(np.arange(classes), training.batch)
    for start in range(0, training.steps, STEPS_A_CALL):
        steps = range(start, min(start + STEPS_A_CALL, training.steps))
        carry = run(carry, np.stack([_noise(every, classes, training.noise, rng) for _ in steps]))
    weights = carry[0]
    return np.asarray(features.generate(weights, _noise(labels, classes, training.noise, rng)), dtype=np.float64)


def _noise(labels: IntArray, classes: int, noise: int, rng: np.random.Generator) -> Any:
    drawn = rng.standard_normal((len(labels), noise), dtype=np.float32)
    return np.hstack([drawn, np.eye(classes, dtype=np.float32)[labels]])
