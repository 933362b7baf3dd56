"""What was published as private and is not: convicted as printed, and acquitted where the fault is mended."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from sfumato.audit.game import Attack, Claim
from sfumato.audit.published import CLUSTER_ROWS, OUTLIER, ClustmixGame, clustmix
from sfumato.audit.run import AUDITS, decide, run
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray

REPLACE_ONE = Adjacency.REPLACE_ONE
CERTAIN = 1.0 - 1e-6  # so that what is tight is acquitted with any seed
CLAIMS = [Claim.gaussian(1.0, 1e-5), Claim.gaussian(4.377, 1e-5)]


@dataclass(frozen=True)
class PublicCells(ClustmixGame):
    """The same means with the same noise (8), but what a row can change is fixed beforehand: the cells are the orthants
    of the cube around its middle, in each class; the scale is that of [0, 1]; and sums are divided by CLUSTER_ROWS,
    however many rows there are. A row moves from one cell to another at most: sqrt(2 D) / CLUSTER_ROWS, (8) for two
    classes.
    """

    attacks = (Attack("all points, learned statistic", slice(0, None)),)

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        x, y = self.tables[with_row]
        rows = np.clip(x, 0.0, 1.0)
        cell = y * 2 ** x.shape[1] + (rows > 0.5) @ 2 ** np.arange(x.shape[1])
        sums = np.zeros((2 * 2 ** x.shape[1], x.shape[1]))
        np.add.at(sums, cell, rows)
        return (sums / CLUSTER_ROWS + self.sigma * np.random.default_rng(seed).standard_normal(sums.shape)).ravel()


def in_public_cells(game: ClustmixGame) -> PublicCells:
    return PublicCells(game.pair, game.claim, game.tables, game.attack, game.score)


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.epsilon:g}")
@pytest.mark.parametrize("which", range(3))
def test_every_pair_convicts_it_alone(which: int, claim: Claim) -> None:
    game = clustmix(claim, REPLACE_ONE)[which]
    found = decide("test", [game], claim, REPLACE_ONE, 500, seed=7)
    assert found.violation, found.headline()
    assert found.lower["mu"] > 2.0 * claim.mu, found.headline()


@pytest.mark.slow
def test_the_audit_convicts_it() -> None:
    found = run("published-clustmix", epsilon=1.0, delta=1e-5, trials=200, workers=1, insecure_seed=1)
    assert found.violation
    assert found.adjacency is REPLACE_ONE
    assert AUDITS["published-clustmix"].adjacencies == (REPLACE_ONE,)
    counts, outlier, _ = found.findings
    assert counts.bound.auc == 1.0, "the number of points has no noise at all"
    # The mean of two points at 0 and 1, and then at 0 and 1 / OUTLIER.
    gap = outlier.with_row.mean() - outlier.without.mean()
    spread = clustmix(found.claimed, REPLACE_ONE)[1].sigma / math.sqrt(2)
    assert gap == pytest.approx((1.0 - 1.0 / OUTLIER) / 2.0, abs=6.0 * spread * math.sqrt(2 / 200))


@pytest.mark.slow
@pytest.mark.parametrize("which", range(3))
def test_public_cells_are_acquitted(which: int) -> None:
    claim = CLAIMS[1]
    game = in_public_cells(clustmix(claim, REPLACE_ONE)[which])
    found = decide("test", [game], claim, REPLACE_ONE, 2000, CERTAIN, seed=7)
    assert not found.violation, found.headline()


@pytest.mark.slow
def test_public_cells_with_half_the_noise_are_convicted() -> None:
    """The acquittal is worth something: a row that moves from corner to corner uses the claim up, and more shows."""

    class HalfTheNoise(PublicCells):
        sigma = 0.5 * clustmix(CLAIMS[1], REPLACE_ONE)[0].sigma

    healthy = in_public_cells(clustmix(CLAIMS[1], REPLACE_ONE)[0])
    broken = HalfTheNoise(healthy.pair, healthy.claim, healthy.tables, healthy.attack, healthy.score)
    assert decide("test", [broken], CLAIMS[1], REPLACE_ONE, 2000, CERTAIN, seed=7).violation


@pytest.mark.slow
def test_neighbours_differ_in_one_row() -> None:
    for game in clustmix(CLAIMS[0], REPLACE_ONE):
        (x, y), (other_x, other_y) = game.tables
        assert ((x != other_x).any(axis=1) | (y != other_y)).sum() == 1


def test_the_printed_wishart_noise_is_convicted() -> None:
    found = run("published-wishart", epsilon=1.0, delta=1e-5, trials=1000, workers=1, insecure_seed=1)
    assert found.violation
    assert found.claimed.delta == 0.0
    (finding,) = found.findings
    impossible = 1.0 - finding.without.mean()
    assert impossible == pytest.approx(1.0 - np.exp(-1.0 / 3.0), abs=6 * 0.0143)
    assert finding.with_row.all(), "outputs on its own table are always possible"


def test_the_printed_map_of_weights_is_convicted() -> None:
    found = run("published-weights", epsilon=1.0, delta=1e-5, trials=1000, workers=1, insecure_seed=1)
    assert found.violation
    (finding,) = found.findings
    # Uniform over the 7 outputs of 3 classes, 4 of which the other table shares.
    assert 1.0 - finding.without.mean() == pytest.approx(3.0 / 7.0, abs=6 * 0.0157)
    assert finding.with_row.all()
