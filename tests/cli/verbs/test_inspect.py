"""`sfumato inspect`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import FIT, SCHEMA, altered, document


def test_inspect(folder: Path, call: Call) -> None:
    result = call("inspect", "r.sfumato")
    assert result.code == 0
    for words in ("(1, 1e-06)-differentially private", "moments", "Classes of ill", "town", "this release only"):
        assert words in result.out
    found = document(call("inspect", "r.sfumato", "--json"))
    assert found["mechanism"] == "mixture"
    assert found["guarantee"]["delta"] == 1e-6
    assert found["schema"]["label"] == "ill"


def told(call: Call, *options: str, schema: str = "s.yaml") -> str:
    """The paragraph under the guarantee, of a release made with these options."""
    assert call(*altered(schema=schema), *options).code == 0
    out = call("inspect", "new.sfumato").out
    return " ".join(out.split("Guarantee  ")[1].split("\n\n")[0].split())


def test_what_it_is_worth_is_told_by_fit_and_inspect(folder: Path, call: Call) -> None:
    Path("few.csv").write_text("".join(Path("data.csv").read_text().splitlines(keepends=True)[:40]))
    told = call("fit", "few.csv", *FIT[2:]).out
    assert "\nfit for nothing: noise is " in told
    assert "\nWorth      fit for nothing: noise is " in call("inspect", "new.sfumato").out
    assert document(call("inspect", "new.sfumato", "--json"))["verdict"]["fit_for"] == "nothing"


def test_the_promise_is_true_of_each_adjacency(folder: Path, call: Call) -> None:
    present = "whether or not any one row was in the table"
    assert present in told(call)
    assert "whatever any one row said (how many rows there are is public)" in told(call, "--adjacency", "replace-one")
    of_labels = told(call, "--adjacency", "label")
    assert "whatever the label of any one row was" in of_labels
    assert present not in of_labels


@pytest.mark.parametrize("slices", [(), ("--slices", "1")], ids=["noisy rows", "slices"])
def test_the_promise_of_a_file_of_noisy_rows(slices: tuple[str, ...], folder: Path, call: Call) -> None:
    options = ("--mechanism", "slicing", "--no-training", "--form", "rows", "--adjacency", "replace-one", *slices)
    text = told(call, *options)
    assert "every row is in it, with noise, and how many rows there are is public" in text
    assert "whether or not" not in text


def test_the_promise_of_a_unit(folder: Path, call: Call) -> None:
    town = "  town: {type: category, values: [Ulm, Bonn], missing: true}\n"
    Path("unit.yaml").write_text("unit: {column: town, rows: 200}\n" + SCHEMA.replace(town, ""))
    assert "whether or not the rows of any one town were in the table" in told(call, schema="unit.yaml")


def test_a_seeded_release_promises_nothing(folder: Path, call: Call) -> None:
    text = told(call, "--insecure-seed", "1")
    assert text.startswith("NOT PRIVATE")
    assert text.endswith("Nothing is promised: whoever has the seed can take the noise away.")


def test_what_fitted_no_bin_is_told_by_fit_and_inspect(folder: Path, call: Call) -> None:
    fits = "all columns fit their bins, within noise"
    assert fits in call(*altered(), "--insecure-seed", "1").out
    assert fits in call("inspect", "new.sfumato").out
    Path("s.yaml").write_text(SCHEMA.replace("[Ulm, Bonn], missing: true", "[Rome]"))
    fitted = call(*altered(), "--insecure-seed", "1").out
    told = [line for line in fitted.splitlines() if line.endswith("of `town` fits no bin")]
    assert len(told) == 1
    assert told[0] in call("inspect", "new.sfumato").out
    found = document(call("inspect", "new.sfumato", "--json"))["unread"]
    assert found["town"]["share"] > 0.8
    assert found["age"]["share"] < 0.2
    assert document(call(*altered(), "--insecure-seed", "1", "--json"))["unread"] == found
