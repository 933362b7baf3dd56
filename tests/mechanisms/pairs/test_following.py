"""Columns that follow others are found where they do, at the noise of a fit, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.pairs.following import TwoColumns, followers_of
from sfumato.models.tilted_model import TiltedModel
from sfumato.schema.layout import Bins, FloatArray, Layout
from sfumato.schema.schema import Schema

ROWS, SD, MOST = 20_000.0, 50.0, 0.2


def bins_of(*sizes: int) -> tuple[Bins, ...]:
    columns = {f"x{j}": {"type": "category", "values": [str(i) for i in range(size)]} for j, size in enumerate(sizes)}
    return Layout.of(Schema.of({"columns": columns})).bins


def found(
    joint: FloatArray, seed: int = 0, sd: float = SD, within: tuple[float, float] = (0.0, 0.0)
) -> list[tuple[int, int]]:
    """Who follows whom, by a noisy table and histograms a tenth as noisy."""
    rng = np.random.default_rng(seed)
    counts = ROWS * joint / joint.sum()
    shares = [(counts.sum(axis=axis) + rng.normal(0, sd / 10, counts.shape[1 - axis])) / ROWS for axis in (1, 0)]
    table = TwoColumns(counts + rng.normal(0, sd, counts.shape), sd)
    followers = followers_of({(0, 1): table}, shares, within, bins_of(*counts.shape), ROWS, MOST)
    for each in followers:
        assert (each.chances > 0).all()
        np.testing.assert_allclose(each.chances.sum(axis=1), 1.0)
    return [(each.column, each.leader) for each in followers]


def groups(detail: int, coarse: int) -> FloatArray:
    """Uneven levels of which some share a group."""
    sizes = 0.8 ** np.arange(detail)
    return np.asarray(sizes[:, None] * (np.arange(detail)[:, None] % coarse == np.arange(coarse)))


@pytest.mark.parametrize("seed", range(5))
def test_a_group_follows_from_the_detail_and_not_the_other_way(seed: int) -> None:
    assert found(groups(12, 4), seed) == [(1, 0)]
    assert found(groups(12, 4).T, seed) == [(0, 1)]


@pytest.mark.parametrize("seed", range(5))
def test_one_of_two_that_say_the_same_follows(seed: int) -> None:
    assert len(found(groups(10, 10), seed)) == 1


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_spread_follows_nobody(share: float, seed: int) -> None:
    strict = groups(12, 4) / groups(12, 4).sum()
    apart = np.outer(strict.sum(axis=1), strict.sum(axis=0))
    assert found((1.0 - share) * strict + share * apart, seed) == []


def test_noise_that_could_hide_most_of_it_lets_nothing_follow() -> None:
    assert [found(groups(12, 4), seed, sd=1500.0) for seed in range(10)] == [[]] * 10


def test_a_column_whose_levels_hold_many_bins_does_not_follow() -> None:
    assert found(groups(12, 4), within=(9.0, 0.1)) == [(1, 0)]
    assert found(groups(12, 4), within=(0.0, 0.5)) == []


def test_rare_levels_stand_for_one_level_each() -> None:
    """A level of 30 rows at a noise of 50 is told by what the others leave; what is spread stays so."""
    sizes = np.array([9000.0, 6000.0, 4000.0, 900.0, 70.0, 30.0])
    rng = np.random.default_rng(3)
    shares = [sizes / ROWS, sizes[::-1] / ROWS]
    table = TwoColumns(np.diag(sizes)[:, ::-1] + rng.normal(0, SD, (6, 6)), SD)
    (each,) = followers_of({(0, 1): table}, shares, [0.0] * 2, bins_of(6, 6), ROWS, MOST)
    hard = each.chances[each.chances.max(axis=1) > 0.999]
    assert len(hard) == 6
    assert sorted(hard.argmax(axis=1)) == list(range(6))


@pytest.mark.parametrize("coarse", [4, 12])
def test_a_rare_level_is_not_given_to_one_group_for_certain(coarse: int) -> None:
    """Which group holds 30 rows is open at a noise of 50; where levels are one for one, what is left tells it."""
    sizes = np.append(np.full(11, 1815.0), 35.0)
    counts = sizes[:, None] * (np.arange(12)[:, None] % coarse == np.arange(coarse))
    shares = [counts.sum(axis=1) / ROWS, counts.sum(axis=0) / ROWS]
    rare = []
    for seed in range(8):
        table = TwoColumns(counts + np.random.default_rng(seed).normal(0, SD, counts.shape), SD)
        (each,) = followers_of({(0, 1): table}, shares, [0.0] * 2, bins_of(12, coarse), ROWS, MOST)
        rare.append(each.chances[11].max())
    assert (min(rare) > 0.999) if coarse == 12 else (max(rare) < 0.999)


def test_a_level_that_is_spread_stays_so() -> None:
    counts = np.array([[9000.0, 0.0, 0.0], [0.0, 9500.0, 0.0], [700.0, 0.0, 800.0]])
    shares = [counts.sum(axis=axis) / ROWS for axis in (1, 0)]
    table = TwoColumns(counts + np.random.default_rng(1).normal(0, 20, (3, 3)), 20.0)
    (each,) = followers_of({(0, 1): table}, shares, [0.0] * 2, bins_of(3, 3), ROWS, MOST)
    found_share, share = (each.chances[2, 0], 7 / 15) if each.leader == 0 else (each.chances[0, 2], 7 / 97)
    assert abs(found_share - share) < 0.04


def test_nobody_leads_who_follows() -> None:
    chain = groups(6, 6)
    counts = ROWS * chain / chain.sum()
    shares, table = [counts.sum(axis=0) / ROWS] * 3, TwoColumns(counts, 1.0)
    made = followers_of({(0, 1): table, (1, 2): table, (0, 2): table}, shares, [0.0] * 3, bins_of(6, 6, 6), ROWS, MOST)
    assert len(made) == 2
    assert not {each.column for each in made} & {each.leader for each in made}


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.floats(1e-3, 1e6), st.integers(0, 2**32 - 1))
def test_any_table_gives_laws_or_nothing(first: int, second: int, sd: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = TwoColumns(rng.normal(0, 1000.0, (first, second)), sd)
    shares = [rng.dirichlet(np.full(size, 0.3)) for size in (first, second)]
    for each in followers_of({(0, 1): table}, shares, [0.0, 0.1], bins_of(max(first, 2), max(second, 2)), 1e3, 1.0):
        assert (np.isfinite(each.chances) & (each.chances > 0)).all()


# --- whole fits


def degrees(rows: int) -> pd.DataFrame:
    """A degree, its number, in another order than classes would tell, and an income."""
    rng = np.random.default_rng(0)
    chances = 0.8 ** np.arange(16)
    number = rng.choice(16, rows, p=chances / chances.sum())
    income = rng.random(rows) < 0.1 + 0.4 * (number % 3 == 0)
    age = rng.normal(40 + 2 * (number == 3), 10).round().clip(17, 90)
    return pd.DataFrame(
        {"degree": NAMES[number], "number": number, "age": age, "income": np.where(income, "yes", "no")}
    )


NAMES = np.array(list("gbhaecfdponmlkji"))
SCHEMA: dict[str, Any] = {
    "label": "income",
    "columns": {
        "degree": {"type": "category", "values": list("abcdefghijklmnop")},
        "number": {"type": "number", "min": 0, "max": 15, "step": 1},
        "age": {"type": "number", "min": 17, "max": 90, "step": 1},
        "income": {"type": "category", "values": ["no", "yes"]},
    },
}


def fitted(most: float, adapt: str | None) -> tuple[sf.Release, float]:
    """A release, and the share of its rows whose degree and number do not go together."""
    tuning = MixtureTuning()
    tuning = replace(tuning, pairs=replace(tuning.pairs, following=most))
    mechanism: Any = sf.Mixture(tuning=tuning, adapt=adapt)
    table = degrees(10_000)
    made = sf.fit(table, SCHEMA, epsilon=1, delta=1e-6, rows=10_000, mechanism=mechanism, insecure_seed=1)
    known = dict(zip(table["degree"], table["number"], strict=True))
    rows = made.sample(20_000, seed=1)
    return made, float((rows["degree"].map(known) != rows["number"]).mean())


@pytest.mark.every(2)
@pytest.mark.parametrize("adapt", [None, "labels"])
def test_rows_keep_what_follows(adapt: str | None) -> None:
    made, wrong = fitted(MOST, adapt)
    bare, often = fitted(0.0, adapt)
    assert isinstance(made.model, TiltedModel)
    assert [{each.column, each.leader} for each in made.model.followers] == [{0, 1}]
    assert not bare.model.followers  # type: ignore[attr-defined]
    assert wrong < 0.01 < 0.03 < often


def test_a_follower_can_be_asked_for() -> None:
    made, _ = fitted(MOST, None)
    assert (made.sample(2000, seed=1, given={"degree": "a"})["number"] == 3).mean() > 0.98
    assert (made.sample(2000, seed=1, where="degree == 'h'")["number"] == 2).mean() > 0.98
    table = degrees(2000)
    moved = table.assign(degree=np.roll(table["degree"], 1))
    assert np.isfinite(made.log_density(moved)).all()
    assert made.log_density(table).mean() > made.log_density(moved).mean() + 4


def test_groups_follow_from_details_of_many_values() -> None:
    """Forty jobs in eight groups: where most jobs share a level, as without frequent ones, no job tells its group."""
    rng = np.random.default_rng(0)
    job = rng.choice(40, 20_000, p=np.linspace(2.0, 1.0, 40) / 60.0)
    group = rng.permutation(40) % 8
    table = pd.DataFrame({"job": job.astype(str), "group": group[job].astype(str), "age": rng.normal(40, 9, len(job))})
    columns = {
        "job": {"type": "category", "values": [str(i) for i in range(40)]},
        "group": {"type": "category", "values": [str(i) for i in range(8)]},
        "age": {"type": "number", "min": 0, "max": 90, "step": 1},
    }

    def wrong(most_frequent: int) -> float:
        tuning = MixtureTuning()
        tuning = replace(tuning, pairs=replace(tuning.pairs, most_frequent=most_frequent))
        made = sf.fit(
            table, {"columns": columns}, epsilon=4, delta=1e-6, mechanism=sf.Mixture(tuning=tuning), insecure_seed=1
        )
        rows = made.sample(20_000, seed=1)
        return float((rows["group"].astype(int).to_numpy() != group[rows["job"].astype(int)]).mean())

    assert wrong(64) < 0.01 < 0.2 < wrong(0)
