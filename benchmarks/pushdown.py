"""Counts made by PostgreSQL against rows read out of it: seconds of both for the same questions, in one run.

    SFUMATO_TEST_POSTGRES=postgresql://postgres@localhost/postgres python -m benchmarks.pushdown --rows 10000000

A table of 14 columns is made on the server (and dropped at the end), of which 13 are features and one is the label.
Asked are the histograms of all columns, 256 bins at the most, and the tables of all pairs of columns in 12 levels, with
the label; totals have to be the same bit for bit. `--only pushed` leaves the streamed pass out. What was found at ten
million rows is in benchmarks/pushdown.json (`-o benchmarks/pushdown.json`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import sqlalchemy as sa

import sfumato as sf
from sfumato.engines.choosing import engine_for
from sfumato.private.curator import Engine
from sfumato.private.queries.base import Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.progress import listening
from sfumato.schema.layout import Layout
from sfumato.schema.view import View

NAME = "sfumato_pushdown"
LEVELS = 12
COLUMNS = {  # how the server makes each, and what the schema says of it
    "age": ("(17 + random() * 73)::int", {"type": "number", "min": 0, "max": 120, "step": 1}),
    "weight": ("40 + random() * 100", {"type": "number", "min": 30, "max": 200, "missing": True}),
    "income": ("exp(random() * 12)", {"type": "number", "min": 0, "max": 200_000, "scale": "log"}),
    "hours": ("(random() * 99)::int", {"type": "number", "min": 0, "max": 99, "step": 1}),
    "visits": ("(random() * random() * 50)::int8", {"type": "number", "min": 0, "max": 50, "step": 1}),
    "pressure": (
        "CASE WHEN random() < 0.9 THEN 80 + random() * 80 END",
        {"type": "number", "min": 50, "max": 250, "missing": True},
    ),
    "since": ("DATE '2000-01-01' + (random() * 9000)::int", {"type": "date", "min": "2000-01-01", "max": "2024-12-31"}),
    "member": ("random() < 0.3", {"type": "boolean"}),
    "ward": ("(1 + random() * 7)::int2", {"type": "category", "values": list(range(1, 9))}),
    "town": ("'town ' || (random() * 19)::int", {"type": "category", "values": [f"town {n}" for n in range(20)]}),
    "trade": ("'trade ' || (random() * 11)::int", {"type": "category", "values": [f"trade {n}" for n in range(12)]}),
    "state": (
        "(ARRAY['single', 'married', 'widowed', ' single'])[1 + (random() * 3)::int]",
        {"type": "category", "values": ["single", "married", "widowed"]},
    ),
    "score": ("random()", {"type": "number", "min": 0, "max": 1}),
    "ill": ("(ARRAY['yes', 'no', 'no'])[1 + (random() * 2)::int]", {"type": "category", "values": ["yes", "no"]}),
}


@contextmanager
def made(url: str, rows: int) -> Iterator[None]:
    """The table on the server, for a while."""
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    columns = ", ".join(f"{made} AS {name}" for name, (made, _) in COLUMNS.items())
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {NAME}")
        connection.exec_driver_sql("SELECT setseed(0.5)")
        connection.exec_driver_sql(f"CREATE UNLOGGED TABLE {NAME} AS SELECT {columns} FROM generate_series(1, {rows})")
        try:
            yield
        finally:
            connection.exec_driver_sql(f"DROP TABLE {NAME}")


def questions(layout: Layout) -> dict[str, Query]:
    """The histograms of all columns, and the tables of all pairs with the label."""
    every = len(layout.names)
    view = View(tuple(range(every)), layout.cells, tuple(bins.cell_starts for bins in layout.bins))
    levels = tuple(np.append(np.arange(size) * LEVELS // max(size, LEVELS), LEVELS) for size in layout.sizes)
    pairs = tuple((*pair, every) for pair in itertools.combinations(range(every), 2))
    return {
        "histograms": Viewed(view, Histograms(layout.sizes, layout.classes, (1 / every,) * every)),
        f"{len(pairs)} pair tables": Viewed(
            view, Tables(levels, layout.classes, pairs, (1 / len(pairs),) * len(pairs))
        ),
    }


def measured(engine: Engine, asked: dict[str, Query]) -> tuple[dict[str, float], list[np.ndarray]]:
    """Seconds of every question, and the totals."""
    seconds, totals = {}, []
    for name, query in asked.items():
        start = time.perf_counter()
        totals.append(engine.total(query))
        seconds[name] = round(time.perf_counter() - start, 2)
    return seconds, totals


def main() -> None:
    """Measure, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument(
        "--url", default=os.environ.get("SFUMATO_TEST_POSTGRES"), help="of a server to make the table on"
    )
    parser.add_argument("--only", choices=["pushed"], help="leave out the rows that are read here")
    parser.add_argument("-o", "--output", type=Path, help="also where to write the document")
    given = parser.parse_args()
    if not given.url:
        parser.error("name a server with --url, or in SFUMATO_TEST_POSTGRES")
    columns = {name: said for name, (_, said) in COLUMNS.items()}
    layout = Layout.of(sf.Schema.of({"label": "ill", "columns": columns}))
    asked, found = questions(layout), {}
    with made(given.url, given.rows), listening(lambda event: print(event, flush=True)):
        table = sf.open_table(given.url, table=NAME)
        pushed, first = measured(engine_for(table, layout, None, False), asked)
        print("pushed down:", pushed, flush=True)
        found["pushed down"] = pushed
        if given.only is None:
            streamed, second = measured(engine_for(table, layout, None, False, sf.Local(workers=1)), asked)
            found["streamed"] = streamed
            found["same totals"] = all(map(np.array_equal, first, second))
            found["ratio"] = round(sum(streamed.values()) / sum(pushed.values()), 2)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    about = {
        "commit": commit,
        "rows": given.rows,
        "columns": len(COLUMNS),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    told = json.dumps(about | found | {"python": platform.python_version()}, indent=1)
    print(told)
    if given.output is not None:
        given.output.write_text(told + "\n")


if __name__ == "__main__":
    main()
