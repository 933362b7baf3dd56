"""How much of a table fitted no bin, from the noisy answers of a release alone: public, and free.

Histograms count the cells of a column that fit no bin before its bins, class by class. Every row that counts is in
exactly one cell of each column, so that each column's cells add up to the number of rows, up to noise. What is known of
one number from several answers is weighted by their noise, which was fixed before any of them. An answer that decided
what was asked next is not weighed with the answer to that: of the bins only the first look at a column counts. What
fits no bin decides nothing, so that all looks at it do.

Rows with a bad label count nowhere, so that no answer tells of them; of columns in groups none is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.asking.evidence import is_plausible
from sfumato.guarantee import FloatArray, NoisyAnswer
from sfumato.text import one_line

Z = 1.96  # standard deviations on either side hold 95 % of a Gaussian
CLEAR = (
    4.0  # standard deviations, by which a share stands above its noise: in one of a hundred columns noise rarely does
)
WORTH_TELLING = 0.005


@dataclass(frozen=True)
class Unread:
    """How many of a column's cells fitted no bin, as a share of the rows that count.

    Attributes:
        column: The column.
        share: The share, between 0 and 1, as the noisy answers have it.
        sd: The standard deviation of its noise.

    Example:
        >>> print(Unread("weight", 0.1912, 0.0049))
        about 19 % (± 1 %) of `weight` fits no bin
    """

    column: str
    share: float
    sd: float

    @property
    def is_clear(self) -> bool:
        """Whether it stands above its noise, and is worth telling."""
        return self.share > max(CLEAR * self.sd, WORTH_TELLING)

    def __str__(self) -> str:
        error = 100.0 * Z * self.sd
        digits = max(0, -math.floor(math.log10(max(error, 1e-3)) + 0.02))
        return (
            f"about {100.0 * self.share:.{digits}f} % (± {error:.{digits}f} %) of `{one_line(self.column)}` fits no bin"
        )


def find_unread(answers: Iterable[NoisyAnswer], columns: Sequence[str]) -> tuple[Unread, ...]:
    """The share of each column's cells that fitted no bin.

    Args:
        answers: The noisy answers of a release.
        columns: Its features, in order.

    Returns:
        One for each column that histograms were asked of; none where no answer tells.
    """
    seen: dict[str, list[_Seen]] = {name: [] for name in columns}
    for answer in answers:
        for place, counts, variances in histograms_in(answer, len(columns)):
            nowhere = _Noisy(counts[:, 0].sum(), variances[:, 0].sum())
            seen[columns[place]].append(_Seen(nowhere, _Noisy(counts.sum(), variances.sum())))
    totals = [looks[0].total for looks in seen.values() if looks]
    if not totals:
        return ()
    rows = _combined(totals)
    return tuple(_share(name, looks, rows) for name, looks in seen.items() if looks)


def unread_lines(unread: Sequence[Unread]) -> list[str]:
    """What to tell: a line for each column where it is clear, or one line that there is none."""
    if not unread:
        return []
    return [str(each) for each in unread if each.is_clear] or ["all columns fit their bins, within noise"]


class _Noisy(NamedTuple):
    """A number with noise."""

    value: float
    variance: float


class _Seen(NamedTuple):
    """What one answer says of a column: how many cells fitted no bin, and how many there are."""

    nowhere: _Noisy
    total: _Noisy


def _combined(estimates: list[_Noisy]) -> _Noisy:
    """Independent estimates of one number, weighted by their variances."""
    precision = sum(1.0 / each.variance for each in estimates)
    return _Noisy(sum(each.value / each.variance for each in estimates) / precision, 1.0 / precision)


def _share(name: str, looks: list[_Seen], rows: _Noisy) -> Unread:
    """A count over the number of rows. The noise of a quotient to first order; the count is part of the number."""
    count = _combined([each.nowhere for each in looks])
    total = max(rows.value, math.sqrt(rows.variance))  # a table so small that it cannot be told from none
    share = min(max(count.value / total, 0.0), 1.0)
    common = count.variance * rows.variance / looks[0].total.variance
    variance = count.variance + share**2 * rows.variance - 2.0 * share * common
    return Unread(name, float(share), math.sqrt(variance) / float(total))


def histograms_in(answer: NoisyAnswer, width: int) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Of each column that an answer is about: its place, its counts and their variances, (classes, 1 + bins) each.

    Args:
        answer: A noisy answer of a release.
        width: How many features the release has.

    Yields:
        One column after the other. An answer that is no such histogram gives none: what a file says of it may be
        anything.
    """
    what = answer.what
    if what.get("kind") != "histograms" or what.get("nowhere") != "first" or not is_plausible(answer):
        return
    classes, bins, columns = (
        _whole(each) for each in ([what.get("classes")], what.get("bins"), what.get("columns", list(range(width))))
    )
    if not classes or not bins or min(classes + bins) < 1 or min(columns, default=-1) < 0:
        return
    shape = (classes[0], sum(bins) + len(bins))
    if len(columns) != len(bins) or max(columns) >= width or shape[0] * shape[1] != answer.values.size:
        return
    ends = np.cumsum([size + 1 for size in bins])[:-1]
    counts = np.split(answer.values.reshape(shape), ends, axis=1)
    variances = np.split(np.broadcast_to(answer.sd, answer.values.shape).reshape(shape) ** 2, ends, axis=1)
    yield from zip(columns, counts, variances, strict=True)


def _whole(numbers: Any) -> list[int]:
    """A list of whole numbers; an empty one where it is something else."""
    is_list = isinstance(numbers, (list, tuple))
    return list(numbers) if is_list and all(type(each) is int for each in numbers) else []
