"""Any table to Arrow batches, cell by cell.

Design decisions:

- Every cell is parsed alone, from its own text or its own stored value. No column type is inferred,
  so an odd cell, a blank or a bad line never changes how another cell is read.
- Layout does not matter: chunks, slices, dictionaries and the kind of file give the same cells.
- What a cell holds never raises. Errors speak of a file, its column names and its declared types.

`open_table` gives a `Table` of batches; `numbers`, `texts`, `days` and `lookup` read the
cells of one column.

>>> import pyarrow as pa
>>> table = open_table(pa.table({"age": ["39", "1.0", "n/a"]}))
>>> [numbers(batch["age"]).tolist() for batch in table.batches(["age"])]
[[39.0, 1.0, nan]]
"""

from sfumato.tables.cells import by_distinct, days, lookup, numbers, texts
from sfumato.tables.open import open_table
from sfumato.tables.table import BATCH_ROWS, Table

__all__ = ["BATCH_ROWS", "Table", "by_distinct", "days", "lookup", "numbers", "open_table", "texts"]
