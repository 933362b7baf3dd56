"""Questions to a release: which answers they rest on, what intervals hold, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import LAYOUT, LEVELS, SCHEMA, Curated, coverage, histograms, people, rows, tables

from sfumato.asking.release_questions import Asked, Manner
from sfumato.errors import ArgumentError
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema, Unit

MANNER = Manner()


def slack(runs: int) -> float:
    """What a share of 95 % in so many runs rarely falls below: five standard deviations."""
    return 5 * math.sqrt(0.95 * 0.05 / runs)


CONDITIONS = [
    None,
    "age > 40",
    "sex == 'f'",
    "income == 'high'",
    "age > 40 and income == 'high'",
    "wage < 10",
    "wage < 11",
    "age >= 40 and sex == 'm'",
    "age > 41 and sex == 'm'",
    "not (age > 41 and sex == 'm')",
]


@pytest.mark.parametrize("where", CONDITIONS)
def test_without_noise_counts_and_shares_are_exact_or_between_none_and_all(where: str | None) -> None:
    curated = people(2000, sd=1e-6)
    frame = curated.frame
    truth = len(frame) if where is None else int(_held(frame, where).sum())
    found = curated.asked().count(where, MANNER)
    low, high = found.interval or (math.nan, math.nan)
    assert low - 1e-3 <= truth <= high + 1e-3
    cut = where is not None and ("11" in where or "41" in where)
    assert (high - low > 1.0) == cut
    if where is None:
        return
    share = curated.asked().share(where, MANNER)
    low, high = share.interval or (math.nan, math.nan)
    assert low - 1e-6 <= truth / len(frame) <= high + 1e-6
    assert (high - low > 1e-3) == cut


def _held(frame: pd.DataFrame, where: str) -> Any:
    from sfumato.schema.conditions import parse

    return parse(where, SCHEMA.columns).holds(frame)


@pytest.mark.parametrize(
    "where", [pytest.param("age > 40", marks=pytest.mark.slow), "age >= 40 and sex == 'm'"], ids=["one", "two"]
)
def test_counts_are_covered_and_noise_told_too_small_is_seen(where: str) -> None:
    curated = people(2000, sd=12.0)
    truth = float(_held(curated.frame, where).sum())
    right, wrong = (coverage(curated, lambda a: a.count(where, MANNER), truth, 80, w) for w in (1.0, 0.4))
    assert right > 0.95 - slack(80)
    assert wrong < 0.95 - slack(80)


AMONG = [  # with the label every age is a bin; with sex five of them are a level
    ("income == 'high'", "age > 41", False),
    ("age > 41", "age > 40", False),
    ("age >= 40", "sex == 'm'", False),
    ("age > 41", "sex == 'm'", True),
    ("sex == 'm'", "age > 41", True),
    ("age > 41", "age > 43 or sex == 'm'", True),
]


@pytest.mark.parametrize(("where", "among", "cut"), AMONG)
def test_without_noise_a_share_among_rows_is_exact_or_between_none_and_all(where: str, among: str, cut: bool) -> None:
    curated = people(2000, sd=1e-6)
    held, counted = (_held(curated.frame, each) for each in (where, among))
    low, high = curated.asked().share(where, MANNER, among).interval or (math.nan, math.nan)
    assert low - 1e-6 <= held[counted].mean() <= high + 1e-6
    assert (high - low > 1e-3) == cut


def test_shares_among_rows_are_covered_and_noise_told_too_small_is_seen() -> None:
    curated = people(2000, sd=12.0)
    counted = _held(curated.frame, "sex == 'm'")
    truth = float(_held(curated.frame, "age >= 40")[counted].mean())
    ask = lambda a: a.share("age >= 40", MANNER, "sex == 'm'")  # noqa: E731
    right, wrong = (coverage(curated, ask, truth, 80, w) for w in (1.0, 0.4))
    assert right > 0.95 - slack(80)
    assert wrong < 0.95 - slack(80)


def test_shares_by_group_are_those_among_its_rows() -> None:
    asked = people(2000, sd=3.0).asked()
    groups = asked.share("age > 40", MANNER, by="sex")
    for name in ("f", "m"):
        one = asked.share("age > 40", MANNER, f"sex == '{name}'")
        assert groups[name].interval == pytest.approx(one.interval)
        assert groups[name].estimate == pytest.approx(one.estimate)


def test_a_share_among_rows_of_which_no_table_speaks_is_the_models() -> None:
    found = asked_with_rows().share("wage < 10", MANNER, "sex == 'm'")
    drawn = rows(2000, 1)
    assert found.estimate == pytest.approx((drawn.wage < 10)[drawn.sex == "m"].mean())
    assert found.interval is None
    by = asked_with_rows().share("wage < 10", MANNER, by="sex")
    assert by["m"].estimate == pytest.approx(found.estimate)


def test_means_have_room_for_the_bins() -> None:
    curated = people(2000, sd=1e-6)
    frame, asked = curated.frame, curated.asked()
    age = asked.mean("age", None, None, MANNER)
    assert age.interval == pytest.approx((frame.age.mean(),) * 2)
    wage = asked.mean("wage", None, None, MANNER)
    assert wage.width == pytest.approx(5.0, abs=1e-3)  # 20 bins of 0 to 100: half a width on either side
    assert wage.interval[0] <= frame.wage.mean() <= wage.interval[1]
    by_sex = asked.mean("age", "sex", "age < 50", MANNER)
    assert by_sex.names == ("sex",)
    for sex in ("f", "m"):
        truth = frame.age[(frame.sex == sex) & (frame.age < 50)].mean()
        low, high = by_sex[sex].interval
        assert low <= truth <= high
        assert high - low == pytest.approx(4.0, abs=1e-3)  # levels of five ages
    assert asked.mean("age", "income", None, MANNER)["high"].interval == pytest.approx(
        (frame.age[frame.income == "high"].mean(),) * 2
    )


def test_the_cells_of_a_table() -> None:
    curated = people(2000, sd=9.0)
    found = curated.asked().table("sex", "age", MANNER)
    turned = curated.asked().table("age", "sex", MANNER)
    frame = curated.frame
    assert len(found) == 2 * 8
    assert found["m", "25..29"].estimate == pytest.approx(((frame.sex == "m") & frame.age.between(25, 29)).sum())
    assert turned["25..29", "m"].estimate == found["m", "25..29"].estimate
    assert found["f", "20..24"].se == pytest.approx(8.46, rel=0.01)  # less than 9 by what other tables say
    assert curated.asked().table("age", "income", MANNER)[20, "low"].rests_on == ("histograms",)
    truth = ((frame.sex == "m") & frame.age.between(25, 29)).sum()
    held = coverage(curated, lambda a: a.table("sex", "age", MANNER)["m", "25..29"], truth, 80)
    assert held > 0.95 - slack(80)


def test_the_first_round_that_speaks_answers() -> None:
    again = (
        histograms(LAYOUT, 1.0),
        tables(LAYOUT, 9.0, [(0, 1)], LEVELS),
        tables(LAYOUT, 0.1, [(0, 1)], LEVELS, "tables 2"),
    )
    asked = Curated(SCHEMA, rows(100), again).asked()
    assert asked.count("age > 30", MANNER).rests_on == ("histograms",)
    found = asked.count("age >= 30 and sex == 'f'", MANNER)
    assert found.rests_on == ("tables 1: age x sex",)  # though the second is more exact: the first decided on it
    assert found.se > 9.0


# --- what decides is not combined with what it decided

SPLIT = Schema.of({"columns": {"x": {"type": "number", "min": 0, "max": 7, "step": 1, "missing": False}}})
WIDE = Layout.of(SPLIT).refined([np.array([0, 4])])
FINE = Layout.of(SPLIT).refined([np.arange(8)])
NUMBERS = np.repeat(np.arange(8), [9, 8, 8, 10, 60, 60, 60, 60])
NOISE, BAR = 10.0, 50.0


def test_an_answer_is_not_weighed_with_what_it_decided() -> None:
    """The first look cuts a bin of 35 rows into four where it counts more than 50, as noise makes it now and then.

    What is then said of a part of it rests on the second look alone. Averaging both by precision would be wrong.
    """
    frame, rng = pd.DataFrame({"x": NUMBERS}), np.random.default_rng(0)
    cut = FINE.refined([np.arange(5)])
    curated = Curated(SPLIT, frame, (histograms(WIDE, NOISE, [0]), histograms(cut, NOISE, [0], "finer bins 1")))
    held = averaged = 0
    above = (noise for noise in rng.normal(0.0, NOISE, 10_000) if 35.0 + noise > BAR)
    for noise, _ in zip(above, range(100), strict=False):
        asked = curated.asked(rng)
        first, second = (each.tables[0].counts for each in asked.rounds)
        first[1] = 35.0 + noise
        low, high = asked.count("x < 2", MANNER).interval
        held += low <= 17 <= high
        weight = 0.25 / 1.25  # of the sum of four parts, beside one count with the noise of each
        middle = weight * second[1:5].sum() + (1.0 - weight) * first[1]
        averaged += abs(middle - 35.0) <= 1.96 * NOISE * math.sqrt(1.0 - weight)
    assert held / 100 > 0.95 - slack(100)
    assert averaged / 100 < 0.95 - slack(100)


def test_cut_bins_are_looked_into_where_a_later_look_has_them() -> None:
    frame = pd.DataFrame({"x": NUMBERS})
    asked = (histograms(WIDE, 0.1, [0]), histograms(FINE, 0.1, [0], "finer bins 1"))
    found = Curated(SPLIT, frame, asked).asked().count("x < 2", MANNER)
    assert found.rests_on == ("histograms", "finer bins 1")
    assert found.interval[0] <= 17 <= found.interval[1]
    assert found.width < 1.0
    alone = Curated(SPLIT, frame, asked[:1]).asked().count("x < 2", MANNER)
    assert alone.width > 35.0
    median = Curated(SPLIT, frame, asked).asked().quantile("x", 0.05, None, MANNER)
    assert median.interval == (1.0, 1.0)
    share = Curated(SPLIT, frame, asked).asked().share("x < 2", MANNER)
    assert share.interval[0] <= 17 / 275 <= share.interval[1]
    assert share.width < 0.01


def test_a_cut_condition_is_covered_by_both_looks_together() -> None:
    frame = pd.DataFrame({"x": NUMBERS})
    curated = Curated(SPLIT, frame, (histograms(WIDE, 10.0, [0]), histograms(FINE, 10.0, [0], "finer bins 1")))
    held = coverage(curated, lambda a: a.count("x < 2", MANNER), 17.0, 60)
    assert held > 0.95 - slack(60)


# --- what no answer speaks about


def asked_with_rows(**more: Any) -> Asked:
    curated = people(1000, **more)
    return curated.asked(sample=lambda n, seed: rows(2000, 1))


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda a: a.count("age > 40 and wage > 10", MANNER), "no table of age x wage was bought"),
        (lambda a: a.share("age + 1 > 40", MANNER), "calculates with columns"),
        (lambda a: a.count("age is missing", MANNER), "lets no age be missing"),
        (lambda a: a.mean("wage", None, "sex == 'f'", MANNER), "no table of sex x wage"),
        (lambda a: a.mean("wage", "sex", None, MANNER)["f"], "no table of sex x wage"),
        (lambda a: a.quantile("wage", 0.5, "sex == 'f'", MANNER), "no table of sex x wage"),
        (lambda a: next(iter(a.table("sex", "wage", MANNER))), "no table of sex x wage"),
        (lambda a: a.correlation("age", "wage", MANNER), "no table of age x wage"),
        (lambda a: a.regress("wage ~ age", "linear", MANNER)["age"], "no table of age x wage"),
        (lambda a: a.regress("income ~ age + sex", "logistic", MANNER)["age"], "pairs do not tell"),
        (lambda a: a.regress("hours ~ age + income", "linear", MANNER)["age"], "same levels"),
    ],
)
def test_without_an_answer_the_model_speaks_and_gives_no_interval(ask: Any, reason: str) -> None:
    found = ask(asked_with_rows())
    assert found.interval is None
    assert reason in found.reason
    assert "model's own estimate" in found.reason
    assert found.rests_on == ()
    assert found.se is None


def test_a_release_without_answers_and_one_without_counts() -> None:
    asked = asked_with_rows()
    for answers, reason in (((), "keeps no answers"), ((_other(),), "keeps no counts")):
        release: Any = type(asked.release)(**(vars(asked.release) | {"answers": answers}))
        found = Asked.of(release).share("age > 40", MANNER)
        assert reason in found.reason
        assert math.isnan(Asked.of(release).count("age > 40", MANNER).estimate)


def _other() -> Any:
    from sfumato.guarantee import NoisyAnswer

    return NoisyAnswer("labels", [1.0], 1.0, {"kind": "label gradient", "classes": 2})


def test_too_few_rows_for_a_mean() -> None:
    found = people(1000, sd=300.0).asked(np.random.default_rng(0)).mean("age", "sex", None, MANNER)["f"]
    assert found.interval is None
    assert "from none" in found.reason


# --- what is refused, in one line


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda a: a.count("agee > 4", MANNER), "did you mean age"),
        (lambda a: a.count("sex == 'x'", MANNER), "sex is never 'x'"),
        (lambda a: a.count(len, MANNER), "a condition in text"),
        (lambda a: a.count(None, Manner(about="population")), "a population has no count"),
        (lambda a: a.share(None, MANNER), "give it by where"),
        (lambda a: a.mean("nope", None, None, MANNER), "there is no column 'nope'; the release has sex, age"),
        (lambda a: a.mean("sex", None, None, MANNER), "a mean is of numbers, and 'sex' is a category"),
        (lambda a: a.mean("age", "nope", None, MANNER), "there is no column 'nope'"),
        (lambda a: a.quantile("age", 1.0, None, MANNER), "between 0 and 1"),
        (lambda a: a.quantile("age", True, None, MANNER), "between 0 and 1"),
        (lambda a: a.quantile("sex", 0.5, None, MANNER), "a quantile is of numbers"),
        (lambda a: a.table("age", "age", MANNER), "two columns"),
        (lambda a: a.table("age", "sex", Manner(about="population")), "a population has no counts"),
        (lambda a: a.correlation("age", "sex", MANNER), "of numbers"),
        (lambda a: a.correlation("age", "age", MANNER), "two columns"),
        (lambda a: a.regress("sex ~ age", "linear", MANNER), "explains numbers"),
        (lambda a: a.regress("age ~ sex", "logistic", MANNER), "two values"),
        (lambda a: a.regress("age ~ sex", "probit", MANNER), "'linear' or 'logistic'"),
        (lambda a: a.regress("age ~ nope", "linear", MANNER), "there is no column 'nope'"),
    ],
)
def test_what_is_refused(ask: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        ask(asked_with_rows())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("options", "words"), [({"level": 95}, "between 0 and 1"), ({"about": "all"}, "population")])
def test_manners_that_are_refused(options: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Manner(**options)


@pytest.mark.parametrize(
    "ask",
    [
        lambda a, m: a.share("age > 40", m),
        lambda a, m: a.mean("age", None, None, m),
        lambda a, m: a.quantile("age", 0.5, None, m),
        lambda a, m: a.correlation("age", "hours", m),
        lambda a, m: a.regress("age ~ sex", "linear", m),
    ],
)
def test_rows_of_one_unit_are_no_independent_draws(ask: Any) -> None:
    asked = asked_with_rows()
    asked.release.schema = SCHEMA.model_copy(update={"unit": Unit(column="person", rows=3)})
    with pytest.raises(ArgumentError, match="up to 3 rows of one person"):
        ask(asked, Manner(about="population"))
    assert ask(asked, MANNER) is not None


def test_residuals_of_one_variance_are_told() -> None:
    asked = asked_with_rows(sd=1.0)
    found = asked.regress("hours ~ age + sex", "linear", Manner(about="population"))
    assert "one variance" in found["age"].estimand
    assert "one variance" not in asked.regress("hours ~ age + sex", "linear", MANNER)["age"].estimand


def test_dates_are_groups_and_no_numbers() -> None:
    schema = Schema.of(
        {
            "label": "kid",
            "columns": {
                "day": {"type": "date", "min": "2020-01-01", "max": "2020-01-03"},
                "kid": {"type": "boolean"},
            },
        }
    )
    frame = pd.DataFrame({"day": [18262, 18263, 18264, 18264], "kid": [True, False, True, True]})
    asked = Curated(schema, frame, (histograms(Layout.of(schema), 1e-6),)).asked()
    found = asked.mean("kid", "day", None, MANNER)
    assert [round(each.estimate, 3) for each in found] == [1.0, 0.0, 1.0]
    assert str(found.keys[0][0]).startswith("2020-01-01")
    with pytest.raises(ArgumentError, match="'day' is a date"):
        asked.mean("day", None, None, MANNER)
    assert asked.count("day >= '2020-01-02' and kid", MANNER).estimate == pytest.approx(2.0)
