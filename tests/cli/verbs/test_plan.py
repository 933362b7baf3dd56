"""`sfumato plan`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import document


def test_plan_of_several_epsilons_stands_side_by_side(folder: Path, call: Call) -> None:
    result = call("plan", "s.yaml", "--rows", 400, "--epsilon", "0.5,1,2", "--delta", "1e-6")
    assert result.code == 0
    lines = {line[:34].strip(): line[34:].split() for line in result.out.splitlines() if len(line) > 40}
    assert lines["epsilon"] == ["0.5", "1", "2"]
    assert lines["mu (Gaussian DP)"][1] == "0.23670"
    losses = [float(cell) for cell in lines["expected KL, total"]]
    assert losses == sorted(losses, reverse=True)
    assert "a guess of 400 rows" in result.out
    assert "No data was touched" in result.out
    assert result.err == ""


def test_plan_as_json(folder: Path, call: Call) -> None:
    found = document(call("plan", "s.yaml", "--epsilon", "0.5,1", "--delta", "1e-6", "--json"))
    assert [each["epsilon"] for each in found] == [0.5, 1.0]
    for each in found:
        assert sum(r["share"] for r in each["rounds"]) == pytest.approx(1.0)
        parts = {k: v for k, v in each["expected_kl"].items() if k != "total"}
        assert each["expected_kl"]["total"] == pytest.approx(sum(parts.values()))
        assert each["rows"] == 10_000


def test_a_plan_tells_of_tables_of_pairs(folder: Path, call: Call) -> None:
    arguments = ("plan", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "--json")
    (made,) = document(call(*arguments))
    assert made["notes"]["of the budget, tables of pairs"] == "40%"
    assert sum(each["share"] for each in made["rounds"] if each["title"][-1].isdigit()) == pytest.approx(0.4)
    assert "of the budget, tables of pairs" in call(*arguments[:-1]).out
    (without,) = document(call(*arguments, "--pairs", "none"))
    assert not any("pairs" in name for name in without["notes"])


def test_a_plan_of_clustmix_promises_no_loss(folder: Path, call: Call) -> None:
    arguments = ("plan", "s.yaml", "--epsilon", "0.5,1", "--delta", "1e-6", "--mechanism", "clustmix")
    told = call(*arguments)
    assert told.code == 0
    assert "KL" not in told.out
    assert told.out.count("share of labels") == told.out.count("\nlabels: one of 4 steps") == 1
    assert told.out.endswith("\n\nNo data was touched.\n")
    drawn = call(*arguments, "--plot", "plan.png")
    assert drawn.code == 2
    assert (
        drawn.err == "error: the loss of clustmix and of columns in groups is not forecast: there is nothing to plot\n"
    )
    assert not Path("plan.png").exists()


PLAN = ("--mechanism", "slicing")


def test_plan_of_slicing(folder: Path, call: Call) -> None:
    base = ("plan", "s.yaml", "--epsilon", "1,2", "--delta", "1e-6", *PLAN)
    shown = call(*base).out
    assert "share of histograms" in shown
    assert "share of waves" in shown
    assert "slices: class sums of waves on random slices of 2 dimensions" in shown
    rows = ("--form", "rows", "--adjacency", "replace-one")
    shown = call(*base, *rows).out
    assert "slices: noisy rows, which tell more than as many projections would" in shown
    assert "share of rows" in shown
    shown = call(*base, *rows, "--slices", 1).out
    assert "slices: 2 noisy projections of every row (slices of 2 dimensions)" in shown
    assert "noise on a number of a row" in shown
    first, second = document(call(*base, *rows, "--slices", 1, "--json"))
    assert first["mechanism"] == "slicing"
    assert first["slices"][0]["projections"] == 2
    assert first["slices"][0]["sigma"] > second["slices"][0]["sigma"]
    assert document(call("plan", "s.yaml", "--epsilon", 1, "--delta", "1e-6", "--json"))[0]["slices"] == []
