"""`sfumato layout`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import altered, document

import sfumato as sf


def test_a_layout_of_a_schema_and_of_a_release(folder: Path, call: Call) -> None:
    result = call("layout", "s.yaml", "-o", "l.json", "--epsilon", 1, "--delta", 1e-6, "--rows", 50_000)
    assert result.code == 0, result.err
    assert result.out.startswith("wrote l.json: 2 columns, 1 tables. No data was touched.\n")
    assert len(sf.SharedLayout.load("l.json").tables) == 1
    found = document(call("layout", "r.sfumato", "-o", "l.json", "--replace", "--json"))
    assert found["output"] == "l.json"
    assert all(set(table) <= {"age", "town", "ill"} for table in found["tables"])
    assert found["seeded"] is False


def test_a_layout_of_seeded_noise_is_marked(folder: Path, call: Call) -> None:
    assert call(*altered(output="seeded.sfumato", **{"insecure-seed": 1})).code == 0
    assert "NOT PUBLIC" in call("layout", "seeded.sfumato", "-o", "l.json").out
    result = call(*altered(layout="l.json", output="a.sfumato"))
    assert result.code == 2
    assert "the layout is of a release with seeded noise" in result.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("s.yaml",), "needs --epsilon and --delta"),
        (("r.sfumato", "--epsilon", 1), "leave --epsilon, --delta and --rows out"),
        (("s.yaml", "--epsilon", 1, "--delta", 1e-6, "--sites", 0), "sites must be a whole number"),
        (("none.yaml", "--epsilon", 1, "--delta", 1e-6), "none.yaml"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[object, ...], line: str, folder: Path, call: Call) -> None:
    result = call("layout", *arguments, "-o", "l.json")
    assert result.code == 2
    assert line in result.err
    assert result.err.count("\n") == 1
    assert not Path("l.json").exists()
