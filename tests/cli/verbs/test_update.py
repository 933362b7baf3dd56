"""`sfumato update`."""

from __future__ import annotations

from pathlib import Path

from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf

UPDATE = ("update", "r.sfumato", "data.csv", "--epsilon", "0.5", "--delta", "1e-6", "-o", "new.sfumato")


def test_new_people_are_added(folder: Path, call: Call) -> None:
    result = call(*UPDATE, "--rule", "admitted from 2026 on")
    assert result.code == 0, result.err
    assert "told apart by: admitted from 2026 on" in result.out
    assert "sfumato check" in result.out
    joint = sf.load("new.sfumato").guarantee.joint
    assert joint is not None
    assert [part.guarantee.epsilon for part in joint.parts] == [1.0, 0.5]
    sf.Ledger("l.db").open("new", 1, 1e-6)
    again = (*UPDATE, "--new-people", "--ledger", "l.db", "--dataset", "new", "--json")
    assert "new.sfumato is there already" in call(*again).err
    found = document(call(*again, "--replace"))
    (entry,) = sf.Ledger("l.db").accounts()[0].counted
    assert found["guarantee"]["joint"]["parts"][1]["guarantee"]["entry"] == entry.id


def test_that_they_are_new_has_to_be_said(folder: Path, call: Call) -> None:
    result = call(*UPDATE)
    assert result.code == 2
    assert "say so by new_people=True" in result.err
    assert result.err.count("\n") == 1
    assert not Path("new.sfumato").exists()


def test_what_is_merged_is_not_written_over(folder: Path, call: Call) -> None:
    before = Path("r.sfumato").read_bytes()
    result = call(*UPDATE, "-o", "r.sfumato", "--new-people")
    assert result.code == 2
    assert "r.sfumato is a release that is to be merged" in result.err
    assert Path("r.sfumato").read_bytes() == before


def test_rows_may_be_a_server_s(folder: Path, call: Call) -> None:
    release, _, *rest = UPDATE[1:]
    result = call("update", release, "unix:none.sock", *rest, "--new-people")
    assert result.code == 2
    assert "no curator answers at unix:none.sock" in result.err
    assert result.err.count("\n") == 1
