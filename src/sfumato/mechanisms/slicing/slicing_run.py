"""The strict slicing mechanism, after Greenewald, Yu, Wang and Xu (2024): buy noisy slices once, train for free.

Two forms. `central` asks for the class sums of cosines and sines along random slices, and counts: one Gaussian query,
whose error falls with the number of rows. `rows` is the paper's: every row's noisy projections. Before either, a few
queries say how columns are encoded. What comes out is not a model but what models are trained on.
docs/proofs/slicing.md has the proofs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.questions import unpack, wave_image, wave_radians
from sfumato.mechanisms.slicing.slice_spaces import SliceSpace, learn_space
from sfumato.mechanisms.slicing.slicing_rounds import SlicingDetails, row_vectors
from sfumato.models.bought import Bought, BoughtRows, BoughtWaves
from sfumato.models.generator_model import GeneratorModel
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import Whole

if TYPE_CHECKING:
    from sfumato.mechanisms.slicing.slicing_mechanism import Slicing


def run_slicing(mechanism: Slicing, curator: Asker, plan: Plan) -> GeneratorModel:
    """Ask for the encoding, then for what generators are trained on."""
    details = plan.part(SlicingDetails)
    space = learn_space(mechanism, curator, plan)
    curator = Seen(curator, space.layout)
    bought: Bought
    if details.form == "rows":
        bought = buy_rows(curator, space, details, mechanism.tuning.class_height)
    else:
        bought = buy_waves(curator, space, mechanism.tuning.waves.count_share)
    return GeneratorModel.begin(space.layout, space.encoder, bought)


def buy_waves(curator: Asker, space: SliceSpace, count_share: float) -> BoughtWaves:
    """All that is left of the budget, on the class sums of cosines and sines at these frequencies."""
    counts = space.counts
    waves = wave_image(space.image, space.frequencies)
    query = GroupSums(Latent(waves, (waves.longest,) * len(counts)), (count_share, 1.0 - count_share))
    answer = curator.total("waves", query, curator.remaining)
    means = unpack(query, answer.values)[1] / counts[:, None]
    sd = unpack(query, answer.sd)[1][:, 0] / counts
    return BoughtWaves(counts, space.start, wave_radians(waves), means, sd, space.space)


def buy_rows(curator: Asker, space: SliceSpace, details: SlicingDetails, class_height: float) -> BoughtRows:
    """Every row's noisy projections, or noisy rows where the plan found these to carry more."""
    vectors = row_vectors(space.image, len(space.counts), details.far, class_height)
    projection: Whole | Slices = details.slices[0] if details.slices else Whole(curator.remaining)
    found = curator.rows("rows", vectors, projection)
    return BoughtRows(
        space.counts,
        space.start,
        found.values.astype(np.float32),
        found.directions,
        found.sd,
        math.sqrt(vectors.radius) * 2.0**-LATENT_BITS,
        vectors.height * 2.0**-LATENT_BITS,
        details.slice_dim,
        space.space,
    )
