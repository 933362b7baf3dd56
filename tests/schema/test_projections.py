"""Public projections: what they are, that they are exact, and how far a row's coordinates can reach."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.fft import dctn

from sfumato.private.queries.base import LATENT_BITS, LATENT_LIMIT
from sfumato.schema.projections import ENTRY_BITS, FIXED_BITS, LARGEST, Projection, directions
from sfumato.schema.schema import Group

TOP = 1 << FIXED_BITS
UNIT = 2.0**-ENTRY_BITS
MISSING = -1


def pixels(height: int, width: int, keep: int | None = None) -> Group:
    return Group(columns="p*", min=0, max=255, shape=(height, width), projection="dct2", keep=keep)


def random(columns: int, keep: int | None = None, name: str = "r") -> Group:
    return Group(columns=f"{name}{{1..{columns}}}", min=-1, max=1, projection="random", keep=keep)


def pca(columns: int, name: str = "c") -> Group:
    return Group(columns=f"{name}{{1..{columns}}}", min=0, max=1)


GROUPS: dict[str, list[Group]] = {
    "dct2": [pixels(6, 9, 4)],
    "dct2 by default": [pixels(28, 28)],
    "random": [random(50, 7)],
    "random by default": [random(90)],
    "pca": [pca(12)],
    "two groups": [pixels(5, 5, 3), random(20, 6)],
    "three groups": [pca(3), random(9, 4), pca(5, "d")],
    "an image of 32 by 32": [pixels(32, 32, 6)],
    "an image of 64 by 64": [pixels(64, 64, 5)],
    "two groups that are long together": [random(800, 20), random(900, 30, "s")],
    "a thousand coordinates": [pca(1024)],
}
WIDE = [name for name, groups in GROUPS.items() if sum(len(g.names) for g in groups) > 1000]


def some_places(columns: int, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    fixed = rng.integers(0, TOP + 1, (columns, count)).astype(np.int32)
    fixed[rng.random(fixed.shape) < 0.05] = MISSING
    return fixed


def test_its_grid_is_that_of_latent_rows() -> None:
    assert ENTRY_BITS == LATENT_BITS
    assert LARGEST == LATENT_LIMIT


@pytest.mark.parametrize("group", [pixels(6, 9, 4), pixels(28, 28), pixels(8, 3), random(50, 7), random(30), pca(12)])
def test_directions_are_orthonormal(group: Group) -> None:
    rows = directions(group)
    assert rows.shape == (group.directions, len(group.names))
    assert np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)


@pytest.mark.parametrize(("height", "width", "keep"), [(6, 9, 4), (9, 6, 6), (8, 8, 1), (28, 28, 12)])
def test_cosines_are_those_of_the_transform(height: int, width: int, keep: int) -> None:
    """Row after row of the image, low frequencies first."""
    image = np.random.default_rng(1).random((height, width))
    found = directions(pixels(height, width, keep)) @ image.ravel()
    assert np.allclose(found.reshape(keep, keep), dctn(image, norm="ortho")[:keep, :keep])


def test_pca_leaves_the_columns_as_they_are() -> None:
    projection = Projection.of([pca(4)])
    assert np.array_equal(projection.matrix, np.eye(4, dtype=np.int64) << ENTRY_BITS)
    fixed = np.array([[0, TOP, TOP // 2, MISSING]], dtype=np.int32).T
    assert projection.apply(fixed).T.tolist() == [[-(1 << ENTRY_BITS - 1), 1 << ENTRY_BITS - 1, 0, 0]]


def test_a_random_projection_is_the_same_for_every_table() -> None:
    """As drawn once: a release made today is read by later versions."""
    first = Projection.of([random(5, 2)]).matrix
    assert np.array_equal(first, Projection.of([random(5, 2, "other")]).matrix)
    assert first.tolist() == RANDOM


RANDOM = [[-715, 3551, -1817, -552, -224], [-2430, 99, 567, 631, 3184]]


@pytest.mark.parametrize("name", GROUPS)
def test_groups_stand_side_by_side(name: str) -> None:
    groups = GROUPS[name]
    projection = Projection.of(groups)
    assert projection.dim == sum(group.directions for group in groups)
    across = down = 0
    rest = projection.matrix.copy()
    for group in groups:
        block = slice(down, down + group.directions), slice(across, across + len(group.names))
        assert np.array_equal(rest[block], np.rint(directions(group) * 2.0**ENTRY_BITS))
        rest[block] = 0
        down, across = down + group.directions, across + len(group.names)
    assert (down, across) == projection.matrix.shape
    assert not rest.any()


@pytest.mark.parametrize("name", ["dct2", "random", "pca", "two groups", "an image of 32 by 32"])
def test_coordinates_are_what_fractions_say(name: str) -> None:
    """Rounded once, from the exact product; a missing value is in the middle."""
    projection = Projection.of(GROUPS[name])
    fixed = some_places(projection.matrix.shape[1], 6)
    found = projection.apply(fixed)
    for i in range(6):
        centred = [0 if x < 0 else int(x) - TOP // 2 for x in fixed[:, i]]
        for j, line in enumerate(projection.matrix.tolist()):
            exact = Fraction(sum(m * x for m, x in zip(line, centred, strict=True)), TOP << projection.halvings)
            assert found[j, i] == round(exact)


@pytest.mark.parametrize("name", GROUPS)
def test_coordinates_depend_on_no_other_row_and_no_layout(name: str) -> None:
    projection = Projection.of(GROUPS[name])
    fixed = some_places(projection.matrix.shape[1], 200)
    whole = projection.apply(fixed)
    rng = np.random.default_rng(2)
    for part in (rng.permutation(200), np.arange(200)[::3], np.arange(40)[:, None], np.delete(np.arange(200), 17)):
        for keep in part if part.ndim == 2 else [part]:
            assert np.array_equal(projection.apply(fixed[:, keep]), whole[:, keep])
    padded = np.full((2 * len(fixed), 600), 7, dtype=np.int32)
    padded[::2, ::3] = fixed
    for other in (np.asfortranarray(fixed), fixed.astype(np.int64), padded[::2, ::3]):
        assert np.array_equal(projection.apply(other), whole)


def test_with_real_directions_coordinates_do_depend_on_other_rows() -> None:
    rows = directions(random(90))
    places = np.random.default_rng(3).random((90, 200))
    whole = rows @ places
    assert any((rows @ places[:, [i]] != whole[:, [i]]).any() for i in range(200))


@pytest.mark.parametrize("name", GROUPS)
def test_the_way_back_is_a_left_inverse_on_the_span(name: str) -> None:
    projection = Projection.of(GROUPS[name])
    columns = projection.matrix.shape[1]
    forth = projection.matrix * UNIT * 2.0**-projection.halvings
    assert np.allclose(forth @ projection.back, np.eye(projection.dim), atol=1e-9)
    inside = projection.back @ np.random.default_rng(4).uniform(-1, 1, projection.dim)
    inside *= 0.4 / np.abs(inside).max()  # a row in the span, well between the bounds
    fixed = np.rint((inside + 0.5) * TOP).astype(np.int32)[:, None]
    again = projection.back @ (projection.apply(fixed)[:, 0] * UNIT)
    rounding = UNIT * math.sqrt(projection.dim) * 2.0**projection.halvings
    assert np.linalg.norm(again - inside) <= rounding + math.sqrt(columns) / TOP


@pytest.mark.every(2)
@pytest.mark.parametrize("name", GROUPS)
def test_no_row_is_longer_than_the_radius(name: str) -> None:
    """Rows in the corners of the table's bounds, among them those that each coordinate likes best."""
    projection = Projection.of(GROUPS[name])
    favoured = np.where(projection.matrix[:100].T > 0, TOP, 0)
    both = np.where(projection.matrix.sum(axis=0)[:, None] > 0, [[0, TOP]], [[TOP, 0]])
    longest = np.linalg.svd(projection.matrix.astype(float), full_matrices=False)[2][0]
    best = np.where(longest[:, None] > 0, TOP, 0)
    corners = np.concatenate([favoured, both, best], axis=1).astype(np.int32)
    lengths = np.linalg.norm(projection.apply(corners) * UNIT, axis=0)
    assert lengths.max() <= projection.radius


def test_the_radius_is_reached() -> None:
    projection = Projection.of([pca(30)])
    corner = np.full((30, 1), TOP, dtype=np.int32)
    assert np.linalg.norm(projection.apply(corner) * UNIT) == pytest.approx(projection.radius, rel=1e-2)


@pytest.mark.parametrize("name", GROUPS)
def test_coordinates_are_shorter_than_any_radius_may_be(name: str) -> None:
    """Below 16, or squared norms could not be asked; and no shorter than they have to be."""
    projection = Projection.of(GROUPS[name])
    assert projection.radius < 16.0
    assert (projection.halvings > 0) == (name in WIDE)
    assert projection.halvings == 0 or projection.radius > 7.5
    assert np.abs(projection.matrix).max() <= 1 << ENTRY_BITS  # products stay below 2^35


def test_the_widest_group_stays_exact() -> None:
    """2^14 columns, all at one end: sums of products that float64 holds, beside those of Python."""
    projection = Projection.of([pixels(128, 128, 2)])
    fixed = np.zeros((1 << 14, 2), dtype=np.int32)
    fixed[:, 1] = np.random.default_rng(5).integers(0, 2, 1 << 14) * TOP
    found = projection.apply(fixed)
    for i in range(2):
        centred = (fixed[:, i].astype(object) - TOP // 2).tolist()
        exact = [sum(m * x for m, x in zip(line, centred, strict=True)) for line in projection.matrix.tolist()]
        assert found[:, i].tolist() == [round(Fraction(x, TOP << projection.halvings)) for x in exact]
        assert max(map(abs, exact)) < 2**53
