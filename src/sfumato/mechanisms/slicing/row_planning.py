"""How noisy projections of every row are asked for within (epsilon, delta): planned before any row is seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.accounting import calibrate, check_method, room_for, slicing_sigma
from sfumato.errors import ArgumentError
from sfumato.private.queries.base import SLACK
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import RowVectors, Whole, check_size, matrix_rounding


@dataclass(frozen=True)
class RowPlan:
    """How rows are asked for within (epsilon, delta): the mu of the budget's Gaussian queries, and the projection."""

    mu: float
    projection: Whole | Slices

    @property
    def slices(self) -> tuple[Slices, ...]:
        """What the budget sets aside beside its mu."""
        return (self.projection,) if isinstance(self.projection, Slices) else ()


def plan_rows(
    epsilon: float,
    delta: float,
    vectors: RowVectors,
    *,
    mu: float,
    projections: int,
    calibration: str = "exact",
    unit_rows: int | None = None,
) -> RowPlan:
    """Divide (epsilon, delta) between Gaussian queries of `mu` together and `projections` of every row.

    `calibration` of slices is "exact" or "theorem1" (see `slicing_sigma`), which asks for more noise; what they are
    charged is their law in either case.

    From as many projections as coordinates on, the vectors themselves get the noise; the plan says so by its
    `projection`.
    """
    check_method(calibration, unit_rows or 1)
    if projections >= vectors.dim:
        total = calibrate(epsilon, delta)
        left = room_for(total, [mu])
        if left == 0.0:
            raise ArgumentError(f"mu {mu:g} beside the rows leaves nothing of epsilon = {epsilon:g}, delta = {delta:g}")
        return RowPlan(total, Whole(left * left / SLACK))  # the budget subtracts in its own order
    free = Slices(
        dim=vectors.dim,
        projections=projections,
        distance=vectors.distance(unit_rows),
        sigma=1.0,
        rows=unit_rows or 1,
    )
    check_size(free)
    rounding = matrix_rounding(free)
    sigma = slicing_sigma(
        epsilon,
        delta,
        dim=free.dim,
        projections=projections,
        distance=free.distance,
        method=calibration,
        mu=mu,
        rounding=rounding,
        rows=free.rows,
    )
    return RowPlan(mu, replace(free, sigma=sigma, rounding=rounding))
