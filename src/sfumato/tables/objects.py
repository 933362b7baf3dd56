"""Python objects as text, one at a time.

Only exact, known types are read. Anything else, a subclass included, is null: its `__str__` is never
called, so no foreign code runs on a cell.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.tables import dates
from sfumato.tables.cells import TEXT, bytes_text, decimal_text, float_text
from sfumato.tables.dates import Moment


def object_texts(cells: Iterable[object]) -> pa.LargeStringArray:
    """The text of each object; null for what has none.

    >>> object_texts(["a", 1, 1.0, True, None, [2], 10**20]).to_pylist()
    ['a', '1', '1', 'true', None, None, '100000000000000000000']
    """
    return pa.array([_READERS.get(type(cell), _nothing)(cell) for cell in cells], TEXT)


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
    return _moment_text(dates.moment(cell.toordinal() - dates.EPOCH_DAY, whole * 10**9 + micros * 1000))


def _moment_text(when: Moment | None) -> str | None:
    return None if when is None else dates.to_text(when)


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
    pd.Timestamp: lambda cell: _moment_text(dates.from_datetime64(cell.to_datetime64())),
    np.datetime64: lambda cell: _moment_text(dates.from_datetime64(cell)),
    **{np.dtype(code).type: lambda cell: str(int(cell)) for code in np.typecodes["AllInteger"]},
    **{np.dtype(code).type: lambda cell: float_text(float(cell)) for code in np.typecodes["Float"]},
}
