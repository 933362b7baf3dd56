"""Orthonormal frames: uniform, exact in their products, and no further off than is paid for; and plans that ask so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, chi2, kstest

from sfumato.errors import ArgumentError, BudgetError
from sfumato.private.accounting import Adjacency, Budget, delta_of
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import NORMAL_BITS, insecure_bits, normals
from sfumato.private.queries.base import LATENT_BITS, ScoreImage
from sfumato.private.slicing import rows as rows_module
from sfumato.private.slicing.law import REDRAWN, Slices
from sfumato.private.slicing.rows import (
    FRAME_BITS,
    HALF_STEP,
    RowPlan,
    RowVectors,
    Whole,
    frame,
    frame_error,
    frame_rounding,
    matrix,
    matrix_rounding,
    plan_rows,
    project,
    shuffled,
    sliced,
)
from sfumato.private.source import Source
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

COLUMNS = [f"x{i}" for i in range(12)]
LAYOUT = Layout.of(Schema.of({"columns": {name: {"type": "number", "min": 0, "max": 8} for name in COLUMNS}}))
TABLE = np.random.default_rng(6).integers(0, 9, size=(3000, len(COLUMNS)))
TABLES = np.random.default_rng(4)
IMAGE = ScoreImage.of([[TABLES.normal(size=size) for size in LAYOUT.sizes]])
VECTORS = RowVectors.of(IMAGE, 1, radius=2.0)
ORTHONORMAL = "orthonormal"


def orthonormal(dim: int, projections: int, slice_dim: int) -> Slices:
    bare = Slices(dim, projections, 1.0, 1.0, ORTHONORMAL, slice_dim)
    return Slices(dim, projections, 1.0, 1.0, ORTHONORMAL, slice_dim, matrix_rounding(bare))


def plan(projections: int = 6, slice_dim: int = 3, law: str = ORTHONORMAL, **more: Any) -> RowPlan:
    return plan_rows(1.0, 1e-5, VECTORS, mu=0.1, projections=projections, law=law, slice_dim=slice_dim, **more)


def engine() -> LocalEngine:
    return LocalEngine(Source(open_table(pd.DataFrame(TABLE, columns=COLUMNS)), LAYOUT), workers=1)


# Their law


def uniform(dim: int, columns: int, draws: int, seed: int) -> list[float]:
    """How uniform the squared length of a fixed vector's projection is: two vectors' p-values by the Beta law."""
    bits, allowed = insecure_bits(seed), frame_rounding(dim, columns)
    frames = [frame(dim, columns, allowed, bits) * 2.0**-FRAME_BITS for _ in range(draws)]
    law = beta(columns / 2, (dim - columns) / 2)
    vectors = np.eye(dim)[0], np.ones(dim) / math.sqrt(dim)
    return [kstest([((u @ each) ** 2).sum() for each in frames], law.cdf).pvalue for u in vectors]


@pytest.mark.parametrize(("dim", "columns"), [(8, 1), (8, 3), (12, 6)])
def test_frames_are_uniform(dim: int, columns: int) -> None:
    assert min(uniform(dim, columns, 1000, seed=2)) > 1e-6


@pytest.mark.parametrize(
    "fault",
    [
        lambda count, bits: normals(count, bits) ** 3 >> 2 * NORMAL_BITS,  # other than normal
        lambda count, bits: np.abs(normals(count, bits)),  # off centre
    ],
)
def test_frames_of_other_numbers_would_be_seen(fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "normals", fault)
    assert min(uniform(8, 3, 1000, seed=2)) < 1e-6


def test_every_column_of_a_frame_is_uniform_too() -> None:
    """The frame, not only its span: G (G^T G)^(-1/2) turns with G."""
    bits, allowed = insecure_bits(4), frame_rounding(8, 3)
    many = np.stack([frame(8, 3, allowed, bits) for _ in range(1000)]) * 2.0**-FRAME_BITS
    for place in ((0, 0), (0, 2), (7, 1)):
        values = many[:, *place]
        assert kstest(values**2, beta(1 / 2, 7 / 2).cdf).pvalue > 1e-6
        assert abs((values > 0).mean() - 0.5) < 5.5 * 0.5 / math.sqrt(len(values))


def test_frames_of_one_matrix_are_independent() -> None:
    bits, slices = insecure_bits(5), orthonormal(8, 6, 2)
    drawn = [matrix(slices, bits) for _ in range(700)]
    shown = np.stack([((made / unit)[0] ** 2).reshape(3, 2).sum(axis=1) for made, unit in drawn])
    places = beta(1, 3).cdf(shown)
    assert kstest(places.ravel(), "uniform").pvalue > 1e-6
    assert np.abs(np.corrcoef(places.T) - np.eye(3)).max() < 5.5 / math.sqrt(len(places))


# How far they are off


def off(normal: Any, error: Any, made: Any) -> float:
    """|u^T F| - |P u| at the u that F shows best beyond the span of the true normals, in 40 digits."""
    with mpmath.workdps(40):
        true = mpmath.matrix((normal - error).tolist())
        span = mpmath.qr(true, mode="skinny")[0]
        shown = mpmath.matrix(made.tolist()) * mpmath.mpf(2) ** -FRAME_BITS
        beyond = shown - span * (span.T * shown)
        u = mpmath.svd_r(beyond, full_matrices=False)[0][:, 0]
        return float(mpmath.norm(u.T * shown) - mpmath.norm(u.T * span))


def worst_error(normal: Any) -> Any:
    """Half a step everywhere, in the signs that turn the span most: out of it, for the column that is nearly lost."""
    left, _, turn = np.linalg.svd(normal)
    signs = np.sign(np.outer(left[:, -1], turn[-1]))
    return np.where(signs == 0.0, 1.0, signs) * HALF_STEP


def orthonormalised(normal: Any) -> tuple[float, Any]:
    """What `frame` makes of these numbers, and its error by its own word."""
    _, sizes, turn = np.linalg.svd(normal, full_matrices=False)
    root = (turn.T / sizes) @ turn
    made = np.rint(normal @ root * 2.0**FRAME_BITS)
    return frame_error(normal, root, made), made


def on_grid(values: Any) -> Any:
    return np.rint(values * 2.0**NORMAL_BITS) * 2.0**-NORMAL_BITS


@pytest.mark.parametrize(("dim", "columns"), [(4, 1), (5, 2), (6, 3), (12, 5)])
@pytest.mark.parametrize("near", [1.0, 0.02])
def test_no_frame_is_further_off_than_it_says(dim: int, columns: int, near: float) -> None:
    """Draws as they come, and such as are nearly dependent, rounded in the worst way."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        normal = rng.normal(size=(dim, columns))
        normal[:, 0] = near * normal[:, 0] + (1.0 - near) * (normal[:, -1] if columns > 1 else 0.0)
        normal = on_grid(normal)
        said, made = orthonormalised(normal)
        for error in (worst_error(normal), rng.choice([-HALF_STEP, HALF_STEP], size=normal.shape)):
            assert off(normal, error, made) <= said
        assert off(normal, worst_error(normal), made) > 0.2 * said  # and not much less


def test_an_error_that_forgets_the_rounded_normals_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    normal = on_grid(np.random.default_rng(1).normal(size=(6, 3)))
    monkeypatch.setattr(rows_module, "HALF_STEP", 0.0)
    said, made = orthonormalised(normal)
    assert off(normal, worst_error(normal), made) > said


def test_floating_point_that_goes_wrong_is_noticed() -> None:
    """The error is that of the frame that was made, however it was made."""
    normal = on_grid(np.random.default_rng(1).normal(size=(6, 3)))
    _, made = orthonormalised(normal)
    longer = np.rint(made * 1.01)
    assert frame_error(normal, np.linalg.inv(np.linalg.qr(normal).R), longer) > 0.01


def test_a_draw_that_is_nearly_dependent_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    good = normals(18, insecure_bits(1))
    same = good.reshape(6, 3).copy()
    same[:, 2] = same[:, 1]
    nearly = same.copy()
    nearly[0, 2] += 1
    queue = [np.zeros(18, dtype=np.int64), same.ravel(), nearly.ravel(), good]
    monkeypatch.setattr(rows_module, "normals", lambda count, bits: queue.pop(0))
    found = frame(6, 3, frame_rounding(6, 3), insecure_bits(1))
    assert queue == []
    monkeypatch.undo()
    assert np.array_equal(found, frame(6, 3, frame_rounding(6, 3), insecure_bits(1)))


@pytest.mark.parametrize(("dim", "columns"), [(6, 3), (10, 8), (60, 2)])
def test_no_more_are_drawn_again_than_is_said(dim: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a share that can be seen; and the share that is paid for comes out of the same line."""
    most = 0.05
    monkeypatch.setattr(rows_module, "REDRAWN", most)
    asked = 0

    def counted(count: int, bits: Any) -> Any:
        nonlocal asked
        asked += 1
        return normals(count, bits)

    allowed, bits, draws = frame_rounding(dim, columns), insecure_bits(8), 1000
    monkeypatch.setattr(rows_module, "normals", counted)
    for _ in range(draws):
        frame(dim, columns, allowed, bits)
    assert (asked - draws) / asked < most + 5.5 * math.sqrt(most / draws)
    # The twin: less rounding would not do.
    asked = 0
    for _ in range(draws // 4):
        frame(dim, columns, allowed / (4.0 if dim < 20 else 1.6), bits)
    assert asked > 1.2 * draws // 4


@pytest.mark.parametrize(("dim", "columns"), [(6, 3), (100, 40), (784, 10)])
def test_the_smallest_singular_value_is_rarely_smaller(dim: int, columns: int) -> None:
    least = rows_module._least_size(dim, columns)
    union = columns * chi2.cdf(columns * least**2, dim - columns + 1)
    gap = math.sqrt(dim) - math.sqrt(columns) - least
    assert union <= REDRAWN * 1.000001 or math.exp(-(gap**2) / 2) <= REDRAWN * 1.000001
    assert REDRAWN < 1e-9


# Products


def test_products_with_frames_are_exact_and_a_row_s_own() -> None:
    drawn, unit = matrix(orthonormal(9, 6, 3), insecure_bits(2))
    assert unit == 2.0**FRAME_BITS
    rows = np.random.default_rng(2).integers(-(2**16) + 1, 2**16, size=(9, 50)).astype(np.float64)
    exact = [[sum(int(a) * int(b) for a, b in zip(row, u, strict=True)) for u in drawn.T] for row in rows.T]
    assert project(rows, drawn).tolist() == exact
    assert project(rows[:, 3:4], drawn).tolist() == exact[3:4]
    other = rows.copy()
    other[:, 7] = 0.0
    before, after = (sliced(each, orthonormal(9, 6, 3), insecure_bits(3)).values for each in (rows, other))
    assert np.array_equal(np.delete(before, 7, axis=0), np.delete(after, 7, axis=0))
    assert (before[7] != after[7]).all()


def test_as_many_coordinates_as_there_may_be_are_exact() -> None:
    project(np.zeros((1 << 20, 1)), np.full((1 << 20, 1), 1 << (FRAME_BITS - 10)))


# Plans and answers


def test_a_plan_with_frames_is_asked_and_answered() -> None:
    made = plan()
    slices = made.projection
    assert isinstance(slices, Slices)
    assert (slices.law, slices.slice_dim, slices.rounding) == (ORTHONORMAL, 3, matrix_rounding(slices))
    assert 0.99e-5 < delta_of(1.0, made.mu, made.slices) <= 1e-5
    budget = Budget(made.mu, made.slices)
    asked = Curator(engine(), budget, Adjacency.REPLACE_ONE, insecure_bits(1))
    found = asked.rows("rows", VECTORS, slices)
    assert found.directions is not None
    blocks = found.directions.reshape(VECTORS.dim, 2, 3)
    for i in range(2):
        assert np.abs(blocks[:, i].T @ blocks[:, i] - np.eye(3)).max() < 1e-6
    assert abs(blocks[:, 0].T @ blocks[:, 1]).max() > 0.01
    true = engine().rows(VECTORS).T * 2.0**-LATENT_BITS @ found.directions
    noise = (found.values - true[shuffled(len(TABLE), insecure_bits(1))]) / slices.sigma
    assert 5e-7 < chi2.sf((noise**2).sum(), noise.size) < 1 - 5e-7
    with pytest.raises(BudgetError, match="are not the slices that were set aside"):
        asked.rows("again", VECTORS, slices)


def test_frames_of_many_columns_need_less_noise_than_gaussian_ones() -> None:
    """Of few columns they cost the same; the rounding of a frame takes some of it in few dimensions."""
    wide = RowVectors.of(ScoreImage.of([[TABLES.normal(size=2) for _ in range(60)]]), 1, radius=2.0)
    known = {"mu": 0.1, "projections": 30}
    gaussian, frames = (plan_rows(1.0, 1e-5, wide, law=law, slice_dim=30, **known) for law in ("gaussian", ORTHONORMAL))
    assert isinstance(gaussian.projection, Slices)
    assert isinstance(frames.projection, Slices)
    assert frames.projection.sigma < 0.97 * gaussian.projection.sigma


def test_units_of_several_rows_take_frames_too() -> None:
    one, three = plan().projection, plan(unit_rows=3).projection
    assert isinstance(one, Slices)
    assert isinstance(three, Slices)
    assert three.rows == 3
    assert math.sqrt(3) * one.sigma < three.sigma < 2.5 * one.sigma


@pytest.mark.parametrize("calibration", ["exact", "theorem1"])
def test_theorem_one_asks_for_more_and_is_charged_by_the_law(calibration: str) -> None:
    made = plan(law="gaussian", slice_dim=1, calibration=calibration)
    exact = plan(law="gaussian", slice_dim=1)
    assert isinstance(made.projection, Slices)
    assert isinstance(exact.projection, Slices)
    more = made.projection.sigma / exact.projection.sigma
    assert 1.3 < more < 2.0 if calibration == "theorem1" else more == 1.0
    assert made.projection.rounding == exact.projection.rounding
    assert delta_of(1.0, made.mu, made.slices) <= (1e-6 if calibration == "theorem1" else 1e-5)
    Curator(engine(), Budget(made.mu, made.slices), Adjacency.REPLACE_ONE, insecure_bits(1)).rows(
        "rows", VECTORS, made.projection
    )


@pytest.mark.parametrize("more", [{"slice_dim": 4}, {"slice_dim": 24}, {"law": "gaussian", "calibration": "theorem1"}])
def test_as_many_projections_as_coordinates_are_whole_rows(more: dict[str, Any]) -> None:
    assert isinstance(plan(24, **more).projection, Whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slice_dim": 4}, "projections must be a multiple of slice_dim, 4"),
        ({"projections": 11, "slice_dim": 11}, "frames of 11 columns cannot be drawn well in 12 dimensions"),
        ({"law": "sparse"}, "law must be 'gaussian' or 'orthonormal', not 'sparse'"),
        ({"law": "sparse", "projections": 12}, "law must be 'gaussian' or 'orthonormal', not 'sparse'"),
        ({"calibration": "theorem1"}, "theorem1 is proved for a Gaussian U and one row a unit"),
        ({"calibration": "theorem1", "projections": 12}, "theorem1 is proved for a Gaussian U and one row a unit"),
        ({"calibration": "theorem1", "law": "gaussian", "unit_rows": 2}, "theorem1 is proved for a Gaussian U"),
        ({"calibration": "rdp"}, "slices are calibrated by 'exact' or 'theorem1', not 'rdp'"),
    ],
)
def test_plans_that_are_none_get_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan(**change)


def test_a_frame_whose_rounding_was_not_set_aside_is_refused() -> None:
    made = plan().projection
    assert isinstance(made, Slices)
    poor = Slices(**vars(made) | {"rounding": 0.9 * made.rounding})
    budget = Budget(0.1, [poor])
    with pytest.raises(ArgumentError, match="whose rounding has to be paid for"):
        Curator(engine(), budget, Adjacency.REPLACE_ONE, insecure_bits(1)).rows("rows", VECTORS, poor)
    budget.take(poor)  # nothing was taken
