"""What is told while a table is read is the same for every table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.engines.watching import WatchedTable
from sfumato.errors import TableError
from sfumato.progress import Event, Reading, listening
from sfumato.tables import open_table

EVERY = [Reading(percent) for percent in range(1, 101)]


def heard_of(frame: pd.DataFrame) -> tuple[list[Event], pd.DataFrame]:
    heard: list[Event] = []
    with listening(heard.append):
        read = [batch.to_pandas() for batch in WatchedTable(open_table(frame)).batches(["x"])]
    return heard, pd.concat(read) if read else frame[:0]


@pytest.mark.parametrize("rows", [0, 1, 200_000])
def test_every_percent_is_told_once_whatever_the_length(rows: int) -> None:
    frame = pd.DataFrame({"x": np.arange(rows, dtype=float)})
    heard, read = heard_of(frame)
    assert heard == EVERY
    assert read["x"].tolist() == frame["x"].tolist()


def test_it_is_the_table_that_it_watches() -> None:
    inner = open_table(pd.DataFrame({"x": [1.0]}))
    watched, fractions = WatchedTable(inner), list[float]()
    list(watched.batches(["x"], fractions.append))
    assert fractions[-1] == 1.0
    assert (watched.names, watched.rereadable, watched.place("x")) == (inner.names, inner.rereadable, 0)
    with pytest.raises(TableError, match="no column 'y'"):
        watched.batches(["y"])


def test_a_fit_tells_its_plan_then_how_far_it_has_read() -> None:
    schema = {"columns": {"x": {"type": "number", "min": 0, "max": 9, "step": 1}}}
    heard: list[Event] = []
    frame = pd.DataFrame({"x": np.arange(500) % 10})
    sf.fit(frame, schema, epsilon=1, delta=1e-6, progress=heard.append, insecure_seed=1)
    assert isinstance(heard[0], sf.Planned)
    assert heard[0].rounds[0] == heard[1].name  # type: ignore[union-attr]
    assert [event for event in heard if isinstance(event, Reading)] == EVERY
