"""What synthetic rows are worth: a classifier is trained on them and tested on real rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.fft import dctn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.three_a.data import DataSet
from sfumato.evaluation.typed_rows import typed
from sfumato.schema.layout import FloatArray

JOBS = int(os.environ.get("OMP_NUM_THREADS", "2"))
IMAGE_BINS = 63  # of LightGBM's histograms for images; its default is 255
DCT_KEEP = 8  # rows and columns of the 2-D cosine transform that a projected image keeps
SUBSAMPLE = 4000  # rows that kernel ridge regression is trained on
RIDGE = 1e-3  # times the mean of the kernel's diagonal
NTK_DEPTH = 3  # hidden layers

Scores = dict[str, float]


def lightgbm(synthetic: pd.DataFrame, data: DataSet) -> Scores:
    """The paper's judge: LightGBM as it comes, on images both in pixels and projected."""
    if data.image is None:
        return _boosted(encoded(synthetic, data), synthetic, encoded(data.test, data), data)
    pixels = [numbers(frame, data) for frame in (synthetic, data.test)]
    projected = [project(frame, data.image) for frame in pixels]
    views = {"pixels": pixels, f"{DCT_KEEP} x {DCT_KEEP} DCT": projected}
    return {
        f"{name}, {view}": found
        for view, (train, test) in views.items()
        for name, found in _boosted(train, synthetic, test, data).items()
    }


def logistic(synthetic: pd.DataFrame, data: DataSet) -> Scores:
    """Logistic regression on standardised numbers and one-hot categories; classes without a row are never told."""
    train, test = design(synthetic, data)
    labels = target(synthetic, data)
    told = np.zeros((len(test), len(data.classes)))
    if len(np.unique(labels)) == 1:
        told[:, labels[0]] = 1.0
    else:
        model = LogisticRegression(max_iter=300).fit(train, labels)
        told[:, model.classes_] = model.predict_proba(test)
    return {metric(data): score(told, data)}


def kernel_ridge(synthetic: pd.DataFrame, data: DataSet, kernel: str = "rbf") -> Scores:
    """Kernel ridge regression on one-hot labels, on a subsample: the model that inducing points are made for."""
    rows = np.random.default_rng(0).permutation(len(synthetic))[:SUBSAMPLE]
    sample = synthetic.iloc[rows]
    train, test = design(sample, data)
    wanted = np.eye(len(data.classes))[target(sample, data)]
    gram = KERNELS[kernel](train, train)
    weights = np.linalg.solve(gram + RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram)), wanted)
    return {metric(data): score(KERNELS[kernel](test, train) @ weights, data)}


JUDGES: dict[str, Callable[[pd.DataFrame, DataSet], Scores]] = {
    "LightGBM": lightgbm,
    "logistic regression": logistic,
    "kernel ridge": kernel_ridge,
    "kernel ridge, NTK": lambda synthetic, data: kernel_ridge(synthetic, data, "ntk"),
}


def metric(data: DataSet) -> str:
    """What is reported: AUC of two classes, accuracy of more."""
    return "AUC" if len(data.classes) == 2 else "accuracy"


def score(outputs: FloatArray, data: DataSet) -> float:
    """AUC or accuracy on the test rows of one output a class, in the order of the classes."""
    truth = target(data.test, data)
    if len(data.classes) > 2:
        return float((outputs.argmax(axis=1) == truth).mean())
    return float(roc_auc_score(truth, outputs[:, 1] - outputs[:, 0]))


def scores(outputs: FloatArray, data: DataSet) -> Scores:
    """The score, and of more than two classes beside it the AUC of each against each other, averaged."""
    found = {metric(data): score(outputs, data)}
    if len(data.classes) > 2:
        found["AUC one against one"] = one_against_one(outputs, target(data.test, data))
    return found


def one_against_one(outputs: FloatArray, truth: np.ndarray) -> float:
    """The mean AUC over pairs of classes (Hand and Till 2001): of each pair's rows, ranked by either class's output.

    >>> one_against_one(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 2]))
    1.0
    """
    there = np.unique(truth)
    found = []
    for i, j in combinations(there, 2):
        mine = np.isin(truth, (i, j))
        found += [
            roc_auc_score(truth[mine] == i, outputs[mine, i]),
            roc_auc_score(truth[mine] == j, outputs[mine, j]),
        ]
    return float(np.mean(found))


def target(frame: pd.DataFrame, data: DataSet) -> np.ndarray:
    """The class numbers of the rows."""
    return np.asarray(pd.Categorical(frame[data.label], categories=data.classes).codes, dtype=np.int64)


def encoded(frame: pd.DataFrame, data: DataSet) -> Any:
    """Features as trees take them."""
    if data.bounds is not None:
        return numbers(frame, data)
    assert data.schema is not None  # a data set has a schema or one range for all its numbers
    return typed(frame, data.schema).features(data.schema.features)


def numbers(frame: pd.DataFrame, data: DataSet) -> np.ndarray:
    """All features as one array."""
    return frame[data.features].to_numpy(dtype=np.float32)


def project(images: np.ndarray, shape: tuple[int, int], keep: int = DCT_KEEP) -> np.ndarray:
    """The lowest `keep` x `keep` frequencies of the 2-D cosine transform, an orthonormal map."""
    waves = dctn(images.reshape(-1, *shape), axes=(1, 2), norm="ortho")
    return np.asarray(waves[:, :keep, :keep].reshape(len(images), -1))


def design(synthetic: pd.DataFrame, data: DataSet) -> tuple[FloatArray, FloatArray]:
    """Train and test rows as vectors: numbers standardised by the train rows (missing is 0), categories one-hot."""
    train, test = (pd.DataFrame(encoded(frame, data)) for frame in (synthetic, data.test))
    columns = []
    for name in train:
        if isinstance(train[name].dtype, pd.CategoricalDtype):
            levels = np.arange(len(train[name].cat.categories))
            columns.append([frame[name].cat.codes.to_numpy()[:, None] == levels for frame in (train, test)])
        else:
            mean, deviation = train[name].mean(), train[name].std()
            scaled = [(frame[name] - mean) / (deviation or 1.0) for frame in (train, test)]
            columns.append([part.fillna(0.0).to_numpy()[:, None] for part in scaled])
    first, second = (np.hstack(parts).astype(np.float64) for parts in zip(*columns, strict=True))
    return first, second


def rbf(x: FloatArray, z: FloatArray) -> FloatArray:
    """Gaussian kernel; its width is the number of columns, the expected half square distance of standardised rows."""
    distances = (x**2).sum(axis=1)[:, None] + (z**2).sum(axis=1) - 2.0 * x @ z.T
    return np.asarray(np.exp(-np.maximum(distances, 0.0) / (2.0 * x.shape[1])))


def ntk(x: FloatArray, z: FloatArray) -> FloatArray:
    """Neural tangent kernel of a fully connected ReLU network (Jacot, Gabriel and Hongler 2018), by the arc-cosine
    recursion with weights of variance 2 over the width, so that the norms of rows stay."""
    product = x @ z.T / x.shape[1]
    norms = np.sqrt((x**2).mean(axis=1))[:, None] * np.sqrt((z**2).mean(axis=1))
    tangent = product.copy()
    for _ in range(NTK_DEPTH):
        cosine = np.clip(product / np.maximum(norms, 1e-12), -1.0, 1.0)
        angle = np.arccos(cosine)
        slope = (np.pi - angle) / np.pi
        product = norms * (np.sin(angle) / np.pi + slope * cosine)
        tangent = tangent * slope + product
    return np.asarray(tangent)


KERNELS = {"rbf": rbf, "ntk": ntk}


def _boosted(train: Any, synthetic: pd.DataFrame, test: Any, data: DataSet) -> Scores:
    """LightGBM's default classifier; fewer histogram bins for images, which changes little and takes less time."""
    from lightgbm import LGBMClassifier

    settings: dict[str, Any] = {} if data.image is None else {"max_bin": IMAGE_BINS}
    model = LGBMClassifier(verbose=-1, deterministic=True, force_col_wise=True, random_state=0, n_jobs=JOBS, **settings)
    labels = target(synthetic, data)
    known = np.unique(labels)
    if len(known) < 2:  # nothing can be learned
        outputs = np.zeros((len(data.test), len(data.classes)))
        outputs[:, known] = 1.0
        return scores(outputs, data)
    found = np.asarray(model.fit(train, labels).predict_proba(test))
    outputs = np.zeros((len(found), len(data.classes)))
    outputs[:, known] = found
    return scores(outputs, data)
