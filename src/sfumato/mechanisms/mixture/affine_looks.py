"""Looks at the moments of classes, or of cells of them, in data units: each where the last one says they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Round
from sfumato.mechanisms.budget import fill
from sfumato.mechanisms.clipping import best_radii
from sfumato.mechanisms.mixture.beliefs import Beliefs, Glance, costs, learn
from sfumato.mechanisms.questions import latent_space, unpack
from sfumato.mechanisms.shrinkage import inverse_root
from sfumato.private.queries.base import FIXED_BITS, LATENT_BITS, MAP_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import AffineImage, Cells
from sfumato.schema.layout import FloatArray, Layout, OrderedBins

DATA_WHITENING_FLOOR = (
    2.0**-11
)  # smallest eigenvalue, in units of a column's variance, that is stretched: maps stay below 16
LATENT_SPREAD = 4.0  # standard deviation of a column before whitening: of 16, so that maps may stretch 64 times


def follow(
    curator: Asker, looks: Sequence[Round], beliefs: Beliefs, layout: Layout, cells: Cells | None = None
) -> Beliefs:
    """Share what is left of the budget between looks, and believe what they show."""
    for i, each in enumerate(looks):
        mu_squared = curator.remaining / (len(looks) - i)
        beliefs = learn(beliefs, glance(curator, each.title, beliefs, layout, mu_squared, cells))
    return beliefs


def glance(
    curator: Asker, name: str, beliefs: Beliefs, layout: Layout, mu_squared: float, cells: Cells | None = None
) -> Glance:
    """Ask for the moments of every class around its mean, in the space where its rows are about standard normal; or of
    every cell, where classes are cut into cells.
    """
    radii = best_radii(beliefs.dim, beliefs.sizes, math.sqrt(mu_squared), beliefs.noise)
    spans = beliefs.spans
    scales = np.sqrt(np.diagonal(spans, axis1=1, axis2=2)) / LATENT_SPREAD
    whitening = inverse_root(spans / np.einsum("ki,kj->kij", scales, scales), LATENT_SPREAD**2 * DATA_WHITENING_FLOOR)
    latent = latent_space(affine_image(beliefs.means, scales, layout), list(radii), list(whitening), cells)
    at_one, now = costs(beliefs, whitening / scales[:, None, :], radii)
    shares = fill(at_one / mu_squared, now)
    query = GroupSums(latent, (float(shares[0]), float(shares[1]), float(shares[2])), "outer")
    answer = curator.total(name, query, mu_squared)
    counts, sums, seconds = unpack(query, answer.values)
    count_sd, sum_sd, second_sd = unpack(query, answer.sd)
    assert latent.maps is not None
    applied = np.stack(latent.maps) / 2.0**MAP_BITS / scales[:, None, :]  # as quantised
    return Glance(applied, radii, counts, sums, seconds, count_sd, sum_sd[:, 0], second_sd[:, 0, 0])


def affine_image(centres: FloatArray, scales: FloatArray, layout: Layout) -> AffineImage:
    """Centre and scale on the whole-number scale on which the source gives values."""
    bounds = np.array([b.bounds for b in layout.bins if isinstance(b, OrderedBins)])
    grid = (bounds[:, 1] - bounds[:, 0]) / 2.0**FIXED_BITS
    return AffineImage(np.rint((centres - bounds[:, 0]) / grid), grid / scales * 2.0**LATENT_BITS)
