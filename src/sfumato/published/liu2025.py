"""Liu, Scaglione and Peisert (2025), "Differentially private distribution release of Gaussian mixture models via
KL-divergence minimization", as printed. NOT DIFFERENTIALLY PRIVATE: the docstrings say where the proofs fail, and
`docs/guarantees.md` by how much.

Rows are raw arrays: `x` of shape (N, d), and `y` with the class of each row, 0 to K - 1. Equation numbers are the
paper's. Its adjacency: one row gets another label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, psi

from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.noise_shape import noise_shape
from sfumato.schema.layout import FloatArray, IntArray

EARLY_STOP = 1e-3  # step 9 of Algorithm 1
MOST_ALTERNATIONS = 100
LARGEST_EPSILON = 1000.0  # beyond, e^epsilon_0 overflows in (26)


@dataclass(frozen=True)
class Fit:
    """What (2) makes of a table: the rows in each class, and the mixture. It is private."""

    counts: IntArray
    mixture: GaussianMixture

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Noise:
    """What Algorithm 1 settles before it draws. All of it depends on the private table.

    `objectives` has the value of (20a) after each alternation. The second always repeats the first: the update of
    epsilon_k takes all that (20b) leaves, so (25) finds epsilon_0 as it was, epsilon / 3, and (22) gamma as it was.
    """

    epsilon_0: float
    epsilon_k: FloatArray
    gamma: FloatArray
    mean_covariances: FloatArray
    """Gamma_k^-1."""
    weight_outputs: FloatArray
    """The weights that may come out: the true ones first, then S'(D)."""
    weight_map: FloatArray
    """F' as (26) and (27) print it: a row for each output, a column for each input."""
    objectives: tuple[float, ...]

    @property
    def iterations(self) -> int:
        """How many alternations there were."""
        return len(self.objectives)


@dataclass(frozen=True)
class Released:
    """A mixture as Algorithm 1 would publish it, and the noise it was made with (not to be published)."""

    mixture: GaussianMixture
    noise: Noise


# --- The fit and its neighbours


def fit_labelled(x: FloatArray, y: IntArray, classes: int) -> Fit:
    """Equation (2): share, mean and sample covariance (divisor N_k - 1) of every class.

    Every class needs more rows than there are columns: Algorithm 1 inverts its covariance.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    if x.ndim != 2 or y.shape != (len(x),):
        raise ArgumentError("x must have two dimensions, and y one class number for each row of x")
    if not len(y) or y.min() < 0 or y.max() >= classes:
        raise ArgumentError(f"y must hold class numbers from 0 to {classes - 1}")
    counts = np.bincount(y, minlength=classes)
    d = x.shape[1]
    if counts.min() <= d:
        raise ArgumentError(f"every class needs more than {d} rows, because its covariance is inverted")
    means = np.stack([x[y == k].mean(axis=0) for k in range(classes)])
    covariances = np.stack([np.cov(x[y == k], rowvar=False).reshape(d, d) for k in range(classes)])
    return Fit(counts, GaussianMixture(counts / len(y), means, covariances))


def cluster_labels(x: FloatArray, classes: int, *, seed: int) -> IntArray:
    """Footnote 1: where there are no labels, those of K-means. They depend on all rows, so that another row may change
    any of them: a neighbour in the paper's sense no longer is one label away.
    """
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(classes, n_init=10, random_state=seed).fit(x).labels_, dtype=np.int64)


def fit_by_em(x: FloatArray, classes: int, *, seed: int) -> tuple[Fit, IntArray]:
    """Remark 1: a mixture by expectation-maximisation with its weights made discrete, and each row's likeliest
    component, which stands in for the label that (10) and (23) need.
    """
    from sklearn.mixture import GaussianMixture as Em

    found = Em(classes, n_init=5, random_state=seed).fit(x)
    counts = discrete_counts(found.weights_, len(x))
    mixture = GaussianMixture(counts / len(x), found.means_, found.covariances_)
    return Fit(counts, mixture), np.asarray(found.predict(x), dtype=np.int64)


def discrete_counts(weights: FloatArray, rows: int) -> IntArray:
    """The element of S, (3), nearest to the weights by largest remainders, times the number of rows: whole numbers,
    none below one, that add up to `rows`.

    >>> discrete_counts(np.array([0.704, 0.2955, 0.0005]), 100).tolist()
    [70, 29, 1]
    """
    if rows < len(weights):
        raise ArgumentError(f"{rows} rows cannot have {len(weights)} classes of at least one row")
    exact = np.asarray(weights, dtype=np.float64) / np.sum(weights) * rows
    counts = np.maximum(np.floor(exact), 1.0).astype(np.int64)
    while (missing := rows - int(counts.sum())) != 0:  # at most one row a class
        off = exact - counts
        k = int(off.argmax()) if missing > 0 else int(np.where(counts > 1, off, np.inf).argmin())
        counts[k] += 1 if missing > 0 else -1
    return counts


def mean_differences(x: FloatArray, y: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """mu_k(D) - mu_k(D') for every row that leaves class k, and for every row that joins it, in the order of `x`.

    One row x_n leaves: (x_n - mu_k) / (N_k - 1). One joins: (mu_k - x_n) / (N_k + 1). Every other change of a label
    leaves mu_k alone.
    """
    mine = np.asarray(y) == k
    inside, outside = x[mine], x[~mine]
    mean = inside.mean(axis=0)
    return (inside - mean) / (len(inside) - 1), (mean - outside) / (len(inside) + 1)


def neighbour_weights(counts: IntArray) -> FloatArray:
    """S'(D) of (14): the weights of every table in which one row has another label, and no class is empty.

    K(K - 1) of them, or fewer: a class of one row can lose none, because (3) has no weight of zero.

    >>> neighbour_weights(np.array([1, 3])).tolist()
    [[0.5, 0.5]]
    """
    steps = [(a, b) for a in range(len(counts)) for b in range(len(counts)) if a != b and counts[a] > 1]
    found = np.tile(counts, (len(steps), 1))
    for row, (a, b) in zip(found, steps, strict=True):
        row[a] -= 1
        row[b] += 1
    return np.asarray(found / counts.sum())


# --- The noise


def wishart_scale(epsilon: float, rows: int) -> float:
    """The gamma_k that Lemma 2 asks for: 3 gamma_k <= 2 N_k epsilon."""
    return 2.0 * rows * epsilon / 3.0


def wishart_covariance(covariance: FloatArray, gamma: float, rng: np.random.Generator) -> FloatArray:
    """Equation (6): the covariance plus Wishart noise with d + 1 degrees of freedom and scale I / gamma.

    Claimed (Lemma 2, after Jiang et al. 2016): (epsilon, 0)-DP for rows of norm at most 1. It is not. The noise is
    positive definite, so the released matrix always dominates the true one: where a row is replaced by zero, a share
    1 - e^(-epsilon / 3) of the outputs on the one table is impossible on the other, 28 % at epsilon = 1, in every
    dimension. `sfumato audit published-wishart` shows it.
    """
    d = len(covariance)
    g = rng.standard_normal((d, d + 1)) / np.sqrt(gamma)
    return np.asarray(covariance + g @ g.T)


def best_wishart_scale(covariance: FloatArray, rows: int, epsilon: float) -> float:
    """Equation (22): the gamma_k that minimises d ln(gamma) + (d + 1) tr(Sigma_k^-1) / gamma, at most Lemma 2's.

    (21) prints d gamma where (12) has d ln(gamma); (22) solves the second. The unconstrained minimum is that of the
    bound ln|Sigma + W| >= ln|W|, not of the KL divergence, which falls with gamma: however large epsilon is, noise of
    mean d / tr(Sigma_k^-1) (the harmonic mean of the eigenvalues) stays on every variance.
    """
    d = len(covariance)
    unconstrained = (d + 1) / d * float(np.trace(np.linalg.inv(covariance)))
    return min(unconstrained, wishart_scale(epsilon, rows))


def weight_map(values: FloatArray, epsilon_0: float) -> FloatArray:
    """Equations (26) and (27): F'[i, j], outputs in rows, inputs in columns, the true weights first in both.

    `values` are the g_i of (24), one for each output. As printed every row sums to 1: for each *output* over the
    inputs. A conditional law needs the columns to sum to 1, and with that (24) is solved by a point mass on the
    smallest g_i, whatever the input. See `output_law` for what is drawn from.
    """
    others = len(values) - 1
    if others == 0:
        return np.ones((1, 1))
    odds = math.log(others) + np.where(np.asarray(values) >= 0, epsilon_0, -epsilon_0)
    return np.column_stack([expit(-odds), np.tile((expit(odds) / others)[:, None], (1, others))])


def output_law(mapping: FloatArray) -> FloatArray:
    """The law of the released weights: the column of the true weights, made to sum to 1 over the outputs.

    Where all g_i have one sign, as they nearly always do, it is uniform over the K(K - 1) + 1 outputs.

    Claimed (11): (epsilon_0, 0)-DP. It is not: the outputs are the neighbours of the *true* weights, so a table one
    label away has other outputs. Of a uniform law on K classes, 1 - (2K - 2) / (K^2 - K + 1) is impossible there:
    33 % for K = 2, 62 % for K = 5, 80 % for K = 10.
    """
    return np.asarray(mapping[:, 0] / mapping[:, 0].sum())


def settle_noise(x: FloatArray, y: IntArray, fit: Fit, *, epsilon: float, delta: float, joining: bool = True) -> Noise:
    """Steps 2 to 11 of Algorithm 1. NOT DIFFERENTIALLY PRIVATE: see `release`.

    The shape that (23) finds does not depend on epsilon_k, so it is found once for each class and scaled. (23) hides
    "all n, k'", also the rows that would join a class; (10) leaves those out (k' != k), and so does `joining=False`.
    """
    if not 0 < epsilon <= LARGEST_EPSILON or not 0 < delta < 1:
        raise ArgumentError(f"epsilon must be above 0 and at most {LARGEST_EPSILON:g}, delta inside (0, 1)")
    model, counts = fit.mixture, fit.counts
    precisions = np.linalg.inv(model.covariances)
    shapes = []
    for k in range(model.classes):
        leave, join = mean_differences(x, y, k)
        hidden = np.vstack([leave, join]) if joining else leave
        shapes.append(noise_shape(hidden, (precisions[k] + precisions[k].T) / 2).covariance)

    outputs = np.vstack([model.weights, neighbour_weights(counts)])
    epsilon_0, epsilon_k = epsilon / 3, np.full(model.classes, epsilon / 3)
    objectives: list[float] = []
    while True:
        gamma = np.array(
            [
                best_wishart_scale(model.covariances[k], int(counts[k]), epsilon - epsilon_0 - epsilon_k[k])
                for k in range(model.classes)
            ]
        )
        epsilon_k = epsilon - epsilon_0 - 3 * gamma / (2 * counts)
        mean_covariances = np.stack(shapes) * (2 * math.log(2 / delta) / epsilon_k**2)[:, None, None]
        values = objective_values(outputs, fit, gamma, mean_covariances)
        epsilon_0 = float(epsilon - (epsilon_k + 3 * gamma / (2 * counts)).max())
        mapping = weight_map(values, epsilon_0)
        objectives.append(float(output_law(mapping) @ values))
        settled = len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) <= EARLY_STOP
        if settled or len(objectives) == MOST_ALTERNATIONS:
            return Noise(epsilon_0, epsilon_k, gamma, mean_covariances, outputs, mapping, tuple(objectives))


def draw(fit: Fit, noise: Noise, rng: np.random.Generator) -> GaussianMixture:
    """Step 12 of Algorithm 1: weights by the random map, means by (5), covariances by (6).

    NOT DIFFERENTIALLY PRIVATE: see `release`.
    """
    model = fit.mixture
    law = output_law(noise.weight_map)
    weights = noise.weight_outputs[rng.choice(len(law), p=law)]
    means = np.stack([m + coloured(c, rng) for m, c in zip(model.means, noise.mean_covariances, strict=True)])
    covariances = np.stack([wishart_covariance(c, g, rng) for c, g in zip(model.covariances, noise.gamma, strict=True)])
    return GaussianMixture(weights, means, covariances)


def coloured(covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One draw of N(0, covariance), which may be singular."""
    squares, axes = np.linalg.eigh(covariance)
    return np.asarray(axes @ (np.sqrt(np.maximum(squares, 0.0)) * rng.standard_normal(len(covariance))))


def release(
    x: FloatArray,
    y: IntArray,
    classes: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    joining: bool = True,
    fit: Fit | None = None,
) -> Released:
    """Algorithm 1 whole. NOT DIFFERENTIALLY PRIVATE, though (epsilon, delta)-DP is claimed (Theorem 1).

    `fit` takes the place of (2) where there are no labels (Remark 1).

    What fails: the Wishart step and the random map have outputs that a neighbour cannot produce (`wishart_covariance`,
    `output_law`); the noise on the means is scaled to this table's own neighbours, by their shape (10), so its law
    tells of the table; Lemma 3 adds the classes up as if a label concerned one class, but a flip changes two; and
    Lemma 2 presumes rows of norm 1, which nothing here enforces.
    """
    fit = fit_labelled(x, y, classes) if fit is None else fit
    noise = settle_noise(x, y, fit, epsilon=epsilon, delta=delta, joining=joining)
    return Released(draw(fit, noise, rng), noise)


# --- The objective and the divergence


def objective_values(weights: FloatArray, fit: Fit, gamma: FloatArray, mean_covariances: FloatArray) -> FloatArray:
    """g of (12), without its constant, for each row of `weights`."""
    model = fit.mixture
    d = model.dim
    precisions = np.linalg.inv(model.covariances)
    wishart = d * np.log(gamma) + (d + 1) / gamma * np.trace(precisions, axis1=1, axis2=2)
    gaussian = np.einsum("kij,kji->k", precisions, mean_covariances)
    return np.asarray((weights * (np.log(weights / model.weights) + (wishart + gaussian) / 2)).sum(axis=1))


def objective_constant(weights: FloatArray, fit: Fit) -> FloatArray:
    """What (12) calls "Const", for each row of `weights`.

    Printed (30): -(d ln 2 + psi_d((d + 1) / 2)) / 2, which "depends solely on d". The step before it drops
    ln|Sigma_k|, so sum_k weights_k ln|Sigma_k| / 2 is added here; without it (12) bounds nothing.
    """
    d = fit.mixture.dim
    return printed_constant(d) + weights @ np.linalg.slogdet(fit.mixture.covariances)[1] / 2


def printed_constant(d: int) -> float:
    """The constant as (30) prints it."""
    return -(d * math.log(2) + float(psi((d + 1 - np.arange(d)) / 2).sum())) / 2


def kl_bound(fit: Fit, noise: Noise) -> float:
    """The value of (12) with the constant put right: at least the expected KL(released || fitted).

    Proposition 1 says "equal". It is an upper bound, because ln|Sigma + W| is replaced by ln|W|.
    """
    values = objective_values(noise.weight_outputs, fit, noise.gamma, noise.mean_covariances)
    return float(output_law(noise.weight_map) @ (values + objective_constant(noise.weight_outputs, fit)))


def kl_divergence(released: GaussianMixture, fitted: GaussianMixture) -> float:
    """KL(released || fitted) of the joint laws of class and row, the paper's measure (8).

    It is sum_k w_k [ln(w_k / w*_k) + KL(N_k || N*_k)], the star marking the fitted mixture.

    >>> one = GaussianMixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)))
    >>> kl_divergence(GaussianMixture(np.ones(1), np.full((1, 1), 2.0), np.ones((1, 1, 1))), one)
    2.0
    """
    present = released.weights > 0
    weights, true = released.weights[present], fitted.weights[present]
    covariances, reference = released.covariances[present], fitted.covariances[present]
    shift = (released.means - fitted.means)[present]
    ratio = np.linalg.solve(reference, covariances)
    distance = np.einsum("ki,ki->k", shift, np.linalg.solve(reference, shift[..., None])[..., 0])
    log_volume = np.linalg.slogdet(reference)[1] - np.linalg.slogdet(covariances)[1]
    normal = (np.trace(ratio, axis1=1, axis2=2) + distance - fitted.dim + log_volume) / 2
    return float((weights * (np.log(weights / true) + normal)).sum())
