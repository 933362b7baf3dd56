"""What a label model of columns in groups sees: coordinates, or the main directions."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.encodings.group_shape import Shape, find_directions
from sfumato.mechanisms.encodings.quadratic_labels import label_matrix
from sfumato.mechanisms.tuning import GroupTuning

DIM = 100


def seen(wide: int, share: float) -> tuple[int, bool]:
    """How many numbers a label model sees where `wide` coordinates hold a share of the variance and stand out of the
    noise, and whether they are coordinates.
    """
    variances = np.full(DIM, (1.0 - share) / (DIM - wide))
    variances[:wide] = share / wide
    edge = share / wide * np.sqrt(2.0 * DIM) / 8.0  # noise on an entry is an eighth of a wide variance
    shape = Shape(np.array([500.0, 500.0]), np.zeros((2, DIM)), np.diag(variances), np.ones(2), edge, np.zeros(2))
    matrix = label_matrix(shape, find_directions(shape, GroupTuning()), GroupTuning())
    return len(matrix), bool(((matrix != 0.0).sum(axis=1) == 1).all())


def test_coordinates_that_hold_most_of_the_variance_are_seen() -> None:
    assert seen(60, 0.9) == (60, True)


@pytest.mark.parametrize("share", [0.4, 0.45])
def test_a_few_coordinates_among_many_narrow_ones_are_not(share: float) -> None:
    """They stand out of the noise and are more than the main directions are, and say little of a row."""
    number, _ = seen(20, share)
    assert number < 20


def test_fewer_coordinates_than_main_directions_are_not() -> None:
    assert seen(3, 0.9)[0] >= GroupTuning().fewest_directions
