"""Audits of merged and sharpened releases: a row at one site, at both, moving, and in one table fitted twice.

Both sites are fitted on one layout and merged. The attacker sees every noisy answer of both, and the merged file. For a
row at one site the claim is that site's own; otherwise each site spends so much less that the two together make the
claim, as the guarantee of a merged release has it. Answers are counts, which merging adds up or averages, so the merged
ones are Gaussian around one of two known totals too: their likelihood ratio is the best that a reader of the merged
file can do with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.accounting import epsilon_of
from sfumato.api import Job, prepare
from sfumato.audit.game import Attack, Claim
from sfumato.audit.insider import VIEW, Insider
from sfumato.audit.mixture import GRADES, SHORT, FitGame, file_numbers, pair_tables
from sfumato.audit.queries import Pair
from sfumato.engines import Local
from sfumato.mechanisms import Mixture
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.shared_layout import SharedLayout
from sfumato.merging.common_answers import Common, Noisy, added, averaged, common
from sfumato.merging.joint_release import merged, read_told
from sfumato.private.accounting import Adjacency
from sfumato.private.curator import Engine
from sfumato.release.release import Release
from sfumato.schema.layout import FloatArray, Layout

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
    same_people: bool = False  # the sites are one table, fitted twice
    tables: int = 2  # of the layout

    attacks = (
        *FitGame.attacks[:2],
        Attack("the merged answers, best statistic", slice(VIEW, VIEW + 1), threshold=0.0),
        Attack("the released file, learned statistic", slice(VIEW + 1, None)),
    )

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        releases, insiders = self.fits(with_row, seed)
        view = np.sum([insider.view for insider in insiders], axis=0)
        both = self.merge(releases)
        return np.array([*view, self._log_ratio(both, releases, insiders), *file_numbers(both)])

    def fits(self, with_row: bool, seed: int | None) -> tuple[list[Release], list[Insider]]:
        """The release of each site, and who saw it made."""
        releases, insiders = [], []
        for number, engines in enumerate(self._engines):
            job = self._job(number, with_row, None if seed is None else seed + number * OTHER_SITE)
            curator = job.curator()
            insiders.append(Insider(Client(curator), *engines))
            releases.append(job.release(curator, insiders[-1]))
        return releases, insiders

    def merge(self, releases: Sequence[Release]) -> Release:
        """The sites' releases as one."""
        return merged(releases, same_people=self.same_people, tuning=SHORT)

    def _log_ratio(self, both: Release, releases: Sequence[Release], insiders: Sequence[Insider]) -> float:
        """Of the merged answers alone, with the noise that the merged release says they have."""
        absent, present = (
            self._together([_exactly(each, seen.totals[world]) for each, seen in zip(releases, insiders, strict=True)])
            for world in (False, True)
        )
        noisy = self._together([both])
        ratios = (
            ((there.counts - gone.counts) * (seen.counts - (there.counts + gone.counts) / 2.0) / seen.variances).sum()
            for gone, there, seen in zip(*(_counts(known) for known in (absent, present, noisy)), strict=True)
        )
        return float(sum(ratios))

    def _together(self, releases: Sequence[Release]) -> Common:
        told = [read_told(each, "a site") for each in releases]
        return common(told, GRADES, Layout.of(GRADES), averaged if self.same_people else added)

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


def _exactly(release: Release, totals: Sequence[FloatArray]) -> Release:
    """The release with answers that have no noise."""
    answers = zip(release.answers, totals, strict=True)
    return replace(release, answers=tuple(replace(answer, values=values) for answer, values in answers))


def _counts(known: Common) -> list[Noisy]:
    return [*known.histograms, *known.tables]


def merged_sites(claim: Claim, adjacency: Adjacency) -> list[MergedGame]:
    """An extreme row at one of two sites, at both, leaving one for the other, and in one table that is fitted twice."""
    (game,) = pair_tables(claim, adjacency)
    row, here = game.pair, game.tables
    nobody, back = (here[0], here[0]), (here[1], here[0])
    half = math.sqrt(0.5) * (claim.mu or 0.0) * JUST_BELOW
    each = Claim.gaussian(epsilon_of(half, claim.delta), claim.delta)
    return [
        MergedGame(f"{row}, at one of two sites", claim, adjacency, (here, nobody), claim),
        MergedGame(f"{row}, at both sites", claim, adjacency, (here, here), each),
        MergedGame(f"{row}, moving to the other site", claim, adjacency, (here, back), each),
        MergedGame(f"{row}, one table fitted twice", claim, adjacency, (here, here), each, same_people=True),
    ]
