"""`sfumato plan`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf


def test_plan_of_several_epsilons_stands_side_by_side(folder: Path, call: Call) -> None:
    result = call("plan", "s.yaml", "--rows", 400, "--epsilon", "0.5,1,2", "--delta", "1e-6", "--details")
    assert result.code == 0
    lines = {line[:34].strip(): line[34:].split() for line in result.out.splitlines() if len(line) > 40}
    assert lines["epsilon"] == ["0.5", "1", "2"]
    assert lines["mu (Gaussian DP)"][1] == "0.23671"
    losses = [float(cell) for cell in lines["expected KL, total"]]
    assert losses == sorted(losses, reverse=True)
    assert result.out.startswith("3 columns in ")
    assert " (the label ill is one of them), a guess of 400 rows\n" in result.out
    many = call("plan", "s.yaml", "--rows", 40_000, "--epsilon", "1", "--delta", "1e-6").out
    assert many.startswith("2 columns in ")
    assert " for each of the 2 classes of ill, a guess of 40000 rows\n" in many
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
    assert "of the budget, tables of pairs" in call(*arguments[:-1], "--details").out
    (without,) = document(call(*arguments, "--pairs", "none"))
    assert not any("pairs" in name for name in without["notes"])


def test_a_plan_of_clustmix_promises_no_loss(folder: Path, call: Call) -> None:
    arguments = ("plan", "s.yaml", "--epsilon", "0.5,1", "--delta", "1e-6", "--mechanism", "clustmix")
    told = call(*arguments, "--details")
    assert told.code == 0
    assert "KL" not in told.out
    assert told.out.count("share of labels") == told.out.count("\nlabels: one of 4 steps") == 1
    assert told.out.endswith("\n\nNo data was touched.\n")
    assert told.out.count("attacker's advantage") == 1
    drawn = call(*arguments, "--plot", "plan.png")
    assert drawn.code == 2
    assert (
        drawn.err == "error: the loss of clustmix and of columns in groups is not forecast: there is nothing to plot\n"
    )
    assert not Path("plan.png").exists()


PLAN = ("--mechanism", "slicing")


def test_plan_of_slicing(folder: Path, call: Call) -> None:
    base = ("plan", "s.yaml", "--epsilon", "1,2", "--delta", "1e-6", *PLAN, "--details")
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


BASE = ("plan", "s.yaml", "--delta", "1e-6", "--rows", 4000)


def test_a_plan_says_what_it_means(folder: Path, call: Call) -> None:
    said = call(*BASE, "--epsilon", 1).out
    meant = sf.outlook(sf.plan("s.yaml", epsilon=1, delta=1e-6, rows=4000))
    lines = {line[:34].strip(): line[34:].split() for line in said.splitlines()}
    assert lines["attacker's advantage"] == [f"{meant.risk.advantage:.3f}"]
    assert lines["age"][1] == f"{meant.widths.columns[0].count:.0f}"
    assert f"verdict: {meant.verdict}" in said
    (data,) = document(call(*BASE, "--epsilon", 1, "--json"))
    assert data.items() >= meant.data().items()
    assert data["periods"] is data["wishes"] is None
    both = call(*BASE, "--epsilon", "1,4").out
    assert "share of " not in both
    assert "(--details: how the budget is divided)" in both
    assert lines["age"][-1] == meant.means()["age"]
    assert "\nthe mean of age, ±" in both
    assert "\nthe mean of age, ±" not in said  # it stands in the table of columns
    assert both.index("the mean of age, ±") < both.index("\nfit for")
    assert "\nepsilon 1: fit for " in both
    assert "\nepsilon 4: fit for " in both
    assert "verdict:" not in both


def test_wishes_are_solved_for_epsilon(folder: Path, call: Call) -> None:
    wishes = ("--max-advantage", 0.5, "--tpr-at", "0.01=0.2", "--count-within", 200, "--mean", "age=2")
    found = sf.epsilon_for("s.yaml", sf.Wishes(0.5, (0.01, 0.2), 200, {"age": 2}), delta=1e-6, rows=4000)
    told = call(*BASE, *wishes)
    assert told.out.splitlines()[0] == f"{found} (at 4000 rows)"
    guessed = call("plan", "s.yaml", "--delta", "1e-6", "--max-advantage", 0.5).out
    assert guessed.splitlines()[0].endswith(" at most (at 10000 rows, a guess: give --rows)")
    (data,) = document(call(*BASE, *wishes, "--json"))
    assert (data["wishes"]["needed"], data["wishes"]["allowed"]) == (found.needed, found.allowed)
    assert data["epsilon"] == found.needed


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --epsilon, or wishes that it is found by: --max-advantage, --tpr-at, --count-within, --mean"),
        (("--epsilon", 1, "--count-within", 9), "wishes are there to find epsilon: leave out --epsilon, or the wishes"),
        (("--epsilon", "0,5"), "--epsilon 0,5 reads as 0 and 5: write 0.5"),
        (("--max-advantage", "0,1"), "--max-advantage must be a number with a decimal point, not '0,1'; write 0.1"),
        (("--mean", "town=1"), "'town' is a category: only numbers have a mean"),
        (("--mean", "ill=1"), "'ill' is "),
        (("--mean", "size=1"), "the schema has no column 'size'; it has 'age', 'town'"),
        (
            ("--max-advantage", 0.01, "--count-within", 5),
            "the wishes exclude each other: a count within 5 needs epsilon",
        ),
        (("--epsilon", 1, "--guess", "age=400"), "a guess at the mean of 'age' must lie between 0 and 100, not 400"),
        (("--epsilon", 1, "--stays", 2), "--stays belongs to --periods"),
        (("--mean", "age=1", "--mean", "age=2"), "--mean is given twice; several columns have commas between"),
        (
            ("--epsilon", 1, "--guess", "a=1", "--guess=b=2"),
            "--guess is given twice; several columns have commas between: --guess age=0.5,hours=1",
        ),
        (("--count-within", 9, "--count-within", 8), "--count-within is given twice, and only one would count"),
        (("--epsilon", 1, "--periods", 0), "--periods must be a whole number from 1 to 16384, not 0"),
    ],
)
def test_slips_get_one_line(options: tuple[object, ...], said: str, folder: Path, call: Call) -> None:
    refused = call(*BASE, *options)
    assert refused.code == 2
    assert refused.err.startswith(f"error: {said}")
    assert refused.err.count("\n") == 1
    assert refused.out == ""


def test_a_mean_that_says_little_is_marked_and_what_helps_is_told(folder: Path, call: Call) -> None:
    Path("s.yaml").write_text("columns: {days: {type: number, min: 0, max: 180, step: 0.1}, ill: {type: boolean}}\n")
    said = call(*BASE[:-1], 3000, "--epsilon", 1).out
    assert "wide mean" in next(line for line in said.splitlines() if line.startswith("days "))
    assert "\nwide means (days): ± more than 5 % of the way" in said
    assert " with half the range (0..90), " in said
    (data,) = document(call(*BASE[:-1], 3000, "--epsilon", 1, "--json"))
    assert [each["wide_mean"] for each in data["widths"]["columns"]] == [True, False]
    assert "wide mean" not in call(*BASE[:-1], 10**6, "--epsilon", 1).out


def test_periods(folder: Path, call: Call) -> None:
    said = call(*BASE, "--epsilon", "0.5,1", "--periods", 10, "--stays", 3).out
    assert "10 periods, a release at epsilon 0.5 each: a person in 3 of them pays epsilon " in said
    assert "10 periods, a release at epsilon 1 each: a person in 3 of them pays epsilon 1.8" in said
    assert said.count("Rows do not tell who is new") == 1
    (data,) = document(call(*BASE, "--epsilon", 1, "--periods", 10, "--json"))
    assert data["periods"]["stays"] == 10
    assert data["periods"]["all_periods"]["epsilon"] == pytest.approx(3.53, abs=0.01)


def test_a_delta_that_leaves_out_whole_rows_is_told(call: Call, folder: Path) -> None:
    large = call("plan", "s.yaml", "--epsilon", 1, "--delta", 0.01, "--rows", 400)
    assert "delta 0.01 is more than 1 / rows" in large.out
    assert "epsilon 50 promises little" in call("plan", "s.yaml", "--epsilon", 50, "--delta", 1e-6, "--rows", 400).out
    assert "is more than 1 / rows" not in call("plan", "s.yaml", "--epsilon", 1, "--delta", 0.0025, "--rows", 400).out
