"""Python objects as text, one at a time.

Only exact, known types are read. Anything else, a subclass included, is null: its `__str__` is never
called, so no foreign code runs on a cell.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.schema.notation import EPOCH_DAY, NANOS, UNITS, time_text
from sfumato.tables import dates
from sfumato.tables.cells import TEXT, bytes_text, decimal_text, float_text
from sfumato.tables.dates import Moment
from sfumato.text import AS_STORED

PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400} | {
    unit: 86_400 * 1000**power for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), start=1)
}


def object_texts(cells: Iterable[object]) -> pa.LargeStringArray:
    r"""The text of each object; null for what has none.

    What was neither text nor a whole number is marked, so that it is not read by a format of texts.

    >>> object_texts(["a", 1, 1.0, True, None, [2], 10**20]).to_pylist()
    ['a', '1', '1\x0b', 'true\x0b', None, None, '100000000000000000000']
    """
    return pa.array([_text(cell) for cell in cells], TEXT)


def from_datetime64(value: np.datetime64) -> Moment | None:
    """The instant of a NumPy scalar of any unit.

    >>> from_datetime64(np.datetime64("1969-12-31T12", "h"))
    Moment(day=-1, nano=43200000000000)
    """
    if np.isnat(value):
        return None
    unit, size = np.datetime_data(value.dtype)
    ticks = int(value.astype(np.int64)) * size
    if unit in ("Y", "M"):
        months = ticks * (12 if unit == "Y" else 1)
        year, month = 1970 + months // 12, months % 12 + 1
        return dates.moment(date(year, month, 1).toordinal() - EPOCH_DAY, 0) if 1 <= year <= 9999 else None
    if unit == "W":
        return dates.moment(7 * ticks, 0)
    if unit not in PER_DAY:  # a bare number without a unit
        return None
    day, rest = divmod(ticks, PER_DAY[unit])
    return dates.moment(day, rest * dates.NANOS_PER_DAY // PER_DAY[unit])


def _text(cell: object) -> str | None:
    text = _READERS.get(type(cell), _nothing)(cell)
    return text if text is None or type(cell) in _AS_WRITTEN else text + AS_STORED


def _nothing(cell: object) -> None:
    return None


def _string(cell: str) -> str | None:
    try:
        cell.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    return str(cell)


def _integer(cell: int) -> str:
    if cell.bit_length() <= 64:
        return str(cell)
    return format(Decimal(cell), "f")  # `str` refuses an integer of thousands of digits


def _datetime(cell: datetime) -> str | None:
    try:
        offset = cell.utcoffset()
    except Exception:  # a foreign time zone may do anything
        return None
    whole = (cell.hour * 60 + cell.minute) * 60 + cell.second
    if offset is not None:
        whole -= offset.days * 86_400 + offset.seconds
    micros = cell.microsecond - (offset.microseconds if offset is not None else 0)
    when = dates.moment(cell.toordinal() - EPOCH_DAY, whole * NANOS + micros * 1000)
    return _moment_text(when, aware=offset is not None)


def _moment_text(when: Moment | None, aware: bool = False) -> str | None:
    return None if when is None else dates.to_text(when, aware)


def _timestamp(cell: pd.Timestamp) -> str | None:
    return _moment_text(from_datetime64(cell.to_datetime64()), aware=cell.tzinfo is not None)


def _time(cell: time) -> str | None:
    whole = (cell.hour * 60 + cell.minute) * 60 + cell.second
    return time_text(whole, cell.microsecond * 1000) if cell.tzinfo is None else None


def _timedelta(cell: timedelta) -> str:
    return time_text(cell.days * UNITS["d"] + cell.seconds, cell.microseconds * 1000)


def _timedelta64(cell: np.timedelta64) -> str | None:
    unit, size = np.datetime_data(cell.dtype)
    if np.isnat(cell) or unit not in PER_DAY:  # a month has no length
        return None
    return time_text(*divmod(int(cell.astype(np.int64)) * size * dates.NANOS_PER_DAY // PER_DAY[unit], NANOS))


_READERS: dict[type, Callable[[Any], str | None]] = {
    str: _string,
    np.str_: _string,
    bytes: bytes_text,
    np.bytes_: bytes_text,
    bool: lambda cell: "true" if cell else "false",
    np.bool_: lambda cell: "true" if cell else "false",
    int: _integer,
    float: float_text,
    Decimal: decimal_text,
    date: date.isoformat,
    datetime: _datetime,
    UUID: str,
    pd.Timestamp: _timestamp,
    time: _time,
    timedelta: _timedelta,
    pd.Timedelta: lambda cell: _timedelta64(cell.to_timedelta64()),
    np.timedelta64: _timedelta64,
    np.datetime64: lambda cell: _moment_text(from_datetime64(cell)),
    **{np.dtype(code).type: lambda cell: str(int(cell)) for code in np.typecodes["AllInteger"]},
    **{np.dtype(code).type: lambda cell: float_text(float(cell)) for code in np.typecodes["Float"]},
}

_AS_WRITTEN = {str, np.str_, bytes, np.bytes_, int, *(np.dtype(code).type for code in np.typecodes["AllInteger"])}
