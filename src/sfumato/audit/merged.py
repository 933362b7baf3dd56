"""Audits of merged releases: whoever is at one site, and someone who is at two.

Both sites are fitted on one layout and merged. The attacker sees every noisy answer of both, and the merged file. For a
row at one site the claim is that site's own; for a row at both each site spends so much less that the two together
make the claim, as the guarantee of a merged release has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.accounting import epsilon_of
from sfumato.api import Job, prepare
from sfumato.audit.game import Claim
from sfumato.audit.insider import VIEW, Insider
from sfumato.audit.mixture import GRADES, SHORT, FitGame, file_numbers, pair_tables
from sfumato.audit.queries import Pair
from sfumato.engines import Local
from sfumato.mechanisms import Mixture
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.shared_layout import SharedLayout
from sfumato.merging.joint_release import merged
from sfumato.private.accounting import Adjacency
from sfumato.private.curator import Engine
from sfumato.schema.layout import FloatArray

OTHER_SITE = 1 << 30  # what is added to a seed there: no two sites have the same noise
JUST_BELOW = 1.0 - 1e-9  # what rounding may add to a mu that is looked up by its epsilon


@dataclass(frozen=True)
class MergedGame:
    """Two fits on one layout, merged, from the tables to the file; `sites` are the pairs of tables there."""

    pair: str
    claim: Claim
    adjacency: Adjacency
    sites: tuple[Pair, Pair]
    spent: Claim  # at each site
    tables: int = 2  # of the layout

    attacks = FitGame.attacks

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        view, releases = np.zeros(VIEW), []
        for number, engines in enumerate(self._engines):
            job = self._job(number, with_row, None if seed is None else seed + number * OTHER_SITE)
            curator = job.curator()
            insider = Insider(Client(curator), *engines)
            releases.append(job.release(curator, insider))
            view += insider.view
        both = merged(releases, tuning=SHORT)
        return np.array([*view, *file_numbers(both)])

    def _job(self, site: int, with_row: bool, seed: int | None) -> Job:
        return prepare(
            self.sites[site][with_row],
            GRADES,
            epsilon=self.spent.epsilon,
            delta=self.spent.delta,
            mechanism=Mixture(layout=self._layout, tuning=SHORT),
            adjacency=self.adjacency,
            engine=Local(workers=1),
            insecure_seed=seed,
        )

    @cached_property
    def _layout(self) -> SharedLayout:
        claim = self.claim
        made = SharedLayout.of(GRADES, epsilon=claim.epsilon, delta=claim.delta, adjacency=self.adjacency, rows=10**6)
        return replace(made, tables=made.tables[: self.tables])

    @cached_property
    def _engines(self) -> tuple[tuple[Engine, Engine], ...]:
        """What the insider knows: both tables of each site, read once."""
        return tuple((self._job(i, False, None).engine, self._job(i, True, None).engine) for i in (0, 1))


def merged_sites(claim: Claim, adjacency: Adjacency) -> list[MergedGame]:
    """An extreme row at one of two sites, and at both."""
    (game,) = pair_tables(claim, adjacency)
    same = game.tables[0], game.tables[0]
    half = math.sqrt(0.5) * (claim.mu or 0.0) * JUST_BELOW
    each = Claim.gaussian(epsilon_of(half, claim.delta), claim.delta)
    return [
        MergedGame(f"{game.pair}, at one of two sites", claim, adjacency, (game.tables, same), claim),
        MergedGame(f"{game.pair}, at both sites", claim, adjacency, (game.tables, game.tables), each),
    ]
