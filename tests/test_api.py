"""What `fit` does with a mechanism: nothing that a mechanism says can make a release promise what was not paid for."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.mechanisms.toy import Independent

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.mechanisms import Plan, Public
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine

SCHEMA = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "ward": {"type": "category", "values": ["north", "south"]},
        "ill": {"type": "category", "values": ["yes", "no"]},
    },
}
TABLE = pd.DataFrame({"age": [41, 52, 7], "ward": ["north", "south", "north"], "ill": ["yes", "no", "no"]})


@dataclass(frozen=True)
class Greedy(Independent):
    """Plans to spend ten times what there is."""

    def plan(self, public: Public) -> Plan:
        """Ten times the mu."""
        return replace(super().plan(public), mu=10.0 * public.mu)


@dataclass(frozen=True)
class Pretending(Independent):
    """Plans as if another adjacency, and another epsilon, had been asked for."""

    def plan(self, public: Public) -> Plan:
        """The facts changed."""
        changed = replace(public, adjacency=Adjacency.LABEL, epsilon=1e-3, delta=1e-30)
        return replace(super().plan(public), public=changed)


def test_a_plan_that_spends_more_than_was_asked_for_is_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    monkeypatch.setattr(LocalEngine, "total", lambda self, query: looked.append(query))
    ledger = sf.Ledger(tmp_path / "l.db")
    ledger.open("clinic", epsilon=2, delta=1e-6)
    with pytest.raises(ArgumentError, match="do not cover what may be spent"):
        sf.fit(TABLE, SCHEMA, epsilon=1, delta=1e-6, mechanism=Greedy(), ledger=ledger, dataset="clinic")
    assert not looked
    assert ledger.accounts("clinic")[0].entries == ()


def test_a_guarantee_is_of_what_was_asked_for_whatever_a_plan_says() -> None:
    made = sf.fit(TABLE, SCHEMA, epsilon=1, delta=1e-6, mechanism=Pretending()).guarantee
    assert (made.epsilon, made.delta, made.adjacency) == (1.0, 1e-6, Adjacency.ADD_REMOVE)
    assert made.spends[0].sensitivity == pytest.approx(1.0)


def test_answers_travel_with_the_release_and_are_those_that_were_charged(tmp_path: Path) -> None:
    release = sf.fit(TABLE, SCHEMA, epsilon=1, delta=1e-6, rows=30_000)
    assert [answer.name for answer in release.answers] == [spend.name for spend in release.guarantee.spends]
    assert release.answers[0].what == {"kind": "histograms", "classes": 2, "bins": [100, 2], "nowhere": "first"}
    assert release.answers[0].values.shape == release.answers[0].sd.shape == (208,)
    release.save(tmp_path / "whole.sfumato")
    release.save(tmp_path / "compact.sfumato", compact=True)
    loaded: Any = sf.load(tmp_path / "whole.sfumato")
    for kept, answer in zip(loaded.answers, release.answers, strict=True):
        assert (kept.name, kept.what) == (answer.name, answer.what)
        assert np.array_equal(kept.values, answer.values)
        assert np.array_equal(kept.sd, answer.sd)
    assert sf.load(tmp_path / "compact.sfumato").answers == ()


@pytest.mark.parametrize("call", [sf.fit, sf.plan])
def test_there_are_few_parameters_and_none_of_one_mechanism(call: Any) -> None:
    names = set(inspect.signature(call).parameters)
    assert len(names) <= 14
    assert not names & {"components", "adapt", "alpha", "sigma_max", "form", "slices", "training", "module", "encoding"}
