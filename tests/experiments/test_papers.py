"""docs/papers.md is what the result files say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments import papers


def test_the_page_is_up_to_date() -> None:
    assert papers.PAGE.read_text() == papers.page(), "python -m experiments.papers"


def test_a_claim_without_results_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(papers, "HERE", tmp_path)
    page = papers.page()
    assert "Theorem 1" in page  # needs no file
    assert "Figure 10" not in page
    assert "Table 1 |" not in page


def test_every_link_leads_somewhere() -> None:
    for claims in (paper[2] for paper in papers.PAPERS):
        for claim in claims:
            target = claim.page.partition("(")[2].rstrip(")")
            assert (papers.PAGE.parent / target).exists(), claim.page
