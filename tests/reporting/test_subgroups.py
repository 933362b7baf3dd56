"""Means and shares in groups, with intervals that hold what the table has."""

from __future__ import annotations

import pytest
from tests.reporting.conftest import SCHEMA, table

import sfumato as sf
from sfumato.reporting.classes import OrderedClasses
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


def test_a_group_says_what_the_release_answers(seen: SeenRelease) -> None:
    """A class of numbers may cut the first look's bins; both looks together tell more of it than the first."""
    for name in ("age", "cost"):
        classes = seen.classes[name]
        assert isinstance(classes, OrderedClasses)
        (found,) = group_shares(seen, [name])
        for bar, condition in zip(found.bars, classes.conditions, strict=True):
            asked = seen.release.share("ill == 'yes'", among=str(condition))
            assert bar.interval == (None if asked.interval is None else pytest.approx(asked.interval))
