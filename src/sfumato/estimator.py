"""A private Gaussian mixture with scikit-learn's manners: parameters in data units, one component per class."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.api import fit
from sfumato.errors import ArgumentError
from sfumato.ledger.ledger import Ledger
from sfumato.mechanisms import Mixture
from sfumato.models import MixtureModel
from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Schema
from sfumato.serving.remote import Remote

LABEL = "class"


class PrivateMixture(ClassifierMixin, BaseEstimator):
    """A Gaussian mixture in data units, with one component a class or several, fitted under differential privacy.

    Bounds and classes must be public knowledge, because reading them off the data would give it away. For the same
    reason bad values raise nothing: NaN and unknown labels do not count, and values outside the bounds are clamped.

    Every call of `fit` spends (epsilon, delta) anew; so do clones, refits and cross-validation.

    Args:
        epsilon: How much the release may tell about one row.
        delta: The probability that it tells more.
        bounds: (low, high) that the features lie between: two numbers, or one a feature each. It has to be given.
        classes: The labels that there are; None for rows without labels, among which clusters are found.
        adjacency: Which tables are neighbours: "add-remove", "replace-one" or "label".
        components_per_class: Gaussians of each class (clusters in all, without `classes`), or "auto" for as many as
            pay.
        rows: A public guess at the number of rows.
        bins: Bins of a feature's histogram, which only has to find centre and scale.
        ledger: A `Ledger`, or its path or URL, that counts every fit, and refuses one that would exceed the cap.
        dataset: The name under which the data set was opened there.
        who: Who asks for the fit, for the ledger's entry: one line, no secret.
        why: What it is for, likewise.
        insecure_seed: Repeatable noise, for tests. Such a mixture carries no guarantee.

    Attributes:
        weights_: The weight of each component.
        means_: The mean of each component, in data units.
        covariances_: The covariance of each component, in data units.
        classes_: The classes, in the order of `classes`; [0] where there are none.
        component_class_: The class of each component.
        guarantee_: What is promised about every row.
        release_: The release, which can be saved.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> model = PrivateMixture(epsilon=1, delta=1e-5, bounds=(-5, 5)).fit(X)
        >>> model.means_.shape, model.covariances_.shape
        ((1, 2), (1, 2, 2))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: tuple[Any, Any] | None = None,
        classes: Any = None,
        adjacency: str = "add-remove",
        components_per_class: int = 1,
        rows: int | None = None,
        bins: int = 20,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        who: str | None = None,
        why: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.adjacency = adjacency
        self.components_per_class = components_per_class
        self.rows = rows
        self.bins = bins
        self.ledger = ledger
        self.dataset = dataset
        self.who = who
        self.why = why
        self.insecure_seed = insecure_seed

    def fit(self, X: Any, y: Any = None) -> PrivateMixture:
        """Spend (epsilon, delta) and release the mixture.

        Args:
            X: The private rows: a 2-D array, a frame, or a list of rows.
            y: Their labels; not used without `classes`.

        Returns:
            The estimator itself.

        Raises:
            ArgumentError: A parameter is missing or out of its range, or X and y do not go together.
            LedgerError: The ledger cannot be read, or counts other units or neighbours.
            BudgetError: The cap of the data set would be exceeded.
        """
        if isinstance(X, Remote):
            raise ArgumentError("X must be rows; a server's table is for sf.fit(X, mechanism=sf.Mixture(), ...)")
        if self.bounds is None:
            raise ArgumentError("bounds must be given: (low, high) that the features are publicly known to lie between")
        if self.classes is not None and y is None:
            raise ArgumentError("PrivateMixture with classes requires y to be passed, but the target y is None")
        table = self._table(X, reset=True)
        if self.classes is not None:
            labels = _labels(y)
            if len(labels) != len(table):
                raise ArgumentError("X and y must have the same number of rows")
            table[LABEL] = labels
        release = fit(
            table,
            self._schema(),
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            mechanism=Mixture(components=self.components_per_class, encoding="affine"),
            rows=self.rows,
            ledger=self.ledger,
            dataset=self.dataset,
            who=self.who,
            why=self.why,
            insecure_seed=self.insecure_seed,
        )
        assert isinstance(release.model, MixtureModel)  # what mechanism 'mixture' makes
        self.release_, mixture = release, release.model.mixture
        self.classes_ = np.array([0]) if self.classes is None else np.asarray(self.classes)
        self.weights_ = mixture.weights
        self.means_ = mixture.means
        self.covariances_ = mixture.covariances
        self.component_class_ = self.classes_[mixture.component_class]
        self.guarantee_ = self.release_.guarantee
        return self

    def sample(self, n: int = 1, seed: int | None = None) -> tuple[FloatArray, Any]:
        """Draw synthetic rows within the bounds.

        Args:
            n: How many.
            seed: The same seed gives the same rows.

        Returns:
            The rows, and the class of each.
        """
        check_is_fitted(self)
        rows = self.release_.sample(n, seed=seed)
        values = rows[_names(self.n_features_in_)].to_numpy(dtype=np.float64)
        if self.classes is None:
            return values, np.zeros(n, dtype=np.int64)
        place = {str(value): i for i, value in enumerate(self._texts())}
        return values, self.classes_[[place[str(value)] for value in rows[LABEL]]]

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class.

        Args:
            X: Rows, of as many features as were fitted.

        Returns:
            One row a row, one column a class, in the order of `classes_`.
        """
        rows = self._rows(X)
        return np.ones((len(rows), 1)) if self.classes is None else self.release_.predict_proba(rows).to_numpy()

    def predict(self, X: Any) -> Any:
        """The most probable class.

        Args:
            X: Rows, of as many features as were fitted.

        Returns:
            One class a row.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def score_samples(self, X: Any) -> FloatArray:
        """The log density of each row.

        Args:
            X: Rows, of as many features as were fitted.

        Returns:
            log p(x), one number a row.
        """
        rows = self._rows(X)
        return self.release_.log_density(rows)

    def _rows(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self)
        return self._table(X, reset=False)

    def _table(self, X: Any, reset: bool) -> pd.DataFrame:
        """X with its columns named by place.

        Only its width and declared types are looked at: scikit-learn's own checks would infer types over all rows, and
        print values.
        """
        frame = _frame(X)
        validate_data(self, X if isinstance(X, pd.DataFrame) else frame.to_numpy(), reset=reset, skip_check_array=True)
        return frame.set_axis(_names(frame.shape[1]), axis=1).reset_index(drop=True)

    def _texts(self) -> list[str]:
        return [str(value) for value in np.asarray(self.classes).tolist()]

    def _schema(self) -> Schema:
        numbers = Schema.from_array(np.empty((0, self.n_features_in_)), self.bounds or ())
        columns: dict[str, Any] = {
            name: column | {"bins": self.bins} for name, column in numbers.dump()["columns"].items()
        }
        if self.classes is None:
            return Schema.of({"columns": columns})
        columns[LABEL] = {"type": "category", "values": self._texts()}
        return Schema.of({"label": LABEL, "columns": columns})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.insecure_seed is None
        tags.input_tags.allow_nan = True
        return tags


def _frame(X: Any) -> pd.DataFrame:
    """A table of two dimensions as it is.

    In lists every cell is taken for itself, and whatever is not a row like most is a row of missing cells.
    """
    if isinstance(X, pd.DataFrame):
        return X
    if scipy.sparse.issparse(X):
        raise ArgumentError("X is sparse; give a dense array: X.toarray()")
    if isinstance(X, Sequence):
        # A list declares no shape. Most of its rows speak for it, so that no single odd one blanks all others.
        widths = Counter(len(row) if _is_row(row) else 0 for row in X)
        width = max(widths, key=lambda width: (widths[width], width), default=0)
        if width == 0:
            raise ArgumentError("X must have two dimensions: Expected 2D array. Reshape your data")
        whole = [list(row) if _is_row(row) and len(row) == width else [None] * width for row in X]
        return pd.DataFrame(whole, dtype=object)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ArgumentError("X must have two dimensions: Expected 2D array. Reshape your data")
    if array.dtype.kind == "c":
        raise ArgumentError("Complex data not supported")
    if array.shape[1] == 0:
        raise ArgumentError("X has 0 feature(s) (shape=(n, 0)) while a minimum of 1 is required.")
    return pd.DataFrame(array, dtype=None if array.dtype.kind in "biuf" else object)


def _is_row(row: Any) -> bool:
    return isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _labels(y: Any) -> pd.Series:
    """Labels by their declared type, or every one for itself in a list."""
    if isinstance(y, Sequence):
        return pd.Series(list(y), dtype=object)
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Please change the shape of y."
        warnings.warn(message, DataConversionWarning, stacklevel=3)
        array = array[:, 0]
    if array.ndim != 1:
        raise ArgumentError("y must have one dimension")
    return pd.Series(array, dtype=None if array.dtype.kind in "biuf" else object)


def _names(width: int) -> list[str]:
    return [f"x{i}" for i in range(width)]
