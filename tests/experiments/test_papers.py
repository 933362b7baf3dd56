"""docs/papers.md is what the result files say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments import papers


def test_the_page_is_up_to_date() -> None:
    assert papers.PAGE.read_text() == papers.page(), "python -m experiments.papers"


def test_a_claim_without_results_is_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(papers, "HERE", tmp_path)
    lines = papers.page().splitlines()
    assert not any("not measured" in line for line in lines if "| Theorem 1 |" in line)  # needs no file
    for place in ("Figure 10", "Table 1", "Figure 3", "Methods", "Remark 2", "Example 3"):
        there = [line for line in lines if f"| {place} |" in line]
        assert there, place
        assert all("| not measured | - |" in line for line in there), place


def test_every_claim_is_measured() -> None:
    assert "not measured" not in papers.PAGE.read_text()


def test_a_name_that_a_file_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "BASELINES", ("laplace", "no such line"))
    with pytest.raises(KeyError, match="no such line"):
        papers.page()


def test_every_link_leads_somewhere() -> None:
    for claims in (paper[2] for paper in papers.PAPERS):
        for claim in claims:
            target = claim.page.partition("(")[2].rstrip(")")
            assert (papers.PAGE.parent / target).exists(), claim.page
