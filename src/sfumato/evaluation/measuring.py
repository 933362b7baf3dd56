"""All that is measured of some rows at once, with a word before each piece of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.evaluation.closest_rows import closeness, real_closeness
from sfumato.evaluation.comparison import likeness
from sfumato.evaluation.coverage import Few, find_groups, find_rare, label_distance
from sfumato.evaluation.judges import (
    CLASSIFIERS,
    MOST_TRAINING_ROWS,
    column_score,
    has_lightgbm,
    judge_classes,
    median,
    some,
)
from sfumato.evaluation.regression_judges import REGRESSORS, judge_constant, judge_number
from sfumato.evaluation.table_distances import column_distances, distances
from sfumato.evaluation.typed_rows import TypedRows, gaps_allowed
from sfumato.progress import Work
from sfumato.text import one_line

MOST_LEARNED = 30_000_000  # cells that a pass over columns as targets may read: of more columns some are targets
FEWEST_TARGETS = 5
TARGET_SEED = 0


@dataclass(frozen=True)
class Measured:
    """What was measured of some rows.

    Attributes:
        figures: The measures by name.
        learned: The AUC of columns as targets.
        alone: The distance of each column.
        pairs: The distance of each pair of columns.
        shares: The share of rows that each of the few is, in their order.
        inside: The distance of the label inside of each small group.
    """

    figures: Mapping[str, float]
    learned: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    shares: Sequence[float] = ()
    inside: Sequence[float] = ()

    @cached_property
    def together(self) -> dict[str, float]:
        """The mean distance of the pairs that each column is in."""
        found: dict[str, list[float]] = {}
        for names, distance in self.pairs.items():
            for name in names:
                found.setdefault(name, []).append(distance)
        return {name: float(np.mean(each)) for name, each in found.items()}


@dataclass(frozen=True)
class Measuring:
    """Real rows that others are held against.

    Attributes:
        train: The rows that a release was made of.
        test: Others, with the same columns.
        is_new: Whether these were not in the fit.
        target: The column that judges learn; None for none.
    """

    train: TypedRows
    test: TypedRows
    is_new: bool
    target: str | None

    @cached_property
    def has_lightgbm(self) -> bool:
        """Whether LightGBM can be a judge."""
        return has_lightgbm()

    @property
    def size(self) -> int:
        """How many rows are held against the train rows: as many of each kind, for the same sampling error."""
        return min(self.train.size, self.test.size)

    @cached_property
    def groups(self) -> list[Few]:
        """The small groups of the train rows."""
        return find_groups(self.train)

    @cached_property
    def few(self) -> list[Few]:
        """The small groups, then the rare values."""
        return [*self.groups, *find_rare(self.train)]

    @cached_property
    def targets(self) -> list[str]:
        """The columns that LightGBM is to learn: all, or of a wide table some."""
        names = self.train.names
        if not self.has_lightgbm or len(names) < 2:
            return []
        most = max(FEWEST_TARGETS, MOST_LEARNED // (min(self.train.size, MOST_TRAINING_ROWS) * len(names)))
        drawn = set(np.random.default_rng(TARGET_SEED).permutation(len(names))[:most].tolist())
        return [name for place, name in enumerate(names) if place in drawn]

    def cost(self, samples: int) -> float:
        """How many pieces of work there are for real rows and some samples."""
        judging = self._judging + len(self.targets) + 2.0 * self.is_new
        return (samples + 1) * judging + 2 * (samples + 2)

    def real(self, work: Work) -> Measured:
        """What real rows are like: judges learn from train rows; all else is of test rows held against train rows."""
        found = self._measured(self.test, "real rows", self._learned(self.train, "real rows", work), work)
        if not self.is_new:
            return found
        work.next("real rows: closest rows", 2)
        return _with(found, real_closeness(self.train, self.test))

    def synthetic(self, rows: TypedRows, what: str, work: Work) -> Measured:
        """What rows of a release are like."""
        found = self._measured(rows, what, self._learned(rows, what, work), work)
        if not self.is_new:
            return found
        work.next(f"{what}: closest rows", 2)
        return _with(found, closeness(self.train, self.test, rows))

    def independent(self, work: Work) -> Measured:
        """What rows are like whose columns are drawn each by itself, and what judges reach that guess."""
        rng, rows = np.random.default_rng(TARGET_SEED), self.train
        drawn = TypedRows(
            rows.schema,
            {name: rng.choice(values, self.size) for name, values in rows.numbers.items()},
            {name: rng.choice(codes, self.size) for name, codes in rows.codes.items()},
        )
        return _with(self._measured(drawn, "independent columns", Measured({}), work), self._guessed())

    def _measured(self, rows: TypedRows, what: str, learned: Measured, work: Work) -> Measured:
        work.next(f"{what}: tables", 2)
        label = self.train.schema.label
        with_label = self.groups if label in rows.codes else []
        alike = some(rows, self.size)
        return Measured(
            figures={**learned.figures, **likeness(alike, self.train, tell_apart=self.has_lightgbm)},
            learned=learned.learned,
            alone=column_distances(self.train, alike),
            pairs=distances(self.train, alike, 2) if len(rows.names) > 1 else {},
            shares=[float(each.members(rows).mean()) for each in self.few],
            inside=[label_distance(self.train, rows, label or "", each) for each in with_label],
        )

    def _learned(self, rows: TypedRows, what: str, work: Work) -> Measured:
        """What judges learn from rows: of the target, and of each column."""
        work.next(f"{what}: judges", self._judging)
        figures, few, scores = self._judged(rows), some(rows), {}
        for name in self.targets:
            work.next(f"{what}: learning {one_line(name)}", 1)
            scores[name] = column_score(few, self.test, name, median(self.train, name))
        if scores:
            with gaps_allowed():
                figures["any_column"] = float(np.nanmean(list(scores.values())))
        return Measured(figures, scores)

    def _judged(self, rows: TypedRows) -> dict[str, float]:
        name = self.target
        if name is None or len(rows.names) < 2:
            return {}
        if name in rows.numbers:
            return judge_number(rows, self.test, name, self._judges(REGRESSORS))
        return judge_classes(rows, self.test, name, self._judges(CLASSIFIERS))

    def _guessed(self) -> dict[str, float]:
        """What judges reach that know nothing."""
        guessed = {"any_column": 0.5} | dict.fromkeys(CLASSIFIERS, 0.5)
        if self.target in self.train.numbers:
            constant = judge_constant(self.train, self.test, self.target)
            guessed |= {f"{judge}_{end}": value for judge in REGRESSORS for end, value in constant.items()}
        return guessed

    def _judges(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name != "lightgbm" or self.has_lightgbm]

    @property
    def _judging(self) -> float:
        return 0.0 if self.target is None else 5.0


def _with(found: Measured, figures: Mapping[str, float]) -> Measured:
    return replace(found, figures={**found.figures, **figures})
