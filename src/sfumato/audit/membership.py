"""Membership inference from synthetic rows: the adversary has a sample, and asks whether a person was in the table.

A second opinion, not a proof: an attack that sees a few hundred synthetic rows of a random table is far weaker than one
that sees every noisy answer on tables built to hurt. The data set is the bundled UCI Adult, which is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from sfumato.api import fit
from sfumato.audit.game import Attack, Claim
from sfumato.demo import adult
from sfumato.engines import Local
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Category, Number, Schema

TABLE_ROWS = 300  # a small table, where one person weighs most
NEAREST = (1, 3, 10, 30)  # of the synthetic rows: how far away they are on average
JUDGES = 500  # rows from which it is judged who stands out


@dataclass(frozen=True)
class MembershipGame:
    """Was this person in the table?

    Everyone else is drawn anew for each run, as an adversary with other data would make shadow releases.
    """

    pair: str
    claim: Claim
    adjacency: Adjacency
    outlier: bool

    attacks = (
        Attack("the closest synthetic row", slice(0, 1)),
        Attack("shadow releases, learned statistic", slice(0, None)),
    )

    @cached_property
    def _people(self) -> tuple[pd.DataFrame, Schema]:
        train, _, schema = adult()
        return train, schema

    @cached_property
    def _target(self) -> pd.DataFrame:
        """The person farthest from the others, or the one in the middle."""
        people, schema = self._people
        some = people.sample(JUDGES, random_state=0)
        spread = [distances(some, some.iloc[[i]], schema).mean() for i in range(JUDGES)]
        return some.iloc[[int(np.argmax(spread) if self.outlier else np.argmin(spread))]]

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        people, schema = self._people
        rng = np.random.default_rng(seed)
        others = people.drop(self._target.index).sample(TABLE_ROWS - 1, random_state=rng)
        table = pd.concat([others, self._target]) if with_row else others
        sample = self._synthetic(table, seed, rng)
        far = np.sort(distances(sample, self._target, schema))
        return np.array([-far[:n].mean() for n in NEAREST])

    def _synthetic(self, table: pd.DataFrame, seed: int | None, rng: np.random.Generator) -> pd.DataFrame:
        """What the adversary gets: as many synthetic rows as there were real ones."""
        release = fit(
            table,
            self._people[1],
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            adjacency=self.adjacency,
            rows=TABLE_ROWS,
            insecure_seed=seed,
            engine=Local(workers=1),
        )
        return release.sample(TABLE_ROWS, seed=int(rng.integers(1 << 32)))


def distances(rows: pd.DataFrame, target: pd.DataFrame, schema: Schema) -> FloatArray:
    """How far each row is from the target: numbers by their share of the range, categories by whether they differ."""
    total = np.zeros(len(rows))
    for name, column in schema.columns.items():
        if isinstance(column, Category):
            total += rows[name].astype(str).to_numpy() != str(target[name].iloc[0])
        elif isinstance(column, Number):
            apart = np.abs(rows[name].to_numpy(dtype=np.float64) - float(target[name].iloc[0]))
            total += np.nan_to_num(apart / (column.max - column.min), nan=1.0)
    return total


def membership(claim: Claim, adjacency: Adjacency) -> list[MembershipGame]:
    """Distance to the closest record, and an attack trained on shadow releases."""
    return [
        MembershipGame("Adult, the person who stands out most", claim, adjacency, outlier=True),
        MembershipGame("Adult, an ordinary person", claim, adjacency, outlier=False),
    ]
