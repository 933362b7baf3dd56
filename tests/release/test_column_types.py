"""Every kind of column, from the table through a release and back."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.rows_file import write_rows
from sfumato.schema.columns import Listed
from sfumato.schema.layout import OrderedBins, bins_of
from sfumato.tables import open_table
from sfumato.tables.coding import find_codes

SCHEMA = sf.Schema.parse(
    """
label: smoker
columns:
  smoker: {type: boolean}
  insured: {type: boolean, values: {true: "J", false: "N"}, missing: true}
  arrived: {type: time, min: 6:00, max: 22:00, step: 15 min, missing: true}
  stay: {type: duration, min: 0d, max: 30d, step: 1h, scale: log, missing: true}
  seen: {type: datetime, min: 2024-01-01, max: 2024-12-31 23:59, zone: Europe/Vienna, missing: true}
  sent: {type: datetime, min: 2024-01-01, max: 2024-12-31 23:59, step: 10}
  born: {type: date, min: 1920-01-01, max: 2020-12-31, missing: true}
  price: {type: number, min: -1000, max: 5000, step: 0.1, missing: true}
  visits: {type: number, min: 0, max: 9, step: 1, missing: true}
"""
)
FORMATS = {"arrived": "%I:%M %p", "seen": "%m/%d/%Y %H:%M", "born": "%d.%m.%Y", "price": "1.234,5 €"}


def formatted(schema: sf.Schema, formats: dict[str, str]) -> sf.Schema:
    data = schema.dump()
    for name, form in formats.items():
        data["columns"][name]["format"] = form
    return sf.Schema.of(data)


def rows(n: int = 1500) -> pd.DataFrame:
    """Rows as a careful export would write them: text in every column, in the formats above."""
    rng = np.random.default_rng(0)
    stays, prices = rng.integers(0, 200, n), rng.normal(1500, 300, n)
    seen = pd.Timestamp("2024-01-02") + pd.to_timedelta(rng.integers(0, 360 * 1440, n), unit="min")
    clock = pd.Timestamp("2024-01-01 07:00") + pd.to_timedelta(rng.integers(0, 12 * 60, n), unit="min")
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")
    return pd.DataFrame(
        {
            "smoker": rng.choice(["yes", "No", "TRUE", "0"], n),
            "insured": rng.choice(["J", "N", ""], n),
            "arrived": clock.strftime("%I:%M %p"),
            "stay": [f"{h // 24} days, {h % 24}:00:00" for h in stays],
            "seen": seen.strftime("%m/%d/%Y %H:%M"),
            "sent": seen.strftime("%Y-%m-%dT%H:%M"),
            "born": born.strftime("%d.%m.%Y"),
            "price": [f"{x:,.1f} €".translate(str.maketrans(",.", ".,")) for x in prices],
            "visits": rng.choice(["1", "2", ""], n),
        }
    )


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.fit(rows(), formatted(SCHEMA, FORMATS), epsilon=20, delta=1e-6, insecure_seed=0)


def codes(table: Any, schema: sf.Schema) -> dict[str, list[int]]:
    batches = list(open_table(table).batches(list(schema.columns)))
    return {
        name: np.concatenate([find_codes(batch.column(name), bins_of(column)) for batch in batches]).tolist()
        for name, column in schema.columns.items()
    }


def test_rows_have_the_types_of_their_columns(release: sf.Release) -> None:
    sample = release.sample(200, seed=1)
    assert sample.dtypes.astype(str).to_dict() == {
        "smoker": "bool",
        "insured": "boolean",
        "arrived": "object",
        "stay": "timedelta64[us]",
        "seen": "datetime64[us, Europe/Vienna]",
        "sent": "datetime64[us]",
        "born": "datetime64[s]",
        "price": "float64",
        "visits": "Int64",
    }
    assert {type(cell) for cell in sample["arrived"]} <= {datetime.time, type(None)}
    assert all(len(str(cell).partition(".")[2]) <= 1 for cell in sample["price"].dropna())
    (batch,) = release.sample_batches(200, seed=1)
    assert {field.name: field.type for field in batch.schema} == {
        "smoker": pa.bool_(),
        "insured": pa.bool_(),
        "arrived": pa.time64("us"),
        "stay": pa.duration("us"),
        "seen": pa.timestamp("us", "Europe/Vienna"),
        "sent": pa.timestamp("us"),
        "born": pa.date32(),
        "price": pa.float64(),
        "visits": pa.int64(),
    }


def test_what_was_read_is_what_was_written(release: sf.Release) -> None:
    sample = release.sample(4000, seed=2)
    assert abs(sample["price"].mean() - 1500) < 60
    assert abs(sample["smoker"].mean() - 0.5) < 0.1
    assert abs(sample["insured"].isna().mean() - 1 / 3) < 0.1
    assert abs(sample["stay"].mean() - pd.Timedelta("100h")) < pd.Timedelta("12h")
    hours = sample["arrived"].dropna().map(lambda cell: cell.hour + cell.minute / 60)
    assert abs(hours.mean() - 13) < 0.6
    assert abs(sample["seen"].mean() - pd.Timestamp("2024-07-01", tz="Europe/Vienna")) < pd.Timedelta("15D")


def test_a_release_of_every_kind_is_saved_and_loaded(release: sf.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.sfm")
    pd.testing.assert_frame_equal(sf.load(tmp_path / "r.sfm").sample(50, seed=3), release.sample(50, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "parquet", "arrow", "xlsx", "sqlite", "duckdb", "pandas csv", "frame"]
)
def test_a_sample_is_written_and_read_into_the_same_bins(release: sf.Release, suffix: str, tmp_path: Path) -> None:
    """Stored values have the same bins under a declared format, and so have texts under the schema without."""
    sample = release.sample(300, seed=4)
    path = tmp_path / f"rows.{suffix.split()[-1]}"
    table: Any = path
    if suffix == "pandas csv":
        sample.to_csv(path, index=False)
    elif suffix == "frame":
        table = sample.astype(object)
    else:
        write_rows(release.sample_batches(300, seed=4), path)
    schema = SCHEMA if suffix in AS_TEXT else release.schema
    assert codes(table, schema) == codes(sample, release.schema)
    assert all(code >= 0 for column in codes(table, schema).values() for code in column)


AS_TEXT = ("csv", "tsv", "pandas csv", "xlsx", "sqlite", "duckdb")  # formats that have no type for some of the columns

GIVEN: list[dict[str, Any]] = [
    {
        "smoker": True,
        "arrived": "8:30",
        "seen": "2024-07-01 08:00",
        "born": "1980-01-01",
        "price": 1200.5,
        "stay": "8h",
    },
    {"smoker": "no", "arrived": datetime.time(8, 30), "seen": pd.Timestamp("2024-07-01 06:00", tz="UTC")},
    {"price": "1200.5", "stay": pd.Timedelta("8h"), "born": datetime.date(1980, 1, 1), "insured": "N"},
    {"insured": None, "stay": None, "seen": None, "arrived": None, "price": None, "sent": "2024-02-03T04:05:10"},
]


@pytest.mark.parametrize("held", GIVEN)
def test_given_columns_are_held(release: sf.Release, held: dict[str, Any]) -> None:
    sample = release.sample(5, seed=5, given=held)
    expected = {
        "arrived": datetime.time(8, 30),
        "seen": pd.Timestamp("2024-07-01 08:00", tz="Europe/Vienna"),
        "sent": pd.Timestamp("2024-02-03 04:05:10"),
        "born": pd.Timestamp("1980-01-01"),
        "price": 1200.5,
        "stay": pd.Timedelta("8h"),
        "smoker": held.get("smoker") is True,
        "insured": False,
    }
    for name, value in held.items():
        assert sample[name].isna().all() if value is None else (sample[name] == expected[name]).all()


@pytest.mark.parametrize(
    ("held", "problem"),
    [
        ({"arrived": "8:31"}, "arrived goes from 06:00:00 in steps of 900 seconds, so it cannot be '8:31'"),
        ({"arrived": "23:00"}, "arrived lies between 06:00:00 and 22:00:00, so it cannot be '23:00'"),
        ({"stay": 90}, "stay can never be 90"),
        ({"seen": "2025-05-05"}, "seen lies between 2024-01-01 00:00:00"),
        ({"born": "1.1.1980"}, "born can never be '1.1.1980'"),
        ({"born": "1919-12-31"}, "born lies between 1920-01-01 and 2020-12-31"),
        ({"price": "1.200,5"}, "price can never be '1.200,5'"),
        ({"smoker": "maybe"}, "smoker can never be 'maybe'"),
    ],
)
def test_what_cannot_be_given_is_told(release: sf.Release, held: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        release.sample(1, given=held)
    assert str(refused.value).startswith(f"given: {problem}")


WHERE = {
    "arrived > '08:30'": lambda rows: rows["arrived"].map(lambda cell: cell > datetime.time(8, 30)),
    "arrived in ['8:30', '09:00']": lambda rows: rows["arrived"].isin([datetime.time(8, 30), datetime.time(9)]),
    "smoker == true": lambda rows: rows["smoker"],
    "not smoker and insured": lambda rows: ~rows["smoker"] & rows["insured"],
    "insured is missing": lambda rows: rows["insured"].isna(),
    "insured != 'J'": lambda rows: ~rows["insured"],
    "'1 day' < stay <= '7 days'": lambda rows: (rows["stay"] > "1 day") & (rows["stay"] <= "7 days"),
    "seen >= '2024-07-01 08:00'": lambda rows: rows["seen"] >= pd.Timestamp("2024-07-01 06:00", tz="UTC"),
    "seen < '2024-07-01T08:00+00:00'": lambda rows: rows["seen"] < pd.Timestamp("2024-07-01 08:00", tz="UTC"),
    "sent > '2024-07-01' and born < '1970-01-01'": lambda rows: (rows["sent"] > "2024-07-01") & (rows["born"] < "1970"),
}


@pytest.mark.parametrize("where", WHERE)
def test_conditions_hold_for_every_row(release: sf.Release, where: str) -> None:
    sample = release.sample(40, seed=6, where=where)
    assert len(sample) == 40
    assert WHERE[where](sample).all()


def test_densities_do_not_depend_on_how_rows_are_written(release: sf.Release) -> None:
    sample = release.sample(40, seed=7)
    density = release.log_density(sample)
    assert np.isfinite(density).all()
    np.testing.assert_array_equal(release.log_density(sample.astype(object)), density)
    proba = release.predict_proba(sample)
    assert proba.columns.tolist() == [False, True]
    np.testing.assert_allclose(proba.sum(axis=1), 1)


WRONG = {
    "arrived": "%H.%M",
    "seen": "%d.%m.%Y %H:%M",
    "born": "%Y/%m/%d",
    "price": "$1,234.5",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_format_makes_cells_unreadable_and_changes_nothing_else(name: str) -> None:
    right = codes(rows(200), formatted(SCHEMA, FORMATS))
    wrong = codes(rows(200), formatted(SCHEMA, FORMATS | {name: WRONG[name]}))
    bins = bins_of(SCHEMA.columns[name])
    assert set(wrong[name]) == {bins.missing}
    assert bins.missing not in right[name]
    assert {other: found for other, found in wrong.items() if other != name} == {
        other: found for other, found in right.items() if other != name
    }


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_any_bin_survives_the_way_out_and_back(data: st.DataObject) -> None:
    for name, column in SCHEMA.columns.items():
        bins = bins_of(column)
        drawn = np.array(data.draw(st.lists(st.integers(0, bins.size - 1), min_size=1, max_size=3)))
        frame = pd.DataFrame({name: bins.decode(drawn, np.full(len(drawn), data.draw(st.floats(0, 1))))})
        for table in (frame, frame.astype(object), pa.Table.from_pandas(frame)):
            (batch,) = open_table(table).batches([name])
            assert find_codes(batch.column(0), bins).tolist() == drawn.tolist()
        assert isinstance(bins, OrderedBins) != isinstance(column, Listed)
