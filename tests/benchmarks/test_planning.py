"""The planning benchmark: what it kept keeps its promise, and its tables are made of it."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks are no part of the package

from benchmarks.planning import half_widths, page

WITHIN = 0.1
LOOKED_INTO = "mean income"  # of two intervals what they have in common: the forecast is the most that it is
KEPT = page.RESULTS / "widths.json"


@pytest.mark.skipif(not KEPT.exists(), reason="no results beside an installed package")
def test_half_widths_and_wishes_came_true_within_a_tenth() -> None:
    cells = json.loads(KEPT.read_text())["cells"]
    assert set(cells) == {f"{rows} {epsilon}" for rows, epsilon in half_widths.cells()}
    for key, found in cells.items():
        for name in found[0]["foretold"]:
            if not name.startswith("correlation"):
                ratios = [each["had"][name] / each["foretold"][name] for each in found if each["had"][name]]
                assert ratios, (key, name)
                low = 0.0 if name == LOOKED_INTO else 1.0 - WITHIN
                assert low <= statistics.median(ratios) <= 1.0 + WITHIN, (key, name)
        for wished in zip(*(each["wishes"] for each in found), strict=True):
            had = statistics.median(each["had"] for each in wished)
            assert abs(had / wished[0]["wanted"] - 1.0) <= WITHIN, (key, wished[0]["wish"])


def test_a_line_says_how_many_had_no_interval() -> None:
    found = [{"foretold": {"x": 2.0}, "had": {"x": had}} for had in (1.0, 3.0, None)]
    assert page._width_line("x", "x", "foretold", [found, found[:1]]) == "| x | 0.50 | 1.00 | 1 of 4 |"
    assert page._width_line("x", "x", "foretold", [found[2:]]) == "| x |  |  | 1 of 1 |"
