"""Pairs: noisy tables where they were bought, coded rows for all."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from tests.reporting.conftest import table

from sfumato.reporting import pair_tables
from sfumato.reporting.pair_tables import bought_pairs, coded_rows, pair_data, points
from sfumato.reporting.seen_release import SeenRelease, Sizes


def test_tables_with_the_label_were_bought(seen: SeenRelease, seen_compact: SeenRelease) -> None:
    assert {frozenset(pair) for pair in bought_pairs(seen)} == {
        frozenset((name, "ill")) for name in seen.columns if name != "ill"
    }
    assert list(bought_pairs(seen_compact)) == []


@pytest.fixture(scope="module")
def tables(seen: SeenRelease) -> list[dict[str, Any]]:
    found, out = pair_data(seen)
    assert out == 0
    return found


def test_counts_are_those_of_the_table_up_to_noise(seen: SeenRelease, tables: list[dict[str, Any]]) -> None:
    names = list(seen.columns)
    smokes = next(each for each in tables if {names[i] for i in each["of"]} == {"smokes", "ill"})
    assert [names[i] for i in smokes["of"]] == ["smokes", "ill"]
    truth = table().groupby(["smokes", "ill"]).size().tolist()
    assert np.abs(np.array(smokes["counts"]) - truth).max() < 3 * smokes["wide"]  # of 1.96 standard deviations


def test_many_levels_are_put_together_with_intervals(seen: SeenRelease, tables: list[dict[str, Any]]) -> None:
    names = list(seen.columns)
    age = next(each for each in tables if names[each["of"][0]] == "age")
    assert len(age["levels"][0]) < 20
    assert len(age["counts"]) == len(age["ends"]) == len(age["levels"][0]) * len(age["levels"][1])
    assert all(low <= count <= high for count, (low, high) in zip(age["counts"], age["ends"], strict=True))


def test_there_is_room_for_so_many(seen: SeenRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_tables, "SIZES", Sizes(pair_cells=-1))
    assert pair_data(seen) == ([], 5)


def test_rows_are_packed_one_byte_a_cell(seen: SeenRelease) -> None:
    packed = coded_rows(seen)
    codes = np.frombuffer(base64.b64decode(packed["bytes"]), np.uint8).reshape(-1, packed["rows"])
    for name, each in zip(seen.codes, codes, strict=True):
        assert np.array_equal(each, seen.codes[name])


def test_dots_are_of_columns_of_numbers(seen: SeenRelease) -> None:
    found = points(seen)
    assert set(found) == {"0", "1"}
    assert None in found["1"]  # a cost may be missing
    assert all(isinstance(each, float) for each in found["0"])
