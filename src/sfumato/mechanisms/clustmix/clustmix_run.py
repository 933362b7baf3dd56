"""The strict clustmix, after Madl et al. (2023): approximate, adapt, anonymise.

Approximate: each class is cut into cells by noisy answers alone, none of them smaller than l_min. Anonymise: noisy
count, mean and spread of every cell, and the one shape that the cells of a class share. Adapt: points are moved by
kernel inducing points, labels by noisy gradients. It is the same in every encoding. Everything the private rows say
comes through the curator; docs/proofs/clustmix.md has the proof.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.mechanisms.adapting import adapts_labels
from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import Reserved
from sfumato.mechanisms.cell_shapes import FoundCells, ask_shapes
from sfumato.mechanisms.clustmix.clustmix_cells import find_cells
from sfumato.mechanisms.clustmix.clustmix_rounds import ClustmixDetails, encoding_of
from sfumato.mechanisms.clustmix.inducing_points import move_points
from sfumato.mechanisms.encodings import Learned
from sfumato.mechanisms.questions import cells_at
from sfumato.models.mixture_model import MixtureModel
from sfumato.schema.layout import FloatArray
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
        found = adapt_points(reserved, plan, learned, found, shapes, mechanism)
    mixture = learned.mixture(found, shapes)
    encoder = learned.encoder(reserved, plan, mixture)
    labels = learned.labels(curator, plan, encoder, mixture, mechanism.held) if adapted else None
    return MixtureModel(plan.layout, encoder, mixture, labels)


def adapt_points(
    curator: Asker, plan: Plan, learned: Learned, found: FoundCells, shapes: FloatArray, mechanism: Clustmix
) -> FoundCells:
    """Points moved where a row's place does not depend on its label, and their cells' means with them."""
    mixture = learned.mixture(found, shapes)
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(mechanism.tuning.labels.drawn, rng)
    labels = mixture.component_class[components]
    blind = learned.blind(found, mixture.sample(components, rng), labels)
    rows, tuning = float(learned.counts.sum()), mechanism.tuning.points
    after = move_points(curator, plan, blind, found.classes, labels, rows, mechanism.held, tuning)
    means = found.means + (after - blind.means) / blind.scale
    cells = cells_at(found.cells.image, [means[found.classes == k] for k in range(len(shapes))])
    return replace(found, cells=cells, means=means)
