"""Formulas, features, sums of their products and the noise of such sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.asking.simulated import LAYOUT, LEVELS, SCHEMA, Curated, histograms, people, rows, tables

from sfumato.asking.forms import Coefficient, Form, Formula, Sources, features_of
from sfumato.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hours", "looks like"),
        ("hours ~ age ~ sex", "looks like"),
        (3, "looks like"),
        ("hours ~ age * sex", "'age \\* sex' is no column"),
        ("hours ~", "'' is no column"),
        ("hours ~ age + age", "twice"),
        ("hours ~ hours", "twice"),
    ],
)
def test_formulas_that_are_none(text: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Formula.of(text)


def test_columns_of_a_formula() -> None:
    found = Formula.of(" `hours a week`~age+ sex ")
    assert found.response == "hours a week"
    assert found.columns == ("age", "hours a week", "sex")


def test_features_are_middles_and_indicators() -> None:
    _, of = people(10).asked().rounds
    (age,) = features_of(of.axes["age"], SCHEMA.columns["age"], 40.0)
    assert age.values[:2] == pytest.approx(of.axes["age"].middles[:2] - 40.0)
    assert age.values[-1] == 0.0  # what cannot be read
    (sex,) = features_of(of.axes["sex"], SCHEMA.columns["sex"])
    assert sex.name == "sex[m]"
    assert sex.values.tolist() == [0.0, 1.0, 0.0]


def test_sums_come_from_one_table_of_all_columns_or_from_all_pairs() -> None:
    of_pairs, whole, gap = (
        Sources.of(people(10, of=each).asked().rounds, ("age", "hours", "sex"))
        for each in (((0, 1), (1, 2), (0, 2)), ((0, 1, 2),), ((0, 1), (0, 2)))
    )
    assert of_pairs is not None
    assert not of_pairs.is_whole
    assert whole is not None
    assert whole.is_whole
    assert gap is None


def test_pairs_of_several_rounds_go_together_if_they_see_the_same_levels() -> None:
    other = (np.arange(2), np.arange(40) // 8, np.arange(80) // 8, np.arange(20) // 4)
    for levels, fits in ((LEVELS, True), (other, False)):
        asked = (
            histograms(LAYOUT, 1.0),
            tables(LAYOUT, 1.0, [(0, 1), (1, 2)], LEVELS),
            tables(LAYOUT, 1.0, [(0, 2)], levels, "tables 2"),
        )
        found = Sources.of(Curated(SCHEMA, rows(10), asked).asked().rounds, ("age", "hours", "sex"))
        assert (found is not None) == fits


def test_forms_of_one_round_share_its_noise_and_of_two_do_not() -> None:
    first, second = people(10, sd=2.0).asked().rounds
    one, other = first.cells(("age",)), second.cells(("age",))
    unit = np.zeros(one.shape)
    unit[3] = 1.0
    level = np.zeros(other.shape)
    level[3] = 1.0
    mine, its = Form().add(1.0, one, unit), Form().add(1.0, other, level)
    assert mine.covariance(its) == 0.0
    both = Form().add(1.0, one, unit).add(2.0, other, level)
    assert both.covariance(both) == pytest.approx(mine.covariance(mine) + 4.0 * its.covariance(its))
    assert both.covariance(mine) == pytest.approx(one.variance(unit))
    assert Form().add(3.0, one, unit).value == pytest.approx(3.0 * one.counts[3])


def test_a_coefficient_has_fieller_s_interval() -> None:
    found = Coefficient("x", 2.0, 10.0, (4.0, 1.0, 2.0), 5.0)
    z = 1.96
    for sampled, variance in ((False, 4.0), (True, 9.0)):
        for end in found.interval(z, sampled):
            away = end - 2.0
            assert (away * 10.0) ** 2 == pytest.approx(z**2 * (variance - 2.0 * away * 1.0 + away**2 * 2.0))
        assert found.se(sampled) == pytest.approx(math.sqrt(variance) / 10.0)
    assert found.is_clear(7.0)
    assert not found.is_clear(7.1)
