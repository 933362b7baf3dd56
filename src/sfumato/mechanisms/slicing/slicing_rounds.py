"""What slicing will ask, planned before any row is seen: which form, how many projections, how much noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, as_rounds, radius
from sfumato.mechanisms.encodings.group_encoding import group_round
from sfumato.mechanisms.encodings.score_encoding import HistogramOpening, ScoreEncoding, cell_sd
from sfumato.mechanisms.questions import projected_image, row_question, score_image
from sfumato.mechanisms.slicing.row_planning import plan_rows
from sfumato.models.generator_training import check_image, image_of
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import Image
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import RowVectors, Whole
from sfumato.schema.layout import Layout
from sfumato.schema.projections import Projection

if TYPE_CHECKING:
    from sfumato.mechanisms.slicing.slicing_mechanism import Slicing


@dataclass(frozen=True)
class SlicingDetails:
    """What a run needs to know beside its rounds.

    `far` is where rows are clipped. For form "rows", `slices` are how they are projected: none where the rows
    themselves get the noise, because as many projections as coordinates would tell no more; `noise` is on a number of
    a row.
    """

    form: str
    slice_dim: int
    far: float
    slices: tuple[Slices, ...] = ()
    noise: float | None = None
    histograms: HistogramOpening | None = None

    def __str__(self) -> str:
        if self.form == "central":
            return f"class sums of waves on random slices of {self.slice_dim} dimensions"
        if not self.slices:
            return "noisy rows, which tell more than as many projections would"
        (one,) = self.slices
        return f"{one.projections} noisy projections of every row (slices of {self.slice_dim} dimensions)"


def plan_slicing(mechanism: Slicing, public: Public) -> Plan:
    """The encoding's rounds, then what generators are trained on. What a network makes of it is not forecast."""
    if mechanism.form == "rows" and public.adjacency is not Adjacency.REPLACE_ONE:
        raise ArgumentError("form 'rows' tells how many rows there are: it needs adjacency 'replace-one'")
    if mechanism.training is not None:
        check_image(mechanism.training, image_of(public.layout))
    histograms, first = _first_rounds(mechanism, public)
    if mechanism.form == "rows":
        last = Share("rows", 1.0, "every row with noise of its own: what generators are trained on")
    else:
        purpose = "class sums of cosines and sines along random slices: what generators are trained on"
        last = Share("waves", 1.0, purpose)
    before = sum(each.share for each in first)
    left = 1.0 - before
    beside = public.mu * math.sqrt(1.0 - left)
    details = _details(mechanism, public, beside, histograms)
    if details.slices:  # which the budget holds beside its mu
        mu, shares = beside, tuple(replace(s, share=s.share / before) for s in first)
    else:
        mu, shares = public.mu, (*first, Share(last.name, left, last.purpose))
    notes: dict[str, str | int | float] = {"slices": str(details)}
    if details.noise is not None:
        notes["noise on a number of a row"] = details.noise
    if histograms is not None:
        notes["noise on a histogram cell (rows)"] = cell_sd(public, mu, shares, histograms)
    return Plan(
        mechanism.name,
        "projected" if public.layout.groups else "scores",
        public,
        mu,
        as_rounds(shares, mu),
        details,
        notes=notes,
        slices=details.slices,
        training=mechanism.training,
    )


def _first_rounds(mechanism: Slicing, public: Public) -> tuple[HistogramOpening | None, tuple[Share, ...]]:
    """What the encoding asks: histograms, or for columns in groups where classes lie and the way back."""
    tuning, rows = mechanism.tuning, mechanism.form == "rows"
    if not public.layout.groups:
        opening = ScoreEncoding(tuning.histograms).rounds(public)
        share = tuning.histograms_before_rows if rows else tuning.histograms_before_waves
        return opening, opening.within(share)
    if rows:
        centres, columns = tuning.groups_before_rows
        return None, (group_round("centres", centres), group_round("columns", columns))
    centres, shape, columns = tuning.groups_before_waves
    shares = group_round("centres", centres), group_round("shape", shape), group_round("columns", columns)
    return None, shares


def _details(mechanism: Slicing, public: Public, beside: float, histograms: HistogramOpening | None) -> SlicingDetails:
    """The form, and how much noise rows need beside Gaussian queries of mu `beside` together."""
    layout, slice_dim = public.layout, mechanism.slice_dim
    far = Projection.of(layout.groups).radius if layout.groups else radius(len(layout.names))
    if mechanism.form == "central":
        return SlicingDetails("central", slice_dim, far, histograms=histograms)
    vectors = row_vectors(flat_image(layout), layout.classes, far, mechanism.tuning.class_height)
    # By default as many slices as there is room for: whole rows.
    count = mechanism.slices or math.ceil(vectors.dim / slice_dim)
    unit_rows = None if public.unit_rows == 1 else public.unit_rows
    planned = plan_rows(
        public.epsilon,
        public.delta_left,
        vectors,
        mu=beside,
        projections=count * slice_dim,
        calibration=mechanism.calibration,
        unit_rows=unit_rows,
    )
    if isinstance(planned.projection, Whole):
        noise = vectors.distance(unit_rows) / math.sqrt(planned.projection.mu_squared)
        return SlicingDetails("rows", slice_dim, far, (), noise, histograms)
    return SlicingDetails("rows", slice_dim, far, planned.slices, planned.projection.sigma, histograms)


def row_vectors(image: Image, classes: int, far: float, height: float) -> RowVectors:
    """What is asked of every row: its image, `far` at most, and its class, clipped together."""
    height = height if classes > 1 else 0.0
    return row_question(image, classes, math.hypot(far, height), height)


def flat_image(layout: Layout) -> Image:
    """An image of the dimensions that rows will have, for a plan, which sees none."""
    if layout.groups:
        return projected_image(np.zeros((layout.classes, Projection.of(layout.groups).dim)))
    return score_image([[np.zeros(size) for size in layout.sizes]] * layout.classes)
