"""Public bins: every value has one, and what comes out of a bin belongs to it."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.schema.layout import DEFAULT_BINS, NOWHERE, CategoryBins, Layout, OrderedBins, bins_of, days
from sfumato.schema.schema import Category, Date, Number, Schema

SPECIAL = np.array([-0.0, 0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, math.inf, -math.inf])
STEPS = ["1", "2", "7", "0.5", "0.25", "0.1", "0.05", "0.01", "0.003", "2.5", "100", "1e-6"]
INSIDE = np.linspace(0.001, 0.999, 13)  # positions clear of a bin's ends

Floats = NDArray[np.float64]


def ordered(column: Number | Date) -> OrderedBins:
    bins = bins_of(column)
    assert isinstance(bins, OrderedBins)
    return bins


def edges(bins: OrderedBins) -> Floats:
    """Where bins begin, and where the last one ends."""
    return np.unique(np.append(bins.low, bins.bounds[1]))


@st.composite
def plain(draw: st.DrawFn) -> Number:
    """Numbers without a step."""
    low = draw(st.one_of(st.sampled_from([0.0, -1.0, 1.0, -1e9]), st.floats(-1e9, 1e9)))
    width = draw(st.one_of(st.sampled_from([1.0, 100.0, 1e9]), st.floats(1e-3, 1e12)))
    high = low + width * max(1.0, abs(low))  # bins are far wider than the spacing of floats
    places = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
    atoms = {min(high, low + place * (high - low)) for place in draw(st.lists(places, max_size=5))}
    column = Number(
        min=low,
        max=high,
        bins=draw(st.one_of(st.none(), st.integers(1, 300))),
        scale=draw(st.sampled_from(["linear", "log"])),
        atoms=tuple(atoms),
        missing=draw(st.booleans()),
    )
    # Two breaks with hardly a float between them leave no interval to speak of.
    assume(np.diff(edges(ordered(column))).min() > 1e-9 * (high - low))
    return column


@st.composite
def stepped(draw: st.DrawFn) -> Number:
    """Numbers on a decimal grid, as a person would write them."""
    step = Decimal(draw(st.sampled_from(STEPS)))
    low = step * draw(st.integers(-5000, 5000)) + step * Decimal(draw(st.sampled_from(["0", "0.5"])))
    steps = draw(st.integers(2, 3000))
    beyond = Decimal(draw(st.sampled_from(["0", "0.3", "0.999"])))  # max need not be on the grid
    atoms = draw(st.sets(st.one_of(st.sampled_from([0, steps]), st.integers(0, steps)), max_size=5))
    return Number(
        min=float(low),
        max=float(low + step * (steps + beyond)),
        step=float(step),
        bins=draw(st.one_of(st.none(), st.integers(1, 300))),
        scale=draw(st.sampled_from(["linear", "log"])),
        atoms=tuple(float(low + step * atom) for atom in atoms),
        missing=draw(st.booleans()),
    )


@st.composite
def dates(draw: st.DrawFn) -> Date:
    low = draw(st.dates(datetime.date(1, 1, 1), datetime.date(9990, 1, 1)))
    span = draw(st.one_of(st.integers(1, 400), st.integers(1, 3000)))
    high = datetime.date.fromordinal(min(low.toordinal() + span, datetime.date.max.toordinal()))
    bins = draw(st.one_of(st.none(), st.integers(1, 300)))
    return Date(min=low, max=high, bins=bins, missing=draw(st.booleans()))


columns = st.one_of(plain(), stepped(), dates())


def grid(column: Number | Date) -> Floats:
    """Every value of a stepped column, by exact decimal arithmetic."""
    if isinstance(column, Date):
        return np.arange(days(column.min), days(column.max) + 1)
    low, high, step = (Decimal(repr(x)) for x in (column.min, column.max, column.step))
    return np.array([float(low + i * step) for i in range(int((high - low) / step) + 1)])


def ends(column: Number | Date) -> tuple[float, float]:
    if isinstance(column, Date):
        return days(column.min), days(column.max)
    return column.min, column.max


def probes(bins: OrderedBins, draws: list[float]) -> Floats:
    """Values everywhere: inside, on and next to every break, outside, special."""
    low, high = ends(bins.column)
    inside = low + np.array(draws) * (high - low)
    near = [np.nextafter(edges(bins), to) for to in (-np.inf, np.inf)]
    return np.concatenate([inside, edges(bins), *near, bins.low, bins.high, SPECIAL])


fractions = st.lists(st.floats(-0.1, 1.1), max_size=20)


@settings(deadline=None)
@given(columns, fractions)
def test_codes_are_bins_in_the_order_of_the_values(column: Number | Date, draws: list[float]) -> None:
    bins = ordered(column)
    values = np.sort(probes(bins, draws))
    codes = bins.code(values)
    assert codes.min() >= 0
    assert codes.max() < len(bins.low)
    assert (np.diff(codes) >= 0).all()


@settings(deadline=None)
@given(columns)
def test_values_outside_clamp(column: Number | Date) -> None:
    bins = ordered(column)
    low, high = ends(column)
    first, last = bins.code(np.array([low, high]))
    assert bins.code(np.array([-math.inf, low - 1.0, np.nextafter(low, -math.inf)])).tolist() == [first] * 3
    assert bins.code(np.array([math.inf, high + 1.0, np.nextafter(high, math.inf)])).tolist() == [last] * 3
    assert first == 0
    assert last == len(bins.low) - 1


@settings(deadline=None)
@given(columns)
def test_bins_span_the_range_and_rise(column: Number | Date) -> None:
    bins = ordered(column)
    assert (bins.low[0], bins.bounds[1]) == ends(column)
    assert bins.starts[0] == 0
    assert (np.diff(bins.starts) > 0).all()
    assert (bins.low <= bins.high).all()
    assert bins.size == len(bins.low) + column.missing


@settings(deadline=None)
@given(plain(), fractions)
def test_an_interval_holds_its_lower_end_and_an_atom_itself(column: Number, draws: list[float]) -> None:
    bins = ordered(column)
    values = probes(bins, draws).clip(column.min, column.max)
    codes = bins.code(values)
    low, high = bins.low[codes], bins.high[codes]
    point = low == high
    last = codes == len(bins.low) - 1
    assert (values[point] == low[point]).all()
    assert ((low <= values) & ((values < high) | point | (last & (values == high)))).all()
    # No atom hides inside an interval.
    assert point[np.isin(values, column.atoms)].all()
    assert set(bins.low[bins.low == bins.high]) == set(column.atoms)


@settings(deadline=None)
@given(st.one_of(stepped(), dates()))
def test_every_value_of_the_grid_is_in_the_bin_that_counts_it(column: Number | Date) -> None:
    bins = ordered(column)
    values = grid(column)
    codes = bins.code(values)
    held = np.bincount(codes, minlength=len(bins.low))
    assert held.tolist() == bins.counts[: len(bins.low)].tolist()
    assert held.min() >= 1
    tolerance = 1e-9 * (column.step or 1.0) if isinstance(column, Number) else 0.0
    assert (bins.low[codes] - tolerance <= values).all()
    assert (values <= bins.high[codes] + tolerance).all()


@settings(deadline=None)
@given(stepped(), fractions)
def test_a_value_between_two_of_the_grid_goes_with_the_nearer(column: Number, draws: list[float]) -> None:
    assert column.step is not None
    bins, values = ordered(column), grid(column)
    between = (np.array(draws).clip(0, 1) * (len(values) - 1)).astype(int).clip(0, len(values) - 2)
    for share in (0.0, 0.4, 0.6):
        x = values[between] + share * (values[between + 1] - values[between])
        assert bins.code(x).tolist() == bins.code(values[between + round(share)]).tolist()


@settings(deadline=None)
@given(columns)
def test_a_decoded_value_is_in_its_bin(column: Number | Date) -> None:
    bins = ordered(column)
    codes = np.repeat(np.arange(len(bins.low)), len(INSIDE))
    decoded = bins.decode(codes, np.tile(INSIDE, len(bins.low)))
    assert np.array_equal(bins.code(as_numbers(decoded, column)), codes)


def as_numbers(decoded: pd.Series[Any], column: Number | Date) -> Floats:
    if isinstance(column, Date):
        return decoded.to_numpy().astype("datetime64[D]").astype(np.int64).astype(np.float64)
    return decoded.to_numpy(dtype=np.float64)


@settings(deadline=None)
@given(st.one_of(stepped(), dates()))
def test_decoding_covers_the_grid_exactly(column: Number | Date) -> None:
    bins = ordered(column)
    counts = bins.counts[: len(bins.low)].astype(int)
    codes = np.repeat(np.arange(len(counts)), counts)
    middles = np.concatenate([(np.arange(count) + 0.5) / count for count in counts])
    decoded = bins.decode(codes, middles)
    assert as_numbers(decoded, column).tolist() == grid(column).tolist()  # to the last digit
    starts = bins.decode(np.arange(len(counts)), np.zeros(len(counts)))
    tops = bins.decode(np.arange(len(counts)), np.full(len(counts), np.nextafter(1.0, 0.0)))
    places = np.cumsum(counts)
    assert as_numbers(starts, column).tolist() == grid(column)[places - counts].tolist()
    assert as_numbers(tops, column).tolist() == grid(column)[places - 1].tolist()


@settings(deadline=None)
@given(st.one_of(plain(), stepped()))
def test_atoms_have_bins_of_their_own_and_decode_exactly(column: Number) -> None:
    bins = ordered(column)
    atoms = np.array(column.atoms)
    assume(len(atoms))
    codes = bins.code(atoms)
    assert len(set(codes.tolist())) == len(atoms)
    assert (bins.low[codes] == bins.high[codes]).all()
    for position in (0.0, 0.3, 1.0):
        assert as_numbers(bins.decode(codes, np.full(len(atoms), position)), column).tolist() == atoms.tolist()


@settings(deadline=None)
@given(plain())
def test_position_is_the_inverse_of_decoding(column: Number) -> None:
    bins = ordered(column)
    codes = np.repeat(np.arange(len(bins.low)), len(INSIDE))
    asked = np.tile(INSIDE, len(bins.low))
    found = bins.position(as_numbers(bins.decode(codes, asked), column), codes)
    wide = (bins.high - bins.low)[codes] > 1e-6 * np.maximum(1.0, np.abs(bins.high[codes]))
    assert np.allclose(found[wide], asked[wide], atol=1e-6)
    assert (found[~bins.continuous[codes]] == 0.5).all()
    assert bins.position(np.array([math.nan]), np.array([NOWHERE])).tolist() == [0.5]


@settings(deadline=None)
@given(plain())
def test_widths_add_up_to_the_range(column: Number) -> None:
    bins = ordered(column)
    codes = np.arange(len(bins.low))
    widths = np.exp(bins.log_width(codes))[bins.continuous[: len(bins.low)]]
    assert widths.sum() == pytest.approx(column.max - column.min, rel=1e-6)
    assert bins.log_width(np.array([NOWHERE])).tolist() == [0.0]


@settings(deadline=None)
@given(columns)
def test_a_missing_cell_has_its_bin_or_none(column: Number | Date) -> None:
    bins = ordered(column)
    code = bins.code(np.array([math.nan]))
    if not column.missing:
        assert code.tolist() == [NOWHERE] == [bins.missing]
        return
    assert code.tolist() == [len(bins.low)] == [bins.size - 1]
    decoded = bins.decode(np.array([0, bins.missing]), np.array([0.5, 0.5]))
    assert decoded.isna().tolist() == [False, True]
    assert not bins.continuous[bins.missing]
    assert bins.log_width(code).tolist() == [0.0]


@settings(deadline=None)
@given(columns, fractions, st.integers(0, 2**32 - 1))
def test_a_code_depends_on_its_cell_alone(column: Number | Date, draws: list[float], seed: int) -> None:
    bins = ordered(column)
    values = np.append(probes(bins, draws), math.nan)
    order = np.random.default_rng(seed).permutation(len(values))
    assert np.array_equal(bins.code(values)[order], bins.code(values[order]))
    assert bins.code(values).tolist() == [bins.code(values[i : i + 1])[0] for i in range(len(values))]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (Number(min=0, max=9, step=1), "int64"),
        (Number(min=0, max=9, step=1, missing=True), "Int64"),
        (Number(min=-4, max=9, step=3), "int64"),
        (Number(min=0.5, max=9, step=1), "float64"),
        (Number(min=0, max=9, step=0.1), "float64"),
        (Number(min=0, max=9), "float64"),
        (Number(min=0, max=9, missing=True), "float64"),
        (Date(min="2020-01-01", max="2020-12-31"), "datetime64[s]"),
        (Date(min="2020-01-01", max="2020-12-31", missing=True), "datetime64[s]"),
        (Category(values=(3, 1, 2)), "int64"),
    ],
    ids=str,
)
def test_decoded_columns_have_the_type_of_the_schema(column: Any, dtype: str) -> None:
    bins = bins_of(column)
    codes = np.arange(bins.size)
    assert str(bins.decode(codes, np.full(len(codes), 0.4)).dtype) == dtype
    assert str(bins.decode(codes[:0], np.zeros(0)).dtype) == dtype


def test_decimals_are_written_as_the_schema_has_them() -> None:
    bins = ordered(Number(min=0, max=1, step=0.1, atoms=(0.3,)))
    assert bins.decode(np.arange(11), np.zeros(11)).tolist() == [i / 10 for i in range(11)]
    bins = ordered(Number(min=0.05, max=1, step=0.1))
    assert bins.decode(np.arange(10), np.zeros(10)).tolist() == [round(0.05 + i / 10, 2) for i in range(10)]


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (Number(min=0, max=120, step=1), 121),
        (Number(min=0, max=1000, step=1), DEFAULT_BINS),
        (Number(min=0, max=1000, step=1, bins=4, missing=True), 5),
        (Number(min=0, max=1), DEFAULT_BINS),
        (Number(min=0, max=1, bins=3), 3),
        (Number(min=0, max=1, bins=2, atoms=(0.0, 0.25, 1.0)), 6),
        (Number(min=0, max=1, bins=2, atoms=(0.5,)), 3),
        (Date(min="2020-01-01", max="2020-01-31"), 31),
        (Date(min="2020-01-01", max="2022-12-31"), DEFAULT_BINS),
        (Category(values=("a", "b"), missing=True), 3),
    ],
    ids=str,
)
def test_sizes(column: Any, size: int) -> None:
    assert bins_of(column).size == size


def test_a_log_scale_has_finer_bins_below() -> None:
    for column in (
        Number(min=0, max=1e5, scale="log", bins=50),
        Number(min=0, max=1e5, step=1, scale="log", bins=50),
    ):
        bins = ordered(column)
        widths = bins.high - bins.low
        assert widths[-1] > 50 * max(1.0, widths[0])
        assert (np.diff(widths) >= -1.0).all()


def test_the_sign_of_zero_and_the_smallest_floats_do_not_matter() -> None:
    bins = ordered(Number(min=-1, max=1, bins=2, atoms=(0.0,)))
    assert bins.code(np.array([-0.0, 0.0, 5e-324, -5e-324])).tolist() == [1, 1, 2, 0]
    stepped_bins = ordered(Number(min=-1, max=1, step=1))
    assert stepped_bins.code(np.array([-0.0, 0.0, 5e-324, -5e-324])).tolist() == [1, 1, 1, 1]
    assert math.copysign(1.0, bins.decode(np.array([1]), np.array([0.5]))[0]) == 1.0


def test_categories_decode_to_the_values_of_the_schema() -> None:
    bins = bins_of(Category(values=("b", "a", "1.0"), missing=True))
    assert isinstance(bins, CategoryBins)
    decoded = bins.decode(np.array([1, 0, 3, 2]), np.zeros(4))
    assert decoded.isna().tolist() == [False, False, True, False]
    assert decoded.dropna().tolist() == ["a", "b", "1.0"]
    mixed = bins_of(Category(values=("b", 1, 2.5))).decode(np.array([2, 1, 0]), np.zeros(3))
    assert mixed.tolist() == [2.5, 1, "b"]


LAYOUT = Layout.of(
    Schema.of(
        {
            "label": "y",
            "columns": {
                "y": {"type": "number", "min": 0, "max": 10, "bins": 2},
                "b": {"type": "category", "values": ["u", "v", "w"], "missing": True},
                "a": {"type": "number", "min": 0, "max": 4, "step": 1},
            },
        }
    )
)


def test_a_layout_keeps_the_order_of_the_schema() -> None:
    assert LAYOUT.names == ("b", "a")
    assert LAYOUT.sizes == (4, 5)
    assert LAYOUT.classes == 2
    assert LAYOUT.class_names() == ["0..5", "5..10"]
    bare = Layout.of(Schema.of({"columns": {"a": {"type": "number", "min": 0, "max": 4}}}))
    assert bare.classes == 1
    assert bare.class_names() == []


# The far ends of what a schema may say


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_range_too_wide_for_floats_is_refused_or_cut() -> None:
    try:
        column = Number(min=-1.5e308, max=1.5e308)
    except ValueError:
        return
    assert np.isfinite(edges(ordered(column))).all()


def test_a_tiny_log_range_is_refused_or_cut() -> None:
    try:
        column = Number(min=0, max=1e-322, scale="log")
    except ValueError:
        return
    assert np.isfinite(edges(ordered(column))).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_large_whole_numbers_survive_decoding() -> None:
    try:
        column = Number(min=0, max=2e19, step=1e18)
    except ValueError:
        return
    bins = ordered(column)
    decoded = bins.decode(np.arange(21), np.zeros(21))
    assert [float(x) for x in decoded] == [i * 1e18 for i in range(21)]


def test_large_categories_survive_decoding() -> None:
    bins = bins_of(Category(values=(2**63, 2**64)))
    assert bins.decode(np.array([1, 0]), np.zeros(2)).tolist() == [2**64, 2**63]


def test_a_step_that_floats_cannot_resolve_is_refused() -> None:
    with pytest.raises(ValueError):
        Number(min=2.0**53, max=2.0**53 + 10, step=1)


def test_a_range_of_one_decimal_step_is_accepted() -> None:
    assert bins_of(Number(min=0.2, max=0.3, step=0.1)).size == 2


def test_an_atom_between_two_values_of_a_long_grid_is_refused() -> None:
    with pytest.raises(ValueError):
        Number(min=0, max=1e10, step=1, atoms=(1234567890.5,))


def test_an_atom_on_an_edge_leaves_no_sliver_beside_it() -> None:
    bins = ordered(Number(min=0, max=1, bins=10, atoms=(0.3,)))  # the edge is 0.30000000000000004
    assert bins.size == 11
    assert np.diff(edges(bins)).min() > 0.09


@pytest.mark.parametrize("position", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_an_interval_decode_into_it(position: float) -> None:
    bins = ordered(Number(min=0, max=100, bins=4, atoms=(0.0, 50.0)))
    codes = np.flatnonzero(bins.continuous)
    decoded = bins.decode(codes, np.full(len(codes), position))
    assert bins.code(decoded.to_numpy()).tolist() == codes.tolist()
