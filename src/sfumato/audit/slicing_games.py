"""Audits of noisy rows: through the curator, beside another query, and as printed in the paper.

The insider knows both tables and sees the directions U, which are published. All rows but one are at the origin, so
the likelihood ratio is known although the order is not (`insider`).

There is no mu to claim: what rows cost is a law (docs/proofs/slicing.md). The bound on epsilon is as tight as for any
other mechanism where delta is large enough to be seen: 0.02 rather than 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from sfumato.accounting import calibrate
from sfumato.audit.game import Attack, Claim
from sfumato.audit.insider import Insider
from sfumato.audit.queries import CORNER, GROUP, HIGH, LOW, MIDDLE, NUMBER, RADIUS, Summed, in_bins
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client, view_of
from sfumato.mechanisms.questions import row_question, score_image
from sfumato.mechanisms.slicing.row_planning import RowPlan, plan_rows
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import secure_bits
from sfumato.private.queries.base import SLACK
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source
from sfumato.published.slicing import release_slices, theorem_sigma
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

NAMES = [f"x{i}" for i in range(6)]
SPACE = Schema.of({"label": "group", "columns": dict.fromkeys(NAMES, NUMBER) | {"group": GROUP}})
IMAGE = score_image([[np.array([-CORNER, 0.0, CORNER])] * len(NAMES)] * 2)
VECTORS = replace(row_question(IMAGE, classes=2, radius=RADIUS), view=view_of(Layout.of(SPACE)))
HISTOGRAMS = in_bins(Histograms((3,) * len(NAMES), 2, (1.0 / len(NAMES),) * len(NAMES)), SPACE)
BESIDE = 0.3  # of what is claimed, the mu that histograms take
WHERE = "how many rows, and how much noise, learned statistic"


def law_claim(epsilon: float, delta: float) -> Claim:
    """A claim of (epsilon, delta)-DP alone."""
    calibrate(epsilon, delta)  # refuses what is no epsilon, or no delta
    return Claim(epsilon, delta, None)


@dataclass(frozen=True)
class RowsGame:
    """Histograms, then noisy rows: an extreme row among some at the origin is replaced."""

    pair: str
    claim: Claim
    projections: int
    crowd: int
    rows: tuple[tuple[float, str], tuple[float, str]]  # the value in every column, and the label, in either table
    curator: Callable[..., Curator] = Curator
    engine: Callable[..., LocalEngine] = LocalEngine

    attacks = (
        Attack("all noisy answers, best statistic", slice(0, 1), threshold=0.0),
        Attack(WHERE, slice(1, 3)),
    )

    @cached_property
    def _mu(self) -> float:
        return BESIDE * calibrate(self.claim.epsilon, self.claim.delta)

    @cached_property
    def _plan(self) -> RowPlan:
        return plan_rows(
            self.claim.epsilon,
            self.claim.delta,
            VECTORS,
            mu=self._mu,
            projections=self.projections,
        )

    @cached_property
    def _engines(self) -> tuple[Summed, Summed]:
        without, with_row = (self._summed(*row) for row in self.rows)
        return without, with_row

    def _summed(self, value: float, label: str) -> Summed:
        crowd = [(*(MIDDLE,) * len(NAMES), "a")] * self.crowd
        frame = pd.DataFrame([*crowd, (*(value,) * len(NAMES), label)], columns=[*NAMES, "group"])
        engine = self.engine(Source(open_table(frame), Layout.of(SPACE)), workers=1)
        return Summed(engine.total(HISTOGRAMS), engine.public, engine.rows(VECTORS))

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        bits = secure_bits if seed is None else insecure_bits(seed)
        budget = Budget(self._plan.mu, self._plan.slices)
        asked = self.curator(self._engines[with_row], budget, Adjacency.REPLACE_ONE, bits)
        insider = Insider(Client(asked), *self._engines)
        insider.total("histograms", HISTOGRAMS, self._mu**2 / SLACK)
        found = insider.rows("rows", VECTORS, self._plan.projection)
        return np.array([insider.log_ratio, np.log(found.sd), len(found.values)])


def slicing_rows(claim: Claim, adjacency: Adjacency) -> list[RowsGame]:
    """Slices, and rows that are not sliced because there are as many projections as columns."""
    opposite = (LOW, "a"), (HIGH, "a")
    nowhere = (HIGH, "a"), (HIGH, "unheard of")
    return [
        RowsGame("the only row replaced by its opposite, slices", claim, 3, 0, opposite),
        RowsGame("a row in a crowd replaced by its opposite, slices", claim, 3, 3, opposite),
        RowsGame("a row replaced by one that counts nowhere, slices", claim, 3, 1, nowhere),
        RowsGame("the only row replaced by its opposite, whole rows", claim, len(NAMES), 0, opposite),
    ]


@dataclass(frozen=True)
class PrintedGame:
    """Theorem 1: a row at the origin replaced by one at distance 1, the paper's own adjacency."""

    claim: Claim
    distance: float = 1.0

    pair = "the only row replaced by one at distance 1"
    attacks = (Attack("the noisy rows, best statistic", slice(0, 1), threshold=0.0),)

    @cached_property
    def _sigma(self) -> float:
        return theorem_sigma(self.claim.epsilon, self.claim.delta, dim=len(NAMES), projections=3)

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        row = np.zeros((1, len(NAMES)))
        row[0, 0] = self.distance * with_row
        found = release_slices(row, 3, self._sigma, np.random.default_rng(seed))
        shown = self.distance * found.directions[0]
        return np.array([(found.values[0] @ shown - shown @ shown / 2.0) / found.sigma**2])


def published_slicing(claim: Claim, adjacency: Adjacency) -> list[PrintedGame]:
    """The mechanism of Greenewald et al. as printed."""
    return [PrintedGame(claim)]
