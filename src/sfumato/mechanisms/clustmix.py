"""The strict clustmix in the space of normal scores, after Madl et al. (2023): approximate, adapt, anonymise.

Approximate: each class is cut into cells by noisy answers alone, none of them smaller than l_min. Anonymise: noisy
count, mean and spread of every cell, and the one shape that the cells of a class share. Adapt: points are moved by
kernel inducing points, labels by noisy gradients. Everything the private rows say comes through the curator;
docs/proofs/clustmix.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.encoding.marginals import Marginals, clean
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.adapt import DRAWN, Withheld, fit_labels
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.cells import Found, find_cells
from sfumato.mechanisms.components import divide
from sfumato.mechanisms.groups import look_within
from sfumato.mechanisms.mixture import ask_histograms
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.points import OnStep, move_points
from sfumato.mechanisms.questions import cells_at, score_image
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.generator_training import check_extra
from sfumato.models.labellers import Labeller
from sfumato.schema.layout import FloatArray, IntArray, Layout


def fit_clustmix(
    curator: Asker, layout: Layout, plan: Plan, on_step: OnStep = lambda step, steps, loss: None
) -> tuple[Scores, GaussianMixture, Labeller | None]:
    """Ask all queries and build the model from their answers; `on_step` hears how the points move."""
    if plan.share("features"):
        check_extra("adapt='points'")
    kept = sum(each.share for each in plan.label_rounds) * plan.mu**2
    model = Withheld(curator, kept)
    marginals = clean(*ask_histograms(model, layout, plan), layout.bins)
    scores = Scores.of(marginals, layout.bins)
    spreads = (scores.variances() + scores.means() ** 2).sum(axis=1)
    found = find_cells(model, score_image(scores.tables()), marginals.counts, spreads, plan)
    shapes = look_within(model, found, plan.budget("shapes", model.remaining))
    if plan.share("features"):
        found = adapt_points(model, plan, scores, marginals, found, shapes, on_step)
    mixture = assemble(marginals, found, shapes)
    matched = scores.matched(mixture)
    return matched, mixture, fit_labels(curator, plan, marginals, matched, mixture) if plan.label_rounds else None


def assemble(marginals: Marginals, found: Found, shapes: FloatArray) -> GaussianMixture:
    """Cells weighted within their class by their counts, and classes by the histograms'."""
    classes = np.array(found.cells.classes)
    weights = divide(marginals.weights, classes, found.counts)
    return GaussianMixture(weights, found.means, shapes, classes, found.scales)


def adapt_points(
    curator: Asker,
    plan: Plan,
    scores: Scores,
    marginals: Marginals,
    found: Found,
    shapes: FloatArray,
    on_step: OnStep,
) -> Found:
    """Points moved in the scores of all classes together, where a row's place does not depend on its label, and their
    cells' means with them."""
    pooled = [column.pooled(marginals.weights) for column in scores.columns]
    classes = np.array(found.cells.classes)
    before = _across(scores, pooled, found.means, classes)
    mixture = assemble(marginals, found, shapes)
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(DRAWN, rng)
    labels = mixture.component_class[components]
    synthetic = _across(scores, pooled, mixture.sample(components, rng), labels)
    after = move_points(
        curator,
        plan,
        score_image([[in_bins for in_bins, _ in pooled]]),
        before,
        classes,
        (synthetic, labels),
        float(marginals.counts.sum()),
        on_step,
    )
    means = found.means + (after - before)
    cells = cells_at(found.cells.image, [means[classes == k] for k in range(len(shapes))])
    return replace(found, cells=cells, means=means)


def _across(
    scores: Scores, pooled: Sequence[tuple[FloatArray, FloatArray]], latent: FloatArray, classes: IntArray
) -> FloatArray:
    """Rows of the classes' own score spaces in that of all classes together: the same bins, another score."""
    moved = np.empty_like(latent)
    for c, (column, (_, in_order)) in enumerate(zip(scores.columns, pooled, strict=True)):
        for k in range(scores.classes):
            mine = classes == k
            moved[mine, c] = np.interp(latent[mine, c], column.in_order[k], in_order)
    return moved
