"""Where a condition holds: surely, possibly, or not at all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import histograms

from sfumato.asking.evidence import Axis, read_rounds
from sfumato.asking.regions import Region, can_place, region_of, spread
from sfumato.guarantee import NoisyAnswer
from sfumato.schema.conditions import parse
from sfumato.schema.layout import Layout, bins_of
from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "columns": {
            "age": {"type": "number", "min": 0, "max": 19, "step": 1, "bins": 5},
            "wage": {"type": "number", "min": 0, "max": 10, "bins": 5, "atoms": [0], "missing": True},
            "town": {"type": "category", "values": ["Ulm", "Bonn", "Trier"], "missing": True},
            "home": {"type": "category", "values": ["Ulm", "Bonn"]},
            "day": {"type": "date", "min": "2020-01-01", "max": "2020-01-10", "bins": 5},
            "kid": {"type": "boolean"},
        }
    }
)
LAYOUT = Layout.of(SCHEMA)


def axes() -> dict[str, Axis]:
    question = histograms(LAYOUT, 1.0)
    (of,) = read_rounds([NoisyAnswer("histograms", np.zeros(question.size), 1.0, question.what)], LAYOUT)
    return dict(of.axes)


def region(text: str) -> Region:
    return region_of(parse(text, SCHEMA.columns), axes())


def cells(region: Region) -> str:
    """One letter a level, the first that of unreadable cells: y (surely), ? (possibly) or n."""
    return "".join("y" if sure else "?" if may else "n" for sure, may in zip(region.sure, region.possible, strict=True))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("age < 8", "nyynnn"),  # bins 0..3, 4..7, 8..11, 12..15, 16..19
        ("age <= 8", "nyy?nn"),
        ("age >= 8", "nnnyyy"),
        ("age > 7.5", "nnnyyy"),
        ("age == 8", "nnn?nn"),
        ("age != 8", "nyy?yy"),
        ("not age == 8", "nyy?yy"),
        ("age in [0, 1, 2, 3]", "nynnnn"),
        ("age in [0, 1, 3, 4]", "n??nnn"),
        ("3 < age < 8", "nnynnn"),
        ("age < 0", "nnnnnn"),
        ("age >= 0", "nyyyyy"),
        ("wage < 2", "nyynnnnn"),  # [0], (0, 2), [2, 4), [4, 6), [6, 8), [8, 10], missing
        ("wage <= 2", "nyy?nnnn"),
        ("wage > 0", "nnyyyyyn"),
        ("wage == 0", "nynnnnnn"),
        ("wage >= 2", "nnnyyyyn"),
        ("wage is missing", "nnnnnnny"),
        ("not wage < 2", "nnnyyyyy"),
        ("wage < 3 or wage > 3", "nyy?yyyn"),
        ("town == 'Ulm'", "nynnn"),
        ("town != 'Ulm'", "nnyyn"),
        ("town not in ['Ulm', 'Bonn']", "nnnyn"),
        ("town is not missing", "nyyyn"),
        ("day < '2020-01-03'", "nynnnn"),
        ("day <= '2020-01-03'", "ny?nnn"),
        ("kid", "nny"),
        ("not kid", "nyn"),
    ],
)
def test_one_column(text: str, found: str) -> None:
    assert cells(region(text)) == found


def test_it_is_what_rows_say() -> None:
    """Every row in a sure cell holds, and every row that holds is in a possible cell."""
    rng = np.random.default_rng(0)
    n = 4000
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 20, n),
            "wage": np.where(rng.random(n) < 0.2, np.nan, rng.choice([0.0, 2.0, 3.3, 9.9, 10.0, *rng.random(9)], n)),
            "town": rng.choice(["Ulm", "Bonn", "Trier"], n),
            "home": rng.choice(["Ulm", "Bonn"], n),
        }
    )
    levels = {name: axis.level[_codes(frame[name], axis)] for name, axis in axes().items() if name in frame}
    for text in (
        "age > 6 and wage < 3.3",
        "not (age > 6 and wage < 3.3)",
        "age in [3, 9] or town == 'Ulm' and wage is missing",
        "town == home",
        "town != home and age <= 7",
        "if age < 9 then wage > 1.5",
    ):
        condition = parse(text, SCHEMA.columns)
        found = region_of(condition, axes())
        holds = condition.holds(frame)
        place = tuple(levels[name] for name in found.columns)
        assert not (found.sure[place] & ~holds).any(), text
        assert not (holds & ~found.possible[place]).any(), text
        assert found.possible.any()
        assert not (found.sure & ~found.possible).any()
        cut_rows = found.cut[place]
        assert holds[cut_rows].any() == (~holds[cut_rows]).any(), text  # what is cut is cut


def _codes(cells: pd.Series, axis: Axis) -> np.ndarray:
    if axis.column in ("town", "home"):
        return cells.map({value: i for i, value in enumerate(axis.bins.column.levels)}).to_numpy()
    return axis.bins.code(cells.to_numpy(dtype=float))


def test_what_cannot_be_read_is_in_no_region() -> None:
    found = region("not age > 5 or town == 'Ulm'")
    assert found.columns == ("age", "town")
    assert not found.possible[0].any()
    assert not found.possible[:, 0].any()


def test_conditions_that_calculate_have_no_place() -> None:
    bins = {name: axis.bins for name, axis in axes().items()}
    assert can_place(parse("age > 3 and town == home", SCHEMA.columns), bins)
    for text in ("age + 1 > 3", "wage < age", "age > 3 or age - wage > 1"):
        assert not can_place(parse(text, SCHEMA.columns), bins)


def test_regions_meet() -> None:
    both = region("age < 8") & region("kid") & Region.everywhere()
    assert both.columns == ("age", "kid")
    assert both.sure.sum() == 2
    assert spread(np.arange(3), ("b",), ("a", "b", "c")).shape == (1, 3, 1)
    assert bins_of(SCHEMA.columns["age"]).size == 5
