"""The data of the paper's figures: one labelled table with the public facts that a strict release needs.

Real data is read from `../shared/data` beside the project, or from the folder that SFUMATO_SHARED names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from sfumato.schema.layout import FloatArray, IntArray

DELTA = 1e-5
SEED = 2025
LEAST_ROWS = 20  # of a class
IRIS_RANGE = 3.5  # standard deviations: flowers beyond are clamped by the strict releases
LOAD_HOURS, LOAD_CLASSES, LOAD_LEAST_ROWS = 12, 6, 14
LOAD_OFFSET, LOAD_MOST = 0.01, 15.0  # kWh in an hour: log(x + offset), and what a house's fuse lets through
PILOT_HOMES = 100  # whose profiles are taken as public: the cluster centres come from them
ROWS_PER_HOME = 8  # that the strict releases of all rows count
MNIST_ROWS, MNIST_DIM = 5000, 5


@dataclass(frozen=True)
class Setup:
    """Rows `x` with class numbers `y`, and what is public about them."""

    x: FloatArray
    y: IntArray
    classes: int
    bounds: tuple[FloatArray, FloatArray]
    test_x: FloatArray | None = None
    test_y: IntArray | None = None
    unit: IntArray | None = None
    """Whose row it is, where the unit of privacy is not the row."""
    rows_per_unit: int = 1
    blocks: tuple[FloatArray, FloatArray] | None = None
    """MNIST: the images x and test_x come from, in coarse pixels."""

    @property
    def dim(self) -> int:
        return self.x.shape[1]


class MissingData(Exception):
    """A real data set is not where it is looked for."""


def synthetic(index: int, *, rows: int = 1000, classes: int = 5, dim: int = 3) -> Setup:
    """Data set `index` of Section V-A.

    Weights Dirichlet(1), means uniform in [-10, 10]^d, covariances Wishart with d + 1 degrees of freedom and scale I.
    Weights and labels are drawn anew until every class has at least 20 rows. The public domain is 10 + 2 sqrt(d + 1)
    to both sides: two root mean square standard deviations beyond the outermost mean; [-14, 14] for d = 3.
    """
    rng = np.random.default_rng([SEED, index])
    while True:
        y = rng.choice(classes, size=rows, p=rng.dirichlet(np.ones(classes)))
        if np.bincount(y, minlength=classes).min() >= LEAST_ROWS:
            break
    means = rng.uniform(-10, 10, (classes, dim))
    factors = rng.standard_normal((classes, dim, dim + 1))  # G G^T is Wishart
    x = means[y] + np.einsum("nij,nj->ni", factors[y], rng.standard_normal((rows, dim + 1)))
    reach = np.full(dim, 10 + 2 * np.sqrt(dim + 1))
    return Setup(x, y, classes, (-reach, reach))


def iris() -> Setup:
    """Iris, each column with mean 0 and variance 1 as in the paper; that scaling reads the table and is not DP."""
    table = pd.read_parquet(_found("iris.parquet"))
    x = table.drop(columns="target").to_numpy(dtype=np.float64)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = table["target"].astype("category").cat.codes.to_numpy(dtype=np.int64)
    reach = np.full(x.shape[1], IRIS_RANGE)
    return Setup(x, y, 3, (-reach, reach))


def load_profiles(index: int, *, one_row_each: bool = True) -> Setup:
    """Half-days of homes: log(kWh + 0.01) of 12 hours, six classes, the largest first.

    Half-days with an hour of no consumption at all (4 %, mostly meters that stand still) are left out: each is by its
    own row, and their class would have a singular covariance. Readings are of 0.001 kWh and more.

    The paper clusters the private rows. Here K-means finds its centres on the half-days of 100 homes that are taken as
    public, so that the class of another home's row depends on that row alone and the strict lines are strict; those
    homes are left out. Either one row of every other home, drawn anew until every class has 14 rows (the paper's
    smallest class has so many); or all their rows, with the home as unit of privacy.
    """
    table = pd.read_parquet(_found("load_halfday_hourly.parquet"))
    values = table[[f"kwh_{hour:02d}" for hour in range(LOAD_HOURS)]].to_numpy(dtype=np.float64)
    running = values.min(axis=1) > 0
    names, home = np.unique(table["household_id"].to_numpy(dtype=str)[running], return_inverse=True)
    x = np.log(np.clip(values[running], 0.0, LOAD_MOST) + LOAD_OFFSET)
    bounds = np.full(LOAD_HOURS, np.log(LOAD_OFFSET)), np.full(LOAD_HOURS, np.log(LOAD_MOST + LOAD_OFFSET))
    rng = np.random.default_rng([SEED, index])
    while True:
        pilot = np.isin(home, rng.choice(len(names), PILOT_HOMES, replace=False))
        y = _clusters(x[pilot], x, int(rng.integers(2**31)))
        rows = rng.permutation(np.flatnonzero(~pilot))
        if not one_row_each:
            return Setup(x[rows], y[rows], LOAD_CLASSES, bounds, unit=home[rows], rows_per_unit=ROWS_PER_HOME)
        rows = rows[np.unique(home[rows], return_index=True)[1]]
        if np.bincount(y[rows], minlength=LOAD_CLASSES).min() >= LOAD_LEAST_ROWS:
            return Setup(x[rows], y[rows], LOAD_CLASSES, bounds)


def _clusters(public: FloatArray, x: FloatArray, seed: int) -> IntArray:
    """The nearest centre of each row; the centre with most public rows is class 0."""
    found = KMeans(LOAD_CLASSES, n_init=2, random_state=seed).fit(public)
    order = np.argsort(-np.bincount(found.labels_, minlength=LOAD_CLASSES))
    return np.argsort(order)[found.predict(x)]


def mnist(index: int) -> Setup:
    """5000 training images on 5 principal components, and all test images.

    The paper finds the components on the private images. Here the other 55,000 training images, taken as public, give
    the components and, by their 99.9 % quantiles, the bounds. `components.py` finds components without them.
    """
    train, train_y, test, test_y = _mnist_images()
    private = np.zeros(len(train), dtype=bool)
    private[np.random.default_rng([SEED, index]).choice(len(train), MNIST_ROWS, replace=False)] = True
    components = PCA(MNIST_DIM, svd_solver="covariance_eigh").fit(train[~private])
    others = components.transform(train[~private])
    bounds = np.quantile(others, 0.001, axis=0), np.quantile(others, 0.999, axis=0)
    x = components.transform(train[private])
    blocks = _blocks(train[private]), _blocks(test)
    return Setup(x, train_y[private], 10, bounds, components.transform(test), test_y, blocks=blocks)


@cache
def _mnist_images() -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    with np.load(_found("mnist.npz")) as file:
        train, test = (file[name].reshape(-1, 784) / 255.0 for name in ("x_train", "x_test"))
        return train, file["y_train"].astype(np.int64), test, file["y_test"].astype(np.int64)


def _blocks(images: FloatArray) -> FloatArray:
    """Images of 28 x 28 pixels in 7 x 7 blocks: sums over 4 x 4 pixels divided by 4, an orthonormal map."""
    return images.reshape(-1, 7, 4, 7, 4).sum(axis=(2, 4)).reshape(-1, 49) / 4.0


def _found(name: str) -> Path:
    folder = Path(os.environ.get("SFUMATO_SHARED", Path(__file__).parents[3] / "shared")) / "data"
    if not (folder / name).is_file():
        raise MissingData(f"{name} is not in {folder}; put it there, or name the folder above `data` in SFUMATO_SHARED")
    return folder / name
