"""What an evaluation found. Private: it was computed from the rows, without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.closest_rows import NOT_PRIVACY
from sfumato.evaluation.column_shares import Shares
from sfumato.evaluation.measures import MEASURES

PRIVATE = "PRIVATE: computed from the rows, without noise. Do not publish it."


@dataclass(frozen=True)
class Compared:
    """One figure of synthetic rows, beside the same of real ones.

    Attributes:
        mean: Over samples of the release.
        sd: Its standard deviation over samples; None of one sample.
        real: Of real rows, the best that can be hoped for; None where that has no meaning or is not known.
        independent: Of columns that are drawn independently of each other, or of a judge that only guesses.
    """

    mean: float
    sd: float | None = None
    real: float | None = None
    independent: float | None = None

    @classmethod
    def of(cls, values: Sequence[float], real: float | None = None, independent: float | None = None) -> Compared:
        """The figure of some samples.

        Args:
            values: One a sample.
            real: Of real rows.
            independent: Of independent columns.

        Returns:
            Their mean and standard deviation beside the others; what is not a number is None.
        """
        known = [value for value in values if not math.isnan(value)]
        mean = float(np.mean(known)) if known else float("nan")
        sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
        return cls(mean, sd, _known(real), _known(independent))

    @property
    def excess(self) -> float:
        """How much more it is than of real rows."""
        return self.mean - (self.real or 0.0)


@dataclass(frozen=True)
class ColumnFigures:
    """One column.

    Attributes:
        name: Of the column.
        alone: The distance of its values' shares.
        together: The mean distance of its tables with each other column; None of a single column.
        learned: The AUC of LightGBM with the column as the target; None where it was not one.
        shares: The shares of its values; None of a column that is not drawn.
    """

    name: str
    alone: Compared
    together: Compared | None = None
    learned: Compared | None = None
    shares: Shares | None = None


@dataclass(frozen=True)
class PairFigures:
    """Two columns together.

    Attributes:
        names: Of the columns.
        distance: Of their table.
    """

    names: tuple[str, str]
    distance: Compared


@dataclass(frozen=True)
class FewFigures:
    """A rare value, or a small group of rows.

    Attributes:
        title: What the rows have in common.
        share: Of the synthetic rows; `real` is that of the train rows.
        error: The difference of the shares relative to the real one, 1 at the most, averaged over samples.
        label_distance: The mean distance of the label inside; None of a rare value, or without a label.
    """

    title: str
    share: Compared
    error: float
    label_distance: float | None = None


@dataclass(frozen=True)
class RuleFigures:
    """A rule between columns.

    Attributes:
        rule: As it is written.
        broken: The share of rows that break it; `real` is that of the train rows.
    """

    rule: str
    broken: Compared


@dataclass(frozen=True, repr=False)
class Evaluation:
    """One release beside real rows. Private, as the rows are.

    Attributes:
        release: What the release is: its mechanism and its guarantee, in words.
        rows: How many rows of `train`, of `test` and of each `sample` were compared.
        samples: How many samples of the release.
        seed: Of the first sample; each further one has the next number.
        target: The column that the judges were to learn; None where there was none.
        measures: All figures by name; `sfumato.evaluation.measures` says what each is.
        columns: Every column, the worst first.
        pairs: The worst pairs of columns.
        groups: The worst small groups.
        rare: The worst rare values.
        rules: The rules between columns.
        notes: What was left out, drawn or read in another way, in words.

    Example:
        >>> found = Evaluation("mixture", {"train": 9, "test": 9, "sample": 9}, 1, 0, None, {"tv1": Compared(0.25)})
        >>> found
        Evaluation(PRIVATE, mixture; 1 measures, 1 samples)
        >>> found.to_dict()["private"]
        'PRIVATE: computed from the rows, without noise. Do not publish it.'
    """

    release: str
    rows: Mapping[str, int]
    samples: int
    seed: int
    target: str | None
    measures: Mapping[str, Compared]
    columns: tuple[ColumnFigures, ...] = ()
    pairs: tuple[PairFigures, ...] = ()
    groups: tuple[FewFigures, ...] = ()
    rare: tuple[FewFigures, ...] = ()
    rules: tuple[RuleFigures, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON data, which says that it is private.

        Returns:
            A dictionary.
        """
        measures = {
            name: asdict(figure) | {"more_is_better": MEASURES[name].more_is_better}
            for name, figure in self.measures.items()
        }
        told = {"private": PRIVATE} | asdict(self) | {"measures": measures, "closest_record": NOT_PRIVACY}
        plain: dict[str, Any] = _plain(told)
        return plain

    def to_html(self) -> str:
        """A page for a browser or for paper, in one text that asks for nothing from anywhere.

        Returns:
            HTML, with the word PRIVATE on every view.
        """
        from sfumato.evaluation.evaluation_page import page

        return page(self)

    def __repr__(self) -> str:
        return f"Evaluation(PRIVATE, {self.release}; {len(self.measures)} measures, {self.samples} samples)"

    def __str__(self) -> str:
        from sfumato.evaluation.evaluation_text import lines

        return "\n".join(lines(self))


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _plain(data: Any) -> Any:
    """JSON has no tuples, and no numbers that are none."""
    if isinstance(data, Mapping):
        return {name: _plain(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
