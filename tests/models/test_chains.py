"""Steps that keep a tilted mixture, against the probability of every cell of a small table.

Counts are compared by chi-square at 1e-7, some 40 comparisons in all, with fixed seeds.
"""

from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.stats import chi2
from tests.models.small_mixtures import FOLLOWS, SIZES, cells, counts, mixture, shares, tilt

from sfumato.encoding.affine import Affine
from sfumato.errors import ArgumentError
from sfumato.models import GivenCell, MixtureModel, Tilt
from sfumato.models.chains import Chains, Rows, resampled, settle
from sfumato.models.tilted_model import laws_of
from sfumato.schema.layout import FloatArray, IntArray

FALSE_ALARM = 1e-7
ROWS = 20_000
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no label": {"label": False},
    "components": {"components": 3},
    "adapted": {"adapted": True},
    "adapted components": {"adapted": True, "components": 2, "alpha": 0.0},
}
each = pytest.mark.parametrize("variant", VARIANTS)


@cache
def made(variant: str) -> tuple[MixtureModel, Tilt, FloatArray, float]:
    model = mixture(**VARIANTS[variant])
    tilted = tilt(model.layout.classes)
    return model, tilted, *shares(model, tilted)


def excess(rows: Rows, classes: int, share: FloatArray) -> float:
    """The chi-square of rows' counts over its limit."""
    found = counts(rows.codes, rows.labels, classes)
    possible = share > 0
    assert found[~possible].sum() == 0
    expected = len(rows) * share[possible]
    square = ((found[possible] - expected) ** 2 / expected).sum()
    return float(square / chi2.isf(FALSE_ALARM, possible.sum() - 1))


def started(model: MixtureModel, share: FloatArray, tilted: Tilt, rng: np.random.Generator) -> Rows:
    """Rows of the tilted mixture, by resampling rows of the mixture: few are the same."""
    chains = Chains(model)
    rows = chains.draw(8 * ROWS, rng)
    weights = np.exp(chains.log_weights(rows, tilted))
    return rows.take(rng.choice(len(rows), ROWS, p=weights / weights.sum()))


@pytest.mark.every(2)
@each
def test_rows_of_the_mixture_are_its_own(variant: str) -> None:
    model, tilted, *_ = made(variant)
    share, _ = shares(model, tilted.reweighted(np.zeros(tilted.cells)))
    assert excess(Chains(model).draw(ROWS, np.random.default_rng(0)), model.layout.classes, share) < 1


@pytest.mark.every(2)
@each
def test_sweeps_keep_the_tilted_mixture(variant: str) -> None:
    model, tilted, share, _ = made(variant)
    rng = np.random.default_rng(1)
    rows = started(model, share, tilted, rng)
    before = rows.take(slice(None))
    for _ in range(3):
        assert 0.2 < Chains(model).sweep(rows, tilted, rng) < 0.8
    assert excess(rows, model.layout.classes, share) < 1
    assert (before.latent != rows.latent).mean() > 0.9
    for j, column in enumerate(model.encoder.columns):  # type: ignore[union-attr]
        for k in range(model.layout.classes):
            mine = rows.own == k
            np.testing.assert_array_equal(column.bins_at(rows.latent[j, mine], k)[0], rows.codes[j, mine])


def test_columns_in_groups_move_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tilted, *_ = made("components")
    moved = []
    for groups in (32, 1):
        monkeypatch.setattr("sfumato.models.chains.COLUMN_GROUPS", groups)
        rows = Chains(model).draw(1000, np.random.default_rng(0))
        Chains(model).sweep(rows, tilted, np.random.default_rng(1))
        moved.append(rows.latent)
    np.testing.assert_allclose(*moved, atol=1e-5)


def forgetting(table: int) -> Any:
    """A tilt whose column by column steps do not know one of the tables."""
    honest = Tilt.having
    strides = Tilt.strides
    return (
        mock.patch.object(Tilt, "having", lambda self, j: np.array([t for t in honest(self, j) if t != table], int)),
        mock.patch.object(Tilt, "strides", lambda self, j: strides(self, j)[honest(self, j) != table]),
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("table", range(6))
def test_a_sweep_that_forgets_a_table_is_caught(table: int) -> None:
    variant = "adapted"  # where labels are moved too: the last table is theirs alone
    model, tilted, share, _ = made(variant)
    rng = np.random.default_rng(1)
    rows = started(model, share, tilted, rng)
    having, strides = forgetting(table)
    with having, strides:
        for _ in range(3):
            Chains(model).sweep(rows, tilted, rng)
    assert excess(rows, model.layout.classes, share) > 1


@pytest.mark.every(2)
@pytest.mark.parametrize("adapted", [False, True])
def test_sweeps_keep_the_law_of_a_column_that_follows(adapted: bool) -> None:
    model, tilted = mixture(adapted=adapted), tilt(3)
    share, rng = shares(model, tilted, follows=True)[0], np.random.default_rng(1)
    chains = Chains(model, followers=laws_of(model, (FOLLOWS,), tilted.levels))
    rows, _, _ = settle(chains, tilted, ROWS, rng)
    for _ in range(3):
        chains.sweep(rows, tilted, rng)
    assert excess(rows, 3, share) < 1


def test_a_follower_that_is_left_behind_is_caught() -> None:
    model, tilted = mixture(), tilt(3)
    share, rng = shares(model, tilted, follows=True)[0], np.random.default_rng(1)
    chains = Chains(model, followers=laws_of(model, (FOLLOWS,), tilted.levels))
    rows, _, _ = settle(chains, tilted, ROWS, rng)
    with mock.patch.object(Chains, "led", return_value=[]):
        for _ in range(3):
            chains.sweep(rows, tilted, rng)
    assert excess(rows, 3, share) > 1


def test_a_sweep_that_forgets_adapted_labels_is_caught() -> None:
    model, tilted, share, _ = made("adapted")
    rng = np.random.default_rng(1)
    rows = started(model, share, tilted, rng)
    with mock.patch.object(Chains, "_log_label", lambda self, logits, own, labels: np.zeros(len(own))):
        Chains(model).sweep(rows, tilted, rng)
    assert excess(rows, model.layout.classes, share) > 1


@pytest.mark.every(2)
@each
def test_stages_lead_to_the_tilted_mixture(variant: str) -> None:
    model, tilted, share, log_total = made(variant)
    rows, found, sd = settle(Chains(model), tilted, ROWS, np.random.default_rng(2))
    assert len(rows) == ROWS
    assert excess(rows, model.layout.classes, share) < 1
    assert 0 < sd < 0.01
    assert abs(found - log_total) < 6 * sd


def test_a_tilt_of_nothing_leaves_the_mixture() -> None:
    model = mixture()
    nothing = tilt(3).reweighted(np.zeros(tilt(3).cells))
    _, log_total, sd = settle(Chains(model), nothing, 1000, np.random.default_rng(0))
    assert (log_total, sd) == (pytest.approx(0.0, abs=1e-12), pytest.approx(0.0, abs=1e-12))
    assert (
        Chains(model).sweep(Chains(model).draw(100, np.random.default_rng(0)), nothing, np.random.default_rng(1)) == 1
    )


def impossible(classes: int, share: float = 0.5) -> Tilt:
    """A tilt with cells where no row can be."""
    made = tilt(classes)
    forbidden = np.random.default_rng(3).random(made.cells) < share
    return made.reweighted(np.where(forbidden, -np.inf, made.weights))


@pytest.mark.every(2)
@each
def test_no_row_is_where_none_can_be(variant: str) -> None:
    model, *_ = made(variant)
    tilted = impossible(model.layout.classes, 0.15)
    share, log_total = shares(model, tilted)
    assert (share == 0).sum() > 10
    rows, found, sd = settle(Chains(model), tilted, ROWS, np.random.default_rng(2))
    assert excess(rows, model.layout.classes, share) < 1
    assert abs(found - log_total) < 6 * sd


@pytest.mark.parametrize("share", [0.15, 0.4])
def test_zeros_restrict_the_mixture(share: float) -> None:
    """The same as weights of -inf in the tilt, for those who learn the other weights."""
    model, tilted, *_ = made("adapted")
    weights = np.where(np.random.default_rng(8).random(tilted.starts[4]) < share, -np.inf, 0.0)
    zeros = Tilt(tilted.levels, 3, tilted.tables[:4], weights)
    wanted, log_total = shares(model, tilted.with_tables(zeros.tables, zeros.weights))
    assert (wanted == 0).sum() > 20
    chains, rng = Chains(model, zeros=zeros), np.random.default_rng(2)
    rows, found, sd = settle(chains, tilted, ROWS, rng)
    possible, possible_sd = chains.log_possible(10 * ROWS, rng)
    assert excess(rows, 3, wanted) < 1
    assert abs(found + possible - log_total) < 6 * np.hypot(sd, possible_sd)


def test_rows_that_are_hard_to_find_come_several_times() -> None:
    model = mixture()
    zeros = Tilt(tilt(3).levels, 3, ((0, 1, 2, 3),), np.append(np.full(53, -np.inf), 0.0))
    rng = np.random.default_rng(0)
    share = float(np.exp(Chains(model, zeros=zeros).log_possible(100_000, rng)[0]))
    assert share < 1 / 32
    rows = Chains(model, zeros=zeros).draw(100_000, rng)
    assert len(rows) == 100_000
    assert 1000 < len(np.unique(rows.latent[0])) < 50_000
    nowhere = zeros.reweighted(np.full(54, -np.inf))
    with pytest.raises(ArgumentError, match=r"^0 of \d+ rows drawn keep the constraints"):
        Chains(model, zeros=nowhere).draw(20, rng)


def test_rows_that_cannot_be_anywhere_are_refused() -> None:
    nowhere = tilt(3).reweighted(np.full(tilt(3).cells, -np.inf))
    with pytest.raises(ArgumentError, match="none of 200 rows drawn is where rows can be"):
        settle(Chains(mixture()), nowhere, 100, np.random.default_rng(0))


def test_a_tilt_too_far_away_is_refused() -> None:
    tilted = tilt(3, 1000.0)
    with (
        mock.patch("sfumato.models.chains.STAGING", mock.Mock(stages=2, effective=0.5, sweeps=1, bisections=30)),
        pytest.raises(ArgumentError, match="further from the mixture than 2 stages go"),
    ):
        settle(Chains(mixture()), tilted, 100, np.random.default_rng(0))


def given(variant: str, label: bool) -> tuple[dict[str, GivenCell], IntArray]:
    """Column b held at a category, and the label if asked; which cells are left."""
    *codes, labels = cells(made(variant)[0].layout.classes)
    found = {"b": GivenCell(2, None)}
    kept = codes[1] == 2
    if label:
        found["y"] = GivenCell(1, None)
        kept &= labels == 1
    return found, kept


@pytest.mark.every(2)
@pytest.mark.parametrize("label", [False, True])
@each
def test_held_columns_stay(variant: str, label: bool) -> None:
    model, tilted, share, _ = made(variant)
    if label and model.layout.label is None:
        pytest.skip("there is no label to hold")
    held, kept = given(variant, label)
    chains = Chains(model, model.condition(held))
    rng = np.random.default_rng(4)
    rows, *_ = settle(chains, tilted, ROWS // 2, rng)
    chains.sweep(rows, tilted, rng)
    share = np.where(kept, share, 0.0) / share[kept].sum()
    assert excess(rows, model.layout.classes, share) < 1


def test_other_encodings_are_refused() -> None:
    model = mixture()
    affine = Affine()
    with pytest.raises(ArgumentError, match="only a mixture in the encoding 'scores' can be tilted, not 'affine'"):
        Chains(MixtureModel(model.layout, affine, model.mixture))


def test_rows_are_taken_and_put() -> None:
    rows = Chains(mixture()).draw(10, np.random.default_rng(0))
    some = rows.take(np.array([3, 7]))
    assert len(some) == 2
    assert some.codes.shape == (len(SIZES), 2)
    rows.put(np.array([0, 1]), some)
    np.testing.assert_array_equal(rows.latent[:, [0, 1]], rows.latent[:, [3, 7]])


def test_what_none_of_a_few_rows_keeps_is_rare_and_not_impossible() -> None:
    """Otherwise the total of a model would be no number, and its file could not be read."""
    levels = tilt(3).levels
    zeros = Tilt(levels, 3, ((3,),), np.full(3, -np.inf))
    log_share, sd = Chains(mixture(), zeros=zeros).log_possible(100, np.random.default_rng(0))
    assert log_share == pytest.approx(np.log(0.005))
    assert 0.0 < sd < 2.0


def test_rows_come_by_weight_within_one() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(50))
    counts = np.bincount(resampled(shares, 1000, rng), minlength=50)
    assert counts.sum() == 1000
    assert (np.abs(counts - 1000 * shares) < 1.0 + 1e-9).all()
