"""What an evaluation holds: figures with their spread, as plain data, and private wherever it shows."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from sfumato.evaluation.column_shares import Shares
from sfumato.evaluation.release_evaluation import (
    PRIVATE,
    ColumnFigures,
    Compared,
    Evaluation,
    FewFigures,
    PairFigures,
    RuleFigures,
)

SHARES = Shares(("a", "b & <i>"), (0.25, 0.75), (0.5, 0.5))
FOUND = Evaluation(
    release="pretended, nothing is promised",
    rows={"train": 1000, "test": 500, "sample": 1000},
    samples=3,
    seed=5,
    target="in<come",
    measures={
        "lightgbm": Compared(0.8, 0.01, 0.9, 0.5),
        "tv2": Compared(0.05, 0.002, 0.04, 0.2),
        "nearer_train": Compared(0.5, 0.01),
    },
    columns=(
        ColumnFigures("in<come", Compared(0.25), Compared(0.3, 0.1, 0.1), Compared(0.8, 0.1, 0.9), SHARES),
        ColumnFigures("plain", Compared(0.01, None, 0.01)),
    ),
    pairs=(PairFigures(("in<come", "plain"), Compared(0.3, 0.1, 0.1, 0.4)),),
    groups=(FewFigures("sex = f, town = <Ulm>", Compared(0.004, 0.001, 0.01), 0.6, 0.2),),
    rare=(FewFigures("town = Bonn", Compared(0.0, 0.0, 0.002), 1.0),),
    rules=(RuleFigures("a <= b", Compared(0.01, 0.0, 0.02)),),
    notes=("Something was left out.",),
)


def test_figures_of_samples() -> None:
    assert Compared.of([1.0, 3.0], 1.5, 4.0) == Compared(2.0, pytest.approx(math.sqrt(2)), 1.5, 4.0)
    assert Compared.of([1.0]) == Compared(1.0)
    assert Compared.of([1.0, math.nan], math.nan) == Compared(1.0)
    assert math.isnan(Compared.of([math.nan]).mean)
    assert Compared(2.0, real=0.5).excess == 1.5
    assert Compared(2.0).excess == 2.0


def test_plain_data_says_that_it_is_private() -> None:
    data = FOUND.to_dict()
    assert data["private"] == PRIVATE
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["measures"]["tv2"] == {
        "mean": 0.05,
        "sd": 0.002,
        "real": 0.04,
        "independent": 0.2,
        "more_is_better": False,
    }
    assert data["pairs"][0]["names"] == ["in<come", "plain"]
    assert "No measure of privacy" in data["closest_record"]


def test_it_is_frozen_and_private_in_a_shell_too() -> None:
    assert repr(FOUND).startswith("Evaluation(PRIVATE, pretended")
    with pytest.raises(FrozenInstanceError):
        FOUND.seed = 3  # type: ignore[misc]
