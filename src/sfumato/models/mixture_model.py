"""A mixture of Gaussians in the latent space of an encoder: it draws, scores and classifies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import logsumexp

from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.encoding.affine import Affine
from sfumato.encoding.boxes import Boxes
from sfumato.encoding.projected import Projected
from sfumato.encoding.projected import columns as columns_at
from sfumato.encoding.scores import Scores
from sfumato.encoding.stored import ENCODERS, Encoder
from sfumato.errors import ArgumentError
from sfumato.guarantee import Guarantee
from sfumato.models.base import (
    REJECTION,
    CodedRows,
    GivenCell,
    register_model,
)
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import MOST_EVIDENCE, Labeller, QuadraticLabeller
from sfumato.schema.layout import NOWHERE, FloatArray, IntArray, Layout, OrderedBins
from sfumato.schema.projections import ENTRY_BITS, FIXED_BITS

CLASS_ROWS = 1 << 14  # drawn to see how often each class comes, where no formula says
FINE = 12  # log2 of the points for the integral over the one given box


@dataclass(frozen=True)
class Limits:
    """What a file may say of a mixture, at the most or at the least."""

    components: int = 10_000  # of a class
    label_directions: int = 256  # that the labels of columns in groups are a function of
    entry: float = 1e6  # far above any latent mean or covariance, far below what overflows
    least_eigenvalue: float = 1e-9  # of a correlation
    least_scale: float = 1e-3
    least_variance: float = 1e-18  # in latent units, or of a column's range


LIMITS = Limits()


@dataclass(frozen=True)
class Drawn:
    """Latent rows, the class whose latent space each is in, and its label, which is the same unless adapted."""

    latent: FloatArray
    own: IntArray
    labels: IntArray


@dataclass(frozen=True)
class Condition:
    """Columns held at given values.

    Attributes:
        boxes: Where they put a row in each class's latent space; () where they say nothing of it.
        weights: How likely each component is.
        label: The class that is still to be kept, where labels are adapted, so that components do not settle it.
    """

    boxes: tuple[Boxes, ...]
    weights: FloatArray
    label: int | None = None

    def sample(self, mixture: GaussianMixture, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Components and latent rows under the condition."""
        components = rng.choice(len(self.weights), size=n, p=self.weights)
        if not self.boxes:
            return components, mixture.sample(components, rng)
        latent = np.empty((n, mixture.dim))
        for c, k in enumerate(mixture.component_class):
            mine = components == c
            if mine.any():
                latent[mine] = mixture.sample_inside(c, int(mine.sum()), self.boxes[k], rng)
        return components, latent


_Several = Annotated[int, Field(strict=True, ge=1, le=LIMITS.components)]


class _Facts(BaseModel):
    """What a file says of a mixture beside its arrays."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    encoding: Literal["scores", "affine", "projected"]
    matched: Annotated[bool, Field(strict=True)]  # whether latent coordinates are the mixture's own
    components: Annotated[tuple[_Several, ...], Field(fail_fast=True)]  # of each class
    covariances: Annotated[int, Field(strict=True, ge=1)]  # one a component, or one a class that its components share
    alpha: Annotated[float, Field(strict=True, ge=0, lt=1)] | None  # of labels of their own
    directions: Annotated[int, Field(strict=True, ge=1, le=LIMITS.label_directions)] | None


@register_model
@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A mixture in the latent space of an encoder, and labels of their own where they were adapted.

    Attributes:
        layout: The public bins of the schema.
        encoder: How columns become latent coordinates.
        mixture: The Gaussians.
        labeller: What labels are drawn from where they are not the mixture's own.
    """

    layout: Layout
    encoder: Encoder
    mixture: GaussianMixture
    labeller: Labeller | QuadraticLabeller | None = None

    kind: ClassVar[str] = "mixture"
    row_spends: ClassVar[tuple[str, ...]] = ()

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        return self.encoder.name

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes; from rows drawn with a fixed seed where labels are adapted."""
        if self.labeller is None:
            return self.mixture.class_weights
        drawn = CLASS_ROWS // (8 if isinstance(self.encoder, Projected) else 1)  # whose columns take their time
        labels = self._draw(drawn, np.random.default_rng(0), None).labels
        return np.asarray(np.bincount(labels, minlength=self.layout.classes) / drawn)

    # --- drawing

    def check_given(self, names: Iterable[str]) -> None:
        """Refuse columns in groups."""
        for name in names:
            if self.layout.groups and name != self.layout.label:
                raise ArgumentError(f"given: {name!r} is in a group; of columns in groups none can be fixed")

    def condition(self, given: Mapping[str, GivenCell]) -> Condition:
        """Weigh the components by Bayes' rule."""
        fixed = None if self.layout.label is None else given.get(self.layout.label)
        label = None if fixed is None else fixed.code
        boxes, log_weights = self._weigh(given)
        if label is not None and self.labeller is None:
            log_weights = np.where(self.mixture.component_class == label, log_weights, -np.inf)
            label = None
        return Condition(boxes, np.exp(log_weights - logsumexp(log_weights)), label)

    def draw(
        self, n: int, rng: np.random.Generator, condition: Condition | None = None
    ) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw n rows under a condition if there is one."""
        drawn = self._draw(n, rng, condition)
        if isinstance(self.encoder, Projected):
            return columns_at(drawn.latent, self.layout.bins), drawn.labels
        return self.encoder.decode(drawn.latent, drawn.own, self.layout.bins), drawn.labels

    def _weigh(self, given: Mapping[str, GivenCell]) -> tuple[tuple[Boxes, ...], FloatArray]:
        """Where given cells put a row in each class's latent space, and the log weight of every component there."""
        layout, mixture = self.layout, self.mixture
        if isinstance(self.encoder, Projected):  # whose columns cannot be given
            return (), np.log(mixture.weights)
        free = GivenCell(NOWHERE, np.nan)
        cells = [given.get(name, free) for name in layout.names]
        codes = [np.array([cell.code]) for cell in cells]
        values = [None if cell.value is None else np.array([cell.value]) for cell in cells]
        boxes = tuple(self.encoder.boxes(codes, values, layout.bins, k) for k in range(layout.classes))
        inside = [
            (mixture.log_boxes(c, b, FINE) + b.log_change)[0]
            for c, b in enumerate(boxes[k] for k in mixture.component_class)
        ]
        return boxes, np.log(mixture.weights) + np.array(inside)

    def _draw(self, n: int, rng: np.random.Generator, condition: Condition | None) -> Drawn:
        if condition is not None and condition.label is not None:
            others = replace(condition, label=None)
            return keep_class(lambda size: self._draw(size, rng, others), n, condition.label)
        if condition is None:
            components = self.mixture.sample_components(n, rng)
            latent = self.mixture.sample(components, rng)
        else:
            components, latent = condition.sample(self.mixture, n, rng)
        own = self.mixture.component_class[components]
        if isinstance(self.encoder, Projected):
            return self._draw_columns(self.encoder, latent, own, rng)
        if not isinstance(self.labeller, Labeller):
            return Drawn(latent, own, own)
        assert isinstance(self.encoder, Scores)  # the encoding whose labels can be adapted
        return Drawn(latent, own, self.labeller.relabel(self.encoder.codes(latent, own), own, rng))

    def _draw_columns(self, encoder: Projected, latent: FloatArray, own: IntArray, rng: np.random.Generator) -> Drawn:
        """Rows of columns in groups as places between the bounds.

        Their labels are those of what they became: bending columns to their distributions moves a row's projection.
        """
        places = encoder.drawn(latent, own, rng, self.mixture.class_weights)
        if not isinstance(self.labeller, QuadraticLabeller):
            return Drawn(places, own, own)
        return Drawn(places, own, self.labeller.relabel(encoder.seen(places), rng))

    # --- scoring

    def log_joint(self, rows: CodedRows, draws_log2: int | None = None) -> FloatArray:
        """The log density log p(x, class), (rows, classes); columns in groups have none.

        Integrals over rows' boxes are those of `GaussianMixture.log_boxes`.
        """
        if isinstance(self.encoder, Projected):
            raise ArgumentError("columns in groups have no density: a release of them models a projection")
        encoder = self.encoder
        joint = np.stack([self._log_class(encoder, rows, k, draws_log2) for k in range(self.layout.classes)], axis=1)
        return self.labeller.blend(rows.codes, joint) if isinstance(self.labeller, Labeller) else joint

    def log_posterior(self, rows: CodedRows) -> FloatArray:
        """The log probabilities log p(class | x), (rows, classes)."""
        encoder = self.encoder
        joint = self._log_projected(encoder, rows) if isinstance(encoder, Projected) else self.log_joint(rows)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _log_projected(self, encoder: Projected, rows: CodedRows) -> FloatArray:
        """The log density log p(z, class) of rows' projection; of the class given z, where labels are adapted."""
        ordered = [(v, b) for v, b in zip(rows.values, self.layout.bins, strict=True) if isinstance(b, OrderedBins)]
        fixed = np.stack([bins.fixed(values, FIXED_BITS) for values, bins in ordered if values is not None])
        latent = np.asarray(encoder.projection.apply(fixed).T * 2.0**-ENTRY_BITS, dtype=np.float64)
        if isinstance(self.labeller, QuadraticLabeller):
            return self.labeller.log_probabilities(latent)
        return self.mixture.log_joint(latent)

    def _log_class(self, encoder: Scores | Affine, rows: CodedRows, k: int, draws_log2: int | None) -> FloatArray:
        """log(weight of class k) + log p(x | k)."""
        boxes, mixture = encoder.boxes(rows.codes, rows.values, self.layout.bins, k), self.mixture
        parts = [np.log(mixture.weights[c]) + mixture.log_boxes(c, boxes, draws_log2) for c in mixture.members(k)]
        return np.asarray(logsumexp(parts, axis=0)) + boxes.log_change

    # --- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """All that a file keeps: the mixture, the encoder and the labels' own model."""
        mixture, labeller = self.mixture, self.labeller
        facts = {
            "encoding": self.encoding,
            "matched": self.encoder.is_matched if isinstance(self.encoder, Scores) else self.encoding == "projected",
            "components": np.bincount(mixture.component_class).tolist(),
            "covariances": len(mixture.covariances),
            "alpha": None if labeller is None else labeller.alpha,
            "directions": len(labeller.matrix) if isinstance(labeller, QuadraticLabeller) else None,
        }
        found = {"weights": mixture.weights, "means": mixture.means, "covariances": mixture.covariances}
        found["scales"] = mixture.scales
        if isinstance(labeller, Labeller):
            found["intercepts"] = labeller.intercepts
            found |= {f"evidence.{c}": table for c, table in enumerate(labeller.evidence)}
        if isinstance(labeller, QuadraticLabeller):
            found |= {"matrix": labeller.matrix, "centre": labeller.centre, "slopes": labeller.slopes}
            found["radius"] = np.array([labeller.radius])
        return facts, found | self.encoder.to_arrays()

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Insist) -> Specs:
        """Which arrays belong to these facts, and of what size; checks the facts."""
        told, k, d = _Facts.model_validate(facts), layout.classes, layout.dim
        encoder = ENCODERS[told.encoding].shapes(layout, insist)
        _check_facts(told, layout, insist)
        m = sum(told.components)
        shapes: dict[str, tuple[int, ...]] = {"weights": (m,), "means": (m, d), "scales": (m,)}
        shapes["covariances"] = (told.covariances, d, d)
        if told.directions is not None:
            p = told.directions
            shapes |= {"matrix": (p, d), "centre": (p,), "slopes": (k, 1 + p + p * (p + 1) // 2), "radius": (1,)}
        elif told.alpha is not None:
            margins = 1 if k == 2 else k
            shapes |= {"intercepts": (margins,)} | {f"evidence.{c}": (margins, s) for c, s in enumerate(layout.sizes)}
        return {name: ArraySpec(shape) for name, shape in shapes.items()} | encoder

    @classmethod
    def from_arrays(cls, layout: Layout, facts: Mapping[str, Any], arrays: NamedArrays, insist: Insist) -> MixtureModel:
        """The model of a file: every number checked."""
        told = _Facts.model_validate(facts)
        _check_numbers(told.encoding, layout, arrays, insist)
        classes = np.repeat(np.arange(layout.classes), told.components)
        mixture = GaussianMixture(arrays["weights"], arrays["means"], arrays["covariances"], classes, arrays["scales"])
        encoder: Encoder = ENCODERS[told.encoding].from_arrays(layout, arrays, insist)
        if told.matched and not isinstance(encoder, Affine):
            encoder = encoder.matched(mixture)
        return cls(layout, encoder, mixture, _labeller(told, layout, arrays, insist))

    def check_guarantee(self, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
        """A mixture holds no noisy rows; what its guarantee says beside sums of rows is no concern of it."""


def keep_class(draw: Callable[[int], Drawn], n: int, label: int) -> Drawn:
    """Rows of one class, by rejection."""
    kept, drawn, parts = 0, 0, list[Drawn]()
    while kept < n or not parts:
        if drawn >= max(n, 1) * REJECTION.draws_a_row:
            raise ArgumentError(f"given: only {kept} of {drawn} rows drawn had the label, and {n} were wanted")
        rate = max(kept, 1) / max(drawn, 1)
        size = REJECTION.size(n - kept, rate)
        part = draw(size)
        mine = np.flatnonzero(part.labels == label)[: n - kept]
        parts.append(Drawn(part.latent[mine], part.own[mine], part.labels[mine]))
        drawn, kept = drawn + size, kept + len(mine)
    return Drawn(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("latent", "own", "labels")))


def _check_facts(told: _Facts, layout: Layout, insist: Insist) -> None:
    """Whether what a file says of a mixture goes together."""
    k, projected = layout.classes, told.encoding == "projected"
    insist(len(told.components) == k, "components do not fit the classes of its schema")
    insist(told.covariances in (k, sum(told.components)), "covariances do not fit its components")
    insist(told.alpha is None or (k > 1 and told.encoding != "affine"), "labels of their own do not fit its schema")
    insist((told.directions is not None) == (projected and told.alpha is not None), "directions do not fit its labels")
    insist(told.directions is None or told.alpha == QuadraticLabeller.alpha, "alpha does not fit its labels")
    insist(told.matched == projected or told.encoding == "scores", "its encoder does not fit its mixture")


def _check_numbers(encoding: str, layout: Layout, arrays: NamedArrays, insist: Insist) -> None:
    """Whether the arrays are those of a mixture."""
    weights, means, covariances = arrays["weights"], arrays["means"], arrays["covariances"]
    if encoding == "affine":  # in data units: check them in units of each column's range
        bounds = np.array([bins.bounds for bins in layout.bins if isinstance(bins, OrderedBins)])
        span = bounds[:, 1] - bounds[:, 0]
        with np.errstate(over="ignore", under="ignore"):
            means, covariances = (means - bounds[:, 0]) / span, covariances / np.outer(span, span)
    for name, array in {**arrays, "means": means, "covariances": covariances}.items():
        insist((np.abs(array) <= LIMITS.entry).all(), f"array {name} has a value that is no number, or too large")
    insist((weights > 0).all() and abs(weights.sum() - 1) < 1e-6, "weights are not probabilities")
    insist((arrays["scales"] > LIMITS.least_scale).all(), "scales are not positive")
    insist(np.allclose(covariances, covariances.swapaxes(1, 2)), "a covariance is not symmetric")
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    insist((variances > LIMITS.least_variance).all(), "a covariance is not positive definite")
    scale = np.sqrt(variances)
    correlations = covariances / np.einsum("ki,kj->kij", scale, scale)
    insist((np.linalg.eigvalsh(correlations) > LIMITS.least_eigenvalue).all(), "a covariance is not positive definite")


def _labeller(told: _Facts, layout: Layout, arrays: NamedArrays, insist: Insist) -> Labeller | QuadraticLabeller | None:
    if told.directions is not None:
        radius = float(arrays["radius"][0])
        insist(radius > 0, "the radius of the labels is not positive")
        return QuadraticLabeller(arrays["matrix"], arrays["centre"], arrays["slopes"], radius)
    if told.alpha is None:
        return None
    evidence = tuple(arrays[f"evidence.{c}"] for c in range(len(layout.sizes)))
    for table in (arrays["intercepts"], *evidence):
        insist((np.abs(table) <= MOST_EVIDENCE).all(), "the evidence for a label is too large")
    return Labeller(told.alpha, arrays["intercepts"], evidence)
