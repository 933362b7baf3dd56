"""The cells of one column as numbers or texts; `clock` reads dates and times, `formats` numbers written otherwise.

Each function is a fixed map from a cell to its reading, applied to the distinct cells and then spread.
A stored value reads as its text would: `numbers(cells)` equals `numbers(texts(cells))` bit for bit.
Nothing but comparisons and correctly rounded conversions touches a number.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.schema.notation import NANOS, time_text
from sfumato.tables import dates
from sfumato.text import WHITESPACE, canonical, one_line

TEXT = pa.large_string()
SAMPLE_CELLS = 2**11  # looked at to see whether it pays to find the distinct cells of a column first
MANY_REPEATS = 2  # it does where a cell of the sample is there so many times on average
PLAIN_DECIMAL_LIMIT = 1000  # a Decimal of a larger exponent is written in scientific notation

Scalar = TypeVar("Scalar", bound=np.generic)

_RESPELLED = r"^(?:-?[0-9]+\.0*|-0|True|TRUE|False|FALSE)$"  # every text that `canonical` may change

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE | re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0}

_TICKS_PER_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": dates.NANOS_PER_DAY}


def texts(cells: pa.Array) -> pa.LargeStringArray:
    """The canonical text of each cell.

    Args:
        cells: Cells of one column.

    Returns:
        One text a cell; "" where it is null, NaN or undecodable.

    Example:
        >>> texts(pa.array([1.0, 0.1, None])).to_pylist()
        ['1', '0.1', '']
    """
    values, places = _distinct(_plain(cells))
    return pa.concat_arrays([_texts_of(values), pa.array([""], TEXT)]).take(pa.array(places))


def lookup(cells: pa.Array, values: pa.LargeStringArray, missing: int) -> NDArray[np.int64]:
    """The place of each cell's text in a list.

    Args:
        cells: Cells of one column.
        values: The canonical texts to look up.
        missing: What to return for a cell that is none of them.

    Returns:
        One place a cell, from 0, or `missing`.

    Example:
        >>> lookup(pa.array(["b", " a", "z", None]), pa.array(["a", "b"], TEXT), missing=-1).tolist()
        [1, 0, -1, -1]
    """

    def read(distinct: pa.Array) -> NDArray[np.int64]:
        found = pc.index_in(texts(distinct), value_set=values).fill_null(missing)
        return found.to_numpy(zero_copy_only=False).astype(np.int64)

    return by_distinct(cells, read)


def by_distinct(cells: pa.Array, read: Callable[[pa.Array], NDArray[Scalar]]) -> NDArray[Scalar]:
    """What `read` makes of cells, which is given the distinct ones only where cells repeat.

    Args:
        cells: Cells of one column.
        read: A function that maps each cell alone.

    Returns:
        The same as `read(cells)`.

    Example:
        >>> by_distinct(pa.array([2, 2, None]), lambda distinct: np.sqrt(numbers(distinct))).tolist()
        [1.4142135623730951, 1.4142135623730951, nan]
    """
    cells = _plain(cells)
    if not pa.types.is_dictionary(cells.type):
        sample = cells.slice(0, SAMPLE_CELLS)
        if len(sample.unique()) * MANY_REPEATS > len(sample):
            return read(cells)
    values, places = _distinct(cells)
    return read(pa.concat_arrays([values, pa.nulls(1, values.type)]))[places]


def once_each(cells: pa.Array, read: Callable[[pa.Array], NDArray[np.float64]]) -> NDArray[np.float64]:
    """What `read` makes of cells, each distinct one read once; NaN for a null."""
    values, places = _distinct(_plain(cells))
    return np.append(read(values), np.nan)[places]


def numbers(cells: pa.Array) -> NDArray[np.float64]:
    """Each cell as a number: booleans are 1 and 0, dates are none, and zero has no sign.

    Args:
        cells: Cells of one column.

    Returns:
        One float64 a cell: NaN where it is null or no number; infinities stay.

    Example:
        >>> numbers(pa.array([" 1e3 ", "true", "-inf", "12 years", None])).tolist()
        [1000.0, 1.0, -inf, nan, nan]
    """
    return _numbers_of(_plain(cells)) if _is_numeric(cells.type) else once_each(cells, _numbers_of)


def check_type(kind: pa.DataType, what: str) -> None:
    """Refuse cells whose declared type has no reading as a number, a text or a date."""
    if not _is_readable(kind):
        raise unreadable(what, kind)


def unreadable(what: str, kind: object) -> TableError:
    """The error of a column whose declared type has no reading."""
    return TableError(
        f"{what} has type {one_line(str(kind))}; only numbers, texts, truth values, dates, times and "
        "durations can be read"
    )


def _is_readable(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _is_readable(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _is_readable(kind.value_type)
    return (
        _is_numeric(kind)
        or is_textual(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_time(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_null(kind)
    )


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_textual(kind: pa.DataType) -> bool:
    """Whether cells of this type are strings or bytes."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(text or binary or pa.types.is_fixed_size_binary(kind))


def _plain(cells: pa.Array) -> pa.Array:
    """The same cells without wrappers and without types that Arrow's kernels do not take."""
    check_type(cells.type, "the column")
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(cells.storage)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(cells))
    if pa.types.is_null(kind):
        return pa.nulls(len(cells), TEXT)
    if pa.types.is_float16(kind):
        return cells.cast(pa.float64())
    if pa.types.is_string_view(kind):
        return cells.cast(TEXT)
    if pa.types.is_binary_view(kind):
        return cells.cast(pa.large_binary())
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return cells.cast(pa.decimal128(kind.precision, kind.scale), safe=False)
    return cells


def _distinct(cells: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The distinct values of the cells, and the place of each cell among them: past the end for a null."""
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    elif len(cells.dictionary) > len(cells):
        return _distinct(_plain(_plain(cells.dictionary).take(cells.indices)))
    values = _plain(cells.dictionary)
    places = cells.indices.cast(pa.int64(), safe=False).fill_null(len(values)).to_numpy()
    if pa.types.is_dictionary(values.type):
        values, inner = _distinct(values)
        places = np.append(inner, len(values))[places]
    return values, places


def _numbers_of(values: pa.Array) -> NDArray[np.float64]:
    kind = values.type
    if pa.types.is_temporal(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_decimal(kind):
        return parse_numbers(values.cast(TEXT).fill_null(""))
    if not _is_numeric(kind):
        return parse_numbers(_texts_of(values))
    stored = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    # A signalling NaN becomes a quiet one before it is touched; adding zero takes the sign off -0.0.
    return np.where(np.isnan(stored), np.nan, stored) + 0.0


def parse_numbers(written: pa.LargeStringArray) -> NDArray[np.float64]:
    """The number that each text is, NaN where it is none."""
    is_number = pc.match_substring_regex(written, _NUMBER)
    digits = written.filter(is_number)
    try:
        parsed = digits.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # both parsers round correctly, so which one reads a cell makes no difference
        parsed = np.array([float(text) for text in digits.to_pylist()])
    found = np.empty(len(written))
    chosen = is_number.to_numpy(zero_copy_only=False)
    found[chosen] = parsed + 0.0
    found[~chosen] = [_word(text) for text in written.filter(pc.invert(is_number)).to_pylist()]
    return found


def _word(text: str) -> float:
    infinity = _INFINITY.fullmatch(text)
    if infinity:
        return -np.inf if infinity[1] == "-" else np.inf
    return _TRUTH.get(text, np.nan)


def _texts_of(values: pa.Array) -> pa.LargeStringArray:
    kind = values.type
    if is_textual(kind):
        return _respelled(decoded(values))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values.cast(TEXT).fill_null("")
    written: Iterable[str | None]
    if pa.types.is_floating(kind):
        written = map(float_text, _numbers_of(values).tolist())
    elif pa.types.is_decimal(kind):
        written = (decimal_text(value) for value in values.to_pylist())
    else:
        written = _stored_texts(values)
    return pa.array(written, TEXT).fill_null("")


def decoded(values: pa.Array) -> pa.LargeStringArray:
    """Stored strings or bytes as text, null where they are none: nothing checks them when a file is read."""
    stored = values.cast(pa.large_binary())
    try:
        return stored.cast(TEXT)
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else bytes_text(cell) for cell in stored.to_pylist()], TEXT)


def _respelled(written: pa.LargeStringArray) -> pa.LargeStringArray:
    """`canonical` of every text; only the few that it may respell are taken out of Arrow."""
    trimmed = pc.utf8_trim(written.fill_null(""), characters=WHITESPACE)
    suspects = pc.match_substring_regex(trimmed, _RESPELLED)
    if not pc.any(suspects).as_py():
        return trimmed
    respelled = pa.array([canonical(text) for text in trimmed.filter(suspects).to_pylist()], TEXT)
    return pc.replace_with_mask(trimmed, suspects, respelled)


def float_text(value: float) -> str | None:
    """Shortest text that reads back as the same float, without a point where the value is integral.

    >>> float_text(1e20), float_text(0.1), float_text(float("-inf"))
    ('100000000000000000000', '0.1', '-inf')
    """
    if value.is_integer():
        return str(int(value))
    return None if value != value else repr(value)


def decimal_text(value: Decimal | None) -> str | None:
    """Plain digits, unless the exponent would make them absurdly many."""
    if value is None or value.is_nan():
        return None
    if value.is_infinite():
        return "-inf" if value < 0 else "inf"
    plain = abs(value.adjusted()) <= PLAIN_DECIMAL_LIMIT
    return canonical(format(value, "f") if plain else str(value))


def bytes_text(value: bytes) -> str | None:
    """UTF-8 text, or None."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def ticks_of(values: pa.Array) -> tuple[pa.Int64Array, int]:
    """Stored dates, times and durations as integers since 1970 or midnight, and how many of them make a day."""
    kind = values.type
    if pa.types.is_date32(kind):
        return values.cast(pa.int32()).cast(pa.int64()), 1
    whole = values.cast(pa.int32()) if pa.types.is_time32(kind) else values
    return whole.cast(pa.int64()), _TICKS_PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]


def _stored_texts(values: pa.Array) -> Iterator[str | None]:
    """The texts of dates, times and durations."""
    kind = values.type
    aware = pa.types.is_timestamp(kind) and kind.tz is not None
    ticks, per_day = ticks_of(values)
    for tick in ticks.to_pylist():
        nanos = 0 if tick is None else tick * (dates.NANOS_PER_DAY // per_day)
        if pa.types.is_time(kind) or pa.types.is_duration(kind):
            text: str | None = time_text(*divmod(nanos, NANOS))
        else:
            when = dates.moment(0, nanos)
            text = None if when is None else dates.to_text(when, aware)
        yield None if tick is None else text
