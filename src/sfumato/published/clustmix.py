"""Madl, Xu, Choudhury and Howard (2023), "Approximate, Adapt, Anonymize (3A): a framework for privacy preserving
training data release for machine learning": ClustMix as printed. NOT DIFFERENTIALLY PRIVATE.

A synthetic point is the mean of a cluster of rows of one class, with Gaussian noise. Theorem 2 claims
(epsilon, delta)-DP where one row is replaced, from this: the row moves the mean of one cluster of l rows by at most
sqrt(D) / l (and, through the adapt step, those of C classes). That holds for clusters that are known beforehand. Here
they are found in the private rows, and a row that changes also changes

- which rows are in which cluster, so that every point may move, and by far more than 1 / l;
- how many points a class has: floor(rows / l_min), a number that is published without noise;
- l and with it sigma_t, the noise itself, and the cut-offs of the random slices;
- the adapted centroids of its whole region, and the memberships that are found from those;
- the smallest and largest value, or the quantiles, by which every row is scaled to [0, 1].

The factor sqrt(C) pays for none of this. Nor are sigma_max, alpha, lambda and the scaling paid for, which the authors
choose by the accuracy on the private training rows. `sfumato audit published-clustmix` convicts it.

Equation, line and algorithm numbers are the paper's. Where it is silent or contradicts itself:

- The text below (6) has the roles of alpha the wrong way round. In (6), which is followed here, alpha = 1 keeps the
  centroids and alpha = 0 looks at the classifier only.
- (8) without C (lines 2 and 16, and its own left side) is read with C, as Theorem 2 proves it; 1 / T in line 18 is
  read as 1 / l.
- It does not say on which feature the cut-offs lie, nor how many there are: here it is the feature whose
  commonest value is rarest, so that no value holds most rows in one region, and regions have REGION_ROWS rows on
  average, or more where clusters are large. Rows of a class with fewer than l_min of them in a region are in no
  cluster, as line 5 has it.
- "Until convergence" is a number of steps. Labels are one-hot, less 1 / C, as in the authors' KIP code.
- Both scalings end in [0, 1]: a normal quantile transform is followed by a min-max one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from sfumato.accounting import delta_of, mu_of
from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.schema.layout import FloatArray, IntArray

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
Scaling = Literal["min-max", "quantile"]

REGION_ROWS = 1000
REGION_CLUSTERS = 5
"""A random slice has on average so many rows, and room for so many clusters of each class."""

MOST_ROUNDS = 50  # of expectation maximisation, before it gives way to constrained k-means
COST_ROUNDING = 1e-12  # of a cost
SMALLEST_VARIANCE = 1e-6  # as in scikit-learn's GaussianMixture
ROUNDED_SPREAD = 1e-9  # a column of [0, 1] with no more than this is the same everywhere, but for rounding
MOST_QUANTILES = 1000


@dataclass(frozen=True)
class Kip:
    """How centroids are adapted: alpha and lambda (`ridge`) of (6), hidden layers of the kernel's network, Adam's steps
    and rate, and how many rows are drawn for one step of Algorithm 1.

    The rest of Algorithm 1, all left out by default as (6) has none of it: a random kernel in every step, of 1 to
    `depth` hidden layers; a random batch of the support set, of so many centroids (None: all); labels of the support
    set that are learned too. They are the regression's: a point that is released has the class of its cluster.
    """

    alpha: float = 0.5
    ridge: float = 1e-3
    depth: int = 1
    steps: int = 200
    rate: float = 0.01
    batch: int = 256
    random_kernel: bool = False
    support: int | None = None
    learn_labels: bool = False

    def __post_init__(self) -> None:
        fewest = min(self.depth, self.steps, self.batch, 1 if self.support is None else self.support)
        if not 0 <= self.alpha <= 1 or not self.ridge > 0 or fewest < 1:
            raise ArgumentError("alpha must lie in [0, 1], ridge above 0, and the other numbers be at least 1")


@dataclass(frozen=True)
class Synthetic:
    """Labelled synthetic points, one for each cluster. What ClustMix would publish is `scaled` (or `x`) and `y`."""

    x: FloatArray
    """In data units."""
    scaled: FloatArray
    """S of Algorithm 2: in the units of the scaled rows."""
    y: IntArray
    sizes: IntArray
    """l of each point. Private, like the next two."""
    sigmas: FloatArray
    membership: IntArray
    """For each row of the table the point that it is mixed into, or -1."""


# --- The noise: equation (8)


def delta(epsilon: float, sigma: float, rows: int, classes: int, columns: int) -> float:
    """Equation (8): what is claimed for means of `rows` rows with noise sigma.

    It is the delta of mu-GDP with mu = sqrt(C D) / (l sigma), so the library's accounting has it, rounded up.
    """
    return delta_of(epsilon, math.sqrt(classes * columns) / (rows * sigma))


def smallest_mixture(epsilon: float, delta: float, sigma_max: float, classes: int, columns: int) -> int:
    """l_min of line 2: the fewest rows in a cluster for which (8) asks for no more noise than sigma_max.

    The paper minimises |delta_0 - delta(l)| by Nelder and Mead. As (8) depends on mu alone, one root, `mu_of`, will do.

    >>> smallest_mixture(1.0, 1e-5, sigma_max=0.2, classes=2, columns=14)
    99
    """
    if not sigma_max > 0:
        raise ArgumentError(f"sigma_max must be above 0, not {sigma_max}")
    return math.ceil(math.sqrt(classes * columns) / (_mu(epsilon, delta) * sigma_max))


def noise_sd(epsilon: float, delta: float, rows: int, classes: int, columns: int) -> float:
    """sigma_t of line 16: the least noise for which (8) is at most delta. By the same root; there always is one."""
    return math.sqrt(classes * columns) / (_mu(epsilon, delta) * rows)


_mu = cache(mu_of)


# --- Algorithm 2


def release(
    x: FloatArray,
    y: IntArray,
    classes: int,
    *,
    epsilon: float,
    delta: float,
    sigma_max: float,
    rng: np.random.Generator,
    adapt: bool = True,
    kip: Kip | None = None,
    scaling: Scaling = "min-max",
    cuts: int | None = None,
    restarts: int = 1,
) -> Synthetic:
    """Algorithm 2 whole. NOT DIFFERENTIALLY PRIVATE, though (epsilon, delta)-DP is claimed: see the module's text.

    `x` is (rows, columns), categories as one-hot columns; `y` has the class of each row, 0 to classes - 1. Without
    `adapt` the centroids stay as they are, as with alpha = 1. `cuts` is how many cut-offs the random slices have; with
    0 all rows are one region. The mixture with the largest likelihood (3) of `restarts` is taken.
    """
    x, y = _checked(x, y, classes)
    scaled, undo = scale(x, scaling)
    least = smallest_mixture(epsilon, delta, sigma_max, classes, x.shape[1])
    noise = noise_sd(epsilon, delta, 1, classes, x.shape[1])  # of a sum; of a mean, 1 / l of it
    membership = np.full(len(x), -1)
    labels: list[int] = []
    if cuts is None:
        cuts = len(x) // max(REGION_ROWS, REGION_CLUSTERS * classes * least)
    region = slices(scaled, cuts, rng)
    for rows in (np.flatnonzero(region == r) for r in np.unique(region)):
        centroids, of_class = approximate(scaled[rows], y[rows], classes, least, rng, restarts)
        if adapt and len(centroids):
            centroids = adapted(scaled[rows], y[rows], centroids, of_class, classes, kip or Kip(), rng)
        found = _closest(scaled[rows], y[rows], centroids, of_class, least)
        membership[rows] = np.where(found < 0, -1, found + len(labels))
        labels += of_class.tolist()
    inside = membership >= 0
    sizes = np.bincount(membership[inside], minlength=len(labels))
    means = np.zeros((len(labels), x.shape[1]))
    np.add.at(means, membership[inside], scaled[inside])
    sigmas = noise / sizes
    points = means / sizes[:, None] + sigmas[:, None] * rng.standard_normal(means.shape)
    return Synthetic(undo(points), points, np.array(labels, dtype=np.int64), sizes, sigmas, membership)


def scale(x: FloatArray, scaling: Scaling) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """The rows scaled to [0, 1] by their own smallest and largest values (or quantiles), and the way back."""
    if scaling == "quantile":
        from sklearn.preprocessing import QuantileTransformer

        quantiles = min(MOST_QUANTILES, len(x))
        normal = QuantileTransformer(n_quantiles=quantiles, output_distribution="normal", subsample=None).fit(x)
        scaled, undo = scale(normal.transform(x), "min-max")
        return scaled, lambda points: np.asarray(normal.inverse_transform(undo(points)) if len(points) else points)
    low, high = x.min(axis=0), x.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return (x - low) / span, lambda points: low + span * points


def slices(x: FloatArray, cuts: int, rng: np.random.Generator) -> IntArray:
    """The region of each row: `cuts` rows, drawn uniformly, give the cut-offs on one feature."""
    feature = int(np.argmin([np.unique(column, return_counts=True)[1].max() for column in x.T]))
    offs = np.sort(rng.choice(x[:, feature], size=cuts, replace=False))
    return np.searchsorted(offs, x[:, feature], side="right")


# --- Approximate


def approximate(
    x: FloatArray, y: IntArray, classes: int, least: int, rng: np.random.Generator, restarts: int = 1
) -> tuple[FloatArray, IntArray]:
    """Lines 3 to 10: the centroids of every class's clusters in this region, and their classes."""
    centroids, labels = [np.empty((0, x.shape[1]))], []
    for c in range(classes):
        mine = x[y == c]
        if n := len(mine) // least:
            cluster = constrained_mixture(mine, n, least, rng, restarts)
            centroids.append(_means(mine, cluster, n))
            labels += [c] * n
    return np.vstack(centroids), np.array(labels, dtype=np.int64)


def constrained_mixture(x: FloatArray, n: int, least: int, rng: np.random.Generator, restarts: int = 1) -> IntArray:
    """GMMConstrained: the cluster of every row, in a mixture of n isotropic Gaussians with at least `least` rows each.

    Expectation maximisation with hard assignment on (3), p(s) a step at l_min: each half of a round lowers the same
    sum, so it ends. Where it takes too many rounds, constrained k-means instead, as in the paper: the same with equal
    variances (Bradley, Bennett and Demiriz 2000).
    """
    runs = [_maximise(x, n, least, rng) for _ in range(restarts)]
    return min(runs, key=lambda run: run[1])[0]


def constrained_assignment(cost: FloatArray, least: int) -> IntArray:
    """The cheapest cluster for every row such that each cluster has at least `least`: exact.

    Successive shortest paths: from the cheapest clusters of all, one row after the other moves on along the cheapest
    chain of clusters that leads from one with rows to spare to one with too few.

    >>> constrained_assignment(np.array([[0.0, 9.0], [1.0, 9.0], [2.0, 9.0], [3.0, 9.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    n = cost.shape[1]
    cluster = cost.argmin(axis=1)
    sizes = np.bincount(cluster, minlength=n)
    # What it costs to move one row from cluster a to b, and the row that it costs least for.
    price, row = np.full((n, n), np.inf), np.zeros((n, n), dtype=np.int64)
    stale = list(range(n))
    while (short := sizes < least).any():
        for k in stale:
            rows = np.flatnonzero(cluster == k)
            if len(rows):
                extra = cost[rows] - cost[rows, k, None]
                row[k] = rows[extra.argmin(axis=0)]
                price[k] = extra.min(axis=0)
            else:
                price[k] = np.inf
        stale = _chain(price, sizes > least, short, COST_ROUNDING * float(np.abs(cost).max()))
        for a, b in pairwise(stale):
            cluster[row[a, b]] = b
        sizes[stale[0]] -= 1
        sizes[stale[-1]] += 1
    return cluster


def _chain(price: FloatArray, start: BoolArray, end: BoolArray, rounding: float) -> list[int]:
    """The cheapest way from a cluster in `start` to one in `end` (Bellman and Ford: a price may be negative)."""
    n = len(price)
    total, before = np.where(start, 0.0, np.inf), np.arange(n)
    for _ in range(n):
        through = total[:, None] + price
        last, cheapest = through.argmin(axis=0), through.min(axis=0)
        better = cheapest < total - rounding
        if not better.any():
            break
        total, before = np.where(better, cheapest, total), np.where(better, last, before)
    chain = [int(np.where(end, total, np.inf).argmin())]
    while before[chain[0]] != chain[0]:
        chain.insert(0, int(before[chain[0]]))
    return chain


def _maximise(x: FloatArray, n: int, least: int, rng: np.random.Generator) -> tuple[IntArray, float]:
    """One run: the clusters, and the negative log likelihood (3) without its constant."""
    start = _spread_out(x, n, rng)
    for equal in (False, True):
        centres, variances, cluster = start, np.ones(n), np.full(len(x), -1)
        for _ in range(MOST_ROUNDS):
            cost = _cost(x, centres, variances)
            before, cluster = cluster, constrained_assignment(cost, least)
            if (cluster == before).all():
                return cluster, float(cost[np.arange(len(x)), cluster].sum())
            centres = _means(x, cluster, n)
            if not equal:
                variances = _variances(x, centres, cluster, n)
    return cluster, float(_cost(x, centres, variances)[np.arange(len(x)), cluster].sum())


def _spread_out(x: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """n rows to start from, each drawn by its squared distance to those before (Arthur and Vassilvitskii 2007)."""
    drawn = [x[rng.integers(len(x))]]
    distance = np.full(len(x), np.inf)
    while len(drawn) < n:
        distance = np.minimum(distance, ((x - drawn[-1]) ** 2).sum(axis=1))
        reach = np.cumsum(distance)
        drawn.append(x[min(np.searchsorted(reach, rng.random() * reach[-1], side="right"), len(x) - 1)])
    return np.stack(drawn)


def _cost(x: FloatArray, centres: FloatArray, variances: FloatArray) -> FloatArray:
    return np.asarray(cdist(x, centres, "sqeuclidean") / variances + x.shape[1] * np.log(variances)) / 2


def _means(x: FloatArray, cluster: IntArray, n: int) -> FloatArray:
    return np.stack([x[cluster == k].mean(axis=0) for k in range(n)])


def _variances(x: FloatArray, centres: FloatArray, cluster: IntArray, n: int) -> FloatArray:
    square = ((x - centres[cluster]) ** 2).mean(axis=1)
    return np.bincount(cluster, square, minlength=n) / np.bincount(cluster, minlength=n) + SMALLEST_VARIANCE


def _closest(x: FloatArray, y: IntArray, centroids: FloatArray, of_class: IntArray, least: int) -> IntArray:
    """Line 14: the centroid of its own class that every row is mixed into, or -1 where its class has none here.

    Each row goes to one centroid, each centroid gets l_min rows or more, and all distances together are least.
    """
    found = np.full(len(x), -1)
    for c in np.unique(of_class):
        mine, ours = y == c, np.flatnonzero(of_class == c)
        found[mine] = ours[constrained_assignment(cdist(x[mine], centroids[ours], "sqeuclidean"), least)]
    return found


# --- Adapt: Algorithm 1


def adapted(
    x: FloatArray,
    y: IntArray,
    centroids: FloatArray,
    of_class: IntArray,
    classes: int,
    kip: Kip,
    rng: np.random.Generator,
) -> FloatArray:
    """Line 11: the centroids of one region after Adam on (6). The kernel reads z-scores of the region's rows."""
    spread = x.std(axis=0)
    unit = x.mean(axis=0), np.where(spread > ROUNDED_SPREAD, spread, 1.0)
    labels = np.eye(classes) - 1 / classes
    # Centroids that are not there fill up to a power of two: a step is compiled once for each size.
    room = ((0, (1 << (len(centroids) - 1).bit_length()) - len(centroids)), (0, 0))
    start, support = np.pad(centroids, room), np.pad(labels[of_class], room)
    there = np.pad(np.ones(len(centroids)), room[0])
    jax, optax = _trainers()
    with jax.enable_x64(True):
        learned = start, support
        state = optax.adam(kip.rate).init(learned)
        for _ in range(kip.steps):
            batch, depth, used = rng.integers(len(x), size=kip.batch), kip.depth, there
            if kip.random_kernel:
                depth = int(rng.integers(1, kip.depth + 1))
            if kip.support is not None:
                some = rng.permutation(len(centroids))[: kip.support]
                used = np.isin(np.arange(len(there)), some).astype(np.float64)
            learned, state = _step(kip, depth)(learned, state, start, used, x[batch], labels[y[batch]], unit)
        return np.asarray(learned[0], dtype=np.float64)[: len(centroids)]


def loss(
    points: Any,
    start: Any,
    support: Any,
    there: Any,
    rows: Any,
    labels: Any,
    unit: tuple[Any, Any],
    kip: Kip,
    depth: int | None = None,
) -> Any:
    """Equation (6). Where `there` is 0 a centroid adds nothing: its kernel and label are 0, only its ridge is left."""
    import jax.numpy as jnp

    from sfumato.training.ntk import ntk

    centre, spread = unit
    ours, theirs = (points - centre) / spread, (rows - centre) / spread
    depth = kip.depth if depth is None else depth
    inner = ntk(ours, ours, depth) * there[:, None] * there
    weights = jnp.linalg.solve(inner + kip.ridge * jnp.eye(len(points)), support)
    misfit = ((labels - ntk(theirs, ours, depth) * there @ weights) ** 2).sum() / 2
    moved = ((points - start) ** 2 * there[:, None]).sum() / jnp.maximum((start**2).sum(), SMALLEST_VARIANCE)
    return kip.alpha * moved + (1 - kip.alpha) * misfit


@cache
def _step(kip: Kip, depth: int) -> Callable[..., tuple[Any, Any]]:
    """Steps 4 and 5 of Algorithm 1: centroids that are not in the batch stay where they are, and so do labels unless
    they are learned.
    """
    jax, optax = _trainers()

    @jax.jit
    def step(learned: Any, state: Any, start: Any, used: Any, rows: Any, labels: Any, unit: Any) -> tuple[Any, Any]:
        slopes = jax.grad(lambda both: loss(both[0], start, both[1], used, rows, labels, unit, kip, depth))(learned)
        change, state = optax.adam(kip.rate).update(slopes, state)
        kept = change[0] * used[:, None], change[1] * used[:, None] * kip.learn_labels
        return optax.apply_updates(learned, kept), state

    return step


def _trainers() -> tuple[Any, Any]:
    try:
        return import_module("jax"), import_module("optax")
    except ImportError:
        raise MissingExtraError("adapting centroids needs an extra: pip install sfumato[train]") from None


def _checked(x: FloatArray, y: IntArray, classes: int) -> tuple[FloatArray, IntArray]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    if x.ndim != 2 or y.shape != (len(x),) or not len(x) or not np.isfinite(x).all():
        raise ArgumentError("x must have two dimensions and finite numbers, and y one class number for each row of x")
    if y.min() < 0 or y.max() >= classes:
        raise ArgumentError(f"y must hold class numbers from 0 to {classes - 1}")
    return x, y
