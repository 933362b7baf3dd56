"""What is said of columns, associations, pairs, groups and noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.reporting.conftest import EVIL

from sfumato.asking.estimate import Estimate
from sfumato.planning.verdict import Verdict
from sfumato.reporting import finding_sections as module
from sfumato.reporting.association_map import AssociationMap, association_map
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
from sfumato.reporting.subgroups import GroupMeans, GroupShares, group_means


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
    assert "for 5 of 15 pairs, which have a dot" in told
    assert "a noisy table, through the model" in told
    assert "4 more were bought" in pairs_section(numbering, seen, 1, 4)
    groups = subgroups_section(numbering, seen, found, group_means(seen))
    assert "Means by <bdi>ill</bdi>" in groups
    assert "Share of <bdi>ill</bdi> = <bdi>yes</bdi> by <bdi>age</bdi>" in groups
    assert "saved compact" in subgroups_section(numbering, seen_compact, association_map(seen_compact), [])


def test_a_map_that_would_be_blank_is_said_in_words(seen: SeenRelease) -> None:
    values = np.array([[1.0, 0.04, 0.0], [0.04, 1.0, 0.003], [0.0, 0.003, 1.0]])
    faint = AssociationMap(("age", "cost", "ill"), values, np.zeros((3, 3), bool), 3)
    numbering = Numbering()
    told = associations_section(numbering, seen, faint)
    assert numbering.figures == {}
    assert "by more than <bdi>age</bdi> and <bdi>cost</bdi> do, at 0.04, so no map is drawn" in told
    assert "dot" not in told
    assert told.count("<tr>") == 2  # the head, and the one pair that is not 0.00
    none = associations_section(numbering, seen, replace(faint, values=np.eye(3)))
    assert "No two columns go together in this model at all, so" in none
    assert "<table" not in none


def test_groups_that_all_drown_are_named_and_not_drawn(seen: SeenRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = [
        GroupShares("age", (Bar("under 9", float("nan"), None),)),
        GroupShares("cost", (Bar("a", 0.5, (0.4, 0.6)), Bar("b", float("nan"), None))),
    ]
    monkeypatch.setattr(module, "group_shares", lambda *_: shares)
    numbering = Numbering()
    told = subgroups_section(numbering, seen, association_map(seen), [])
    assert len(numbering.figures) == 1
    assert "nothing is drawn: <bdi>age</bdi>." in told


def test_missing_cells_are_no_largest_class(seen: SeenRelease) -> None:
    bars = (Bar("never", 0.3, (0.2, 0.4)), Bar("missing", 0.7, (0.6, 0.8)))
    smoking, sex = ColumnFigure("smoking", bars, {}, "", "x"), ColumnFigure("sex", bars[:1] * 2, {}, "", "x")
    told = columns_section(Numbering(), seen, [smoking, sex])
    assert "Percent missing" in told
    assert "<td><bdi>never</bdi></td>" in told
    assert "70.0 (60.0 to 80.0)" in told
    assert "Percent missing" not in columns_section(Numbering(), seen, [sex, sex])


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
