"""Correlations and regressions of binned columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import SCHEMA, binned, coverage, people

from sfumato.asking.forms import Formula
from sfumato.asking.regressions import fit_rows
from sfumato.asking.release_questions import Asked, Manner

MANNER = Manner()
WITH_LABEL = ((0, 1), (1, 2), (0, 2), (0, 1, 4))


def least_squares(frame: pd.DataFrame) -> np.ndarray:
    design = np.column_stack([np.ones(len(frame)), frame.age, frame.sex == "m"])
    return np.linalg.lstsq(design, frame.hours.to_numpy(), rcond=None)[0]


@pytest.mark.parametrize("of", [((0, 1), (1, 2), (0, 2)), ((0, 1, 2),)], ids=["pairs", "one table"])
def test_without_noise_it_is_least_squares_of_the_binned_columns(of: Any) -> None:
    curated = people(1500, sd=1e-6, of=of)
    found = curated.asked().regress("hours ~ age + sex", "linear", MANNER)
    assert [key for (key,) in found.keys] == ["intercept", "age", "sex[m]"]
    assert [each.estimate for each in found] == pytest.approx(least_squares(binned(curated, curated.asked())), rel=1e-6)
    assert all(each.interval is not None and each.rests_on for each in found)


def test_without_noise_sampling_is_that_of_least_squares() -> None:
    curated = people(1500, sd=1e-6)
    frame = binned(curated, curated.asked())
    design = np.column_stack([np.ones(len(frame)), frame.age, frame.sex == "m"])
    residual = frame.hours - design @ least_squares(frame)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * (residual**2).mean())
    found = curated.asked().regress("hours ~ age + sex", "linear", Manner(about="population"))
    assert [each.se for each in found] == pytest.approx(errors, rel=1e-6)


def test_coefficients_are_covered() -> None:
    curated = people(3000, sd=25.0)
    rng = np.random.default_rng(0)
    held = np.zeros(3)
    for _ in range(50):
        asked = curated.asked(rng)
        truths = least_squares(binned(curated, asked))
        found = asked.regress("hours ~ age + sex", "linear", MANNER)
        held += [each.interval[0] <= truth <= each.interval[1] for each, truth in zip(found, truths, strict=True)]
    assert (held / 50 > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 50)).all()


def test_the_correlation_of_binned_columns() -> None:
    curated = people(4000, sd=1e-6)
    frame = binned(curated, curated.asked())
    truth = frame.age.corr(frame.hours)
    found = curated.asked().correlation("age", "hours", MANNER)
    assert found.estimate == pytest.approx(truth)
    population = curated.asked().correlation("age", "hours", Manner(about="population"))
    assert population.se == pytest.approx((1.0 - truth**2) / math.sqrt(4000), rel=0.1)  # of a normal pair


@pytest.mark.slow
def test_a_correlation_is_covered() -> None:
    curated = people(4000, sd=15.0)

    def truth(asked: Asked) -> float:
        frame = binned(curated, asked)
        return float(frame.age.corr(frame.hours))

    held = coverage(curated, lambda a: a.correlation("age", "hours", MANNER), truth, 100)
    assert held > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 100)
    wrong = coverage(curated, lambda a: a.correlation("age", "hours", MANNER), truth, 100, wrong=0.4)
    assert wrong < 0.95 - 5 * math.sqrt(0.95 * 0.05 / 100)


def maximum_likelihood(design: np.ndarray, truth: np.ndarray) -> np.ndarray:
    slopes = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-design @ slopes))
        curvature = design.T @ (design * (chance * (1.0 - chance))[:, None])
        slopes += np.linalg.solve(curvature, design.T @ (truth - chance))
    return slopes


def test_without_noise_it_is_logistic_regression() -> None:
    curated = people(1500, sd=1e-6, of=WITH_LABEL)
    asked = curated.asked()
    for formula, place in (("income ~ age", 0), ("income ~ age + sex", 1)):
        frame = binned(curated, asked, place)
        columns = [np.ones(len(frame)), frame.age, *([frame.sex == "m"] if place else [])]
        wanted = maximum_likelihood(np.column_stack(columns).astype(float), (frame.income == "high").to_numpy())
        found = asked.regress(formula, "logistic", MANNER)
        assert [each.estimate for each in found] == pytest.approx(wanted, rel=1e-5)
        assert all(each.interval is not None for each in found)


@pytest.mark.slow
def test_a_logistic_coefficient_is_covered() -> None:
    curated = people(3000, sd=15.0, of=WITH_LABEL)

    def truth(asked: Asked) -> float:
        frame = binned(curated, asked)
        design = np.column_stack([np.ones(len(frame)), frame.age, frame.sex == "m"]).astype(float)
        return float(maximum_likelihood(design, (frame.income == "high").to_numpy())[1])

    held = coverage(curated, lambda a: a.regress("income ~ age + sex", "logistic", MANNER)["age"], truth, 60)
    assert held > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 60)


def test_what_drowns_has_no_interval() -> None:
    curated = people(300, sd=500.0, of=WITH_LABEL)
    asked = curated.asked(np.random.default_rng(0), sample=lambda n, seed: curated.frame)
    for found in (
        asked.correlation("age", "hours", MANNER),
        asked.regress("hours ~ age + sex", "linear", MANNER)["age"],
        asked.regress("income ~ age + sex", "logistic", MANNER)["age"],
    ):
        assert found.interval is None
        assert "noise" in found.reason
        assert "model's own" in found.reason


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_the_same_of_rows(kind: str) -> None:
    frame = people(800).frame
    text = "hours ~ age + sex" if kind == "linear" else "income ~ age + sex"
    names, found = fit_rows(frame, Formula.of(text), SCHEMA.columns, kind)
    design = np.column_stack([np.ones(len(frame)), frame.age, frame.sex == "m"]).astype(float)
    rich = (frame.income == "high").to_numpy()
    wanted = least_squares(frame) if kind == "linear" else maximum_likelihood(design, rich)
    assert names == ["intercept", "age", "sex[m]"]
    assert found == pytest.approx(wanted, rel=1e-6)
