"""What is said of columns, associations, pairs, groups and noise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reporting.conftest import EVIL

from sfumato.asking.estimate import Estimate
from sfumato.planning.verdict import Verdict
from sfumato.reporting import finding_sections as module
from sfumato.reporting.association_map import association_map
from sfumato.reporting.column_figures import Bar, ColumnFigure, column_figure
from sfumato.reporting.finding_sections import (
    associations_section,
    caution,
    columns_section,
    noise_section,
    pairs_section,
    subgroups_section,
    viewer_data,
)
from sfumato.reporting.numbering import Numbering
from sfumato.reporting.seen_release import SeenRelease, Sizes
from sfumato.reporting.subgroups import GroupMeans, group_means


@pytest.fixture(scope="module")
def figures(seen: SeenRelease) -> list[ColumnFigure]:
    return [column_figure(seen, name) for name in seen.columns]


def test_every_column_has_a_figure_and_its_numbers(seen: SeenRelease, figures: list[ColumnFigure]) -> None:
    numbering = Numbering()
    told = columns_section(numbering, seen, figures)
    assert [each["kind"] for each in numbering.figures.values()] == ["bars"] * len(figures)
    assert told.count("<details>") == len(figures)
    assert EVIL not in told
    assert "Mean " in told


def test_the_others_of_many_columns_are_drawn_when_chosen(
    seen: SeenRelease, figures: list[ColumnFigure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SIZES", Sizes(sections=2))
    numbering = Numbering()
    told = columns_section(numbering, seen, figures)
    assert len(numbering.figures) == 2
    assert 'id="column-choice"' in told
    data = viewer_data(figures[0])
    assert data["name"] == "age"
    assert len(data["labels"]) == len(data["share"]) == len(data["low"]) == len(data["high"])


def test_associations_pairs_and_groups(seen: SeenRelease, seen_compact: SeenRelease) -> None:
    numbering, found = Numbering(), association_map(seen)
    told = associations_section(numbering, seen, found)
    assert "these 5 of 15 pairs" in told
    assert "a noisy table, through the model" in told
    assert "4 more were bought" in pairs_section(numbering, seen, 1, 4)
    groups = subgroups_section(numbering, seen, found, group_means(seen))
    assert "Means by <bdi>ill</bdi>" in groups
    assert "Share of <bdi>ill</bdi> = <bdi>yes</bdi> by <bdi>age</bdi>" in groups
    assert "saved compact" in subgroups_section(numbering, seen_compact, association_map(seen_compact), [])


def test_means_that_noise_hides_are_named(seen: SeenRelease, figures: list[ColumnFigure]) -> None:
    hidden, clear = (
        Estimate(value, 9.0, (value - 18.0, value + 18.0), 0.95, "table", (), possible=(0.0, 99.0))
        for value in (-3.0, 50.0)
    )
    means = [GroupMeans("age", "ill", ("no", "yes"), (clear, hidden))]
    groups = subgroups_section(Numbering(), seen, association_map(seen), means)
    assert "too noisy (0 to 15)" in groups
    assert "50 (32 to 68)" in groups
    told = noise_section(Numbering(), seen, figures, 5, means)
    assert "both: <bdi>age</bdi> where <bdi>ill</bdi> is <bdi>yes</bdi>." in told
    assert "called too noisy" not in noise_section(Numbering(), seen, figures, 5)


def test_noise_is_called_noise(seen: SeenRelease, figures: list[ColumnFigure], seen_compact: SeenRelease) -> None:
    lost = ColumnFigure("lost", (Bar("a", 0.1, (-0.2, 0.4)), Bar("b", 0.3, (0.1, 0.5))), {}, "", "histograms")
    partly = ColumnFigure("partly", (Bar("c", 0.1, (-0.2, 0.4)), Bar("d", 0.9, (0.7, 1.0))), {}, "", "histograms")
    told = noise_section(Numbering(), seen, [lost, partly], 5)
    assert "noise hides most of their rows: <bdi>lost</bdi>." in told
    assert "1 of 2" in told
    assert "1 of 2 columns cannot be read" in caution([lost, partly], Verdict.at(0.01))
    assert caution([partly, partly], Verdict.at(0.01)) == caution([], Verdict("unknown", None)) == ""
    told_off = caution([partly, partly], Verdict.at(0.2))
    assert "This release is fit for nothing: noise is 20 % of the rows in half a column, on average." in told_off
    assert "of the other 10 is" in told
    unsaid: list[Any] = [column_figure(seen_compact, "age")]
    assert "have no error bars: <bdi>age</bdi>" in noise_section(Numbering(), seen_compact, unsaid, 0)
    clear = [ColumnFigure("x", (Bar("a", 0.9, (0.8, 1.0)),), {}, "", "histograms")]
    assert "stands above its noise" in noise_section(Numbering(), seen, clear, 0)
