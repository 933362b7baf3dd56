"""A release as a report sees it: the questions that its noisy answers answer, and rows of its model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sfumato.asking.estimate import Estimate
from sfumato.asking.evidence import Round
from sfumato.asking.release_questions import Asked, Manner
from sfumato.asking.ways import first_round
from sfumato.reporting.classes import Classes, classes_of
from sfumato.schema.columns import Column, Listed
from sfumato.schema.layout import IntArray

if TYPE_CHECKING:
    from sfumato.release.release import Release


@dataclass(frozen=True)
class Sizes:
    """How much a report has of everything, so that one of thousands of columns still opens at once.

    Attributes:
        model_rows: Rows that the model draws for shares, associations and pairs.
        model_cells: The cells that these have at the most.
        fewest_rows: But never fewer of them.
        model_letters: The letters that their categories have at the most: a small file can hold a very long one.
        classes: About how many classes a column has.
        few_classes: The same in a wide table.
        wide: Columns from which a table is wide.
        sections: Columns that have a figure on the page; the others are drawn when they are chosen.
        map_columns: Columns of the map of associations.
        pair_cells: Cells of all noisy tables of pairs together.
        sample_rows: Rows of the sample that can be downloaded.
        sample_cells: The cells that it has at the most.
        sample_letters: The letters that its categories have at the most, but in one row.
        shown_rows: Rows of the sample on the page.
        shown_columns: Columns of the sample on the page.
        points: Dots of a scatter plot.
    """

    model_rows: int = 1 << 15
    model_cells: int = 1 << 22
    fewest_rows: int = 1000
    model_letters: int = 1 << 27
    classes: int = 14
    few_classes: int = 8
    wide: int = 200
    sections: int = 60
    map_columns: int = 40
    pair_cells: int = 400_000
    sample_rows: int = 1000
    sample_cells: int = 200_000
    sample_letters: int = 4_000_000
    shown_rows: int = 100
    shown_columns: int = 30
    points: int = 300


SIZES = Sizes()


@dataclass(frozen=True, eq=False)
class SeenRelease:
    """A release, and what a report asks it again and again.

    Attributes:
        release: The release.
        manner: How sure intervals are, and that they are about the table.
    """

    release: Release
    manner: Manner = field(default_factory=Manner)

    @cached_property
    def asked(self) -> Asked:
        """The noisy answers, as questions are put to them."""
        return Asked.of(self.release)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """The schema's columns, without those of groups."""
        grouped = self.release.schema.grouped
        return {name: column for name, column in self.release.schema.columns.items() if name not in grouped}

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every column of the schema, by which the page calls it."""
        return {name: place for place, name in enumerate(self.release.schema.columns)}

    @property
    def is_wide(self) -> bool:
        """Whether there are so many columns that only the main things are told of each."""
        return len(self.release.schema.columns) > SIZES.wide

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Rows that the model drew, the same every time."""
        most = max(SIZES.model_cells // len(self.release.schema.columns), SIZES.fewest_rows)
        return self.release.sample(min(SIZES.model_rows, most, self.rows_within(SIZES.model_letters)), seed=0)

    def rows_within(self, letters: int) -> int:
        """How many rows have no more letters in their categories; one at least."""
        listed = [column for column in self.release.schema.columns.values() if isinstance(column, Listed)]
        widest = sum(max(len(str(level)) for level in column.levels) for column in listed)
        return max(letters // max(widest, 1), 1)

    @cached_property
    def total(self) -> Estimate:
        """How many rows the table has."""
        return self.asked.count(None, self.manner)

    @cached_property
    def classes(self) -> dict[str, Classes]:
        """The classes of every column."""
        most = SIZES.few_classes if self.is_wide else SIZES.classes
        return {
            name: classes_of(name, column, self.rows[name], most)
            for name, column in self.release.schema.columns.items()
        }

    @cached_property
    def codes(self) -> dict[str, IntArray]:
        """The class of every cell of the rows."""
        return {name: each.code(self.rows[name]) for name, each in self.classes.items()}

    def why_not(self, *columns: str) -> str:
        """Why no noisy answer speaks of some columns together; '' where one does."""
        return self.asked.lacking(tuple(sorted(columns)), None)

    def first(self, *columns: str) -> Round:
        """The answer that speaks of some columns; there must be one."""
        return first_round(self.asked.rounds, tuple(sorted(columns)))

    def model_shares(self, column: str) -> Any:
        """The share of each class among the rows of the model."""
        counts = np.bincount(self.codes[column], minlength=len(self.classes[column].labels))
        return counts / len(self.rows)
