"""The verdict: one word by the blur, and what was measured of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.planning.verdict import GOOD_FOR_TABLES, GOOD_FOR_TRAINING, MOST_LOST, Verdict

ADULT = Path(sf.__file__).parent / "data" / "adult.schema.yaml"
MEASURED = Path(__file__).parents[2] / "benchmarks" / "planning" / "results" / "usefulness.json"


@pytest.mark.parametrize(
    ("rows", "epsilon", "fit_for"),
    [(157, 1, "nothing"), (157, 4, "nothing"), (5_000, 1, "tables"), (32_561, 0.5, "training")],
)
def test_adult_and_parts_of_it(rows: int, epsilon: float, fit_for: str) -> None:
    found = sf.outlook(sf.plan(ADULT, epsilon=epsilon, delta=1e-5, rows=rows)).verdict
    assert found.fit_for == fit_for
    assert str(found).startswith(f"fit for {fit_for}")


def test_the_bounds_are_the_words_last_cases() -> None:
    for bound, below, above in ((GOOD_FOR_TRAINING, "training", "tables"), (GOOD_FOR_TABLES, "tables", "nothing")):
        assert Verdict.at(bound).fit_for == below
        assert Verdict.at(1.001 * bound).fit_for == above


def test_it_says_what_rows_may_be_used_for() -> None:
    assert "rows to try things out with; a model trained on such rows is weaker" in str(Verdict.at(0.04))
    assert str(Verdict.at(0.2)) == f"{Verdict.at(0.2).told()}; take more rows, fewer columns or bins, or more epsilon"


@pytest.mark.skipif(not MEASURED.exists(), reason="no results beside an installed package")
def test_parts_of_adult_that_were_measured_agree() -> None:
    """Tables of single columns, and classifiers that learn from the rows, are what the verdict says of them."""
    cells = json.loads(MEASURED.read_text())["cells"]
    seen = set()
    for key, releases in cells.items():
        data, rows, epsilon = key.split()
        if data == "adult":
            verdict = sf.outlook(sf.plan(ADULT, epsilon=float(epsilon), delta=1e-5, rows=int(rows))).verdict
            off, lost = (
                sum(figures) / len(releases)
                for figures in zip(*((r["tv1"], r["auc_of_these_rows"] - r["auc"]) for r in releases), strict=True)
            )
            assert off < 0.1 or verdict.fit_for == "nothing", key
            assert off > 0.05 or verdict.fit_for != "nothing", key
            assert lost < 0.025 or verdict.fit_for != "training", key
            assert lost < MOST_LOST or verdict.fit_for == "nothing", key
            seen.add(verdict.fit_for)
    assert seen == {"training", "tables", "nothing"}
