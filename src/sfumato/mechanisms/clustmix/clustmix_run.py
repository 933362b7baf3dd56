"""The strict clustmix, after Madl et al. (2023): approximate, adapt, anonymise.

Approximate: each class is cut into cells by noisy answers alone, none of them smaller than l_min. Anonymise: noisy
count, mean and spread of every cell, and the one shape that the cells of a class share. Adapt: points are moved by
kernel inducing points, labels by noisy gradients. It is the same in every encoding. Everything the private rows say
comes through the curator; docs/proofs/clustmix.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.encoding.scores import Scores
from sfumato.mechanisms.adapting import adapts_labels
from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import Reserved
from sfumato.mechanisms.cell_shapes import FoundCells, ask_shapes
from sfumato.mechanisms.clustmix.clustmix_cells import find_cells
from sfumato.mechanisms.clustmix.clustmix_rounds import ClustmixDetails, encoding_of
from sfumato.mechanisms.clustmix.inducing_points import move_points
from sfumato.mechanisms.encodings.score_encoding import LearnedScores
from sfumato.mechanisms.questions import cells_at, score_image
from sfumato.models.mixture_model import MixtureModel
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.training.extra import check_extra

if TYPE_CHECKING:
    from sfumato.mechanisms.clustmix.clustmix_mechanism import Clustmix


def run_clustmix(mechanism: Clustmix, curator: Asker, plan: Plan) -> MixtureModel:
    """Ask all queries and build the model from their answers."""
    if plan.has("features"):
        check_extra("adapt='points'")
    details = plan.part(ClustmixDetails)
    tuning = mechanism.tuning.cells(plan.encoding)
    kept = plan.kept("labels")
    learned = encoding_of(mechanism, plan.public).learn(Reserved(curator, kept), plan)
    adapted = adapts_labels(mechanism.adapt, learned, plan)
    plan, curator = plan.on(learned.layout), Seen(curator, learned.layout)
    freed = 0.0 if adapted else kept
    reserved = Reserved(curator, kept - freed)
    found = find_cells(reserved, plan, learned, details.components, details.sigma_max, tuning)
    shapes = ask_shapes(reserved, found, min(plan.budget("shapes") + freed, reserved.remaining), tuning.noise)
    if plan.has("features"):
        assert isinstance(learned, LearnedScores)  # a plan for groups moves no points
        found = adapt_points(reserved, plan, learned, found, shapes, mechanism)
    mixture = learned.mixture(found, shapes)
    encoder = learned.encoder(reserved, plan, mixture)
    labels = learned.labels(curator, plan, encoder, mixture, mechanism.held) if adapted else None
    return MixtureModel(plan.layout, encoder, mixture, labels)


def adapt_points(
    curator: Asker, plan: Plan, learned: LearnedScores, found: FoundCells, shapes: FloatArray, mechanism: Clustmix
) -> FoundCells:
    """Points moved in the scores of all classes together, where a row's place does not depend on its label, and their
    cells' means with them.
    """
    scores, marginals, classes = learned.scores, learned.marginals, found.classes
    pooled = [column.pooled(marginals.weights) for column in scores.columns]
    before = _across(scores, pooled, found.means, classes)
    mixture = learned.mixture(found, shapes)
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(mechanism.tuning.labels.drawn, rng)
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
        mechanism.held,
        mechanism.tuning.points,
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
