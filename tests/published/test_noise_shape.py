"""The multiplicative solver of (23), against an SDP solver and against points that must be optimal."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.published.noise_shape import noise_shape
from sfumato.schema.layout import FloatArray

CLOSE = 1e-3


def sdp_cost(differences: FloatArray, weight: FloatArray, level: float) -> float:
    """The optimum of (23), in the Schur form in which the paper prints it."""
    cvxpy = pytest.importorskip("cvxpy")
    d = len(weight)
    covariance = cvxpy.Variable((d, d), symmetric=True)
    corner = np.array([[level]])
    blocks = [cvxpy.bmat([[corner, v[None, :]], [v[:, None], covariance]]) for v in differences]
    constraints = [covariance >> 0, *(block >> 0 for block in blocks)]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(weight @ covariance)), constraints)
    return float(problem.solve(solver="CLARABEL"))


def random_weight(rng: np.random.Generator, d: int) -> FloatArray:
    g = rng.standard_normal((d, d + 2))
    return np.linalg.inv(g @ g.T)


def cases() -> dict[str, tuple[FloatArray, FloatArray]]:
    rng = np.random.default_rng(1)
    heavy = rng.standard_normal((40, 3)) * rng.standard_exponential((40, 1)) ** 2
    twice = rng.standard_normal((12, 2))
    flat = rng.standard_normal((15, 2)) @ rng.standard_normal((2, 3))
    return {
        "one column": (rng.standard_normal((9, 1)), random_weight(rng, 1)),
        "a cloud": (rng.standard_normal((60, 3)), random_weight(rng, 3)),
        "heavy tails": (heavy, random_weight(rng, 3)),
        "five columns": (rng.standard_normal((50, 5)), random_weight(rng, 5)),
        "off the origin": (rng.standard_normal((30, 3)) + 10.0, random_weight(rng, 3)),
        "every row twice": (np.vstack([twice, twice]), random_weight(rng, 2)),
        "one row": (rng.standard_normal((1, 3)), random_weight(rng, 3)),
        "fewer rows than columns": (rng.standard_normal((2, 4)), random_weight(rng, 4)),
        "rows on a plane": (flat, random_weight(rng, 3)),
        "a row of zeros": (np.vstack([np.zeros((1, 2)), rng.standard_normal((6, 2))]), random_weight(rng, 2)),
        "ill-conditioned": (rng.standard_normal((20, 3)), np.diag([1e4, 1.0, 1e-4])),
    }


@pytest.mark.parametrize("case", cases())
def test_it_agrees_with_an_sdp_solver(case: str) -> None:
    differences, weight = cases()[case]
    found = noise_shape(differences, weight, level=0.4, gap=1e-5)
    cost = np.trace(weight @ found.covariance)
    assert cost == pytest.approx(sdp_cost(differences, weight, 0.4), rel=CLOSE)
    assert 0 <= found.gap <= 1e-5


@pytest.mark.parametrize("case", cases())
def test_every_difference_is_hidden(case: str) -> None:
    differences, weight = cases()[case]
    covariance = noise_shape(differences, weight, level=0.4).covariance
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    assert np.einsum("ni,ij,nj->n", differences, inverse, differences).max() == pytest.approx(0.4, rel=1e-5)
    outside = differences - differences @ covariance @ inverse
    assert np.abs(outside).max() < 1e-5 * np.abs(differences).max()


def test_a_looser_gap_is_dearer_by_no_more_than_the_gap() -> None:
    differences, weight = cases()["heavy tails"]
    loose, tight = (noise_shape(differences, weight, gap=gap) for gap in (0.2, 1e-6))
    assert tight.updates > loose.updates
    ratio = np.trace(weight @ loose.covariance) / np.trace(weight @ tight.covariance)
    assert 1.0 <= ratio <= 1.2


def test_the_gap_is_over_all_rows_where_a_working_set_is_solved() -> None:
    differences = np.random.default_rng(2).standard_normal((30_000, 3))
    found = noise_shape(differences, np.eye(3))
    inverse = np.linalg.inv(found.covariance)
    assert np.einsum("ni,ij,nj->n", differences, inverse, differences).max() == pytest.approx(1.0)
    # A ball around all rows is a dearer answer, and a ball around their middle a cheaper one.
    reach = np.linalg.norm(differences, axis=1).max()
    assert 0.5 * 3 * reach**2 < np.trace(found.covariance) <= 3 * reach**2


def test_orthogonal_rows_have_a_closed_form() -> None:
    sizes = np.array([3.0, 1.0, 0.5])
    covariance = noise_shape(np.diag(sizes), np.eye(3), level=2.0, gap=1e-9).covariance
    np.testing.assert_allclose(covariance, np.diag(sizes**2 / 2.0), rtol=1e-6, atol=1e-12)


def test_rows_of_a_sphere_ask_for_round_noise() -> None:
    rows = np.random.default_rng(3).standard_normal((4000, 2))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(noise_shape(rows, np.eye(2)).covariance, np.eye(2), atol=0.01)


def test_the_answer_scales_with_one_over_the_level() -> None:
    differences, weight = cases()["a cloud"]
    one, four = (noise_shape(differences, weight, level).covariance for level in (1.0, 4.0))
    np.testing.assert_allclose(one, 4 * four)


@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.zeros((3, 2))], ids=["no rows", "zeros"])
def test_nothing_to_hide_needs_no_noise(rows: FloatArray) -> None:
    assert not noise_shape(rows, np.eye(2)).covariance.any()


@pytest.mark.parametrize(
    ("weight", "level", "gap"), [(np.diag([1.0, 0.0]), 1.0, 1e-3), (np.eye(2), 0.0, 1e-3), (np.eye(2), 1.0, 0.0)]
)
def test_senseless_arguments_are_refused(weight: FloatArray, level: float, gap: float) -> None:
    with pytest.raises(ArgumentError):
        noise_shape(np.eye(2), weight, level, gap)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_for_an_ellipsoid_of_differences_the_noise_has_the_shape_of_the_class(dim: int) -> None:
    """docs/proofs/mixture.md, section 8: v^T S^-1 v <= rho^2 is hidden at least cost by noise rho^2 S / c."""
    rng = np.random.default_rng(dim)
    precision = random_weight(rng, dim)
    sigma, rho, level = np.linalg.inv(precision), 0.7, 0.3
    sphere = np.vstack([np.linalg.qr(rng.standard_normal((dim, dim)))[0] for _ in range(100)])
    differences = rho * sphere @ np.linalg.cholesky(sigma).T
    found = noise_shape(differences, precision, level, gap=1e-6).covariance
    np.testing.assert_allclose(found * level / rho**2, sigma, atol=1e-3 * np.abs(sigma).max())
    assert np.trace(precision @ found) == pytest.approx(dim * rho**2 / level, rel=1e-3)
