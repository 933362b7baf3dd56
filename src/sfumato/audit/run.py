"""The audits by name, and how one is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.audit.bounds import largest_area
from sfumato.audit.game import Claim, Finding, Game, judge
from sfumato.audit.membership import membership
from sfumato.audit.merged import merged_sites
from sfumato.audit.mixture import adapted, affine, clustmix, components, mixture, pair_tables, slicing
from sfumato.audit.published import clustmix as published_clustmix
from sfumato.audit.published import pure_claim, weights, wishart
from sfumato.audit.queries import (
    cell_query,
    distance_query,
    gaussian_query,
    gradient_query,
    histogram_query,
    moment_query,
    table_query,
    wave_query,
)
from sfumato.audit.slicing_games import law_claim, published_slicing, slicing_rows
from sfumato.audit.trials import play
from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency

FEWEST_TRIALS = 100
MOST_TRIALS = 10_000_000


@dataclass(frozen=True)
class Audit:
    """How a mechanism is audited: what it claims for (epsilon, delta), and the games played with it."""

    about: str
    games: Callable[[Claim, Adjacency], Sequence[Game]]
    claim: Callable[[float, float], Claim] = Claim.gaussian
    adjacencies: tuple[Adjacency, ...] = tuple(Adjacency)


AUDITS = {
    "mixture": Audit("a whole fit of the mixture, from the table to the released file", mixture),
    "mixture-affine": Audit("the same in data units", affine),
    "mixture-components": Audit("the same with several components a class", components),
    "mixture-adapt": Audit("the same with adapted labels", adapted),
    "mixture-pairs": Audit("the same with tables of pairs of columns", pair_tables),
    "merged": Audit("two fits on one layout, merged, for a row at one site and at both", merged_sites),
    "clustmix": Audit("a whole fit of clustmix with adapted labels, of columns and of a group", clustmix),
    "slicing": Audit("a whole fit of slicing, of columns and of a group, and noisy rows (replace-one)", slicing),
    "gaussian-query": Audit("one number with noise, through the curator", gaussian_query),
    "histogram-query": Audit("the histograms of several columns", histogram_query),
    "moment-query": Audit("counts, sums and second moments of clipped rows", moment_query),
    "cell-query": Audit("counts and sums of rows in cells", cell_query),
    "gradient-query": Audit("the gradient of a label model", gradient_query),
    "wave-query": Audit("counts and sums of cosines and sines", wave_query),
    "table-query": Audit("counts in tables of several columns", table_query),
    "distance-query": Audit("distances of such tables from public ones", distance_query),
    "slicing-rows": Audit(
        "noisy projections of every row, beside histograms",
        slicing_rows,
        law_claim,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
    "membership": Audit(
        "membership inference from synthetic rows of UCI Adult, a second opinion",
        membership,
        adjacencies=(Adjacency.ADD_REMOVE,),
    ),
    "published-wishart": Audit(
        "Wishart noise on covariances as printed by Liu et al. 2025: is convicted",
        wishart,
        pure_claim,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
    "published-weights": Audit(
        "the random map of weights as printed by Liu et al. 2025: is convicted",
        weights,
        pure_claim,
        adjacencies=(Adjacency.LABEL,),
    ),
    "published-clustmix": Audit(
        "cluster-based mixing as printed by Madl et al. 2023: is convicted",
        published_clustmix,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
    "published-slicing": Audit(
        "noisy slices of rows as printed by Greenewald et al. 2024: stands, for rows at distance 1",
        published_slicing,
        law_claim,
        adjacencies=(Adjacency.REPLACE_ONE,),
    ),
}


@dataclass(frozen=True)
class Verdict:
    """What an audit found: the claim stands, or a lower bound lies above it."""

    mechanism: str
    adjacency: Adjacency
    claimed: Claim
    confidence: float
    trials: int
    findings: tuple[Finding, ...]

    @property
    def lower(self) -> dict[str, float]:
        """The largest lower bounds; they hold together with the confidence stated."""
        return {
            "mu": max(finding.bound.mu for finding in self.findings),
            "epsilon": max(finding.bound.epsilon for finding in self.findings),
        }

    @property
    def violation(self) -> bool:
        """Whether a lower bound of any attack lies above the claim."""
        return any(self.claimed.broken_by(finding.bound) for finding in self.findings)

    def headline(self) -> str:
        """The verdict in one line."""
        claim = f"epsilon {self.claimed.epsilon:.4g}, delta {self.claimed.delta:.3g}"
        claim += "" if self.claimed.mu is None else f", mu {self.claimed.mu:.4f}"
        found = f"at least mu {self.lower['mu']:.4f}, epsilon {self.lower['epsilon']:.3f} ({self.confidence:.0%})"
        verdict = "VIOLATION" if self.violation else "no violation found"
        head = f"{self.mechanism} ({self.adjacency}), {self.trials} runs a table"
        return f"{head}\nclaimed: {claim}\nfound: {found}: {verdict}"

    def table(self) -> str:
        """The headline, then a line for every attack."""
        lines = [f"{'mu':>8}{'epsilon':>10}{'AUC':>8}  at least, by this attack"]
        for found in sorted(self.findings, key=lambda each: -each.bound.mu):
            what = f"{found.pair}: {found.attack}"
            lines.append(f"{found.bound.mu:>8.3f}{found.bound.epsilon:>10.3f}{found.bound.auc:>8.3f}  {what}")
        if self.claimed.mu is not None:
            lines.append(f"Under the claim no attack has an AUC above {largest_area(self.claimed.mu):.3f}.")
        return "\n".join([self.headline(), "", *lines])

    def data(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "mechanism": self.mechanism,
            "adjacency": str(self.adjacency),
            "claimed": vars(self.claimed),
            "lower": self.lower,
            "confidence": self.confidence,
            "trials": self.trials,
            "violation": self.violation,
            "attacks": [finding.data() for finding in self.findings],
        }


def run(
    name: str,
    *,
    epsilon: float,
    delta: float,
    trials: int = 2000,
    adjacency: str | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    insecure_seed: int | None = None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Verdict:
    """Play every game of an audit `trials` times on each table, and bound mu and epsilon from below.

    `insecure_seed` makes it repeatable, for tests. `advance` hears how many runs of how many are done.
    """
    audit, neighbours = _check(name, trials, adjacency, confidence)
    claim = audit.claim(epsilon, delta)
    games = list(audit.games(claim, neighbours))
    spread = workers or os.cpu_count() or 1
    return decide(name, games, claim, neighbours, trials, confidence, spread, insecure_seed, advance)


def decide(
    name: str,
    games: Sequence[Game],
    claim: Claim,
    adjacency: Adjacency,
    trials: int,
    confidence: float = 0.95,
    workers: int = 1,
    seed: int | None = None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Verdict:
    """The verdict on some games. The confidence is shared out between all attacks, so that it holds for the largest."""
    level = (1.0 - confidence) / sum(len(game.attacks) for game in games)
    total, findings = 2 * trials * len(games), []
    for game in games:
        without, with_row = play(game, trials, workers, seed, lambda done: advance(done, total))
        findings += [judge(game, attack, without, with_row, claim.delta, level) for attack in game.attacks]
    return Verdict(name, adjacency, claim, confidence, trials, tuple(findings))


def _check(name: str, trials: int, adjacency: str | None, confidence: float) -> tuple[Audit, Adjacency]:
    if name not in AUDITS:
        raise ArgumentError(f"there is no audit {name!r}; there are {', '.join(AUDITS)}")
    audit = AUDITS[name]
    chosen = audit.adjacencies[0] if adjacency is None else adjacency
    if chosen not in audit.adjacencies:
        raise ArgumentError(f"audit {name} knows adjacency {' or '.join(audit.adjacencies)}, not {adjacency!r}")
    if isinstance(trials, bool) or not isinstance(trials, int) or not FEWEST_TRIALS <= trials <= MOST_TRIALS:
        raise ArgumentError(f"trials must be a whole number from {FEWEST_TRIALS} to {MOST_TRIALS}, not {trials!r}")
    if not 0.5 <= confidence < 1.0:
        raise ArgumentError(f"confidence must be at least 0.5 and below 1, not {confidence!r}")
    return audit, Adjacency(chosen)
