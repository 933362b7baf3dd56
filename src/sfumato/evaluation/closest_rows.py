"""How near synthetic rows are to real ones: a sanity check, and no measure of privacy.

A release under differential privacy promises what it promises wherever its rows happen to lie. The distance to the
closest record promises nothing: rows that are all far from real ones can still tell who was in the table, and rows that
are near are to be expected where many people are alike. And whoever drops rows that lie too near, or publishes such a
figure, tells about the real rows without noise. What it can show is a gross fault: a program that copies its input.

The distance of two rows is the mean over columns of: the share of real rows that lie between two numbers; 0 or 1 for
equal or different values; 1 where one of the two is missing.
"""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.judges import some
from sfumato.evaluation.typed_rows import TypedRows
from sfumato.schema.layout import FloatArray

NOT_PRIVACY = (
    "No measure of privacy: it promises nothing, rows that are far can tell about people all the same, and a threshold "
    "on it would itself tell about real rows without noise. The guarantee is what protects; this only shows gross "
    "copying."
)
MOST_COMPARED = 2_000  # rows whose closest one is looked for
MOST_AMONG = 10_000  # rows among which it is
MOST_COMPARISONS = 400_000_000  # of two cells: fewer rows of wide tables
COMPARED_AT_ONCE = 100


def closeness(train: TypedRows, test: TypedRows, rows: TypedRows) -> dict[str, float]:
    """How near some rows are to train rows, against how near they are to test rows.

    Args:
        train: The real rows that a release was made of.
        test: Other real rows.
        rows: Rows of the release.

    Returns:
        `nearer_train`, the share of rows that are nearer to a train row than to any of as many test rows (ties count
        half): 0.5 where the two are alike; `closest`, the median distance to the closest of those train rows;
        `copies`, the share of rows that are equal to a train row in every cell.
    """
    compared, one, two = _compared(train, test)
    scale = _Scale(one, two)
    few = scale.coordinates(some(rows, compared))
    to_train, to_test = (_closest(few, scale.coordinates(each)) for each in (one, two))
    nearer = np.where(to_train == to_test, 0.5, to_train < to_test)
    return {"nearer_train": float(nearer.mean()), "closest": float(np.median(to_train)), "copies": copies(train, rows)}


def real_closeness(train: TypedRows, test: TypedRows) -> dict[str, float]:
    """How near test rows are to train rows: what is to be expected of rows that copy nothing.

    Args:
        train: The real rows that a release was made of.
        test: Other real rows.

    Returns:
        `closest` and `copies`, as of synthetic rows.
    """
    compared, one, two = _compared(train, test)
    scale = _Scale(one, two)
    apart = _closest(scale.coordinates(some(test, compared)), scale.coordinates(one))
    return {"closest": float(np.median(apart)), "copies": copies(train, test)}


def _compared(train: TypedRows, test: TypedRows) -> tuple[int, TypedRows, TypedRows]:
    """Of how many rows the closest one is looked for, and among which: as many train as test rows."""
    among = min(train.size, test.size, MOST_AMONG)
    compared = max(10, min(MOST_COMPARED, MOST_COMPARISONS // (among * len(train.names))))
    return compared, some(train, among), some(test, among)


def copies(train: TypedRows, rows: TypedRows) -> float:
    """The share of rows that are equal to a train row in every cell."""
    return float(np.isin(_whole(rows), _whole(train)).mean())


class _Scale:
    """Cells as coordinates: a number as the share of real rows below it, a category as its place.

    As many train as test rows say what is below what: were it the train rows alone, these would be placed otherwise
    than all other rows are.
    """

    def __init__(self, train: TypedRows, test: TypedRows) -> None:
        self._known = {name: np.concatenate([train.numbers[name], test.numbers[name]]) for name in train.numbers}

    def coordinates(self, rows: TypedRows) -> list[tuple[bool, FloatArray]]:
        """Each column of some rows, and whether it is a number."""
        return [(name in rows.numbers, self._column(rows, name)) for name in rows.names]

    def _column(self, rows: TypedRows, name: str) -> FloatArray:
        if name not in rows.numbers:
            return rows.codes[name].astype(np.float32)
        values, known = rows.numbers[name], self._known[name]
        marks, counts = np.unique(known[~np.isnan(known)], return_counts=True)
        if not len(marks):
            return np.where(np.isnan(values), np.nan, 0.0).astype(np.float32)
        ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
        return np.interp(values, marks, ranks).astype(np.float32)  # NaN stays NaN


def _closest(rows: list[tuple[bool, FloatArray]], among: list[tuple[bool, FloatArray]]) -> FloatArray:
    """The distance of each row to the closest of others."""
    size = len(rows[0][1])
    found = np.empty(size)
    for start in range(0, size, COMPARED_AT_ONCE):
        part = slice(start, min(start + COMPARED_AT_ONCE, size))
        pairs = zip(rows, among, strict=True)
        apart = sum(_apart(one[part, None], two[None, :], is_number) for (is_number, one), (_, two) in pairs)
        found[part] = np.min(apart, axis=1) / len(rows)
    return found


def _apart(one: FloatArray, two: FloatArray, is_number: bool) -> FloatArray:
    if not is_number:
        return (one != two).astype(np.float32)
    apart = np.abs(one - two)
    if not (np.isnan(one).any() or np.isnan(two).any()):
        return apart
    return np.where(np.isnan(one) & np.isnan(two), 0.0, np.nan_to_num(apart, nan=1.0)).astype(np.float32)


def _whole(rows: TypedRows) -> np.ndarray:
    """Each row as one value, by which equal rows are found."""
    cells = np.column_stack(
        [np.nan_to_num(rows.numbers[n], nan=np.inf) if n in rows.numbers else rows.codes[n] for n in rows.names]
    )
    cells = np.ascontiguousarray(cells, dtype=np.float64) + 0.0  # -0 is 0
    return cells.view(np.dtype((np.void, cells.dtype.itemsize * cells.shape[1])))[:, 0]
