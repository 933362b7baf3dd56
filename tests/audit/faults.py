"""Mechanisms with a fault planted in them. An audit that cannot convict these proves nothing."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from sfumato.api import Job
from sfumato.audit.insider import Insider
from sfumato.audit.membership import MembershipGame
from sfumato.audit.mixture import FitGame
from sfumato.audit.queries import QueryGame, in_bins
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.questions import unpack
from sfumato.models import GeneratorModel
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import Bits, noisy, normals
from sfumato.private.queries.base import EXACT, Answer, Batch, FloatArray, IntArray, Public, Query, Reach
from sfumato.private.queries.gradients import Gradient
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Distances
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole, sliced, whole
from sfumato.release.release import Release
from sfumato.schema.schema import Schema
from sfumato.tables import Table, open_table
from sfumato.whole_numbers import joined


class HalfTheNoise(Curator):
    """Noise scaled to half of what was charged for."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        query = decode(request)
        spend = self._budget.charge(name, query.reach.sensitivity(self._adjacency), mu_squared)
        sd = spend.sigma / query.weights
        return Answer(noisy(query.answer(self._engine.total(query)), sd / 2.0, self._bits), sd)


class HalfTheSensitivity(Curator):
    """Noise for rows that move a query half as far as they can."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        query = decode(request)
        spend = self._budget.charge(name, query.reach.sensitivity(self._adjacency) / 2.0, mu_squared)
        sd = spend.sigma / query.weights
        return Answer(noisy(query.answer(self._engine.total(query)), sd, self._bits), sd)


def half_the_sensitivity(job: Job) -> Curator:
    return HalfTheSensitivity(job.engine, job.budget, job.plan.adjacency, job.bits)


class Forgetful(Curator):
    """Answers the histograms without charging for them."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        if name != "histograms":
            return super().total(name, request, mu_squared)
        charged, self._budget = self._budget, Budget(self._budget.total)
        try:
            return super().total(name, request, mu_squared)
        finally:
            self._budget = charged


class ScaledToTheTable(Curator):
    """Less noise where there are fewer rows, and says so."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        query = decode(request)
        spend = self._budget.charge(name, query.reach.sensitivity(self._adjacency), mu_squared)
        total = joined(query.answer(self._engine.total(query)))
        sd = spend.sigma / query.weights * (1.0 + 0.01 * total.sum())
        return Answer(noisy(total, sd, self._bits), sd)


class SameWords(Curator):
    """Every answer's noise comes from the same random words."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        if not hasattr(self, "_seed"):
            self._seed = int.from_bytes(self._bits(8), "little")
        self._bits = insecure_bits(self._seed)
        return super().total(name, request, mu_squared)


class HalfTheNoiseOnRows(Curator):
    """Rows with half of the noise that was set aside."""

    def rows(self, name: str, request: bytes) -> NoisyRows:
        vectors, projection = decode(request)
        found = self._engine.rows(vectors)
        if isinstance(projection, Slices):
            self._budget.take(projection)
            return sliced(found, replace(projection, sigma=projection.sigma / 2.0), self._bits)
        spend = self._budget.charge(name, vectors.distance(None), projection.mu_squared)
        return whole(found, spend.sigma / 2.0, self._bits)


def half_the_noise_on_rows(job: Job) -> Curator:
    return HalfTheNoiseOnRows(job.engine, job.budget, job.plan.adjacency, job.bits)


class UnpaidRows(Curator):
    """The histograms are asked with all the mu there would be without rows."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        charged, self._budget = self._budget, Budget(3.0 * self._budget.total)
        try:
            return super().total(name, request, 9.0 * mu_squared)
        finally:
            self._budget = charged


class LeavesOutBadRows(LocalEngine):
    """Rows that count nowhere are not there at all."""

    def rows(self, vectors: RowVectors) -> FloatArray:
        found = super().rows(vectors)
        return found[:, (found != 0).any(axis=0)]


class SameMatrix:
    """A matrix of projections from a fixed seed, which an adversary may know before choosing a row."""

    def __call__(self, count: int, bits: Bits) -> IntArray:
        drawn = normals(count, insecure_bits(1)).reshape(6, -1).astype(np.float64)
        # Turned so that the row of this audit, the same in every column, is where it shows best.
        left, sizes, right = np.linalg.svd(drawn, full_matrices=False)
        basis = np.linalg.qr(np.column_stack([np.ones(6), np.eye(6)[:, : left.shape[1] - 1]]))[0]
        return np.rint((basis * sizes) @ right).astype(np.int64).ravel()


@dataclass(frozen=True)
class AskedTwice(QueryGame):
    """Two rounds, the first with nearly all of the budget and the second with what is left."""

    first: float = 0.99

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        curator = self.curator(self._engines[with_row], Budget(self.claim.mu), self.adjacency, insecure_bits(seed))
        insider = Insider(Client(curator), *self._engines)
        insider.total("histograms", self.query, self.first * insider.remaining)
        insider.total("histograms again", self.query, insider.remaining)
        return np.array(insider.view)


@dataclass(frozen=True)
class TakesObjects:
    """A door that is not sealed: queries of any class come in as they are."""

    engine: Any
    budget: Budget
    adjacency: Adjacency
    bits: Bits

    @property
    def remaining(self) -> float:
        return self.budget.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        spend = self.budget.charge(name, query.reach.sensitivity(self.adjacency), mu_squared)
        sd = spend.sigma / query.weights
        return Answer(noisy(query.answer(self.engine.total(query)), sd, self.bits), sd)

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        raise NotImplementedError


@dataclass(frozen=True)
class Unsealed(QueryGame):
    """A query of a class of its own, which no sealed door would let in, asked once with the whole of the claimed mu."""

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        door = TakesObjects(self._engines[with_row], Budget(self.claim.mu), self.adjacency, insecure_bits(seed))
        insider = Insider(door, *self._engines)
        insider.total("the query", self.query, insider.remaining)
        return np.array(insider.view)


def forgetful(job: Job) -> Curator:
    return Forgetful(job.engine, job.budget, job.plan.adjacency, job.bits)


@dataclass(frozen=True)
class RangeReadOffTheData(FitGame):
    """The schema's bounds are the smallest and largest value of each column: `min` and `max` of the private rows."""

    def _job(self, with_row: bool, seed: int | None) -> Job:
        table = self.tables[with_row]
        known = self.schema.dump()
        for name in ("x", "y"):
            known["columns"][name] |= {"min": float(table[name].min()), "max": float(table[name].max())}
        return replace(self, schema=Schema.of(known))._fit_job(with_row, seed)

    def _fit_job(self, with_row: bool, seed: int | None) -> Job:
        return super()._job(with_row, seed)


class TellsCounts(Job):
    """The file of a generator says how many rows each class has, without noise."""

    def release(self, curator: Curator, *others: Any) -> Release:
        made = super().release(curator, *others)
        assert isinstance(made.model, GeneratorModel)
        layout = self.public.layout
        query = Histograms(layout.sizes, layout.classes, self.plan.details.histograms.column_shares)
        counts = (
            unpack(query, self.engine.total(in_bins(query, self.schema)))[0].sum(axis=1) + 0.5
        )  # a release wants them positive
        return replace(made, model=replace(made.model, bought=replace(made.model.bought, counts=counts)))


@dataclass(frozen=True)
class TrueCounts(FitGame):
    """A fit that leaks the counts of its classes into what it publishes."""

    def _job(self, with_row: bool, seed: int | None) -> Job:
        job = super()._job(with_row, seed)
        return TellsCounts(**{field.name: getattr(job, field.name) for field in fields(job)})


@dataclass(frozen=True)
class ScaledByTheBatch(Query):
    """Sums of rows divided by the largest one in the batch: what a row adds depends on its neighbours."""

    grid: int = 1024

    @property
    def weights(self) -> FloatArray:
        return np.array([1.0 / self.grid])

    def part(self, batch: Batch) -> IntArray:
        values = batch.codes[0].astype(np.float64) + 1.0
        return np.array([np.trunc(values / values.max() * self.grid).sum()]).astype(np.int64)

    @property
    def reach(self) -> Reach:
        return Reach(1.0, 2.0, 0.0, False, 1)

    def check(self, public: Public) -> None:
        """It fits every table with a column."""


@dataclass(frozen=True)
class OnItsOwn(ScaledByTheBatch):
    """The same sum done right: divided by the largest value there can be."""

    largest: float = 3.0

    def part(self, batch: Batch) -> IntArray:
        values = batch.codes[0].astype(np.float64) + 1.0
        return np.array([np.trunc(values / self.largest * self.grid).sum()]).astype(np.int64)


class Unclipped(Gradient):
    """Features are as long as they are."""

    def part(self, batch: Batch) -> IntArray:
        return Gradient(self.model, self.features, EXACT - 1).total(batch)


class OneCellOfALabel(Distances):
    """A changed label is taken to move a distance by one row, not by two."""

    @property
    def reach(self) -> Reach:
        right = super().reach
        return replace(right, relabelled=right.relabelled / 2.0)


@dataclass(frozen=True)
class CopiesRows(MembershipGame):
    """A generator that has learned the table by heart."""

    def _synthetic(self, table: pd.DataFrame, seed: int | None, rng: np.random.Generator) -> pd.DataFrame:
        return table


def infer_types(path: Any) -> Table:
    """A CSV reader that looks at a whole column to find its type."""
    return open_table(pd.read_csv(path))
