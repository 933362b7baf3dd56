"""Means and shares in groups, with intervals that hold what the table has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.reporting.conftest import SCHEMA, table

import sfumato as sf
from sfumato.reporting.seen_release import SeenRelease
from sfumato.reporting.subgroups import group_means, group_shares, told_class


def test_means_by_the_label(seen: SeenRelease) -> None:
    found = {each.column: each for each in group_means(seen)}
    assert set(found) == {"age", "cost"}
    age = found["age"]
    assert age.groups == ("no", "yes")
    truth = table().groupby("ill")["age"].mean()
    for group, mean in zip(age.groups, age.means, strict=True):
        assert mean.se is not None
        assert abs(mean.estimate - truth[group]) < 6 * mean.se


def test_shares_of_the_second_class_in_each_group(seen: SeenRelease) -> None:
    assert told_class(seen) == 1
    shares = group_shares(seen, ["ill", "smokes", "age", "no such table"][:3])
    assert [each.column for each in shares] == ["smokes", "age"]
    truth = (table()["ill"] == "yes").groupby(table()["smokes"]).mean()
    for bar, share in zip(shares[0].bars, truth, strict=True):
        assert bar.interval is not None
        low, high = bar.interval
        assert low - (high - low) <= share <= high + (high - low)


def test_nothing_is_told_without_answers_or_label(seen_compact: SeenRelease) -> None:
    assert group_means(seen_compact) == []
    assert group_shares(seen_compact, ["age"]) == []


@pytest.mark.slow
def test_without_a_label_means_are_by_what_was_bought(small_pool: None) -> None:
    schema = {"columns": {name: SCHEMA["columns"][name] for name in ("age", "smokes", "ill")}}
    made = sf.fit(table(20_000), schema, epsilon=8, delta=1e-6, insecure_seed=1)
    seen = SeenRelease(made)
    assert told_class(seen) is None
    assert ("age", "ill") in {(each.column, each.by) for each in group_means(seen)}


def test_a_price_that_many_pay_has_its_share_though_first_bins_are_wider(small_pool: None) -> None:
    rng = np.random.default_rng(3)
    price = rng.choice([24.9, 39.9, 59.9], 6_000, p=[0.5, 0.3, 0.2])
    left = np.where(rng.random(6_000) < 0.4 - 0.005 * price, "yes", "no")
    made = sf.fit(
        pd.DataFrame({"price": price, "other": rng.integers(0, 50, 6_000), "left": left}),
        {
            "label": "left",
            "columns": {
                "price": {"type": "number", "min": 20, "max": 60, "step": 0.1},
                "other": {"type": "number", "min": 0, "max": 50, "step": 1},
                "left": {"type": "category", "values": ["no", "yes"]},
            },
        },
        epsilon=1,
        delta=1e-6,
        insecure_seed=2,
    )
    bars = {bar.label: bar for bar in group_shares(SeenRelease(made), ["price"])[0].bars}
    truth = (left == "yes")[price == 24.9].mean()
    assert bars["24.9"].interval is not None
    assert bars["24.9"].interval[0] <= truth <= bars["24.9"].interval[1]
