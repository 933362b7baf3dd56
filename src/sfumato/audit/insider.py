"""The strongest adversary there is: one who sees every noisy answer and knows both tables.

What a mechanism makes of the answers is post-processing. If the noise is what the curator says it is, the best
statistic is known, and no reader of the release can do better: given the earlier answers a question is the same on
both tables, and its answer is Gaussian around the one total or the other, so the log-likelihood ratio of the whole run
is the sum over answers of

    sum over coordinates of (t1 - t0) (answer - (t0 + t1) / 2) / sd^2.

For a mechanism that is exactly mu-GDP it is normal around -mu^2/2 and +mu^2/2 with standard deviation mu: the best
threshold is 0.

Noisy rows come in an order that nobody knows. Where all rows but one are alike the ratio is known all the same: with c
what those others show, v0 and v1 what the row shows on the one table and on the other, and y_i the noisy rows, it is

    log sum_i exp(((v1 - c).(y_i - c) - |v1 - c|^2 / 2) / sd^2) - the same with v0.

Noise may also be wrong in ways that this statistic does not see. So two more numbers are kept: the sd that the curator
states, which must not depend on the table, and whether the noise of one answer repeats that of another. For each table
there is a residual, what an answer's noise would be if that were the table, in units of its sd; where words were used
twice, the residuals of two answers agree on the true table and not on the other.
"""

from __future__ import annotations

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.private.curator import Engine
from sfumato.private.queries.base import LATENT_BITS, Answer, FloatArray, Query
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole
from sfumato.whole_numbers import joined

VIEW = 3  # numbers in an insider's view
NOISE = slice(1, VIEW)  # of them, those about the noise


class Insider:
    """Stands between a mechanism and the curator, and adds up the log-likelihood ratio of what passes.

    The mechanism asks it as it would the curator; all that it answers is the other's.
    """

    def __init__(self, curator: Asker, without: Engine, with_row: Engine) -> None:
        self._curator = curator
        self._engines = without, with_row
        self._residuals: tuple[FloatArray, FloatArray] | None = None
        self.totals: tuple[list[FloatArray], list[FloatArray]] = [], []  # of all answers, without noise, on each table
        self.log_ratio = 0.0
        self.repetition = 0.0
        self.log_sd = 0.0

    @property
    def view(self) -> list[float]:
        """What was seen in a run, as numbers: VIEW of them."""
        return [self.log_ratio, self.repetition, self.log_sd]

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return self._curator.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """The curator's answer, noted beside what either table's would be without noise."""
        answer = self._curator.total(name, query, mu_squared)
        absent, present = (joined(query.answer(engine.total(query))) for engine in self._engines)
        for exact, known in zip((absent, present), self.totals, strict=True):
            known.append(exact.astype(np.float64))
        middle = (absent + present) / 2.0
        self.log_ratio += float(((present - absent) * (answer.values - middle) / answer.sd**2).sum())
        self.log_sd += float(np.log(answer.sd).mean())
        self._compare(((answer.values - absent) / answer.sd, (answer.values - present) / answer.sd))
        return answer

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """The curator's noisy rows, noted beside what either table's rows are."""
        found = self._curator.rows(name, vectors, projection)
        absent, present = (_shown(engine, vectors, found) for engine in self._engines)
        others = absent[0] if len(absent) > 1 else np.zeros(absent.shape[1])  # of a row that is alone any c will do
        self.log_ratio += _evidence(found, present, others) - _evidence(found, absent, others)
        self.log_sd += float(np.log(found.sd))
        return found

    def _compare(self, residuals: tuple[FloatArray, FloatArray]) -> None:
        """How much better the residuals of this answer and the last one agree if the row is there."""
        if self._residuals is not None:
            without, with_row = (
                float(((now[: len(last)] - last[: len(now)]) ** 2).sum())
                for now, last in zip(residuals, self._residuals, strict=True)
            )
            self.repetition += without - with_row
        self._residuals = residuals


def _shown(engine: Engine, vectors: RowVectors, found: NoisyRows) -> FloatArray:
    """What the answer would be without noise and in the table's own order, in which the row is the last."""
    exact = engine.rows(vectors).T * 2.0**-LATENT_BITS
    return np.asarray(exact if found.directions is None else exact @ found.directions)


def _evidence(found: NoisyRows, shown: FloatArray, others: FloatArray) -> float:
    """The log-likelihood of noisy rows, up to what is common to all tables with these others."""
    apart = (shown - others).sum(axis=0)
    return float(np.logaddexp.reduce(((found.values - others) @ apart - apart @ apart / 2.0) / found.sd**2))
