"""`sf.update`: new people only, said so; fitted like any table, and counted like any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.merging.sites import SCHEMA, adaptive, site, table
from tests.serving.servers import QUICK, Place, listening, people

import sfumato as sf
from sfumato.errors import ArgumentError, BudgetError

pytestmark = pytest.mark.usefixtures("small_pool")
TERMS = {"epsilon": 1, "delta": 1e-6, "rows": 1000}


def test_new_people_are_asked_on_the_layout_and_added() -> None:
    first = adaptive(1)
    made = sf.update(first, table(7, 1000), new_people="admitted from 2026 on", **TERMS)
    joint = made.guarantee.joint
    assert joint is not None
    assert joint.rules == ("admitted from 2026 on",)
    assert [part.guarantee.epsilon for part in joint.parts] == [2.0, 1.0]
    assert joint.own is not None
    assert joint.own.epsilon == 2.0
    assert [each.name for each in joint.parts[1].guarantee.spends] == [
        "histograms",
        "moments",
        "moments again",
        "tables",
    ], "nothing is spent on choosing bins and tables"
    (histograms, *_) = made.answers
    assert abs(histograms.values.sum() / 3 - 3000) < 500
    again = sf.update(made, table(8, 1000), new_people=True, **TERMS)
    assert again.guarantee.joint is not None
    assert again.guarantee.joint.groups == 3


@pytest.mark.parametrize("said", [False, None, "", 1])
def test_that_they_are_new_has_to_be_said(said: object) -> None:
    with pytest.raises(ArgumentError, match="say so by new_people=True"):
        sf.update(site(1), "no such file.csv", new_people=said, **TERMS)


def test_a_ledger_counts_the_new_rows_and_keeps_its_cap(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "l.db")
    ledger.open("clinic 2026", epsilon=1.2, delta=1e-6)
    counted = {"ledger": ledger, "dataset": "clinic 2026"}
    made = sf.update(site(1), table(7, 500), new_people=True, **TERMS, **counted)
    (account,) = ledger.accounts()
    joint = made.guarantee.joint
    assert joint is not None
    assert joint.parts[1].guarantee.entry == account.counted[0].id
    with pytest.raises(BudgetError):
        sf.update(made, table(8, 500), new_people=True, **TERMS, **counted)
    assert len(ledger.accounts()[0].counted) == 1


def test_what_cannot_be_merged_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "l.db")
    ledger.open("clinic", epsilon=5, delta=1e-6)
    counted = {"ledger": ledger, "dataset": "clinic"}
    clustered = sf.fit(table(1), SCHEMA, mechanism="clustmix", epsilon=2, delta=1e-6)
    path = tmp_path / "compact.sfumato"
    site(1).save(path, compact=True)
    (histograms, *others) = site(1).answers
    false = replace(site(1), answers=(replace(histograms, what={**histograms.what, "classes": 3}), *others))
    for release, line in (
        (clustered, "mechanism 'clustmix'"),
        (sf.load(path), "compact release"),
        (false, "not what they say they are"),
    ):
        with pytest.raises(ArgumentError, match=line):
            sf.update(release, table(7), new_people=True, **TERMS, **counted)
    assert not ledger.accounts()[0].counted


def test_the_mark_of_a_seed_survives() -> None:
    made = sf.update(site(1), table(7, 500), new_people=True, insecure_seed=3, **TERMS)
    assert not made.guarantee.secure
    assert np.isfinite(made.answers[0].values).all()
    with pytest.raises(ArgumentError, match="the layout is of a release with seeded noise, which tells of its rows"):
        sf.update(made, table(8, 500), new_people=True, **TERMS)


@pytest.mark.slow
def test_new_people_behind_a_server_are_asked_there(tmp_path: Path) -> None:
    """The release is that of an update beside the table, with the same seed."""
    place = Place(tmp_path, seed=7)
    first = sf.fit(people(), place.schema, epsilon=1, delta=1e-6, mechanism=QUICK, insecure_seed=1)
    terms = {"epsilon": 0.5, "delta": 1e-6, "new_people": "admitted from 2026 on"}
    here = sf.update(first, tmp_path / "table.parquet", insecure_seed=7, **terms)
    with listening(place) as address:
        there = sf.update(first, sf.remote(address), **terms)
        with pytest.raises(ArgumentError, match="ledger must be left out"):
            sf.update(first, sf.remote(address), ledger=tmp_path / "l.db", dataset="people", **terms)
    assert there.guarantee == here.guarantee
    for one, other in zip(there.answers, here.answers, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
