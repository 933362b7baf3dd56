"""Releases by the hundred: rows that were coded once are drawn anew for each, and the tilt is solved where it counts.

Intervals rest on noisy answers. Whether the tilt is solved between them changes which tables are bought, not what the
curator answers, so that most releases are made without: their rounds are those of a fit, their model is the mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.coverage.populations import Population
from benchmarks.coverage.questions import Rows
from sfumato.api import Job, prepare
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.pairs.tilting import Pool, PoolSize
from sfumato.private.queries.base import Batch, IntArray, Public, Query
from sfumato.private.slicing.rows import RowVectors
from sfumato.release.release import Release

SMALL_POOL = 4000  # rows of the model that choose tables, where the tilt is not solved


@dataclass(frozen=True)
class DrawnRows:
    """An engine over coded rows."""

    batch: Batch
    public: Public

    def total(self, query: Query) -> IntArray:
        """The exact total."""
        return np.asarray(query.total(self.batch))

    def rows(self, vectors: RowVectors) -> Any:
        """Never asked for."""
        raise NotImplementedError


@dataclass(frozen=True)
class Source:
    """A population whose rows are coded, to draw tables from and to release them."""

    population: Population
    job: Job
    rows: Rows

    @classmethod
    def of(cls, population: Population, rows: int, epsilon: float, delta: float) -> Source:
        """Plan releases of so many rows, and code the population once."""
        job = prepare(population.frame, population.schema, epsilon=epsilon, delta=delta, rows=rows, insecure_seed=0)
        coded = [each().batch for each in job.engine._source.jobs()]
        codes, labels = np.concatenate([b.codes for b in coded], axis=1), np.concatenate([b.labels for b in coded])
        if len(labels) != len(population.frame):
            raise ValueError("every row of a population must count")
        return cls(population, job, Rows(population.frame, Batch(codes, labels)))

    def draw(self, rows: int, rng: np.random.Generator) -> Rows:
        """A table of so many rows, with replacement."""
        chosen = rng.integers(0, len(self.population.frame), rows)
        return Rows(self.population.frame.take(chosen), self.rows.batch.only(chosen))

    def release(self, batch: Batch, seed: int, solved: bool) -> Release:
        """A release of rows, with noise that can be repeated; its tilt solved, or its answers alone."""
        engine: Any = DrawnRows(batch, self.job.engine.public)
        job = replace(self.job, engine=engine, bits=insecure_bits(seed))
        with nullcontext() if solved else answers_alone():
            return job.release(job.curator())


@contextmanager
def answers_alone() -> Iterator[None]:
    """Rounds are asked as ever; the tilt between them is left where it began."""
    small = PoolSize(SMALL_POOL, 1.0)
    nothing = patch.multiple(Pool, follow=_follow_nothing, settle=lambda *_: None)
    with nothing, patch.object(PoolSize, "of", lambda *_: small):
        yield


def _follow_nothing(pool: Pool, told: Any, total: Any) -> None:
    """The tables are there; their weights are nought."""
    more = [each.columns for each in told[len(pool.tilt.tables) :]]
    pool.tilt = pool.tilt.with_tables(more)
