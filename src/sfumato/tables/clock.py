"""Cells as days, instants, times of day and durations, by the clocks of a time zone where one is declared.

A stored value reads as its text would: both become whole seconds and nanoseconds, and all that follows is the same.
Instants before the year 1 and after the year 9999 are no dates.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.schema.notation import NANOS, UNITS, Reading, duration, instant, time_of_day, written_as
from sfumato.tables.cells import TEXT, decoded, is_textual, numbers, once_each, ticks_of
from sfumato.tables.dates import FIRST_DAY, LAST_DAY, NANOS_PER_DAY
from sfumato.text import AS_STORED, WHITESPACE

if TYPE_CHECKING:
    from sfumato.schema.columns import Clocked

DAY = UNITS["d"]
EPOCH_NAIVE = datetime(1970, 1, 1)
UNREAD = Reading(0, 0)

Parse = Callable[[str], Reading | None]
_PARSERS: dict[str, Parse] = {"date": instant, "datetime": instant, "time": time_of_day, "duration": duration}


class Seconds(NamedTuple):
    """What was read: whole seconds, nanoseconds, whether they are in UTC by an offset of their own, and if at all."""

    second: NDArray[np.int64]
    nano: NDArray[np.int64]
    aware: NDArray[np.bool_]
    known: NDArray[np.bool_]


def days(cells: pa.Array) -> NDArray[np.float64]:
    """Each cell as days since 1970-01-01 in UTC.

    Args:
        cells: Cells of one column.

    Returns:
        One float64 a cell, never rounded up to another day: NaN where it is null or no date.

    Example:
        >>> days(pa.array(["1970-01-02", "1970-01-01T12:00+06:00", "2021-02-30", "7"])).tolist()
        [1.0, 0.25, nan, nan]
    """

    def read(distinct: pa.Array) -> NDArray[np.float64]:
        second, nano, _, known = _seconds(distinct, "date", None)
        day, rest = np.divmod(second, DAY)
        found = np.minimum(day + (rest * NANOS + nano) / NANOS_PER_DAY, np.nextafter(day + 1.0, -np.inf))
        return np.where(known, found, np.nan)

    return once_each(cells, read)


def clock_values(cells: pa.Array, column: Clocked) -> NDArray[np.float64]:
    """Each cell as its column counts: a date in days since 1970, all else in seconds.

    Args:
        cells: Cells of one column.
        column: What the schema says of it.

    Returns:
        One float64 a cell: NaN where it is null, or not written as the schema says.
    """
    if _is_stored(cells.type, column.type):
        return _values_of(cells, column)
    return once_each(cells, lambda distinct: _values_of(distinct, column))


def _values_of(cells: pa.Array, column: Clocked) -> NDArray[np.float64]:
    if column.type == "duration":
        return _durations(cells, column.format)
    second, nano, aware, known = _seconds(cells, column.type, column.format)
    if column.type == "date":
        local = second + np.where(aware, _ahead(second, column.zone, of_instants=True), 0)
        return np.where(known, local // DAY, np.nan)
    if column.type == "datetime":
        second = second - np.where(aware, 0, _ahead(second, column.zone, of_instants=False))
    return np.where(known, second + nano / NANOS, np.nan)


def _durations(cells: pa.Array, unit: str | None) -> NDArray[np.float64]:
    second, nano, _, known = _seconds(cells, "duration", None)
    with np.errstate(over="ignore"):  # a warning would speak of a cell
        bare = np.nan if unit is None else numbers(cells) * UNITS[unit[0]]
    return np.where(known, second + nano / NANOS, bare)


def _seconds(cells: pa.Array, kind: str, form: str | None) -> Seconds:
    stored = cells.type
    if _is_stored(stored, kind):
        found = _of_ticks(*ticks_of(cells), pa.types.is_timestamp(stored) and stored.tz is not None)
    else:
        found = _of_texts(cells.cast(TEXT) if form and pa.types.is_integer(stored) else cells, kind, form)
    day = found.second // DAY
    dated = kind in ("date", "datetime")
    return found._replace(known=found.known & (day >= FIRST_DAY) & (day <= LAST_DAY)) if dated else found


def _is_stored(stored: pa.DataType, kind: str) -> bool:
    """Whether cells are stored as what their column is."""
    if kind in ("date", "datetime"):
        return bool(pa.types.is_date(stored) or pa.types.is_timestamp(stored))
    return bool(getattr(pa.types, f"is_{kind}")(stored))


def _of_ticks(ticks: pa.Int64Array, per_day: int, aware: bool) -> Seconds:
    whole = ticks.fill_null(0).to_numpy(zero_copy_only=False)
    known = ticks.is_valid().to_numpy(zero_copy_only=False)
    per_second = max(per_day // DAY, 1)  # days are ticks that last longer
    second, rest = np.divmod(whole * (DAY if per_day == 1 else 1), per_second)
    return Seconds(second, rest * (NANOS // per_second), np.full(len(ticks), aware), known)


def _of_texts(cells: pa.Array, kind: str, form: str | None) -> Seconds:
    """Texts as the format says, unless they stand for what was stored as something else."""
    plain = _PARSERS[kind]
    parse = plain if form is None else partial(written_as, form)
    written = decoded(cells).fill_null("") if is_textual(cells.type) else pa.array([""] * len(cells), TEXT)
    stripped = pc.utf8_trim(written, characters=WHITESPACE).to_pylist()
    by_form = pc.invert(pc.ends_with(written, AS_STORED)).to_pylist()
    found = [(parse if formed else plain)(text) for text, formed in zip(stripped, by_form, strict=True)]
    known = np.array([reading is not None for reading in found], dtype=bool)
    filled = [reading or UNREAD for reading in found]
    second, nano, aware = (np.fromiter((reading[part] for reading in filled), np.int64) for part in range(3))
    return Seconds(second, nano, aware.astype(bool), known)


def _ahead(seconds: NDArray[np.int64], zone: str | None, of_instants: bool) -> NDArray[np.int64]:
    """How many seconds the clocks of a zone are ahead of UTC, at instants or at times that they show.

    A time that they show twice or never has the offset from before the change. Clocks are changed on few days, and at
    most once a day, so that for all others the offsets of midnight do.
    """
    if zone is None:
        return np.zeros(len(seconds), dtype=np.int64)
    clocks = ZoneInfo(zone)

    def offset(second: int) -> int:
        when = EPOCH_NAIVE + timedelta(seconds=second)
        shown = when.replace(tzinfo=UTC).astimezone(clocks) if of_instants else when.replace(tzinfo=clocks)
        return int((shown.utcoffset() or timedelta()).total_seconds())

    inside = seconds.clip((FIRST_DAY + 2) * DAY, (LAST_DAY - 2) * DAY)
    dates, places = np.unique(inside // DAY, return_inverse=True)
    first, last = (np.array([offset(day * DAY) for day in (dates + k).tolist()], dtype=np.int64) for k in (0, 1))
    found, changing = first[places], (first != last)[places]
    found[changing] = [offset(second) for second in inside[changing].tolist()]
    return found
