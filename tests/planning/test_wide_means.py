"""What would make wide means narrower."""

from __future__ import annotations

from typing import Any

import sfumato as sf
from sfumato.planning.wide_means import what_helps
from sfumato.planning.widths import WIDE_MEAN, Widths
from sfumato.schema.schema import Schema

DAYS = {"type": "number", "min": 0, "max": 180, "step": 0.1}


def helps(rows: int = 300, guesses: dict[str, float] | None = None, **columns: Any) -> list[str]:
    def replan(schema: Schema) -> sf.Plan:
        return sf.plan(schema, epsilon=1, delta=1e-6, rows=rows)

    schema = Schema.of({"columns": columns})
    return what_helps(schema, Widths(replan(schema), guesses or {}), replan)


def mean(**changes: Any) -> float:
    return Widths(sf.plan({"columns": {"days": DAYS | changes}}, epsilon=1, delta=1e-6, rows=300)).mean("days")


def test_the_figures_are_those_of_the_changed_schemas() -> None:
    first, figures = helps(days=DAYS)
    assert first.startswith(
        "wide means (days): ± more than 5 % of the way from the mean to its nearer bound. What helps"
    )
    widths = [mean(), mean(max=90), mean(scale="log"), mean(max=90, scale="log")]
    now, near, log, both = (f"± {width:.3g}" for width in widths)
    assert figures == f"  days: {now}; {near} with half the range (0..90), {log} with scale: log, {both} with both"


def test_a_mean_is_wide_by_its_own_room() -> None:
    plan = sf.plan({"columns": {"days": DAYS}}, epsilon=1, delta=1e-6, rows=20_000)
    (even,) = Widths(plan).columns
    (skewed,) = Widths(plan, {"days": 2.0}).columns
    assert (round(even.room or 0.0), skewed.room) == (90, 2.0)
    assert (even.wide_mean, skewed.wide_mean) == (False, True)
    assert WIDE_MEAN * 2.0 < (even.mean or 0.0) < WIDE_MEAN * 90.0
    assert helps(rows=10**6, days=DAYS) == []


def test_changes_that_a_column_does_not_take_are_not_told() -> None:
    (_, negative) = helps(change=DAYS | {"min": -180})
    assert "half the range (-90..90)" in negative
    assert "log" not in negative
    assert "half the range" not in "".join(helps(guesses={"days": 120.0}, days=DAYS)[1:])
    assert len(helps(days=DAYS | {"scale": "log", "atoms": [180]})) == 1


def test_of_many_columns_the_first_are_told() -> None:
    told = helps(**{f"d{i}": DAYS for i in range(5)})
    assert told[0].startswith("wide means (d0, d1, d2 and 2 more): ")
    assert len(told) == 4


def test_columns_in_groups_have_no_widths_to_tell() -> None:
    image = {"columns": "px_*", "shape": [4, 4], "min": 0, "max": 16, "step": 1}
    schema = Schema.of({"columns": {}, "groups": {"image": image}})
    plan = sf.plan(schema, epsilon=1, delta=1e-6, rows=300)
    assert what_helps(schema, Widths(plan), lambda _: plan) == []
