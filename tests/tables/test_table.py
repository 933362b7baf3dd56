"""What every table refuses: columns that are not there, are there twice, or cannot be read."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from tests.tables.helpers import parquet_file, readings

from sfumato.errors import TableError
from sfumato.tables import open_table


def test_nested_columns_are_refused_only_when_asked_for(tmp_path: Path) -> None:
    stored = pa.table({"a": [1], "b": [[1]], "c": [{"d": 1}]})
    for source in (stored, parquet_file(tmp_path, stored)):
        table = open_table(source)
        assert len(readings(table, "a")) == 1
        for name, kind in (("b", "list"), ("c", "struct")):
            with pytest.raises(TableError, match=f"column '{name}' of .* has type {kind}"):
                table.batches([name])


def test_missing_and_double_columns() -> None:
    table = open_table(pa.table([[1], [2], [3]], names=["a", "b", "b"]))
    with pytest.raises(TableError, match=r"^the table has no column 'age'; it has: a, b, b$"):
        table.batches(["a", "age"])
    with pytest.raises(TableError, match="more than one column 'b'"):
        table.batches(["b"])
    assert len(readings(table, "a")) == 1
    frame = pd.DataFrame([[1, 2]], columns=pd.Index([1, "1"], dtype=object))
    with pytest.raises(TableError, match="more than one column '1'"):
        open_table(frame).batches(["1"])
    with pytest.raises(TableError, match=r"and 80 more$"):
        open_table(pa.table([[1]] * 100, names=[f"x{place}" for place in range(100)])).batches(["y"])
