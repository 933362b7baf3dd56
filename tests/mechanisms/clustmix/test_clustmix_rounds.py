"""How clustmix divides its budget, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mechanisms.clustmix.test_clustmix_run import COLUMNS, TUNING, TWO

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.mechanisms.clustmix.clustmix_mechanism import ADAPTS


@pytest.mark.parametrize("adapt", [None, *ADAPTS])
def test_shares_of_every_option_add_up(adapt: Any) -> None:
    plan = sf.plan(TWO, epsilon=2, delta=1e-6, mechanism=sf.Clustmix(adapt=adapt))
    assert sum(each.share for each in plan.rounds) == pytest.approx(1.0)
    assert min(each.share for each in plan.rounds) > 0
    names = {each.name for each in plan.rounds}
    assert ("features" in names) == (adapt in ("points", "both"))
    assert plan.has("labels") == (adapt in ("auto", "labels", "both"))
    assert plan.details.sigma_max == TUNING.sigma_max
    assert plan.expected_kl == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma_max": 0}, "sigma_max must be a number above 0 and at most 10, not 0"),
        ({"sigma_max": float("nan")}, "sigma_max must be a number above 0 and at most 10, not nan"),
        ({"sigma_max": "small"}, "sigma_max must be a number above 0 and at most 10, not 'small'"),
        ({"sigma_max": True}, "sigma_max must be a number above 0 and at most 10, not True"),
        ({"alpha": 1.0}, "alpha must be a number from 0 to below 1, not 1.0"),
        ({"adapt": None, "alpha": 0.5}, "alpha is for moved points, and adapted labels of columns outside groups"),
        ({"adapt": "everything"}, "adapt must be one of 'auto', 'labels', 'points', 'both' or None, not 'everything'"),
        ({"adapt": False}, "adapt must be one of 'auto', 'labels', 'points', 'both' or None, not False"),
        ({"components": 0}, "components must be a whole number from 1 to 1000, or 'auto', not 0"),
    ],
)
def test_what_does_not_go_is_refused_before_a_row_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sf.plan(TWO, epsilon=1, delta=1e-6, mechanism=sf.Clustmix(**options))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_points_need_a_label() -> None:
    with pytest.raises(ArgumentError, match="adapt needs a label of at least two classes"):
        sf.plan({"columns": COLUMNS}, epsilon=1, delta=1e-6, mechanism=sf.Clustmix(adapt="points"))
