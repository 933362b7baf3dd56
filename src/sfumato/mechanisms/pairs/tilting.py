"""The distribution that is closest to a mixture, in KL divergence, among those that noisy tables allow.

    min over p and N of  N KL(p || q) + sum over cells c of (N p(c) - y_c)^2 / (2 s_c^2) + (N - n)^2 / (2 s_n^2)

with y the noisy counts of tables' cells, s their noise, and n the noisy number of rows. The solution is a tilt,
p proportional to q exp(theta . f), f the cells that a row is in, and theta solves the dual

    min over theta of  n L + s_n^2 L^2 / 2 - theta . y + sum of s_c^2 theta_c^2 / 2,    L = log E_q exp(theta . f),

which is smooth and convex; N = n + s_n^2 L. Expectations under q are taken over a pool of rows that follows the tilt:
whenever the weights of its rows become uneven, it is drawn anew from what the tilt is by then, by steps that keep it
(`models.chains`). docs/proofs/pair-tables.md, section 5. No row of the private table is near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.optimize import Bounds, brentq, minimize
from scipy.sparse import csr_array

from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.models.chains import Chains, Rows, resampled, settle
from sfumato.models.tilt import Tilt
from sfumato.progress import Step, tell
from sfumato.schema.layout import FloatArray, IntArray

CORRECTIONS = 20  # that L-BFGS remembers
SMALL = 1e-10  # relative change of the dual below which it is solved
STEP_BISECTIONS = 20
LOWEST_WEIGHT = 20.0  # below 0, of a cell
ATTEMPTS = 4  # tilts that are looked at twice
ROOM = 2.0  # for cells that other weights lower
MISSED = 0.7  # in the logarithm of the mass: rows have missed as much of it as they saw
UNSURE = 0.05  # of all rows: by how much other rows may be further from what was told
MORE_DOUBT = 1.5  # times as much, where rows had missed mass
FEWER = 0.7  # weights, where that happened again after rows were as said
AVERAGED = 2  # solutions, where one alone is not near
PARTS_OF_TILT = (1 / 2, 1 / 4, 1 / 8)  # of a tilt whose rows are not as said
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Told:
    """What noisy answers say of a table of some columns: the counts of its cells, flat, their noise, and how many times
    as uncertain the mixture is there as so many of its rows would be.
    """

    columns: tuple[int, ...]
    counts: FloatArray
    sd: FloatArray
    trust: FloatArray


@dataclass(frozen=True)
class Total:
    """The noisy number of rows, and its noise."""

    rows: float
    sd: float


@dataclass(frozen=True)
class PoolSize:
    """How many rows expectations are taken over, and how much is doubted of cells that few of them are in."""

    rows: int
    doubt: float
    is_short: bool = False  # whether more rows than the limit would be needed: noise is small

    @classmethod
    def of(cls, total: float, table_variance: float, columns: int, tuning: PairTuning) -> PoolSize:
        """As many rows as make what they say of a typical cell as sure as a noisy table does, within limits."""
        needed = total**2 * tuning.typical_cell / table_variance
        fewest, most = tuning.pools
        rows = int(np.clip(needed, fewest, most))
        least, slope, largest = tuning.doubts
        doubt = float(np.clip(slope * needed / rows, least, largest))
        return cls(min(rows, max(1000, tuning.pool_cells // columns)), doubt, needed > most)


class Pool:
    """Rows of a mixture as it is tilted so far, with weights: what expectations are taken over.

    Attributes:
        tilt: Where the weighted rows are.
        log_total: log E_q exp(theta . f) of that tilt, and the variance of its estimate.
    """

    def __init__(self, chains: Chains, levels: tuple[IntArray, ...], size: PoolSize, tuning: PairTuning) -> None:
        n = size.rows
        self.rng = np.random.default_rng(0)  # free choices: the same for every table
        self.chains, self.tuning = chains, tuning
        self.tilt = Tilt(levels, chains.model.layout.classes, (), np.zeros(0))
        self.rows = chains.draw(n, self.rng)
        self.shares = np.full(n, 1.0 / n)
        self.log_total, self.log_total_variance = 0.0, 0.0
        self.doubt = size.doubt

    def expected(self, tables: Sequence[tuple[int, ...]]) -> list[FloatArray]:
        """The share of each cell of some tables, flat."""
        levels = self.tilt.levels_of(self.rows.codes, self.rows.labels)
        seen = Tilt(self.tilt.levels, self.tilt.classes, (), np.zeros(0)).with_tables(tables)
        found = []
        for t, start in enumerate(seen.starts[:-1]):
            places = seen.places(levels, [t])[0] - start
            found.append(np.asarray(np.bincount(places, self.shares, seen.starts[t + 1] - start), np.float64))
        return found

    def follow(self, told: Sequence[Told], total: Total) -> None:
        """Tilt by what was told, those that the tilt has already first, until rows weigh about the same."""
        have = len(self.tilt.tables)
        goal = self.tilt.with_tables([each.columns for each in told[have:]])
        for turn in range(self.tuning.refreshes):
            if self.shares.max() > self.shares.min():
                self._refresh()
            more = np.zeros(goal.cells - self.tilt.cells)
            self.tilt = goal.reweighted(np.concatenate([self.tilt.weights, more]))
            share, whole = self._step(told, total, self.tuning.weights_a_row[0])
            tell(Step(turn + 1, self.tuning.refreshes, 1.0 - share))
            if whole and share >= self.tuning.settled:
                break

    def settle(self, told: Sequence[Told], total: Total) -> None:
        """Draw rows anew from the mixture, in stages, and solve once more, until other rows say the same. Where it does
        not come to that, take of all tilts on the way the one whose own fresh rows are nearest to what was told.

        Rows that were moved a little at a time may have missed where the tilt has put mass. Then it goes on from the
        last tilt whose own rows were as said, or from a part of it, and fewer weights are fitted. Solutions over
        independent rows are averaged: each has its rows' chance in it.
        """
        seen, trusted, steps, share, limit = [], None, 0, 0.0, self.tuning.weights_a_row[1]
        for turn in range(self.tuning.settlings + 1):
            if limit < self.tuning.weights_a_row[1]:  # rows had missed mass: look at what would be released
                self._cap()
            solved, misfit = self._state, self._misfit(told, total)
            self.go_to(self.tilt)
            seen.append((self._misfit(told, total), self.tilt))
            is_as_said = seen[-1][0] <= misfit + UNSURE and self.log_total <= solved.log_total + MISSED
            if is_as_said and (steps >= AVERAGED or (steps > 0 and share >= self.tuning.settled)):
                self._state = solved
                break
            if is_as_said:
                trusted = self._state
            elif trusted is not None or self.log_total > solved.log_total + MISSED:
                self._back_off(trusted, told, total)
                limit, steps = limit * FEWER, 0
            share, whole = self._step(told, total, limit, 1.0 / (steps + 1))
            steps += whole
            tell(Step(turn + 1, self.tuning.settlings + 1, 1.0 - share))
        else:
            self._take_best(seen, told, total)
        self._cap()

    def _take_best(self, seen: list[tuple[float, Tilt]], told: Sequence[Told], total: Total) -> None:
        """The tilt that is nearest to what was told by two draws of rows, if it is nearer than the mixture itself."""
        known = self._go_bare(told, total)
        bare = self._state
        tilted = [each for each in seen if each[1].weights.any()]
        for found, tilt in sorted(tilted, key=lambda each: each[0])[:ATTEMPTS]:
            self.go_to(tilt)
            if max(found, self._misfit(told, total)) < known:
                self._step(told, total, self.tuning.weights_a_row[0])
                return
        self._state = bare

    def go_near(self, tilt: Tilt, parts: Sequence[float], told: Sequence[Told], total: Total) -> None:
        """Rows of the first of some parts of a tilt that are nearer to what was told than the mixture's are; if none
        is, the mixture's.
        """
        self.tilt = tilt
        known = self._go_bare(told, total)
        bare = self._state
        for part in parts:
            self.go_to(tilt.scaled(part))
            if self._misfit(told, total) < known:
                return
        self._state = bare

    def _go_bare(self, told: Sequence[Told], total: Total) -> float:
        """Rows of the mixture; how far they are from what was told."""
        self.go_to(self.tilt.reweighted(np.zeros(self.tilt.cells)))
        return self._misfit(told, total)

    def _misfit(self, told: Sequence[Told], total: Total) -> float:
        """How far rows are from what was told: the mean over tables of the sum over cells of |N p - y| / N."""
        shares = self.expected([each.columns for each in told])
        apart = [np.abs(total.rows * p - each.counts).sum() for p, each in zip(shares, told, strict=True)]
        return float(np.mean(apart)) / total.rows

    def _cap(self) -> None:
        """No row weighs more than next to all of these do: a rare row in many cells of large weight may not have been
        seen, and would hold more mass than all that tables speak of.
        """
        weights = self.chains.log_weights(self.rows, self.tilt)
        order = np.argsort(weights)
        under = np.searchsorted(np.cumsum(self.shares[order]), self.tuning.under_ceiling)
        ceiling = float(weights[order[min(int(under), len(order) - 1)]])
        self.log_total += float(np.log(self.shares @ np.exp(np.minimum(ceiling - weights, 0.0))))
        self.tilt = self.tilt.reweighted(self.tilt.weights, ceiling)

    def _back_off(self, trusted: _State | None, told: Sequence[Told], total: Total) -> None:
        """Go back to where rows were as said; or to a part of the tilt, and doubt more."""
        if trusted is not None:
            self._state = trusted
            return
        self.doubt *= MORE_DOUBT
        self.go_near(self.tilt, PARTS_OF_TILT, told, total)

    def go_to(self, tilt: Tilt) -> None:
        """Rows of a tilt, drawn anew from the mixture in stages."""
        self.tilt = tilt
        self.rows, self.log_total, sd = settle(self.chains, self.tilt, len(self.rows), self.rng)
        self.log_total_variance = sd**2
        self.shares = np.full(len(self.rows), 1.0 / len(self.rows))

    def _refresh(self) -> None:
        """Rows by weight, then moved on: none repeats another for long."""
        self.rows = self.rows.take(resampled(self.shares, len(self.shares), self.rng))
        tilt = self.tilt.merged()
        for _ in range(self.tuning.sweeps):
            self.chains.sweep(self.rows, tilt, self.rng)
        self.shares = np.full(len(self.rows), 1.0 / len(self.rows))

    def _step(self, told: Sequence[Told], total: Total, weights_a_row: float, most: float = 1.0) -> tuple[float, bool]:
        """Solve the dual over the rows, weigh them by its solution, or as far as they reach, and tilt by `most` of the
        way: the effective share of rows at the solution, and whether they reach so far.
        """
        cells = cells_of(self.tilt, self.rows)
        now = self.tilt.weights
        # A mixture known by so many rows is trusted like a part of them at the most: counts are taken as of fewer rows.
        unit = max(1.0, self.tuning.trusted * total.rows / len(self.rows))
        fewer = Total(total.rows / unit, total.sd / unit)
        y, sd, trust = (np.concatenate([getattr(t, name) for t in told]) for name in ("counts", "sd", "trust"))
        expected = fewer.rows * (cells.T @ self.shares)
        # What the rows of the pool say of a cell is as uncertain as their number: N p is known to N sqrt(p / rows).
        counted = fewer.rows / len(self.rows) * expected / np.sqrt(trust)
        variance = (sd / unit) ** 2 / trust + self.doubt * counted
        variance += doubt_for(expected, variance, counted, weights_a_row * len(self.rows)) * counted
        moved = solve(cells, now, y / unit, np.sqrt(variance), fewer, self.tuning.steps) - now
        gain = cells @ moved
        step, share = reach(gain, self.tuning.effective)
        self.shares = _weighed(step * gain)
        self._move(moved, gain, min(step, most))
        return share, step >= most

    def _move(self, moved: FloatArray, gain: FloatArray, step: float) -> None:
        """Change the tilt by a part of what rows gain by it, and what is known of its mass."""
        top = step * gain.max()
        weighed = np.exp(step * gain - top)
        self.log_total += float(np.log(weighed.mean()) + top)
        self.log_total_variance += float(weighed.var() / weighed.mean() ** 2 / len(weighed))
        self.tilt = self.tilt.reweighted(self.tilt.weights + step * moved)

    @property
    def _state(self) -> _State:
        return _State(self.tilt, self.rows, self.shares, self.log_total, self.log_total_variance)

    @_state.setter
    def _state(self, state: _State) -> None:
        for each in fields(state):
            setattr(self, each.name, getattr(state, each.name))


@dataclass(frozen=True, eq=False)
class _State:
    """Where a pool is."""

    tilt: Tilt
    rows: Rows
    shares: FloatArray
    log_total: float
    log_total_variance: float


def fitted(expected: FloatArray, variance: FloatArray) -> float:
    """How many weights are fitted, as far as they are: a cell follows what was told by M / (M + s^2)."""
    return float((expected / np.maximum(expected + variance, TINY)).sum())


def doubt_for(expected: FloatArray, variance: FloatArray, counted: FloatArray, most: float) -> float:
    """How many times the rows' own uncertainty is to be added so that at most so many weights are fitted.

    A row is in a cell of every table. The errors that its weights have by the pool's chance add up over tables, to a
    variance of about (weights fitted) / (rows of the pool): where that is not small, rows other than the pool's get
    weights that nothing was told for.
    """

    def excess(doubt: float) -> float:
        return fitted(expected, variance + doubt * counted) - most

    if excess(0.0) <= 0.0:
        return 0.0
    seen = counted > 0.0
    high = float((expected[seen] / counted[seen]).sum()) / most  # M / (M + s^2) is below M / s^2
    return float(brentq(excess, 0.0, high, rtol=1e-3))


def _weighed(log_weights: FloatArray) -> FloatArray:
    shares = np.exp(log_weights - log_weights.max())
    return np.asarray(shares / shares.sum())


def cells_of(tilt: Tilt, rows: Rows) -> csr_array:
    """(rows, cells): 1 where a row is in a cell."""
    places = tilt.places(tilt.levels_of(rows.codes, rows.labels)).T.ravel()
    ends = np.arange(0, places.size + 1, len(tilt.tables), dtype=np.int32)
    return csr_array((np.ones(places.size), places, ends), shape=(len(rows), tilt.cells))


def solve(cells: csr_array, now: FloatArray, y: FloatArray, sd: FloatArray, total: Total, steps: int) -> FloatArray:
    """The weights that solve the dual over rows that have the weights `now` already; equally likely rows.

    Cells that no row is in keep their weight: the rows say nothing of them. Of a large table they are most, so that
    the dual is over the others. Weights are scaled by the curvature that they have at the start, so that L-BFGS needs
    few steps.
    """
    n = cells.shape[0]
    held = np.bincount(cells.indices, minlength=len(now))
    hit = np.flatnonzero(held)
    place = np.zeros(len(now), cells.indices.dtype)
    place[hit] = np.arange(len(hit))
    cells = csr_array((cells.data, place[cells.indices], cells.indptr), shape=(n, len(hit)))
    back = cells.T.tocsr()
    start, share, y, sd = now[hit], held[hit] / n, y[hit], sd[hit]
    scale = 1.0 / np.sqrt(total.rows * share + sd**2)

    def dual(scaled: FloatArray) -> tuple[float, FloatArray]:
        moved = scale * scaled
        theta = start + moved
        gain = cells @ moved
        top = gain.max()
        weighed = np.exp(gain - top)
        mass = weighed.sum()
        log_mean = np.log(mass / n) + top
        rows = total.rows + total.sd**2 * log_mean
        value = total.rows * log_mean + total.sd**2 * log_mean**2 / 2.0 - moved @ y
        value += 0.5 * ((sd * theta) ** 2).sum()
        slope = rows * (back @ weighed) / mass - y + sd**2 * theta
        return float(value), slope * scale

    # No cell is raised much further than to what its noisy count may stand for: what few rows of a pool say would be
    # weighed without end, and rows that are in several such cells may come up later than here.
    most = np.log((np.maximum(y, 0.0) + 2.0 * sd + 1.0) / (total.rows * share))
    bounds = Bounds(np.minimum(-LOWEST_WEIGHT - start, 0.0) / scale, (np.maximum(most, 0.0) + ROOM) / scale)
    options: Any = {"maxcor": CORRECTIONS, "ftol": SMALL, "maxiter": steps}
    found = minimize(dual, np.zeros(len(hit)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    solved = now.copy()
    solved[hit] += scale * found.x
    return solved


def reach(gain: FloatArray, least: float) -> tuple[float, float]:
    """How far a step may go, up to 1, so that the effective share of rows stays at least this; and that share at 1."""

    def effective(step: float) -> float:
        weighed = np.exp(step * (gain - gain.max()))
        return float(weighed.sum() ** 2 / (weighed**2).sum() / len(gain))

    whole = effective(1.0)
    if whole >= least:
        return 1.0, whole
    low, high = 0.0, 1.0
    for _ in range(STEP_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if effective(middle) >= least else (low, middle)
    return low, whole
