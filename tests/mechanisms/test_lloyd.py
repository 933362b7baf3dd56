"""A noisy round of Lloyd's algorithm: centres go to the means of their cells, as far as these are signal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.private.queries.helpers import coded

from sfumato.mechanisms.lloyd import move_centres
from sfumato.mechanisms.questions import cells_at, score_image
from sfumato.mechanisms.tuning import NoiseTuning
from sfumato.private.queries.base import LATENT_BITS, Answer
from sfumato.whole_numbers import joined

PLACES = np.array([-1.5, -0.5, 0.5, 1.5])
CELLS = cells_at(score_image([[PLACES]]), [np.array([[-1.0], [1.0], [9.0]])])
ROWS = coded([((0,), 0)] * 300 + [((2,), 0)] * 50 + [((3,), 0)] * 150, 1)


class Exact:
    """Answers without noise, which says that it had a standard deviation of `sd` rows or latent units."""

    remaining = 1.0

    def __init__(self, sd: float) -> None:
        self.sd, self.asked = sd, []  # type: ignore[var-annotated]

    def total(self, name: str, query: Any, mu_squared: float) -> Answer:
        self.asked.append((name, mu_squared))
        total = joined(query.answer(query.total(ROWS))).astype(float)
        return Answer(total, np.tile([self.sd, self.sd * 2.0**LATENT_BITS], len(total) // 2))

    def rows(self, *_: Any) -> Any:
        raise AssertionError("no row is asked for")


def moved(sd: float) -> tuple[list[float], list[float], float, Exact]:
    curator = Exact(sd)
    cells, counts, known = move_centres(
        curator, "round", CELLS, np.array([200.0, 200.0, 100.0]), [2.0] * 3, 0.25, NoiseTuning()
    )
    return (np.concatenate(cells.centres)[:, 0] * 2.0**-LATENT_BITS).tolist(), counts.tolist(), known, curator


def test_a_centre_goes_to_the_mean_of_its_cell() -> None:
    centres, counts, sd, curator = moved(sd=0.01)
    assert centres == pytest.approx([-1.5, (50 * 0.5 + 150 * 1.5) / 200, 9.0], abs=1e-3)
    assert counts == [300, 200, 0]
    assert sd == 0.01
    assert curator.asked == [("round", 0.25)], "one question, of the budget that was given"


def test_a_centre_stays_where_all_may_be_noise() -> None:
    centres, counts, _, _ = moved(sd=90.0)
    assert counts == [300, 200, 0]
    assert centres[1:] == [1.0, 9.0], "fewer rows than three standard deviations of their count"
    assert -1.5 < centres[0] <= -1.0
