"""The rounds of pair tables: ask how far tables are from the model, buy those that pay, tilt the model, and again.

Two kinds of Gaussian queries through the curator, distances and counts of tables; the rest is post-processing.
docs/proofs/pair-tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr
from threadpoolctl import threadpool_limits

from sfumato.encoding.marginals import Marginals
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, repeated
from sfumato.mechanisms.encodings.column_looks import averaged
from sfumato.mechanisms.pairs.column_margins import raked, within_noise
from sfumato.mechanisms.pairs.following import TwoColumns, followers_of
from sfumato.mechanisms.pairs.pair_levels import levels_of
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.mechanisms.pairs.table_choice import Candidate, choose, joint_of, pairs_of, scatter
from sfumato.mechanisms.pairs.tilting import PARTS_OF_TILT, Pool, PoolSize, Told, Total
from sfumato.mechanisms.questions import unpack
from sfumato.models.chains import STAGING, Chains
from sfumato.models.followers import Follower
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.structural_zeros import refined, rule_parts, rule_tables
from sfumato.models.tilt import Tilt
from sfumato.models.tilted_model import TiltedModel, laws_of
from sfumato.private.queries.base import ROW_CAP
from sfumato.private.queries.tables import CELLS_OF_ALL, CELLS_OF_ONE, MOST_STEPS, TARGET_BITS, Distances, Tables
from sfumato.schema.layout import FloatArray, IntArray, Layout

DISTANCES, TABLES = "distances", "tables"  # the rounds
PAIR_NOTE = "pairs that tables are chosen from"  # the note of a plan
MOST_COLUMNS = 1 << 12  # whose pairs are listed
MOST_CANDIDATES = 40_000  # tables that distances are asked of
RESTRICTED = 1000.0  # times as uncertain as its rows would be is a mixture of which rules leave a part
LEAST_POSSIBLE = 2.0 * STAGING.enough / STAGING.sure  # of rows, for those that keep rules to be found


def pair_shares(share: float, tuning: PairTuning) -> tuple[Share, ...]:
    """Rounds of distances and of tables, by turns."""
    each = share / tuning.rounds
    asked = repeated(
        DISTANCES, tuning.rounds, each * tuning.distance_share, "how far tables are from the model, time {i}"
    )
    bought = repeated(TABLES, tuning.rounds, each * (1.0 - tuning.distance_share), "the tables that pay most, time {i}")
    return tuple(round for turn in zip(asked, bought, strict=True) for round in turn)


def pair_notes(public: Public, share: float, tuning: PairTuning) -> dict[str, str | int | float]:
    """What a plan says of them: their part of the budget, and how many pairs they are chosen from, at the guess."""
    each = share * tuning.distance_share / tuning.rounds * public.mu**2
    most = max(1, min(most_candidates(public, each, public.guess, tuning), MOST_CANDIDATES))
    return {
        "of the budget, tables of pairs": f"{share:.0%}",
        PAIR_NOTE: min(math.comb(len(public.layout.names), 2), most),
    }


def can_pair(layout: Layout) -> bool:
    """Whether there are pairs of columns to look at, and not too many."""
    return not layout.groups and 1 < len(layout.names) <= MOST_COLUMNS


def asked_cells(sizes: Sequence[int], table: tuple[int, ...]) -> int:
    """How many cells a table is asked in: levels, the label's last, and one more of a column for what fits no bin."""
    label = len(sizes) - 1
    return math.prod(sizes[j] + (j != label) for j in table)


def most_candidates(public: Public, mu_squared: float, rows: float, tuning: PairTuning) -> int:
    """How many tables distances can be asked of at once, before noise is too large a part of the rows."""
    return int(mu_squared / public.noise_factor * (tuning.candidate_sd * rows) ** 2)


@dataclass
class Bought:
    """A table that was bought: its noisy counts, their noise, and what was expected before it was first bought."""

    counts: FloatArray
    sd: float
    expected: FloatArray

    def again(self, counts: FloatArray, sd: float) -> None:
        """Bought once more: both by their precision."""
        self.counts, self.sd = averaged(self.counts, self.sd, counts, sd)

    @property
    def wrong(self) -> float:
        """r^2: by how much of a cell the model was wrong, on average, squared, beyond scatter and noise."""
        apart = (self.counts - self.expected) ** 2 - self.sd**2 - self.expected
        return max(float(apart.sum() / (self.expected**2).sum()), 0.0)

    def two_columns(self, first: int, second: int) -> TwoColumns:
        """The same as a table of two columns with so many levels."""
        return TwoColumns(self.counts.reshape(first, second), self.sd)

    def told(self, columns: tuple[int, ...]) -> Told:
        """What it tells, trusted as far as the model was wrong.

        N KL(p || q) trusts q like N rows of it: a cell that expects M rows may be off by sqrt(M). Where all cells
        together are off by more than that and noise, by a share r of each cell on average, r^2 = sum((y - M)^2 - s^2 -
        M) / sum(M^2), the variance that q has in a cell is M + (r M)^2. That is the same as noise of variance
        s^2 / (1 + r^2 M) beside a q that is trusted.
        """
        trust = 1.0 + self.wrong * self.expected
        return Told(columns, self.counts, np.full(len(trust), self.sd), trust)


@threadpool_limits.wrap(limits=1)  # many small products: threads wait longer for each other than they work
def tilt_by_tables(
    curator: Asker, plan: Plan, model: MixtureModel, marginals: Marginals, tuning: PairTuning
) -> TiltedModel:
    """Choose, buy and follow tables in as many rounds as planned. The curator must see the layout's bins."""
    return Tilting(curator, plan, model, marginals, tuning).run()


class Tilting:
    """One run of all rounds."""

    def __init__(
        self, curator: Asker, plan: Plan, model: MixtureModel, marginals: Marginals, tuning: PairTuning
    ) -> None:
        self.curator, self.plan, self.model, self.marginals, self.tuning = curator, plan, model, marginals, tuning
        self.layout = model.layout
        self.total = Total(float(marginals.counts.sum()), marginals.count_sd * math.sqrt(self.layout.classes))
        self.followers: tuple[Follower, ...] = ()
        self.typical_variance = plan.public.noise_factor * tuning.typical_tables / plan.spend(plan.repeats(TABLES)[-1])
        self.levels, self.zeros = self._levels()
        self.size = PoolSize.of(self.total.rows, self.typical_variance, len(self.layout.names), tuning)
        self.pool = self._pool()
        self.sizes = self.pool.tilt.sizes
        self.bought: dict[tuple[int, ...], Bought] = {}
        self.columns = self._columns()

    def run(self) -> TiltedModel:
        """All rounds; then one more look with fresh rows."""
        rounds = zip(self.plan.repeats(DISTANCES), self.plan.repeats(TABLES), strict=True)
        for number, (asking, buying) in enumerate(rounds, start=1):
            candidates = self._candidates(number)
            seen = self._look(asking.title, candidates, self.plan.spend(asking))
            last = number == len(self.plan.repeats(TABLES))
            budget = self.curator.remaining if last else min(self.plan.spend(buying), self.curator.remaining)
            noise = math.sqrt(self.plan.public.noise_factor)
            chosen = choose(seen, budget, noise, self.total.rows, self.tuning)
            self._buy(buying.title, [seen[i] for i in chosen], budget)
            self._let_follow({seen[i].columns for i in chosen})
            self.pool.follow(self._told(), self.total)
        self.pool.settle(self._told(), self.total)
        return self._model()

    def _levels(self) -> tuple[tuple[IntArray, ...], Tilt]:
        """The levels of every column, cut where rules have their constants; and where rules let no row be."""
        tuning, rules = self.tuning, self.plan.public.modelling
        frequent = tuning.frequent * math.sqrt(self.typical_variance) / max(self.total.rows, 1.0)
        levels = levels_of(self.marginals, self.layout.bins, tuning.levels, frequent, tuning.most_frequent)
        if rules is None:
            return levels, Tilt(levels, self.layout.classes, (), np.zeros(0))
        levels = refined(levels, rule_parts(self.layout, rules))
        return levels, Tilt(levels, self.layout.classes, *rule_tables(self.layout, rules, levels))

    def _pool(self) -> Pool:
        """Rows of the mixture, of which nothing was told yet but who follows whom."""
        return Pool(self._chains(), self.levels, self.size, self.tuning)

    def _chains(self) -> Chains:
        """Rows where rules let them be; or anywhere, if the mixture puts next to none there: what was spent must not be
        lost, and whoever draws rows of the release draws again.
        """
        laws = laws_of(self.model, self.followers, self.levels)
        chains = Chains(self.model, zeros=self.zeros, followers=laws)
        log_share, _ = chains.log_possible(self.size.rows, np.random.default_rng(0))
        return chains if log_share > math.log(LEAST_POSSIBLE) else Chains(self.model, followers=laws)

    def _let_follow(self, new: set[tuple[int, ...]]) -> None:
        """Let columns follow others that all but tell them, by the tables so far, where the new ones say more of it.
        What is expected of followers' tables is then by their laws, and rows are drawn anew, as other tables tilt them.
        """
        before = {(each.column, each.leader) for each in self.followers}
        label = len(self.layout.names)
        pairs = {table: bought for table, bought in self.bought.items() if len(table) == 2 and label not in table}
        found = followers_of(
            {(i, j): bought.two_columns(self.sizes[i], self.sizes[j]) for (i, j), bought in pairs.items()},
            self._told_shares,
            self._told_within,
            self.layout.bins,
            self.total.rows,
            self.tuning.following,
        )
        after = {(each.column, each.leader) for each in found}
        if after == before and not any(tuple(sorted(pair)) in new for pair in after):
            return
        columns = {column for column, _ in before | after}
        tilt = self.pool.tilt.without(columns)
        self.followers = found
        self.pool = self._pool()
        self.pool.go_near(tilt, (1.0, *PARTS_OF_TILT), self._told(), self.total)
        tables = [table for table in self.bought if columns & set(table)]
        for table, shares in zip(tables, self.pool.expected(tables), strict=True):
            self.bought[table].expected = self.total.rows * shares

    @cached_property
    def _told_shares(self) -> list[FloatArray]:
        """The share of every level of each column, by its histogram."""
        counts = [told.counts.reshape(self.sizes[j], -1).sum(axis=1) for j, told in enumerate(self.columns)]
        return [each / each.sum() for each in counts]

    @cached_property
    def _told_within(self) -> list[float]:
        """The entropy of each column's bins within their levels."""
        alone = [self.marginals.weights @ masses for masses in self.marginals.masses]
        levels = [np.bincount(level, share) for level, share in zip(self.levels, alone, strict=True)]
        return [float(entr(share).sum() - entr(level).sum()) for share, level in zip(alone, levels, strict=True)]

    def _model(self) -> TiltedModel:
        """Where the pool is."""
        chains, tilt = self.pool.chains, self.pool.tilt
        log_possible, possible_sd = chains.log_possible(len(self.pool.rows), self.pool.rng)
        if chains.zeros is not None:
            tilt = tilt.with_tables(chains.zeros.tables, chains.zeros.weights)
        expected = zip(tilt.tables, self.pool.expected(tilt.tables), strict=True)
        shares = np.concatenate([self._held_to_columns(table, cells) for table, cells in expected])
        sd = math.sqrt(self.pool.log_total_variance + possible_sd**2)
        log_total = self.pool.log_total + log_possible
        return TiltedModel(self.model, tilt, shares, log_total, sd, followers=self.followers)

    def _held_to_columns(self, table: tuple[int, ...], cells: FloatArray) -> FloatArray:
        """What is expected of a table, its columns no further from their histograms than noise explains."""
        found = cells.reshape([self.sizes[j] for j in table])
        return raked(found, {axis: self._margins[j] for axis, j in enumerate(table) if j in self._margins}).ravel()

    @cached_property
    def _margins(self) -> dict[int, FloatArray]:
        """The share of every level of a column, by column."""
        found = {}
        expected = self.pool.expected([told.columns for told in self.columns])
        for j, (told, cells) in enumerate(zip(self.columns, expected, strict=True)):
            shape = self.sizes[j], self.layout.classes
            counts, sd = told.counts.reshape(shape).sum(axis=1), np.sqrt((told.sd**2).reshape(shape).sum(axis=1))
            rows, most = counts.sum(), self.tuning.column_noise * sd
            found[j] = within_noise(cells.reshape(shape).sum(axis=1), counts / rows, most / rows)
        return found

    def _told(self) -> list[Told]:
        return self.columns + [bought.told(columns) for columns, bought in self.bought.items()]

    def _columns(self) -> list[Told]:
        """What the histograms tell of each column, with the label: nothing is asked twice.

        The mixture has what they told already. Restricted to rows that keep the rules it has not: a group that it had
        not learnt to keep them is nearly gone from it. So columns that rules speak of are to be as told.
        """
        found = []
        label = () if self.layout.label is None else (len(self.layout.names),)
        zeros = self.pool.chains.zeros
        restricted = set() if zeros is None else {j for table in zeros.tables for j in table}
        for j, (masses, sd) in enumerate(zip(self.marginals.masses, self.marginals.sd, strict=True)):
            level = self.levels[j]
            counts = np.zeros((self.sizes[j], self.layout.classes))
            np.add.at(counts, level, (self.marginals.weights[:, None] * masses).T * self.total.rows)
            bins = np.bincount(level, minlength=self.sizes[j])
            # Of many bins that hold next to nothing the cleaned distribution knows so: no more of them than have rows
            # above the noise can be wrong.
            held = np.clip(counts / float(sd), 1.0, bins[:, None])
            noise = (float(sd) * np.sqrt(held)).ravel()
            trust = np.full(len(noise), RESTRICTED if j in restricted else 1.0)
            found.append(Told((j, *label), counts.ravel(), noise, trust))
        return found

    # --- choosing

    def _candidates(self, number: int) -> list[tuple[int, ...]]:
        """Pairs of columns; later also pairs with the label, and a table of many small columns."""
        tuning, features = self.tuning, len(self.layout.names)
        mu_squared = self.plan.spend(self.plan.repeats(DISTANCES)[number - 1])
        most = most_candidates(self.plan.public, mu_squared, self.total.rows, tuning)
        pairs = pairs_of(features, max(1, min(most, MOST_CANDIDATES)), self._ties())
        labelled = self.layout.classes > 1
        found = list(pairs)
        early = number < tuning.label_round and not self.size.is_short
        if labelled and not early and 2 * len(pairs) <= most:
            found += [(*pair, features) for pair in pairs]
        joint = joint_of(self.sizes, self.total.rows, tuning, labelled=labelled)
        if joint is not None and joint not in found:
            found.append(joint)
        return self._fitting(found)

    def _fitting(self, tables: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Those that go into one question, the first ones first: none is too large, nor all of them together."""
        found, cells = [], 0
        for table in tables:
            more = asked_cells(self.sizes, table)
            if more <= CELLS_OF_ONE and cells + more <= CELLS_OF_ALL:
                found.append(table)
                cells += more
        return found

    def _ties(self) -> FloatArray:
        """How strongly the mixture ties each pair of columns: the mean of squared correlations over components."""
        mixture = self.model.mixture
        found = np.zeros((mixture.dim, mixture.dim))
        for c, weight in enumerate(mixture.weights):
            covariance = mixture.covariance(c)
            scale = np.sqrt(np.diagonal(covariance))
            found += weight * (covariance / np.outer(scale, scale)) ** 2
        return found

    def _look(self, title: str, tables: list[tuple[int, ...]], mu_squared: float) -> list[Candidate]:
        """Noisy distances of tables from what the model expects."""
        most = min(ROW_CAP, 0.99 * MOST_STEPS / 2**TARGET_BITS / len(tables))  # what targets may add up to
        expected = [min(self.total.rows, most) * shares for shares in self.pool.expected(tables)]
        query = self._question(tables)
        targets = [self._with_nowhere(table, cells) for table, cells in zip(tables, expected, strict=True)]
        steps = np.rint(np.concatenate(targets) * 2.0**TARGET_BITS).clip(0).astype(np.int64)
        asked = Distances(query, steps)
        distances = unpack(asked, self.curator.total(title, asked, mu_squared).values)
        spread = 1.0 + self.total.rows / len(self.pool.rows)
        return [
            Candidate(table, cells, float(distance) - scatter(cells, spread), self._bought_sd(table))
            for table, cells, distance in zip(tables, expected, distances, strict=True)
        ]

    def _bought_sd(self, table: tuple[int, ...]) -> float:
        return self.bought[table].sd if table in self.bought else math.inf

    # --- buying

    def _buy(self, title: str, chosen: Sequence[Candidate], mu_squared: float) -> None:
        """Noisy counts of tables, of rows whose cells fit a bin: those that fit none are taken to be like them."""
        tables = [each.columns for each in chosen]
        query = self._question(tables)
        answer = self.curator.total(title, query, mu_squared)
        counts, sds = unpack(query, answer.values), unpack(query, answer.sd)
        for each, noisy, sd in zip(chosen, counts, sds, strict=True):
            readable = math.prod(self.marginals.readable[j] for j in each.columns if j < len(self.layout.names))
            inside = noisy[tuple(slice(0, self.sizes[j]) for j in each.columns)].ravel() / readable
            noise = float(sd.ravel()[0]) / readable
            if each.columns in self.bought:
                self.bought[each.columns].again(inside, noise)
            else:
                self.bought[each.columns] = Bought(inside, noise, each.expected)

    def _question(self, tables: Sequence[tuple[int, ...]]) -> Tables:
        """Every column's levels, and one more for what fits no bin, so that each row is in one cell of every table."""
        levels = tuple(np.append(level, size) for level, size in zip(self.levels, self.sizes, strict=False))
        return Tables(levels, self.layout.classes, tuple(tables), (1.0 / len(tables),) * len(tables))

    def _with_nowhere(self, table: tuple[int, ...], cells: FloatArray) -> FloatArray:
        """What is expected where some cells fit no bin, whatever the others are."""
        found = cells.reshape([self.sizes[j] for j in table])
        for axis, j in enumerate(table):
            if j < len(self.layout.names):
                share = float(self.marginals.readable[j])
                outside = found.sum(axis=axis, keepdims=True) * (1.0 - share)
                found = np.concatenate([found * share, outside], axis=axis)
        return found.ravel()
