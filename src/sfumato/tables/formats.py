"""Numbers that are written otherwise: `$1,200`, `37.2%`, `1.234,5`, by the format that the schema declares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.schema.notation import number_format
from sfumato.tables.cells import TEXT, decoded, is_textual, numbers, once_each, parse_numbers
from sfumato.text import AS_STORED, WHITESPACE


def formatted_numbers(cells: pa.Array, example: str) -> NDArray[np.float64]:
    """Each cell as a number, texts as the format says; what is stored as a number is read as it is.

    Args:
        cells: Cells of one column.
        example: How 1234.5 is written.

    Returns:
        One float64 a cell: NaN where it is null or written otherwise.

    Example:
        >>> formatted_numbers(pa.array(["1.200", "-3,5", "3.5", None]), "1.234,5").tolist()
        [1200.0, -3.5, nan, nan]
    """
    return once_each(cells, lambda distinct: _read(distinct, example))


def _read(cells: pa.Array, example: str) -> NDArray[np.float64]:
    if not is_textual(cells.type):
        return numbers(cells)
    pattern, thousands, accounting = number_format(example)
    raw = decoded(cells).fill_null("")
    written = pc.utf8_trim(raw, characters=WHITESPACE)
    if accounting:
        written = pc.replace_substring_regex(written, r"^\((.*)\)$", r"-\1")
    fits = pc.match_substring_regex(written, pattern)
    whole, decimals = (pc.replace_substring_regex(written, pattern, part) for part in (r"\1\2\3", r"\4"))
    whole = pc.replace_substring_regex(whole, thousands, "") if thousands else whole
    plainly = pc.binary_join_element_wise(pc.replace_substring(whole, "−", "-"), decimals, pa.scalar(".", TEXT))
    found = parse_numbers(pc.if_else(fits, plainly, ""))
    return np.where(pc.ends_with(raw, AS_STORED).to_numpy(zero_copy_only=False), numbers(cells), found)
