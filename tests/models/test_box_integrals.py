"""Probabilities of boxes against the sampler as it is written in the books, one row at a time."""

import numpy as np
import pytest
from tests.models.grids import DIM, INF, ROWS, boxes_of, factor_of
from tests.models.plain_boxes import plainly_drawn

from sfumato.models import box_integrals
from sfumato.models.box_integrals import between, drawn_log_masses, log_between, sobol_points


@pytest.mark.parametrize("noise", [1.0, 0.01])
def test_boxes_have_what_the_sampler_says_row_by_row(noise: float) -> None:
    factor = factor_of(DIM, seed=0, noise=noise)
    low, high = boxes_of(factor, seed=1)
    uniform = sobol_points(DIM, 4)
    found = drawn_log_masses(factor, low, high, uniform)
    known = [plainly_drawn(factor, low[:, i], high[:, i], uniform) for i in range(ROWS)]
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-9)


def test_rows_are_gone_through_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    factor, uniform = factor_of(DIM, seed=3), sobol_points(DIM, 4)
    low, high = boxes_of(factor, seed=4)
    whole = drawn_log_masses(factor, low, high, uniform)
    monkeypatch.setattr(box_integrals, "DRAWN_AT_ONCE", 1)
    np.testing.assert_allclose(drawn_log_masses(factor, low, high, uniform), whole, rtol=0, atol=1e-11)
    assert drawn_log_masses(factor, low[:, :0], high[:, :0], uniform).shape == (0,)


def test_numbers_between_ends_are_between_them() -> None:
    a = np.array([-INF, -1.0, 0.0, 3.0, 20.0, -50.0])
    b = np.array([INF, 1.0, 0.1, INF, 21.0, -49.0])
    drawn = between(a, b, np.full(6, 0.3))
    assert ((drawn >= a) & (drawn <= b) & (np.abs(drawn) < 50.0)).all()
    assert np.isfinite(log_between(a, b)).all()
