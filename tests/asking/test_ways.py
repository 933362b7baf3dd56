"""From which rounds questions are answered, and in how many ways."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import Curated, histograms, people

from sfumato.asking.ratios import Ratio, total
from sfumato.asking.release_questions import Manner
from sfumato.asking.ways import common, finer_look, first_round, ways_of
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

MANNER = Manner()
SPLIT = Schema.of({"columns": {"x": {"type": "number", "min": 0, "max": 7, "step": 1, "missing": False}}})
WIDE = Layout.of(SPLIT).refined([np.array([0, 4])])
FINE = Layout.of(SPLIT).refined([np.arange(8)])
NUMBERS = np.repeat(np.arange(8), [9, 8, 8, 10, 60, 60, 60, 60])


def test_a_cut_bin_is_taken_from_the_later_look_as_a_whole() -> None:
    """What the first look said of it has no weight: also not by way of the total, which other columns tell too."""
    schema = Schema.of({"columns": {"x": SPLIT.columns["x"].model_dump(), "y": {"type": "boolean"}}})
    wide = Layout.of(schema).refined([np.array([0, 4]), None])
    frame = pd.DataFrame({"x": NUMBERS, "y": NUMBERS > 5})
    asked = Curated(schema, frame, (histograms(wide, 3.0, [0, 1]), histograms(Layout.of(schema), 3.0, [0], "finer")))
    found = []
    for more in (0.0, 1000.0):
        curated = asked.asked()
        curated.rounds[0].tables[0].counts[1] += more
        condition = curated.condition("x < 2")
        first, both = ways_of(curated.rounds, ("x",), condition, lambda region: (region, 1.0, 1.0))
        found.append((total(first, 2.0).estimate, total(both, 2.0).estimate))
        assert [each.name for each in both.cells.rounds] == ["histograms", "finer"]
    assert found[1][0] > found[0][0] + 100.0
    assert found[1][1] == pytest.approx(found[0][1])


def test_looks_that_are_not_within_each_other_are_not_joined() -> None:
    frame = pd.DataFrame({"x": NUMBERS})
    other = FINE.refined([np.array([0, 3, 5])])
    asked = Curated(SPLIT, frame, (histograms(WIDE, 0.1, [0]), histograms(other, 0.1, [0], "finer"))).asked()
    assert asked.count("x < 2", MANNER).rests_on == ("histograms",)


def test_a_question_that_cuts_nothing_has_one_way() -> None:
    frame = pd.DataFrame({"x": NUMBERS})
    asked = Curated(SPLIT, frame, (histograms(WIDE, 0.1, [0]), histograms(FINE, 0.1, [0], "finer"))).asked()
    for text, ways in (("x < 4", 1), ("x < 2", 2), ("x >= 0", 1)):
        found = ways_of(asked.rounds, ("x",), asked.condition(text), lambda region: (region, 1.0, 1.0))
        assert len(found) == ways
    assert finer_look(asked.rounds, ("x",)) == ("x", asked.rounds[1])


def test_wide_bins_of_a_mean_are_looked_into() -> None:
    frame = pd.DataFrame({"x": NUMBERS})
    looks = (histograms(WIDE, 0.01, [0]), histograms(FINE, 0.01, [0], "finer"))
    one, both = (Curated(SPLIT, frame, looks[:n]).asked().mean("x", None, None, MANNER) for n in (1, 2))
    assert one.width > 2.0
    assert both.width < 0.02
    assert both.interval[0] <= NUMBERS.mean() <= both.interval[1]
    assert both.rests_on == ("histograms", "finer")
    by_itself = Curated(SPLIT, frame, looks).asked().mean("x", "x", None, MANNER)
    assert [each.rests_on for each in by_itself] == [("histograms",)] * 2


def test_tables_have_no_later_look() -> None:
    asked = people(10).asked()
    first = first_round(asked.rounds, ("age", "sex"))
    assert first.kind == "tables"
    assert finer_look(asked.rounds, ("age", "sex")) is None


def test_what_answers_have_in_common() -> None:
    wide, narrow, far = Ratio(5.0, 2.0, (0.0, 10.0)), Ratio(9.0, 1.0, (8.0, 12.0)), Ratio(50.0, 1.0, (48.0, 52.0))
    assert common([wide, narrow]) == Ratio(9.0, 1.0, (8.0, 10.0))
    assert common([wide, far]) == Ratio(50.0, 1.0, (0.0, 52.0))  # one of them is wrong, and nobody knows which
    none = Ratio(1.0, 1.0, None)
    assert common([none, narrow]) == narrow
    assert common([none]) is none
    assert math.isnan(common([Ratio(math.nan, 1.0, None), none]).estimate)
