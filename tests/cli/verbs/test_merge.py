"""`sfumato merge`."""

from __future__ import annotations

from pathlib import Path

from tests.calls import Call
from tests.cli.lines import altered, document

import sfumato as sf


def fitted(call: Call, *names: str) -> None:
    """Releases on one layout."""
    call("layout", "s.yaml", "-o", "l.json", "--epsilon", 1, "--delta", 1e-6, "--rows", 50_000)
    for name in names:
        result = call(*altered(layout="l.json", output=name))
        assert result.code == 0, result.err


def test_sites_are_merged(folder: Path, call: Call) -> None:
    fitted(call, "a.sfumato", "b.sfumato")
    result = call("merge", "a.sfumato", "b.sfumato", "-o", "all.sfumato")
    assert "all.sfumato is there already" in call("merge", "a.sfumato", "b.sfumato", "-o", "all.sfumato").err
    assert result.code == 0, result.err
    assert result.out.startswith("wrote all.sfumato\nmerged from releases of 2 groups of different people: (1, 1e-06)")
    shown = call("inspect", "all.sfumato").out
    assert "release 2, of people 2: histograms mu" in shown
    assert "no conclusion has more than exp(1)" in " ".join(shown.split()), "whoever is in one of them"
    assert call("sample", "all.sfumato", "-n", 5, "-o", "rows.csv").code == 0
    found = document(call("merge", "a.sfumato", "b.sfumato", "-o", "same.sfumato", "--same-people", "--json"))
    assert len(found["guarantee"]["joint"]["parts"]) == 2
    assert sf.load("same.sfumato").guarantee.joint.groups == 1


def test_what_cannot_be_merged_is_said_in_one_line(folder: Path, call: Call) -> None:
    for arguments, line in (
        (("r.sfumato",), "two releases or more"),
        (("r.sfumato", "r.sfumato"), "there twice"),
        (("r.sfumato", "none.sfumato"), "none.sfumato does not exist"),
        (
            ("r.sfumato", "./all.sfumato"),
            "all.sfumato is a release that is to be merged; write the merged one somewhere",
        ),
    ):
        result = call("merge", *arguments, "-o", "all.sfumato")
        assert result.code == 2
        assert line in result.err
        assert result.err.count("\n") == 1
    assert not Path("all.sfumato").exists()
