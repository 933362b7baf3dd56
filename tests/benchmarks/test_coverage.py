"""The measurement of coverage, with few rows and few releases: what is true, what is added up, and the page."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks are no part of the package

from benchmarks.coverage import __main__ as command
from benchmarks.coverage import cells, measuring, page, populations, widths
from benchmarks.coverage.cells import LINEAR, SOLVED, Cell, Tally
from benchmarks.coverage.populations import Population
from benchmarks.coverage.questions import SIMULATED, Rows, binned, pair_table
from benchmarks.coverage.releasing import Source

from sfumato.release.release import Release
from sfumato.schema.schema import Schema

ROWS = 3000


@cache
def small() -> Population:
    frame = populations.with_categories(populations.simulate(5000, 1))
    return Population("simulated", "Few rows", frame, Schema.of(populations.SIMULATED))


@cache
def made() -> tuple[Source, Rows, Release]:
    source = Source.of(small(), ROWS, 4.0, 1e-4)
    table = source.draw(ROWS, np.random.default_rng(0))
    return source, table, source.release(table.batch, 1, solved=False)


def test_answers_are_those_of_the_rows_that_were_drawn() -> None:
    _, table, release = made()
    assert {answer.what["kind"] for answer in release.answers} >= {"histograms", "distances", "tables"}
    histogram = release.answers[0]
    assert abs(histogram.values.sum() / len(release.layout.names) - ROWS) < 5 * histogram.sd.max() * 30
    assert (release.model.tilt.weights == 0.0).all()  # type: ignore[attr-defined]
    assert len(table.frame) == len(table.batch) == ROWS


def test_truths_are_those_of_the_frame() -> None:
    source, table, release = made()
    truth = {each.name: each.truth for each in SIMULATED}
    assert truth["count of visits <= 3"](table, release) == [float((table.frame["visits"] <= 3).sum())]
    assert truth["share of age >= 65"](source.rows, release) == [float((source.rows.frame["age"] >= 65).mean())]
    by = table.frame.groupby("ill", observed=True)["visits"].mean()
    assert truth["mean of visits by ill"](table, release) == [by["no"], by["yes"]]


def test_tables_are_true_in_the_levels_of_their_answer() -> None:
    _, table, release = made()
    one = binned(table, release, "visits", "score")
    expected = np.zeros((13, 10))
    np.add.at(expected, (table.frame["visits"].astype(int), table.frame["score"].astype(int)), 1)
    assert (one == expected).all(), "few values: every one has a level"
    assert binned(table, release, "age", "visits").shape[0] <= 16
    found = pair_table("visits", "score").ask(release, "table")
    noise = np.array([each.estimate for each in found]) - one.ravel()
    assert np.abs(noise).max() < 6 * found[0].se


def test_a_tally_adds_up() -> None:
    one, other = Tally(), Tally()
    one.add([True, True, False, None], 2.0)
    other.add([None], 0.0)
    other.add([True], 4.0)
    both = one.plus(other)
    assert (both.releases, both.asked, both.answered, both.with_interval) == (3, 6, 4, 2)
    assert both.coverage == pytest.approx((2 / 3 + 1) / 2)
    assert both.mean_width == 3.0
    assert np.isnan(Tally().coverage)


def test_bars() -> None:
    def tally(coverage: float, n: int = 1000) -> Tally:
        return Tally(n, n, n, n, n * coverage, n * coverage, 1.0)

    assert page.meets("count", tally(0.955))
    assert not page.meets("count", tally(0.98))
    assert page.meets("mean", tally(0.999))
    assert not page.meets("mean", tally(0.92))
    assert page.meets("correlation", tally(0.935))
    assert not page.meets("correlation", tally(0.88))


def test_the_first_round_has_the_best_linear_combination() -> None:
    release = made()[2]
    for name, (first, whole) in widths.ratios(release, widths.COMPARED["simulated"]).items():
        assert first == pytest.approx(1.0, abs=0.01), name
        assert whole > 0.99, name


@pytest.mark.slow
def test_cells_resume_and_become_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(populations.POPULATIONS, "simulated", small)
    monkeypatch.setattr(measuring, "BLOCKS", dict.fromkeys(cells.MODES, 1))
    monkeypatch.setattr(page, "PAGE", tmp_path / "coverage.md")
    said = ["--population", "simulated", "--rows", "500", "--epsilon", "4", "--mode", "linear"]
    command.main([*said, "--releases", "1"], tmp_path)
    command.main([*said, "--releases", "2"], tmp_path)
    cell = cells.load(tmp_path)["simulated", 500, 4.0, LINEAR]
    assert [block["first_seed"] for block in cell.blocks] == [0, 1]
    assert all(block["commit"] and block["command"] and block["versions"] for block in cell.blocks)
    assert cell.tallies["table|count of ill == 'yes'"].releases == 2
    rows = Cell("simulated", 500, 4.0, SOLVED, [dict(cell.blocks[0], figures={"rows|mean of visits": _sums(30, 6)})])
    rows.save(tmp_path)
    page.write(cells.load(tmp_path), tmp_path / "coverage.md", tmp_path)
    text = (tmp_path / "coverage.md").read_text()
    assert "count of ill == 'yes'" in text
    assert "rows at face value | 20 (" in text
    assert (tmp_path / page.PLOT).exists()


def _sums(releases: int, covered: int) -> dict[str, float]:
    return {
        "releases": releases,
        "asked": releases,
        "answered": releases,
        "with_interval": releases,
        "covered": covered,
        "covered_squared": covered,
        "width": 1.0 * releases,
    }
