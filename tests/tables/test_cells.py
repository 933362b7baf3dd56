"""Every cell is parsed alone, and a stored value reads as its text does."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.tables import by_distinct, days, lookup, numbers, texts
from sfumato.text import canonical

NUMERIC_TEXT = st.from_regex(
    r"[+-]?(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,4})?", fullmatch=True, alphabet="+-.eE0123456789"
)
NEARLY_CANONICAL = st.from_regex(r"\s?-?0?\d{0,3}\.?0{0,3}5?\s?", fullmatch=True)
WORDS = st.sampled_from(
    ["true", "True", "TRUE", "tRUE", "false", "False", "-0", "-0.0", "inf", "-Infinity", "nan", "", " "]
)
DATES = st.sampled_from(["2020-01-01", "2021-02-30", "1969-12-31T23:59:59.5Z", "0001-01-01 00:00+01:00", "20200101"])
CELL_TEXT = st.one_of(st.text(), NUMERIC_TEXT, NEARLY_CANONICAL, WORDS, DATES)
COLUMN = st.lists(st.none() | CELL_TEXT, min_size=1, max_size=20)


def bits(values: NDArray[np.float64]) -> list[int]:
    return values.view(np.int64).tolist()


def readings(cells: pa.Array) -> list[tuple[int, str, int]]:
    """All three readings of each cell, the floats by their bits."""
    return list(zip(bits(numbers(cells)), texts(cells).to_pylist(), bits(days(cells)), strict=True))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (" a b\t", "a b"),
        ("\xa0a\xa0", "\xa0a\xa0"),
        ("1.0", "1"),
        ("1.", "1"),
        ("-2.00", "-2"),
        ("0.0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("+1.0", "+1.0"),
        ("01.0", "01.0"),
        ("007", "007"),
        ("1.50", "1.50"),
        (".0", ".0"),
        ("1e3", "1e3"),
        ("TRUE", "true"),
        ("False", "false"),
        ("tRUE", "tRUE"),
        ("1.0\n", "1"),
        ("1.0\x00", "1.0\x00"),
        ("١.0", "١.0"),
    ],
)
def test_canonical_text(written: str, expected: str) -> None:
    assert canonical(written) == expected
    assert texts(pa.array([written])).to_pylist() == [expected]


@settings(deadline=None)
@given(COLUMN)
@example(["0.", "-0.", "1.0\n", "\x1c1.0", "\x851"])
def test_texts_agree_with_canonical(column: list[str | None]) -> None:
    assert texts(pa.array(column, pa.string())).to_pylist() == [canonical(cell or "") for cell in column]


@settings(deadline=None)
@given(CELL_TEXT)
def test_canonical_is_idempotent_and_keeps_the_number(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)
    assert bits(numbers(pa.array([text]))) == bits(numbers(pa.array([canonical(text)])))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("39", 39.0),
        (" +1.5e3\r", 1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("9" * 400, np.inf),
        ("-" + "9" * 20_000, -np.inf),
        ("1e999", np.inf),
        ("1e-999", 0.0),
        ("-1e-999", 0.0),
        ("1e99999999999999999999999", np.inf),
        ("0e99999999999999999999999", 0.0),
        ("0." + "0" * 5_000 + "1e5001", 1.0),
        ("inf", np.inf),
        ("-INF", -np.inf),
        ("Infinity", np.inf),
        ("true", 1.0),
        ("TRUE", 1.0),
        ("False", 0.0),
        ("nan", np.nan),
        ("", np.nan),
        ("1,000", np.nan),
        ("1_000", np.nan),
        ("0x10", np.nan),
        ("٣", np.nan),
        ("1 2", np.nan),
        ("1e", np.nan),
        (".", np.nan),
        ("--1", np.nan),
        ("tRUE", np.nan),
        ("ınf", np.nan),
        ("2020-01-01", np.nan),
    ],
)
def test_numbers_from_text(written: str, expected: float) -> None:
    assert bits(numbers(pa.array([written]))) == bits(np.array([expected]))


@settings(deadline=None)
@given(NUMERIC_TEXT)
def test_numbers_are_correctly_rounded(text: str) -> None:
    assert bits(numbers(pa.array([text]))) == bits(np.array([float(text) + 0.0]))


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@settings(deadline=None)
@given(st.data(), st.sampled_from(INTEGERS))
def test_integers_read_as_their_digits(data: st.DataObject, kind: pa.DataType) -> None:
    signed = pa.types.is_signed_integer(kind)
    low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1)) if signed else (0, 2**kind.bit_width)
    column = data.draw(st.lists(st.none() | st.integers(low, high - 1), min_size=1))
    written = pa.array([None if cell is None else str(cell) for cell in column], pa.string())
    assert readings(pa.array(column, kind)) == readings(written)


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(), min_size=1))
@example([-0.0, 1e20, -1e22, 5e-324, 1e16, 123456789012345680.0, 0.1, float("-inf")])
def test_floats_read_as_their_repr(column: list[float | None]) -> None:
    stored = pa.array(column, pa.float64())
    written = pa.array([None if cell is None else repr(cell) for cell in column], pa.string())
    assert bits(numbers(stored)) == bits(numbers(written))
    assert readings(stored) == readings(texts(stored))


@settings(deadline=None)
@given(st.lists(st.floats(width=16), min_size=1))
def test_narrow_floats_read_as_the_float64_that_they_are(column: list[float]) -> None:
    wide = readings(pa.array(column, pa.float64()))
    assert readings(pa.array(column, pa.float32())) == wide
    assert readings(pa.array(np.array(column, np.float16))) == wide


@settings(deadline=None)
@given(
    st.lists(
        st.none() | st.decimals(allow_nan=False, allow_infinity=False, places=9, max_value=10**20, min_value=-(10**20)),
        min_size=1,
    ),
    st.sampled_from([pa.decimal128(38, 9), pa.decimal256(60, 12)]),
)
@example([Decimal("1E-9"), Decimal(0), Decimal("-3.5"), Decimal(7)], pa.decimal64(18, 9))
@example([Decimal("1E-7"), Decimal("-20")], pa.decimal32(9, 7))
def test_decimals_read_as_their_digits(column: list[Decimal | None], kind: pa.DataType) -> None:
    stored = pa.array(column, kind)
    written = [None if cell is None else format(cell, "f") for cell in stored.to_pylist()]
    assert readings(stored) == readings(pa.array(written, pa.string()))


def test_booleans_read_as_their_words() -> None:
    stored = pa.array([True, False, None])
    assert texts(stored).to_pylist() == ["true", "false", ""]
    assert readings(stored) == readings(pa.array(["True", "FALSE", ""]))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1970-01-01", 0.0),
        (" 1970-01-03 ", 2.0),
        ("1969-12-31", -1.0),
        ("2000-02-29", 11016.0),
        ("1970-01-01T12:00", 0.5),
        ("1970-01-01 12:00:00", 0.5),
        ("1970-01-01T18:00:00.000Z", 0.75),
        ("1970-01-01T00:00:00.000000001", 1 / 86_400e9),
        ("1970-01-01T00:00+12:00", -0.5),
        ("1970-01-01T23:00-01:00", 1.0),
        ("9999-12-31", 2932896.0),
    ],
)
def test_days_from_text(written: str, expected: float) -> None:
    assert days(pa.array([written])).tolist() == [expected]


@pytest.mark.parametrize(
    "written",
    [
        "",
        "20200101",
        "2020-1-1",
        "2021-02-29",
        "2021-13-01",
        "0000-01-01",
        "10000-01-01",
        "2020-01-01T",
        "2020-01-01T24:00",
        "2020-01-01T12:60",
        "2020-01-01T12:00:60",
        "2020-01-01T12:00:00.",
        "2020-01-01T12:00:00.1234567890",
        "2020-01-01Z",
        "2020-01-01T12:00+24:00",
        "2020-01-01T12:00+1",
        "0001-01-01T00:00+01:00",
        "9999-12-31T23:00-01:00",
        "٢٠٢٠-01-01",
        "18262",
        "true",
    ],
)
def test_no_date(written: str) -> None:
    assert np.isnan(days(pa.array([written]))).all()


MOMENTS = st.datetimes(
    timezones=st.none() | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))
)


@settings(deadline=None)
@given(st.lists(MOMENTS, min_size=1), st.sampled_from(["UTC", "Asia/Kolkata", None]))
def test_timestamps_read_as_their_text(column: list[datetime], zone: str | None) -> None:
    naive = [when.replace(tzinfo=None) for when in column]
    stored = pa.array(naive, pa.timestamp("us", zone))
    assert readings(stored) == readings(texts(stored))
    assert bits(days(stored)) == bits(days(pa.array([when.isoformat(" ") for when in naive])))
    assert all(text.endswith("Z") == (zone is not None) for text in texts(stored).to_pylist())


@settings(deadline=None)
@given(st.lists(st.dates(), min_size=1))
def test_dates_read_as_their_text(column: list[date]) -> None:
    written = readings(pa.array([day.isoformat() for day in column]))
    assert readings(pa.array(column, pa.date32())) == written
    assert readings(pa.array(column, pa.date64())) == written
    assert readings(pa.array(column).cast(pa.timestamp("s"))) == written


def test_unit_and_zone_of_a_timestamp_do_not_matter_but_that_it_has_one() -> None:
    when = datetime(2020, 5, 17, 13, 4, 5, tzinfo=UTC)
    expected = readings(pa.array(["2020-05-17T13:04:05Z"]))
    for unit in ("s", "ms", "us", "ns"):
        for zone in ("Asia/Tokyo", "+03:00", "UTC"):
            assert readings(pa.array([when], pa.timestamp(unit, zone))) == expected
    assert readings(pa.array([when], pa.timestamp("s"))) == readings(pa.array(["2020-05-17T13:04:05"]))
    assert texts(pa.array([when + timedelta(milliseconds=250)], pa.timestamp("ns"))).to_pylist() == [
        "2020-05-17T13:04:05.25"
    ]


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ns"), pa.date64()])
def test_extreme_timestamps_are_no_dates_or_dates_but_never_raise(kind: pa.DataType) -> None:
    cells = pa.array([2**63 - 1, -(2**63), 0], pa.int64()).cast(kind)
    assert days(cells)[2] == 0.0
    assert readings(cells) == readings(texts(cells))


def test_types_that_do_not_fit_the_reading_are_missing() -> None:
    assert np.isnan(numbers(pa.array([date(2020, 1, 1), None]))).all()
    assert np.isnan(days(pa.array([18262, None]))).all()
    assert np.isnan(days(pa.array([Decimal("1.5")]))).all()
    assert readings(pa.nulls(2)) == readings(pa.array(["", None]))
    assert readings(pa.nulls(2).dictionary_encode()) == readings(pa.array(["", None]))


def test_bytes_are_utf8_or_empty() -> None:
    expected = readings(pa.array(["é", "", "12", None]))
    column = [b"\xc3\xa9", b"\xff", b"12", None]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert readings(pa.array(column, kind)) == expected
    unchecked = pa.array(column, pa.binary()).view(pa.string())
    assert readings(unchecked) == expected
    assert readings(pa.array([b"12", b"\xff1"], pa.binary(2))) == readings(pa.array(["12", None]))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.month_day_nano_interval(),
    ],
)
def test_other_types_are_refused_by_name(kind: pa.DataType) -> None:
    for read in (numbers, texts, days):
        with pytest.raises(TableError, match=str(kind).split("<")[0].split("[")[0]):
            read(pa.nulls(3, kind))


def relaid(cells: pa.Array) -> list[pa.Array]:
    """The same cells in other layouts."""
    spare = pa.concat_arrays([pa.array(["spare"], cells.type), cells, pa.array(["9"], cells.type)])
    encoded = cells.dictionary_encode()
    padded = pa.concat_arrays([pa.array(["unused"] * 30, cells.type), encoded.dictionary, pa.nulls(1, cells.type)])
    shifted = pc.add(encoded.indices, 30).fill_null(len(padded) - 1)
    return [
        spare.slice(1, len(cells)),
        encoded,
        spare.dictionary_encode().slice(1, len(cells)),
        pa.DictionaryArray.from_arrays(shifted, padded),
        cells.cast(pa.large_string()),
        cells.cast(pa.string_view()),
        cells.cast(pa.large_string()).dictionary_encode(),
        pc.run_end_encode(cells),
    ]


@settings(deadline=None)
@given(COLUMN)
def test_layout_changes_no_cell(column: list[str | None]) -> None:
    cells = pa.array(column, pa.string())
    expected = readings(cells)
    for other in relaid(cells):
        assert readings(other) == expected


@settings(deadline=None)
@given(COLUMN, st.data())
def test_each_cell_reads_as_if_it_were_alone(column: list[str | None], data: st.DataObject) -> None:
    cells = pa.array(column, pa.string())
    alone = [readings(cells.slice(place, 1))[0] for place in range(len(cells))]
    assert readings(cells) == alone
    order = data.draw(st.permutations(range(len(cells))))
    assert readings(cells.take(pa.array(order))) == [alone[place] for place in order]


@settings(deadline=None)
@given(st.lists(st.none() | st.binary(max_size=6), min_size=1, max_size=20))
def test_each_stored_byte_string_reads_as_if_it_were_alone(column: list[bytes | None]) -> None:
    cells = pa.array(column, pa.binary()).view(pa.string())
    assert readings(cells) == [readings(cells.slice(place, 1))[0] for place in range(len(cells))]


def _repeated() -> list[pa.Array]:
    values = [None, 3, 1, 1, 0, 3]
    whole = [pa.array(values, kind) for kind in (pa.int64(), pa.uint8(), pa.float32(), pa.float16(), pa.date32())]
    wide = [pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(9, 2))]
    kinds = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
    written = [pa.array([None if v is None else f" {v}.0" for v in values], kind) for kind in kinds]
    plain = [*whole, *wide, *written, pa.array(values, pa.timestamp("ms", "UTC")), pa.nulls(6)]
    return [*plain, *(cells.dictionary_encode() for cells in (whole[0], written[0])), pa.array([], pa.int64())]


@pytest.mark.parametrize("cells", _repeated(), ids=lambda cells: str(cells.type))
def test_reading_the_distinct_cells_is_reading_all(cells: pa.Array) -> None:
    known = pa.array(["3", "", "1970-01-02"], pa.large_string())
    for repeated in (cells, pa.concat_arrays([cells] * 3)):
        assert bits(by_distinct(repeated, numbers)) == bits(numbers(repeated))
        assert bits(by_distinct(repeated, days)) == bits(days(repeated))
        found = pc.index_in(texts(repeated), value_set=known).fill_null(-1).to_pylist()
        assert lookup(repeated, known, missing=-1).tolist() == found
