"""Measuring a cell: the release is made in a process of its own, which also tells its seconds and memory."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.provenance import commit

from benchmarks.scoreboard import environments
from benchmarks.scoreboard.cells import REAL, Cell
from benchmarks.scoreboard.datasets import SHARED, DataSet, Loaded
from benchmarks.scoreboard.methods import Method
from sfumato.evaluation.comparison import compare, judgements, likeness
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.columns import Listed, category_text
from sfumato.schema.conditions import Once
from sfumato.schema.layout import bins_of
from sfumato.schema.schema import Schema

ROOT = Path(__file__).parents[2]
COMMAND = "python -m benchmarks.scoreboard"
ALL = 1000  # releases of a cell: more than any method asks for
LIMIT = 1800  # seconds that a release may take
OUT_OF_TIME = f"took more than {LIMIT // 60} minutes"
PUBLIC_BINS = 32  # of a number, for peers that have no bins of their own
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Failed(Exception):
    """A method made no rows; the text is the last line that it said."""


def measure(
    data: DataSet, method: Method, epsilon: float, cell: Cell, save: Callable[[Cell], None], most: int = ALL
) -> Cell:
    """Make and score the releases that a cell lacks, `most` in all, saving it after each."""
    loaded = data.load()
    cell.facts = facts(data, loaded, method.name, epsilon)
    while not cell.is_done(min(most, method.releases(cell.seconds))):
        try:
            rows, made = release(loaded, method, epsilon)
        except Failed as failure:
            cell.failure = str(failure)
        else:
            measures = scores(data, loaded, rows)
            if not math.isnan(likelihood := made.pop("log_likelihood", math.nan)):
                measures["log_likelihood"] = likelihood
            costs = {name: made.pop(name) for name in ("seconds", "peak_megabytes")}
            cell.facts |= made
            cell.releases.append(rounded({**costs, "measures": measures}))
        save(cell)
    return cell


def measure_real(data: DataSet, save: Callable[[Cell], None]) -> None:
    """What real rows score: as train rows for the judges, and test rows held against train rows for all else."""
    loaded = data.load()
    if loaded.test is None:
        return
    real, test = typed(loaded.train, loaded.schema), typed(loaded.test, loaded.schema)
    measures = judgements(real, real, test) | likeness(test, real)
    measures = {name: value for name, value in measures.items() if not math.isnan(value)}
    cell = Cell(data.name, REAL, 0.0, facts(data, loaded, REAL, 0.0))
    cell.releases.append(rounded({"seconds": 0.0, "peak_megabytes": 0.0, "measures": measures}))
    save(cell)


def rounded(figures: Any) -> Any:
    """Figures to as many digits as anybody reads."""
    return {name: rounded(value) for name, value in figures.items()} if isinstance(figures, dict) else round(figures, 5)


def facts(data: DataSet, loaded: Loaded, method: str, epsilon: float) -> dict[str, Any]:
    """What a figure needs to be made again."""
    return {
        "rows": len(loaded.train),
        "delta": loaded.delta,
        "commit": commit(),
        "command": f"{COMMAND} --data {data.name} --methods {method} --epsilon {epsilon:g} --again",
    }


def release(loaded: Loaded, method: Method, epsilon: float) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Synthetic rows, as many as train rows, and what the driver told."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_task(folder, loaded, method.option, epsilon)
        run(method, folder)
        rows = pd.read_parquet(folder / "synthetic.parquet")
        return completed(rows, loaded.schema), json.loads((folder / "made.json").read_text())


def run(method: Method, folder: Path) -> None:
    """Run a driver on a folder, one thread, 30 minutes at most."""
    command = method.command(folder)
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if method.environment:
        environment.pop("PYTHONPATH")
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Failed(OUT_OF_TIME) from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(said[-1][:300] if said else f"ended with status {done.returncode} and no word")


def write_task(folder: Path, loaded: Loaded, option: str, epsilon: float) -> None:
    """What a driver reads: see peers/exchange.py."""
    task = {"method": option, "epsilon": epsilon, "delta": loaded.delta, "rows": len(loaded.train)}
    (folder / "task.json").write_text(json.dumps(task))
    (folder / "schema.json").write_text(json.dumps(public(loaded.schema)))
    (folder / "sfumato.json").write_text(json.dumps((loaded.grouped or loaded.schema).dump()))
    plain(loaded.train, loaded.schema).to_parquet(folder / "train.parquet")
    if loaded.test is not None:
        plain(loaded.test, loaded.schema).to_parquet(folder / "test.parquet")


def plain(rows: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows as every driver takes them: numbers as floats, categories as text, missing as null."""
    known = typed(rows, schema)
    return pd.DataFrame({name: _plain_column(known, name) for name in known.names})


def _plain_column(rows: TypedRows, name: str) -> Any:
    if name in rows.numbers:
        return rows.numbers[name]
    levels = rows.schema.columns[name].levels  # type: ignore[union-attr]
    return np.array([*map(category_text, levels), None], dtype=object)[rows.codes[name]]


def public(schema: Schema) -> dict[str, Any]:
    """The schema as peers read it: bounds, steps, values, and equal bins. What is derived is left out for all alike."""
    columns = {name: _public_column(column) for name, column in schema.columns.items() if column.derived is None}
    return {"label": schema.label, "columns": columns}


def _public_column(column: Any) -> dict[str, Any]:
    if isinstance(column, Listed):
        return {"type": "category", "values": list(map(category_text, column.levels)), "missing": column.missing}
    span = column.span
    bins = bins_of(column.model_copy(update={"bins": PUBLIC_BINS}))
    return {
        "type": "number",
        "min": span.low,
        "max": span.high,
        "step": span.step,
        "missing": column.missing,
        "bins": [list(ends) for ends in zip(bins.low.tolist(), bins.high.tolist(), strict=True)],
    }


def completed(rows: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows in the types in which a release samples them, with derived columns computed."""
    columns = Once({})
    known = {name: column for name, column in schema.columns.items() if column.derived is None}
    for name, column in known.items():
        part = typed(rows[[name]], Schema.of({"columns": {name: schema.dump()["columns"][name]}}))
        if isinstance(column, Listed):
            columns[name] = column.typed(_listed(part.codes[name], len(column.levels), column.missing))
        else:
            absent = np.isnan(part.numbers[name])
            middle = np.where(absent, column.span.low, part.numbers[name])
            columns[name] = column.typed(middle, absent if column.missing else None)
    if len(known) < len(schema.columns):
        return schema.modelling.complete(columns)[0]
    return pd.DataFrame(columns)


def _listed(codes: Any, levels: int, missing: bool) -> Any:
    """Codes of a column that need not have missing cells: a peer's stray ones are its most frequent value."""
    known = codes[codes < levels]
    usual = np.bincount(known).argmax() if len(known) else 0
    return codes if missing else np.where(codes < levels, codes, usual)


def scores(data: DataSet, loaded: Loaded, rows: pd.DataFrame) -> dict[str, float]:
    """All measures of synthetic rows."""
    measures = compare(rows, loaded.train, loaded.test, loaded.schema, loaded.rules)
    return measures | ({"k_marginal": k_marginal(rows)} if data.nist else {})


def k_marginal(rows: pd.DataFrame) -> float:
    """NIST's score, by SDNist in its own environment."""
    driver = environments.REQUIREMENTS / "run_sdnist.py"
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "synthetic.csv"
        rows.astype(object).where(rows.notna(), "N").to_csv(path, index=False)
        command = [str(environments.python_of("sdnist")), str(driver), str(SHARED / "nist"), "ma2019", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["k_marginal"])
