"""What audits are tested with.

All runs have fixed seeds. Limits are more than five standard deviations from what is expected, so that another seed
would fail less than once in a million times.
"""

from __future__ import annotations

from sfumato.audit.game import Claim, Game
from sfumato.audit.run import Verdict, decide
from sfumato.private.accounting import Adjacency

EPSILON, DELTA = 4.377, 1e-5


ONE = Claim.gaussian(EPSILON, DELTA)  # mu = 1


ADD_REMOVE = Adjacency.ADD_REMOVE


def verdict(game: Game, trials: int, claim: Claim = ONE, adjacency: Adjacency = ADD_REMOVE) -> Verdict:
    return decide("test", [game], claim, adjacency, trials, seed=7)
