"""What samples are to add up to, value by value."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import TiltedModel
from sfumato.models import tilted_model as module
from sfumato.models.wanted_counts import WantedCounts, level_shares, within_levels
from sfumato.schema.layout import FloatArray, IntArray

LEVELS = np.array([0, 1, 1, 2, 2, 2])
ROWS = 4000


@given(
    counts=st.lists(st.integers(0, 1000), min_size=6, max_size=6),
    masses=st.lists(st.floats(1e-6, 1.0), min_size=6, max_size=6),
)
def test_shares_within_a_level_add_up_to_one(counts: list[int], masses: list[float]) -> None:
    found = within_levels(np.array(counts), np.array(masses), LEVELS)
    assert (found >= 0).all()
    np.testing.assert_allclose(np.bincount(LEVELS, found), 1.0)


def test_rows_that_chance_explains_leave_what_the_mixture_says() -> None:
    masses = np.array([10.0, 6.0, 2.0, 5.0, 3.0, 1.0])
    within = within_levels(np.rint(masses * 20).astype(int), masses, LEVELS)
    np.testing.assert_allclose(within, masses / np.bincount(LEVELS, masses)[LEVELS])


def test_many_rows_that_differ_are_followed() -> None:
    masses, counts = np.array([10.0, 6.0, 2.0, 5.0, 3.0, 1.0]), np.array([9000, 2000, 6000, 3000, 3000, 3000])
    np.testing.assert_allclose(within_levels(counts, masses, LEVELS), [1, 1 / 4, 3 / 4, 1 / 3, 1 / 3, 1 / 3], atol=2e-3)


def test_a_level_without_rows_is_as_in_the_mixture() -> None:
    found = within_levels(np.array([5, 90, 10, 0, 0, 0]), np.array([1.0, 1.0, 1.0, 3.0, 2.0, 1.0]), LEVELS)
    np.testing.assert_allclose(found[3:], [1 / 2, 1 / 3, 1 / 6])


@pytest.fixture(scope="module")
def model() -> TiltedModel:
    """Tables of a category of 60 codes, most of which are rare, and of a few sizes."""
    rng = np.random.default_rng(0)
    share = np.r_[np.full(10, 0.08), np.full(50, 0.004)]
    table = pd.DataFrame({"code": rng.choice(60, ROWS, p=share), "size": rng.integers(0, 4, ROWS)}).astype(str)
    columns = {
        name: {"type": "category", "values": [str(i) for i in range(n)]} for name, n in (("code", 60), ("size", 4))
    }
    made = sf.fit(table, {"columns": columns}, epsilon=8, delta=1e-6, insecure_seed=1)
    assert isinstance(made.model, TiltedModel)
    return made.model


def apart(model: TiltedModel, codes: IntArray, shares: FloatArray) -> float:
    """The chi-square of the values of a column of a sample over its degrees of freedom."""
    wanted = len(codes) * shares
    return float(((np.bincount(codes, minlength=60) - wanted) ** 2 / wanted).sum() / 59)


def drawn(model: TiltedModel, seed: int) -> IntArray:
    column = model.draw(ROWS, np.random.default_rng(seed))[0][0]
    return column.astype(int).to_numpy()


def test_rare_values_come_as_often_as_they_should(model: TiltedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within half of what chance would do, in every one of ten samples; looking at levels alone leaves it to chance."""
    level, masses = model.tilt.levels[0], model.base.mixture.class_weights @ model.base.encoder.columns[0].masses
    assert level.max() + 1 < 60
    shares = level_shares(model.tilt, model.expected, 0)[level] * masses / np.bincount(level, masses)[level]
    assert max(apart(model, drawn(model, seed), shares) for seed in range(10)) < 0.5

    def levels_alone(*given: object) -> WantedCounts:
        found = WantedCounts.of(*given)  # type: ignore[arg-type]
        return WantedCounts(found.tilt, (), found.starts[:0], found.shares[: found.tilt.cells])

    monkeypatch.setattr(module, "WantedCounts", type("Twin", (), {"of": staticmethod(levels_alone)}))
    assert min(apart(model, drawn(model, seed), shares) for seed in range(10)) > 0.5
