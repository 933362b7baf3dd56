"""The encodings of ordinary columns: histograms first.

`scores` makes every column about standard normal by them; `affine` only learns where to look. docs/proofs/mixture.md,
section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.encoding.marginals import Marginals, clean
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, effective_bins, marginal_cost, moment_costs, radius, split
from sfumato.mechanisms.cell_shapes import FoundCells, divide_weights
from sfumato.mechanisms.encodings import Blind
from sfumato.mechanisms.encodings.column_looks import FINER, ask_columns, looks_of
from sfumato.mechanisms.encodings.logistic_labels import fit_logistic_labels, logit_noise
from sfumato.mechanisms.questions import score_image
from sfumato.mechanisms.tuning import HistogramTuning, LabelTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import Labeller
from sfumato.private.queries.images import ScoreImage
from sfumato.schema.layout import FloatArray, IntArray, Layout


@dataclass(frozen=True)
class HistogramOpening:
    """What histograms cost: their share, how columns divide it, and what is expected of the moments after them.

    `looks` says in how many looks a column's part is spent; one, where it is empty.
    """

    share: float
    column_shares: tuple[float, ...]
    moment_shares: tuple[float, float, float]
    expected_kl: dict[str, float] = field(default_factory=dict)
    purpose: str = "class counts, every column's distribution, the latent scale"
    looks: tuple[int, ...] = ()

    last: ClassVar[tuple[Share, ...]] = ()

    @property
    def look_shares(self) -> tuple[float, ...]:
        """What each column has of every look at it."""
        looks = self.looks or (1,) * len(self.column_shares)
        return tuple(share / count for share, count in zip(self.column_shares, looks, strict=True))

    @property
    def first(self) -> tuple[Share, ...]:
        """The histograms of all columns, and finer ones of those whose grid has finer bins."""
        return self.within(self.share)

    def within(self, share: float) -> tuple[Share, ...]:
        """The same rounds where they have another share of the budget."""
        rounds = [Share("histograms", share * sum(self.look_shares), self.purpose)]
        for number in range(1, max(self.looks, default=1)):
            deep = sum(part for part, looks in zip(self.look_shares, self.looks, strict=True) if looks > number)
            rounds.append(Share(FINER, share * deep, "finer bins where there is mass", number))
        return tuple(rounds)

    @property
    def inside(self) -> float:
        """The part that the mechanism's own rounds have."""
        return 1.0 - self.share


@dataclass(frozen=True)
class ScoreEncoding:
    """Normal scores of every column in its class's noisy distribution."""

    histograms: HistogramTuning = HistogramTuning()
    label_model: LabelTuning = LabelTuning()
    follows_mass: bool = True  # whether finer bins are looked for

    name: ClassVar[str] = "scores"

    def rounds(self, public: Public, kept: float = 1.0) -> HistogramOpening:
        """Shares by expected KL, of histograms and of the moments of one Gaussian a class."""
        layout, mu = public.layout, public.mu * math.sqrt(kept)
        classes, columns, rows = layout.classes, len(layout.names), public.guess
        resolutions = effective_bins(layout.sizes, rows / classes, mu / math.sqrt(2.0), self.histograms.log_slope)
        hidden = self.histograms.hidden_cells
        looks = looks_of(layout) if self.follows_mass else (1,) * columns
        resolutions = resolutions * np.sqrt(looks)  # L looks of equal shares have L times the variance of one
        moments = moment_costs(np.full(classes, rows / classes), columns, radius(columns))
        costs = {
            "marginals": marginal_cost(resolutions, rows / classes, mu / math.sqrt(2.0), hidden),
            "class weights": moments.count,
            "means": moments.mean,
            "covariances": moments.covariance,
        }
        shares = dict(zip(costs, split(list(costs.values())), strict=True))
        expected = {n: float(public.noise_factor * c / (shares[n] * mu**2)) for n, c in costs.items()}
        columns_get = tuple(float(share) for share in split(resolutions**2))
        return HistogramOpening(float(shares["marginals"]), columns_get, moments.shares, expected, looks=looks)

    def label_budget(self, public: Public) -> tuple[float, int]:
        """The part of the budget that adapted labels take, and in how many rounds."""
        return self.label_model.share, self.label_model.rounds

    def learn(self, curator: Asker, plan: Plan) -> LearnedScores:
        """Histograms, cleaned, of bins that follow the mass."""
        cleaning = self.histograms.cleaning
        marginals = clean(ask_columns(curator, plan, cleaning), plan.layout.bins, cleaning)
        layout = plan.layout.refined(marginals.starts)
        return LearnedScores(layout, marginals, Scores.of(marginals, layout.bins), self.label_model)


@dataclass(frozen=True)
class LearnedScores:
    """The bins that were settled on, their marginals, and the scores that they make of a row."""

    layout: Layout
    marginals: Marginals
    scores: Scores
    label_model: LabelTuning = LabelTuning()

    @cached_property
    def image(self) -> ScoreImage:
        """Rows as the normal scores of their bins."""
        return score_image(self.scores.tables())

    @property
    def counts(self) -> FloatArray:
        """Rows of each class."""
        return self.marginals.counts

    @cached_property
    def spreads(self) -> FloatArray:
        """Mean square norm of each class's images."""
        return np.asarray((self.scores.variances() + self.scores.means() ** 2).sum(axis=1))

    def mixture(self, found: FoundCells, shapes: FloatArray) -> GaussianMixture:
        """Cells weighted within their class by their counts, and classes by the histograms'."""
        weights = divide_weights(self.marginals.weights, found.classes, found.counts)
        return GaussianMixture(weights, found.means, shapes, found.classes, found.scales)

    def blind(self, found: FoundCells, rows: FloatArray, labels: IntArray) -> Blind:
        """In the scores of all classes together: the same bins, another score."""
        pooled = [column.pooled(self.marginals.weights) for column in self.scores.columns]
        in_order = [place for _, place in pooled]
        image = score_image([[in_bins for in_bins, _ in pooled]])
        return Blind(
            image, self._across(found.means, found.classes, in_order), self._across(rows, labels, in_order), 1.0
        )

    def _across(self, latent: FloatArray, classes: IntArray, pooled: Sequence[FloatArray]) -> FloatArray:
        """Rows of the classes' own score spaces in that of all classes together."""
        moved = np.empty_like(latent)
        for c, (column, in_order) in enumerate(zip(self.scores.columns, pooled, strict=True)):
            for k in range(self.scores.classes):
                mine = classes == k
                moved[mine, c] = np.interp(latent[mine, c], column.in_order[k], in_order)
        return moved

    def encoder(self, curator: Asker, plan: Plan, mixture: GaussianMixture) -> Scores:
        """Scores that keep every column's noisy distribution whatever the mixture is. Nothing is asked."""
        return self.scores.matched(mixture)

    def labels_pay(self, plan: Plan) -> bool:
        """Whether the noise on a logit leaves anything to learn of the rarest class."""
        budget = plan.kept("labels") / plan.public.noise_factor
        return logit_noise(self.counts, 1 + len(self.layout.names), budget) <= self.label_model.noisiest

    def labels(
        self, curator: Asker, plan: Plan, encoder: Scores | Projected, mixture: GaussianMixture, alpha: float
    ) -> Labeller:
        """The rounds that adapt labels, by a logistic model on the columns' log-odds."""
        assert isinstance(encoder, Scores)
        return fit_logistic_labels(curator, plan, self.marginals, encoder, mixture, alpha, self.label_model)


def cell_sd(public: Public, mu: float, rounds: tuple[Share, ...], opening: HistogramOpening) -> float:
    """The standard deviation of the noise on a histogram's cell, in rows, where it is least."""
    (share,) = (each.share for each in rounds if each.name == "histograms")
    of_it = max(opening.look_shares) / sum(opening.look_shares)
    return math.sqrt(public.noise_factor / share / of_it) / mu
