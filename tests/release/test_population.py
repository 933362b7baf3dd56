"""Draws of the population: their spread is that of noise and of sampling, and who may not have any."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.asking.evidence import read_rounds
from sfumato.errors import ArgumentError
from sfumato.models.column_label import ColumnLabelModel
from sfumato.release.population import Known, bought_noise

ROWS = 2000
SCHEMA = {
    "label": "ill",
    "columns": {
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Kiel"]},
        "age": {"type": "number", "min": 0, "max": 9, "step": 1},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}


@cache
def release() -> sf.Release:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 10, ROWS)
    town = np.where(rng.random(ROWS) < age / 10, "Ulm", rng.choice(["Bonn", "Kiel"], ROWS))
    table = pd.DataFrame({"town": town, "age": age, "ill": np.where(rng.random(ROWS) < 0.3, "yes", "no")})
    return sf.fit(table, SCHEMA, epsilon=1, delta=1e-6, rows=ROWS, insecure_seed=1)


def test_draws_are_of_ten_times_the_rows_and_repeatable() -> None:
    one, other = release().sample(draws=2, seed=3)
    assert abs(len(one) - 10 * ROWS) < 0.1 * 10 * ROWS
    assert not one.equals(other)
    assert one.equals(release().sample(draws=2, seed=3)[0])
    assert [len(frame) for frame in release().sample(70_000, draws=2)] == [70_000, 70_000]
    assert set(release().sample(50, draws=2, where="age > 5")[0]["age"]) <= {6, 7, 8, 9}


@pytest.mark.slow
@pytest.mark.parametrize("share", ["town == 'Kiel'", "ill == 'yes'"])
def test_the_spread_of_a_share_is_that_of_noise_and_sampling(share: str) -> None:
    """Sampling gives a share the variance p (1 - p) / N, and noise adds to it, here less than three times as much."""
    drawn = np.array([frame.eval(share).mean() for frame in release().sample(draws=60, seed=0)])
    sampling = drawn.mean() * (1 - drawn.mean()) / ROWS
    assert 0.5 * sampling < drawn.var(ddof=1) < 6.0 * sampling
    assert abs(drawn.mean() - release().sample(20_000, seed=1).eval(share).mean()) < 0.03


@pytest.mark.slow
def test_less_noise_is_less_spread() -> None:
    known = Known.of(release().model, release().answers)
    sure = replace(known, sd=known.sd * 1e-3)
    cell = np.argmax(known.held)
    assert known.sd[cell] > 5.0

    def spread(of: Known) -> float:
        drawn = [of.population(rng) for rng in np.random.default_rng(5).spawn(40)]
        return float(np.var([(each.shares * (each.columns[1] < 5)).sum() for each in drawn]))

    assert spread(sure) < spread(known)


def test_noise_of_a_table_bought_twice_is_less() -> None:
    rounds = read_rounds(release().answers, release().layout)
    bought = [each for each in rounds if each.kind == "tables"][:1]
    once, twice = (bought_noise(some, release().layout) for some in (bought, bought * 2))
    assert once
    assert all(twice[table] == pytest.approx(sd / np.sqrt(2)) for table, sd in once.items())


def test_a_label_that_is_a_column_is_drawn_too() -> None:
    """At so few rows the label is asked for like all other columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": rng.choice(["Ulm", "Bonn"], 200), "age": rng.integers(0, 10, 200), "ill": "no"})
    many = {"type": "category", "values": ["no", *map(str, range(30))]}
    schema = {"label": "ill", "columns": SCHEMA["columns"] | {"ill": many}}  # type: ignore[operator]
    small = sf.fit(table, schema, epsilon=0.5, delta=1e-3, rows=200, insecure_seed=1)
    assert isinstance(small.model, ColumnLabelModel)
    drawn = small.sample(500, draws=2, seed=0)
    assert [list(frame) for frame in drawn] == [["town", "age", "ill"]] * 2
    assert (drawn[0]["ill"] == "no").mean() > 0.2


def test_who_may_not_have_draws(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="2 or more"):
        release().sample(draws=1)
    with pytest.raises(ArgumentError, match="use where="):
        release().sample(draws=2, given={"age": 3})  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="only draws="):
        release().sample()  # type: ignore[call-overload]
    people = sf.Schema.of(SCHEMA | {"columns": SCHEMA["columns"], "unit": {"column": "id", "rows": 2}})
    with pytest.raises(ArgumentError, match="independent"):
        replace(release(), schema=people).sample(draws=2)
    release().save(tmp_path / "small.sfumato", compact=True)
    with pytest.raises(ArgumentError, match="saved without"):
        sf.load(tmp_path / "small.sfumato").sample(draws=2)
    with pytest.raises(ArgumentError, match="tables of pairs"):
        replace(release(), model=release().model.base).sample(draws=2)  # type: ignore[attr-defined]
