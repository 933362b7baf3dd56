"""What slicing will ask, planned before any row is seen: which form, how many projections, how much noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import projected_image, row_question, score_image
from sfumato.mechanisms.row_planning import plan_rows
from sfumato.private.queries.base import Image
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import RowVectors, Whole
from sfumato.schema.layout import Layout
from sfumato.schema.projections import Projection

FORMS = ("central", "rows")
CALIBRATIONS = ("exact", "theorem1")
MOST_SLICE_DIM = 16
SLICE_DIM = 2
HEIGHT = 2.0  # of the class in a row's vector, beside coordinates of variance about 1


@dataclass(frozen=True)
class SliceOptions:
    """What a user may say about slices; None stands for what fits."""

    form: str | None = None
    slices: int | None = None
    slice_dim: int | None = None
    calibration: str | None = None

    def check(self, mechanism: str) -> None:
        """Refuse options of another mechanism or form, and values that are none."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        if said and mechanism != "slicing":
            raise ArgumentError(f"{next(iter(said))} is for mechanism 'slicing'")
        allowed = {"form": FORMS, "calibration": CALIBRATIONS}
        for name, values in allowed.items():
            if name in said and said[name] not in values:
                raise ArgumentError(f"{name} must be {' or '.join(map(repr, values))}, not {said[name]!r}")
        for name, most in (("slices", 1 << 20), ("slice_dim", MOST_SLICE_DIM)):
            value = said.get(name, 1)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ArgumentError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
        for name in ("calibration", "slices") if self.form != "rows" else ():
            if name in said:
                raise ArgumentError(f"{name} is for form 'rows'")


@dataclass(frozen=True)
class SlicePlan:
    """The form; and for rows, how far they reach before they are clipped, and their slices: none where the rows
    themselves get the noise, because as many projections as coordinates would tell no more."""

    form: str
    slice_dim: int
    reach: float
    slices: tuple[Slices, ...] = ()
    noise: float | None = None  # on a number of a row

    def __str__(self) -> str:
        if self.form == "central":
            return f"class sums of waves on random slices of {self.slice_dim} dimensions"
        if not self.slices:
            return "noisy rows, which tell more than as many projections would"
        (one,) = self.slices
        return f"{one.projections} noisy projections of every row (slices of {self.slice_dim} dimensions)"


def plan_slices(
    options: SliceOptions, layout: Layout, reach: float, epsilon: float, delta: float, mu: float, unit_rows: int | None
) -> SlicePlan:
    """The form, and how much noise rows need beside Gaussian queries of `mu` together."""
    form, slice_dim = options.form or "central", options.slice_dim or SLICE_DIM
    if form == "central":
        return SlicePlan(form, slice_dim, reach)
    vectors = row_vectors(flat_image(layout), layout.classes, reach)
    # Without a word as many slices as there is room for: whole rows.
    count = options.slices or math.ceil(vectors.dim / slice_dim)
    planned = plan_rows(
        epsilon,
        delta,
        vectors,
        mu=mu,
        projections=count * slice_dim,
        calibration=options.calibration or "exact",
        unit_rows=unit_rows,
    )
    if isinstance(planned.projection, Whole):
        noise = vectors.distance(unit_rows) / math.sqrt(planned.projection.mu_squared)
        return SlicePlan(form, slice_dim, reach, (), noise)
    return SlicePlan(form, slice_dim, reach, planned.slices, planned.projection.sigma)


def row_vectors(image: Image, classes: int, reach: float) -> RowVectors:
    """What is asked of every row: its image and its class, clipped together."""
    height = HEIGHT if classes > 1 else 0.0
    return row_question(image, classes, math.hypot(reach, height), height)


def flat_image(layout: Layout) -> Image:
    """An image of the dimensions that rows will have, for a plan, which sees none."""
    if layout.groups:
        return projected_image(np.zeros((layout.classes, Projection.of(layout.groups).dim)))
    return score_image([[np.zeros(size) for size in layout.sizes]] * layout.classes)
