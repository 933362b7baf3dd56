"""Shares, their error bars, and what drowns."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reporting.conftest import EVIL, SCHEMA, table

import sfumato as sf
from sfumato.asking.estimate import Estimate
from sfumato.reporting.column_figures import DROWNED, Bar, ColumnFigure, column_figure, on_grid
from sfumato.reporting.seen_release import SeenRelease
from sfumato.schema.columns import Number


@pytest.mark.parametrize("name", ["age", "cost", "came", "smokes", EVIL, "ill"])
def test_intervals_hold_the_shares_of_the_table(seen: SeenRelease, name: str) -> None:
    """Fixed seed; each of about 40 intervals of 95 % is widened to six standard errors."""
    figure = column_figure(seen, name)
    truth = np.bincount(seen.classes[name].code(table()[name]), minlength=len(figure.bars)) / len(table())
    for bar, share in zip(figure.bars, truth, strict=True):
        assert bar.interval is not None
        low, high = bar.interval
        assert low - (bar.share - low) * 2 <= share <= high + (high - bar.share) * 2
    assert abs(sum(bar.share for bar in figure.bars) - 1.0) < 0.2
    assert figure.reason == ""
    assert figure.source == "histograms"


def test_numbers_have_a_mean_and_quartiles(seen: SeenRelease) -> None:
    facts = column_figure(seen, "age").facts
    assert list(facts) == ["mean", "lower quartile", "median", "upper quartile"]
    assert all(each.interval is not None for each in facts.values())
    assert column_figure(seen, "smokes").facts == {}


@pytest.mark.parametrize(
    ("step", "told"),
    [(0.1, (24.4, 23.4, 25.2)), (1, (24.0, 23.0, 26.0)), (None, (24.4, 23.4, 25.2)), (0.25, (24.5, 23.25, 25.25))],
)
def test_a_quartile_has_no_more_digits_than_it_has(step: float | None, told: tuple[float, ...]) -> None:
    found = Estimate(24.4043, None, (23.4, 25.15), 0.95, "table", ())
    shown = on_grid(found, Number(min=0, max=99, step=step))
    assert (shown.estimate, *(shown.interval or ())) == told


def test_a_quartile_that_is_known_or_is_none_stays() -> None:
    for found in (
        Estimate(3.14159, None, (3.14159, 3.14159), 0.95, "table", ()),
        Estimate(float("nan"), None, (1.0, 2.0), 0.95, "table", ()),
    ):
        assert on_grid(found, Number(min=0, max=99)) is found


def test_without_answers_there_are_no_error_bars(seen_compact: SeenRelease) -> None:
    figure = column_figure(seen_compact, "age")
    assert "compact" in figure.reason
    assert figure.facts == {}
    assert all(bar.interval is None and not bar.is_lost for bar in figure.bars)
    assert abs(sum(bar.share for bar in figure.bars) - 1.0) < 1e-9


def test_a_table_that_noise_does_not_tell_from_none_is_not_drawn_as_if_it_were_known() -> None:
    made = sf.fit(table(40), SCHEMA, epsilon=0.1, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=3)
    figure = column_figure(SeenRelease(made), "age")
    assert figure.reason == DROWNED
    assert figure.is_unreadable
    assert figure.facts == {}
    assert abs(sum(bar.share for bar in figure.bars) - 1.0) < 1e-9  # the model's own, which is said


@pytest.mark.slow
def test_intervals_of_classes_hold_as_often_as_they_say() -> None:
    """Of 25 releases, though classes are chosen by rows that the model drew. 80 of them: 94 to 99 % by column."""
    rows, schema = table(3000), {key: part for key, part in SCHEMA.items() if key != "constraints"}
    held = []
    for seed in range(25):
        made = sf.fit(rows, schema, epsilon=2, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=seed)
        seen = SeenRelease(made)
        for name in seen.columns:
            bars = column_figure(seen, name).bars
            truth = np.bincount(seen.classes[name].code(rows[name]), minlength=len(bars)) / len(rows)
            ends = [bar.interval for bar in bars]
            held += [each is not None and each[0] <= share <= each[1] for each, share in zip(ends, truth, strict=True)]
    assert len(held) > 800
    assert np.mean(held) > 0.92


def test_what_drowns_is_told() -> None:
    clear, lost = Bar("a", 0.3, (0.2, 0.4)), Bar("b", 0.1, (-0.1, 0.3))
    assert not ColumnFigure("x", (clear, clear, lost), {}, "", "").is_unreadable
    drowned = ColumnFigure("x", (clear, lost, lost), {}, "", "")
    assert drowned.lost == 2
    assert drowned.is_unreadable
