"""Answers of several releases on common bins: sums, averages, their noise; and answers that are not what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.merging.sites import SCHEMA, TERMS, adaptive, site, table

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError
from sfumato.guarantee import NoisyAnswer
from sfumato.merging.common_answers import (
    Noisy,
    Told,
    added,
    averaged,
    check_same_table,
    common,
    joined_partitions,
    told_by,
)
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

KNOWN = Schema.of(SCHEMA)
PLAIN = Layout.of(KNOWN)


def told(release: sf.Release, layout: Layout = PLAIN) -> Any:
    return told_by(release.answers, layout, "release 1")


def test_sums_and_averages_have_the_noise_that_theory_says() -> None:
    """Of 4,000 pairs of numbers with noise of sd 3 and 4; limits are five standard errors."""
    rng = np.random.default_rng(0)
    one, two = (Noisy(10.0 + rng.normal(0, sd, 4000), np.full(4000, sd**2)) for sd in (3.0, 4.0))
    total, mean = added([one, two]), averaged([one, two])
    assert np.allclose(total.variances, 25.0)
    assert np.allclose(mean.variances, 1.0 / (1.0 / 9.0 + 1.0 / 16.0))
    for found, expected in ((total, 20.0), (mean, 10.0)):
        spread = float(np.sqrt(found.variances[0]))
        assert abs(found.counts.mean() - expected) < 5 * spread / np.sqrt(4000)
        assert abs(found.counts.std() / spread - 1.0) < 5 / np.sqrt(2 * 4000)


def test_noise_alone_does_not_make_two_tables() -> None:
    """The chance of an alarm is below 1e-11 for all of them; 40 more rows of one town are seen."""
    rng = np.random.default_rng(0)
    shapes = [(PLAIN.classes, 1 + len(bins.cell_starts)) for bins in PLAIN.bins]
    starts = tuple(bins.cell_starts for bins in PLAIN.bins)

    def once(more: float) -> Told:
        noisy = [Noisy(50.0 + rng.normal(0.0, 3.0, shape), np.full(shape, 9.0)) for shape in shapes]
        noisy[2].counts[0, 1] += more
        return Told(starts, tuple(noisy), starts, (), {})

    for _ in range(20):
        check_same_table([once(0.0), once(0.0)], PLAIN, whole=True)
    check_same_table([once(0.0), once(40.0)], PLAIN, whole=False)
    with pytest.raises(ArgumentError, match="releases 1 and 3 differ in 'town' by more than noise"):
        check_same_table([once(0.0), once(0.0), once(60.0)], PLAIN, whole=True)


def test_on_one_layout_answers_add_up_number_by_number() -> None:
    several = [told(site(seed)) for seed in (1, 2)]
    known = common(several, KNOWN, PLAIN, added)
    for c, column in enumerate(known.histograms):
        assert np.allclose(column.counts, sum(each.histograms[c].counts for each in several))
        assert np.allclose(column.variances, sum(each.histograms[c].variances for each in several))
    for table_, found in zip(known.shared.tables, known.tables, strict=True):
        assert np.allclose(found.counts, sum(each.tables[table_].counts for each in several))
    assert known.shared.tables == tuple(several[0].tables)


def test_counts_keep_their_totals_and_variances_on_coarser_bins() -> None:
    """A release and one on its layout have different bins of `pay`; those that both have are merged at."""
    first = adaptive(1)
    second = sf.fit(
        table(2), SCHEMA, epsilon=2, delta=1e-6, mechanism=sf.Mixture(layout=first, tuning=SHORT), rows=2000
    )
    several = [told(first), told(second)]
    known = common(several, KNOWN, PLAIN, added)
    pay = PLAIN.names.index("pay")
    assert np.array_equal(several[1].starts[pay], first.layout.bins[pay].cell_starts), "the layout's bins"
    assert len(several[0].starts[pay]) > len(several[1].starts[pay]) > 5, "the first looked finer than it settled on"
    assert known.histograms[pay].counts.shape == (2, 1 + len(several[1].starts[pay]))
    for c, column in enumerate(known.histograms):
        for name in ("counts", "variances"):
            parts = sum(getattr(each.histograms[c], name).sum() for each in several)
            assert np.isclose(getattr(column, name).sum(), parts)
    assert set(known.shared.tables) == {tuple(sorted(t)) for t in several[0].tables}, "each was asked of both"
    for found, table_ in zip(known.tables, known.shared.tables, strict=True):
        assert np.isclose(found.counts.sum(), sum(each.tables[table_].counts.sum() for each in several))


@pytest.mark.slow
@pytest.mark.usefixtures("small_pool")
def test_counts_on_bins_that_their_own_noise_chose_are_covered() -> None:
    """A release that is a layout settled its bins by its last look, and is then merged on them: noise there is a little
    larger than is claimed. 95 % intervals of 60 releases, about 50 counts each, cover 94.6 % or so.
    """
    pay, rows = PLAIN.names.index("pay"), table(1)
    covered = []
    for seed in range(60):
        made = sf.fit(rows, SCHEMA, mechanism=sf.Mixture(tuning=SHORT), insecure_seed=1000 + seed, **TERMS)
        bins = made.layout.bins[pay]
        first = told(made)
        known = common([replace(first, tables={}), settled(first, pay, bins.cell_starts)], KNOWN, PLAIN, first_of)
        edges = np.append(bins.low, bins.high[-1])
        exact = [np.histogram(rows["pay"][rows["ill"] == each], edges)[0] for each in ("no", "yes")]
        gap = known.histograms[pay].counts[:, 1:] - exact
        covered.append((np.abs(gap) < 1.96 * np.sqrt(known.histograms[pay].variances[:, 1:])).ravel())
    share = float(np.concatenate(covered).mean())
    assert 0.93 < share < 0.965  # a standard error is 0.004


def first_of(several: Any) -> Noisy:
    return several[0]


def settled(first: Told, column: int, starts: Any) -> Told:
    """What a release on the first one's layout would say, as far as its bins go."""
    bins = (*first.starts[:column], starts, *first.starts[column + 1 :])
    shape = (PLAIN.classes, 1 + len(starts))
    nothing = Noisy(np.zeros(shape), np.ones(shape))
    counts = (*first.histograms[:column], nothing, *first.histograms[column + 1 :])
    return replace(first, starts=bins, histograms=counts, tables={})


def test_bins_without_an_edge_in_common_are_refused() -> None:
    one = told(site(1))
    age = PLAIN.names.index("age")
    starts = (np.array([0, 30, 60]), np.array([0, 45, 70]))
    others = []
    for start in starts:
        counts = Noisy(np.ones((2, 4)), np.ones((2, 4)))
        mine, his = list(one.starts), list(one.histograms)
        mine[age], his[age] = start, counts
        others.append(replace(one, starts=tuple(mine), histograms=tuple(his)))
    with pytest.raises(ArgumentError, match="'age' have no edge in common; fit on one layout"):
        common(others, KNOWN, PLAIN, added)


def test_partitions_are_joined_to_the_finest_that_is_coarser() -> None:
    assert joined_partitions([np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3])]).tolist() == [0, 1, 2, 3]
    assert joined_partitions([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])]).tolist() == [0, 0, 0, 0]
    assert joined_partitions([np.array([3, 0, 3, 1]), np.array([0, 1, 2, 3])]).tolist() == [0, 1, 0, 2]


def altered(answers: tuple[NoisyAnswer, ...], kind: str, **what: Any) -> tuple[NoisyAnswer, ...]:
    """Answers of which those of a kind say something else."""
    return tuple(
        NoisyAnswer(a.name, a.values, a.sd, {**a.what, **what}) if a.what.get("kind") == kind else a for a in answers
    )


FALSE: dict[str, tuple[str, dict[str, Any]]] = {
    "other classes": ("histograms", {"classes": 3}),
    "other bins": ("histograms", {"bins": [1, 2, 3]}),
    "bins that do not rise": ("histograms", {"starts": [[0, 2, 1], [0], [0]]}),
    "text for columns": ("histograms", {"columns": "012"}),
    "columns that are not there": ("histograms", {"columns": [0, 1, 7]}),
    "columns twice": ("histograms", {"columns": [0, 0, 1]}),
    "another order": ("histograms", {"nowhere": "last"}),
    "tables of other columns": ("tables", {"tables": [[0, 9]]}),
    "tables of no columns": ("tables", {"tables": [[]]}),
    "negative columns": ("tables", {"tables": [[0, -1]]}),
    "levels that are no numbers": ("tables", {"levels": [["a"], ["b"], ["c"]]}),
    "huge levels": ("tables", {"levels": [[1 << 62, 1], [0, 1], [0, 1]]}),
    "more levels than memory": ("tables", {"levels": [[0] * 100 + [1 << 40], [0, 1], [0, 1, 2, 3]]}),
    "fewer tables": ("tables", {"tables": [[0, 1, 3]]}),
    "no tables": ("tables", {"tables": []}),
}


@pytest.mark.parametrize("fault", FALSE)
def test_answers_that_are_not_what_they_say_are_refused_in_one_line(fault: str) -> None:
    kind, what = FALSE[fault]
    with pytest.raises(ArgumentError, match="release 1: its noisy answers are not what they say they are"):
        told_by(altered(site(1).answers, kind, **what), PLAIN, "release 1")


def test_numbers_beyond_all_counts_are_refused() -> None:
    answers = [NoisyAnswer(a.name, a.values * 1e20, a.sd, a.what) for a in site(1).answers]
    with pytest.raises(ArgumentError, match="not what they say"):
        told_by(answers, PLAIN, "release 1")


def test_a_release_without_answers_is_refused() -> None:
    with pytest.raises(ArgumentError, match="release 1 has no histograms of all columns; a compact release"):
        told_by((), PLAIN, "release 1")
