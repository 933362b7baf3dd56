"""Labels adapted: p(y | x) of a mixture, brought nearer to the labels of the private rows.

A logistic regression on the columns' noisy log-odds is fitted to rows drawn from the mixture, which is free, and
corrected by a few noisy gradients of its likelihood on the private rows. Every question is a query of the curator.
docs/proofs/adapt.md has the proof, and how the constants came about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from sfumato.encoding.marginals import Marginals
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.questions import label_gradient, label_model, unpack
from sfumato.mechanisms.tuning import LabelTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import MOST_EVIDENCE, Labeller
from sfumato.schema.layout import FloatArray, IntArray


def fit_logistic_labels(
    curator: Asker,
    plan: Plan,
    marginals: Marginals,
    scores: Scores,
    mixture: GaussianMixture,
    alpha: float,
    tuning: LabelTuning,
) -> Labeller:
    """The regression on rows of the mixture, corrected in as many rounds as planned."""
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(tuning.drawn, rng)
    labels = mixture.component_class[components]
    tables = log_odds(marginals)
    drawn = Drawn.of(tables, scores.codes(mixture.sample(components, rng), labels), tuning)
    weights = drawn.regress(labels)
    curvature, moved, before = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
    rounds = plan.repeats("labels")
    for each in rounds:
        query = label_gradient(label_model(weights[:, 0], _evidence(weights, tables)), tables, drawn.radius)
        answer = curator.total(each.title, query, curator.remaining if each is rounds[-1] else plan.spend(each))
        gradient, sd = unpack(query, answer.values).ravel(), float(unpack(query, answer.sd)[0, 0])
        if each is rounds[0]:
            curvature = damp(drawn.hessian(weights) * marginals.counts.sum() / tuning.drawn, tuning.ridge)
        else:
            curvature = update_curvature(curvature, moved, before - gradient, sd, tuning.least_curvature)
        moved = drawn.limit(step(curvature, gradient, sd).reshape(weights.shape)).ravel()
        weights, before = weights + moved.reshape(weights.shape), gradient
    columns = zip(*_evidence(weights, tables), strict=True)
    return Labeller(alpha, _inside(weights[:, 0]), tuple(_inside(np.stack(rows)) for rows in columns))


def logit_noise(counts: FloatArray, weights: int, mu_squared: float) -> float:
    """What the noise on gradients moves a logit by, root mean square, where a class is about as likely as not.

    A gradient of p weights, of rows of squared norm about p, has noise sqrt(p) / mu a weight. It is divided by the
    curvature, which has no more rows than the rarest class: p weights together move a logit by p / (mu rows). `counts`
    are noisy answers, so whoever decides by this asks nothing.
    """
    return weights / (math.sqrt(mu_squared) * max(float(counts.min()), 1.0))


def log_odds(marginals: Marginals) -> list[list[FloatArray]]:
    """For each margin and column the noisy log-odds of every bin, about zero on average.

    Of the second class over the first where there are two, of each class over all where there are more. A rare bin is
    shrunk to no evidence by as many rows as its noise is worth.
    """
    share = marginals.weights
    margins: list[list[FloatArray]] = [[] for _ in range(1 if len(share) == 2 else len(share))]
    for masses, sd in zip(marginals.masses, marginals.sd, strict=True):
        table = marginals.counts[:, None] * masses + sd * share[:, None]
        log_rate = np.log(table / table.sum(axis=1, keepdims=True))
        everyone = table.sum(axis=0) / table.sum()
        odds = log_rate[1:] - log_rate[:1] if len(share) == 2 else log_rate - np.log(everyone)
        for margin, row in zip(margins, odds - (odds @ everyone)[:, None], strict=True):
            margin.append(row)
    return margins


@dataclass(frozen=True)
class Drawn:
    """Rows of the mixture as the label model sees them: for each margin a 1 and the columns' log-odds."""

    features: FloatArray  # (margins, rows, 1 + columns)
    radius: float
    tuning: LabelTuning

    @classmethod
    def of(cls, tables: Sequence[Sequence[FloatArray]], codes: Sequence[IntArray], tuning: LabelTuning) -> Drawn:
        """The features of drawn rows, and the radius that most of them lie within."""
        ones = np.ones(len(codes[0]))
        features = np.stack([np.stack([ones, *(t[c] for t, c in zip(m, codes, strict=True))], axis=1) for m in tables])
        return cls(features, float(np.quantile(np.linalg.norm(features, axis=2), tuning.unclipped)), tuning)

    def probabilities(self, weights: FloatArray) -> FloatArray:
        """Of every class at every row: (rows, classes)."""
        logits = np.einsum("mnp,mp->nm", self.features, weights)
        return np.asarray(softmax(np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits, axis=1))

    def regress(self, labels: IntArray) -> FloatArray:
        """Weights (margins, 1 + columns) that make the labels of the rows likeliest, by Newton's method."""
        margins, _, width = self.features.shape
        weights = np.zeros((margins, width))
        for _ in range(self.tuning.newton_steps):
            p = self.probabilities(weights)
            residuals = ((labels[:, None] == np.arange(p.shape[1])) - p)[:, -margins:]
            gradient = np.einsum("mnp,nm->mp", self.features, residuals) - self.tuning.ridge * weights
            curved = self._curvature(self.features, p) + self.tuning.ridge * np.eye(weights.size)
            weights = weights + self.limit(np.linalg.solve(curved, gradient.ravel()).reshape(weights.shape))
        return weights

    def hessian(self, weights: FloatArray) -> FloatArray:
        """How the gradient that is asked for answers to the weights: rows count as far as they are not clipped."""
        norms = np.linalg.norm(self.features, axis=2, keepdims=True)
        clipped = self.features * np.sqrt(np.minimum(1.0, self.radius / norms))
        return self._curvature(clipped, self.probabilities(weights))

    def limit(self, moved: FloatArray) -> FloatArray:
        """A step that moves the logits of these rows by no more than `longest_step` in the root mean square."""
        far = float(np.sqrt((np.einsum("mnp,mp->mn", self.features, moved) ** 2).mean()))
        longest = self.tuning.longest_step
        return moved * min(1.0, longest / max(far, longest))

    def _curvature(self, features: FloatArray, p: FloatArray) -> FloatArray:
        """Sum over rows of (diag(p) - p p^T) times the features' products, (margins * width) squared."""
        margins, _, width = features.shape
        own = p[:, -margins:]
        found = np.empty((margins, width, margins, width))
        for a in range(margins):
            for b in range(margins):
                spread = own[:, a] * ((a == b) - own[:, b])
                found[a, :, b, :] = (features[a] * spread[:, None]).T @ features[b]
        return found.reshape(margins * width, -1)


def damp(hessian: FloatArray, ridge: float) -> FloatArray:
    """The mean of the diagonal, and the ridge, added to it: collinear columns leave directions that the mixture's rows,
    whose Hessian this is, know nothing about.
    """
    return np.asarray(hessian + (np.trace(hessian) / len(hessian) + ridge) * np.eye(len(hessian)))


def step(curvature: FloatArray, gradient: FloatArray, sd: float) -> FloatArray:
    """Newton's step, as long as the gradient is signal: the share of its square that noise does not explain."""
    noise = gradient.size * sd**2
    signal = 1.0 - noise / max(float(gradient @ gradient), noise)
    return np.asarray(signal * np.linalg.solve(curvature, gradient))


def update_curvature(curvature: FloatArray, moved: FloatArray, fell: FloatArray, sd: float, least: float) -> FloatArray:
    """The curvature after a step `moved` along which the gradient fell by `fell`, twice noisy: the update of Broyden,
    Fletcher, Goldfarb and Shanno, as far as the fall differs from what was expected by more than noise.

    Without it steps overshoot, and grow, where the private rows are more collinear than the mixture's.
    """
    expected = curvature @ moved
    surprise = fell - expected
    noise = 2.0 * len(fell) * sd**2
    fell = expected + (1.0 - noise / max(float(surprise @ surprise), noise)) * surprise
    along, straight = float(fell @ moved), float(expected @ moved)
    if straight <= 0.0 or along < least * straight:
        return curvature
    return np.asarray(curvature - np.outer(expected, expected) / straight + np.outer(fell, fell) / along)


def _inside(logits: FloatArray) -> FloatArray:
    """Cut off where the query cuts off, so that what is released is what was corrected."""
    return np.clip(logits, -MOST_EVIDENCE, MOST_EVIDENCE)


def _evidence(weights: FloatArray, tables: Sequence[Sequence[FloatArray]]) -> list[list[FloatArray]]:
    """What each bin adds to each margin's logit."""
    return [[w * t for w, t in zip(row[1:], margin, strict=True)] for row, margin in zip(weights, tables, strict=True)]
