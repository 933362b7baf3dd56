"""Tables that are settled before a fit: which of them a schema suggests, and how a fit or a merge follows them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from sfumato.accounting import calibrate, check_adjacency
from sfumato.encoding.marginals import Marginals
from sfumato.errors import ArgumentError
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import DEFAULT_ROWS, LARGEST_GUESS, Plan
from sfumato.mechanisms.budget import Share
from sfumato.mechanisms.checks import check_whole
from sfumato.mechanisms.pairs.pair_rounds import TABLES, Tilting, asked_cells, can_pair
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.mechanisms.pairs.table_choice import Candidate
from sfumato.mechanisms.pairs.tilting import Told
from sfumato.mechanisms.shared_layout import NOISIEST_CELL, SharedLayout, all_pairs
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.structural_zeros import refined, rule_parts, rule_tables
from sfumato.models.tilt import Tilt
from sfumato.models.tilted_model import TiltedModel
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.tables import CELLS_OF_ALL, CELLS_OF_ONE
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema

MOST_SITES = 1 << 16


def public_layout(
    schema: Schema, epsilon: float, delta: float, adjacency: str, rows: int | None, sites: int
) -> SharedLayout:
    """The schema's bins, levels of equally many of them, and all pairs if noise leaves enough of a typical cell of what
    all sites have together.
    """
    check_whole("sites", sites, MOST_SITES)
    guess = DEFAULT_ROWS if rows is None else rows
    check_whole("rows", guess, LARGEST_GUESS)
    tuning = PairTuning()
    check_adjacency(adjacency)
    layout = Layout.of(schema)
    if layout.groups:
        raise ArgumentError("layout: columns in groups have no bins to share")
    levels = tuple(_levels(bins, tuning.levels) for bins in layout.bins)
    if not schema.modelling.is_plain:
        levels = refined(levels, rule_parts(layout, schema.modelling))
    tables = all_pairs(len(levels), None if layout.label is None else len(levels))
    unit_rows = 1 if schema.unit is None else schema.unit.rows
    noise = unit_rows * (1.0 if adjacency == Adjacency.ADD_REMOVE else math.sqrt(2.0)) / calibrate(epsilon, delta)
    sd = noise * math.sqrt(max(len(tables), 1) / tuning.share)
    typical = tuning.typical_cell * guess * sites
    pays = can_pair(layout) and sd * math.sqrt(sites) <= NOISIEST_CELL * typical
    return SharedLayout(schema, (None,) * len(levels), levels, tables if pays and _fit(tables, levels, layout) else ())


def given_share(share: float) -> tuple[Share, ...]:
    """The one round of tables that are settled: nothing goes into choosing them."""
    return (Share(TABLES, share, "the tables of the layout"),)


@threadpool_limits.wrap(limits=1)  # as for chosen tables
def tilt_by_layout(
    curator: Asker, plan: Plan, model: MixtureModel, marginals: Marginals, tuning: PairTuning, shared: SharedLayout
) -> TiltedModel:
    """Buy the tables of a layout and follow them. The curator must see the layout's bins."""
    return _Given(curator, plan, model, marginals, tuning, shared).run()


class _Given(Tilting):
    """One run with tables that are settled."""

    def __init__(
        self,
        curator: Asker,
        plan: Plan,
        model: MixtureModel,
        marginals: Marginals,
        tuning: PairTuning,
        shared: SharedLayout,
    ) -> None:
        self.shared = shared
        super().__init__(curator, plan, model, marginals, tuning)

    def run(self) -> TiltedModel:
        """Ask all at once, with all that is left."""
        (buying,) = self.plan.repeats(TABLES)
        tables = self.shared.tables
        expected = self.pool.expected(tables)
        wanted = [Candidate(t, self.total.rows * shares, 0.0) for t, shares in zip(tables, expected, strict=True)]
        self._buy(buying.title, wanted, self.curator.remaining)
        for table, bought in self.bought.items():
            bought.counts = self._with_margins(table, bought.counts)
        self.pool.follow(self._told(), self.total)
        self.pool.settle(self._told(), self.total)
        return self._model()

    def _told(self) -> list[Told]:
        """What tables tell, and histograms.

        Tables that nobody chose are many, and each column is in most of them: where they are trusted because the
        mixture was wrong, what histograms tell of their columns is trusted as much more, or the noise of tables would
        drown it.
        """
        columns = []
        for j, told in enumerate(self.columns):
            wrong = max((bought.wrong for table, bought in self.bought.items() if j in table), default=0.0)
            columns.append(replace(told, trust=1.0 + wrong * told.counts.clip(0.0)))
        return columns + [bought.told(table) for table, bought in self.bought.items()]

    def _with_margins(self, table: tuple[int, ...], counts: FloatArray) -> FloatArray:
        """The nearest counts that have the distributions of single columns which the histograms tell."""
        found = counts.reshape([self.sizes[j] for j in table])
        features = [axis for axis, j in enumerate(table) if j < len(self.layout.names)]
        label = tuple(axis for axis, j in enumerate(table) if j == len(self.layout.names))
        for axis in features:
            known = self.columns[table[axis]].counts.reshape(self.sizes[table[axis]], -1)  # (levels, classes)
            known = known if label and label[0] > axis else known.T if label else known.sum(axis=1)
            others = tuple(each for each in features if each != axis)
            shape = [n if a in (axis, *label) else 1 for a, n in enumerate(found.shape)]
            lacking = known.reshape(shape) - found.sum(axis=others, keepdims=True)
            found = found + lacking / math.prod(found.shape[each] for each in others)
        return found.ravel()

    def _levels(self) -> tuple[tuple[IntArray, ...], Tilt]:
        """The layout's levels; and where rules let no row be, if no level crosses a rule's constants."""
        levels, rules = self.shared.levels, self.plan.public.modelling
        none = Tilt(levels, self.layout.classes, (), np.zeros(0))
        if rules is None:
            return levels, none
        cut = refined(levels, rule_parts(self.layout, rules))
        if any(one.max() != two.max() for one, two in zip(levels, cut, strict=True)):
            return levels, none  # whoever draws rows draws those again that break a rule
        return levels, Tilt(levels, self.layout.classes, *rule_tables(self.layout, rules, levels))


def _levels(bins: Bins, most: int) -> IntArray:
    """A level for each category, and runs of about equally many bins; what is missing has a level of its own."""
    if isinstance(bins, CategoryBins):
        return np.arange(bins.size)
    inside = len(bins.starts)
    levels = np.arange(inside) * min(most, inside) // inside
    return levels if bins.missing < 0 else np.append(levels, levels[-1] + 1)


def _fit(tables: tuple[tuple[int, ...], ...], levels: tuple[IntArray, ...], layout: Layout) -> bool:
    sizes = [*(int(level.max()) + 1 for level in levels), layout.classes]
    cells = [asked_cells(sizes, table) for table in tables]
    return max(cells, default=0) <= CELLS_OF_ONE and sum(cells) <= CELLS_OF_ALL
