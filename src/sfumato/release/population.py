"""Tables that the population might have, drawn from a release: for whoever combines analyses of several of them.

Model-based: right as far as the mixture q is. The private table is taken for N rows of q, and noisy counts y of tables
for theirs with noise S. Given y, a draw of the table solves the tilt once more over N rows drawn anew, with y + N(0, S)
for y; to first order that draws the tilt's weights from N(theta*, (N C)^+ - (N C + S)^-1), where C is the covariance of
the cells that a row is in. The mixture has its columns from the histograms, so that one-way tables are followed as they
are drawn, not weighed against it. Then N rows are drawn from the table with replacement, which are the population.
docs/draws.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sfumato.asking.evidence import Round, read_rounds
from sfumato.errors import ArgumentError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.pairs.tilting import Total, cells_of, solve
from sfumato.models.base import Model
from sfumato.models.chains import settle
from sfumato.models.column_label import model_asked, with_asked
from sfumato.models.tilted_model import TiltedModel
from sfumato.schema.layout import FloatArray, IntArray, Layout

if TYPE_CHECKING:
    from sfumato.release.release import Release

NO_TABLES = "draws rest on tables of pairs, which this release has none of: fit sf.Mixture(pairs='auto')"
NO_ANSWERS = "draws rest on the noisy answers, which this release was saved without"


@dataclass(frozen=True)
class DrawSettings:
    """How populations are drawn."""

    fewest: int = 2  # draws: one has no spread
    rows_a_row: int = 10  # for each row of the private table: drawing adds a tenth of what sampling adds, or less
    most_rows: int = 1 << 24  # of the private table
    followed: float = 0.1  # of the variance of N rows: the variance that a one-way cell is followed with, at the most
    least_variance: float = 1e-6  # of those, in squared rows
    least_kept: float = 0.1  # of a one-way cell, however low its noise is drawn
    steps: int = 50  # of the solution of the dual


SETTINGS = DrawSettings()


class Draw(NamedTuple):
    """A release whose rows are of one draw of the population, how many to sample of it, and with which seed."""

    release: Release
    rows: int
    seed: int


def draw_populations(release: Release, n: int | None, draws: int, seed: int | None) -> Iterator[Draw]:
    """Draws of the population, n rows to each; ten for each row of the private table by default."""
    if not isinstance(draws, (int, np.integer)) or draws < SETTINGS.fewest:
        raise ArgumentError(f"draws must be a whole number, {SETTINGS.fewest} or more, not {draws!r}")
    unit = release.schema.unit
    if unit is not None and unit.rows > 1:
        raise ArgumentError(f"draws take rows as independent, and up to {unit.rows} rows of one unit are not")
    known = Known.of(model_asked(release.model), release.answers)
    rows = SETTINGS.rows_a_row * known.rows if n is None else n
    for rng in np.random.default_rng(seed).spawn(int(draws)):
        own = with_asked(release.model, known.population(rng))
        yield Draw(replace(release, model=own), rows, int(rng.integers(1 << 62)))


@dataclass(frozen=True, eq=False)
class Population(TiltedModel):
    """Rows that stand for a population: whatever is drawn is one of them.

    Attributes:
        columns: Their features, in the schema's types.
        labels: Their classes.
        shares: How much of the population each of them is.
    """

    columns: tuple[pd.Series[Any], ...]
    labels: IntArray
    shares: FloatArray

    def draw(self, n: int, rng: np.random.Generator, condition: Any = None) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw n rows, with replacement."""
        chosen = rng.choice(len(self.labels), n, p=self.shares)
        return [column.take(chosen).reset_index(drop=True) for column in self.columns], self.labels[chosen]


@dataclass(frozen=True, eq=False)
class Known:
    """What noisy answers tell of a tilted mixture.

    Attributes:
        model: The tilted mixture.
        rows: How many rows the private table has, about.
        held: What its tables expect in every cell, one table after the other, in rows.
        sd: The noise of those cells.
        followed: The noise that each is followed with, when the tilt is solved.
    """

    model: TiltedModel
    rows: int
    held: FloatArray
    sd: FloatArray
    followed: FloatArray

    @classmethod
    def of(cls, model: Model, answers: Sequence[NoisyAnswer]) -> Known:
        """From the model and the answers of a release."""
        if not isinstance(model, TiltedModel):
            raise ArgumentError(NO_TABLES)
        rounds = read_rounds(answers, model.layout)
        if not rounds:
            raise ArgumentError(NO_ANSWERS)
        rows = max(1, round(rounds[0].cells(()).total(np.array(1.0))))
        if rows > SETTINGS.most_rows:
            raise ArgumentError(
                f"a draw has as many rows as the table, which has about {rows}: at most {SETTINGS.most_rows}"
            )
        noise = bought_noise(rounds, model.layout)
        parts = [_cells(model, rows, table, noise) for table in model.tilt.split()[0].tables]
        held, sd, followed = (np.concatenate([np.zeros(0), *part]) for part in zip(*parts, strict=True))
        return cls(model, rows, held, sd, followed)

    @threadpool_limits.wrap(limits=1)  # many small products: threads wait longer for each other than they work
    def population(self, rng: np.random.Generator) -> Population:
        """One draw: of the table's rows, and of the population's from them."""
        tilt, chains = self.model.tilt.split()[0], self.model.chains()
        rows, _, _ = settle(chains, tilt, self.rows, rng)
        cells = cells_of(tilt, rows)
        # What is expected solves the dual for counts of held + followed^2 weights.
        counts = self.held + rng.normal(0.0, self.sd)
        counts = np.where(self.followed < self.sd, np.maximum(counts, SETTINGS.least_kept * self.held), counts)
        wanted = counts + self.followed**2 * tilt.weights
        weights = solve(cells, tilt.weights, wanted, self.followed, Total(self.rows, 0.0), SETTINGS.steps)
        gain = cells @ (weights - tilt.weights)
        table = np.exp(gain - gain.max())
        drawn = rng.multinomial(self.rows, table / table.sum())
        columns = tuple(chains.decode(rows, rng))
        own = (self.model.base, self.model.tilt, self.model.expected, self.model.log_total, self.model.log_total_sd)
        return Population(*own, columns, rows.labels, drawn / drawn.sum(), followers=self.model.followers)


def bought_noise(rounds: Sequence[Round], layout: Layout) -> dict[frozenset[int], float]:
    """The noise of a cell of each table that was bought, all answers about it by their precision; of histograms that of
    the first look.
    """
    places = {name: j for j, name in enumerate((*layout.names, layout.label))}
    precision: dict[frozenset[int], float] = {}
    for each in rounds:
        for table in each.tables:
            columns = frozenset(places[name] for name in table.columns)
            if each.kind == "tables" or columns not in precision:
                precision[columns] = precision.get(columns, 0.0) + table.sd**-2
    return {columns: total**-0.5 for columns, total in precision.items()}


def _cells(
    model: TiltedModel, rows: int, table: tuple[int, ...], noise: dict[frozenset[int], float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a table expects in its cells, the noise that they were bought with, and that which they are followed with.

    A one-way table is of levels, runs of bins: no more of them than have rows above the noise can be wrong.
    """
    tilt, label = model.tilt, len(model.tilt.levels)
    start = tilt.starts[tilt.tables.index(table)]
    held = rows * model.expected[start : start + math.prod(tilt.sizes[j] for j in table)]
    if frozenset(table) not in noise:
        raise ArgumentError(NO_ANSWERS)
    sd, (feature, *others) = noise[frozenset(table)], table
    if others not in ([], [label]):
        return held, np.full(len(held), sd), np.full(len(held), sd)
    bins = np.repeat(np.bincount(tilt.levels[feature]), len(held) // tilt.sizes[feature])
    several = sd * np.sqrt(np.clip(held / sd, 1.0, bins))
    return held, several, np.sqrt(np.clip(SETTINGS.followed * held, SETTINGS.least_variance, several**2))
