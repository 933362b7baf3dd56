"""What a driver reads and writes: the only code that the environments of peers share. It needs pandas and no sfumato.

A folder holds `task.json` (method, epsilon, delta, rows), `schema.json` (what is public), `train.parquet` (numbers as
floats, categories as text, missing as null), and afterwards `synthetic.parquet` and `made.json`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd


class Task:
    """What is to be made of the rows in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        said = json.loads((self.folder / "task.json").read_text())
        self.method, self.epsilon, self.delta, self.rows = (said[key] for key in ("method", "epsilon", "delta", "rows"))
        self.schema = json.loads((self.folder / "schema.json").read_text())
        self.seconds = float("nan")

    @classmethod
    def of_command(cls):
        """The folder that the command line names."""
        return cls(sys.argv[1])

    @property
    def columns(self):
        """What is public of each column, by name."""
        return self.schema["columns"]

    @cached_property
    def train(self):
        """The private rows."""
        return pd.read_parquet(self.folder / "train.parquet")

    @contextmanager
    def timed(self):
        """Count the seconds of what is done inside: from rows in memory to synthetic rows, without imports."""
        started = time.perf_counter()
        yield
        self.seconds = time.perf_counter() - started

    def finish(self, synthetic, adjacency, packages, **more):
        """Write synthetic rows, numbers on the grid of their column, and what they cost."""
        rows = pd.DataFrame({name: self._on_grid(synthetic[name], name) for name in self.columns})
        rows.to_parquet(self.folder / "synthetic.parquet")
        kibibytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        made = {
            "seconds": self.seconds,
            "peak_megabytes": kibibytes / 1024,
            "adjacency": adjacency,
            "versions": {"python": sys.version.split()[0], **{name: version(name) for name in packages}},
            **more,
        }
        (self.folder / "made.json").write_text(json.dumps(made))

    def _on_grid(self, cells, name):
        column = self.columns[name]
        if column["type"] == "category":
            known = pd.Series(cells).astype(object)
            return known.where(known.isna(), known.astype(str)).to_numpy()
        values = np.clip(pd.to_numeric(pd.Series(cells)).to_numpy(dtype=float), column["min"], column["max"])
        step = column.get("step")
        return values if step is None else column["min"] + step * np.round((values - column["min"]) / step)

    # --- Public bins, for peers that take whole numbers only and have no bins of their own

    @cached_property
    def sizes(self):
        """How many codes each column has, that of missing cells among them."""
        return {name: self._known(name) + self.columns[name]["missing"] for name in self.columns}

    def _known(self, name):
        column = self.columns[name]
        return len(column["values"]) if column["type"] == "category" else len(column["bins"])

    def codes(self):
        """The private rows as codes: of categories their place, of numbers the public bin; missing ones come last."""
        return pd.DataFrame({name: self._code(name) for name in self.columns})

    def _code(self, name):
        column, cells = self.columns[name], self.train[name]
        if column["type"] == "category":
            found = cells.map({value: place for place, value in enumerate(column["values"])}).to_numpy(dtype=float)
        else:
            low, high = np.array(column["bins"], dtype=float).T
            values = cells.to_numpy(dtype=float)
            places = np.clip(np.searchsorted(low, values, side="right") - 1, 0, len(low) - 1)
            for atom in np.flatnonzero(low == high):  # the bin behind it begins at the same value
                places[values == low[atom]] = atom
            found = np.where(np.isnan(values), np.nan, places)
        absent = self._known(name) if column["missing"] else 0
        return np.where(np.isnan(found), absent, found).astype(int)

    def decoded(self, codes, rng):
        """Codes as rows: a number is drawn evenly from its bin."""
        return pd.DataFrame({name: self._decode(name, np.asarray(codes[name]), rng) for name in self.columns})

    def _decode(self, name, codes, rng):
        column, known = self.columns[name], self._known(name)
        inside = np.minimum(codes, known - 1)
        if column["type"] == "category":
            found = np.array(column["values"], dtype=object)[inside]
            return np.where(codes >= known, None, found)
        low, high = np.array(column["bins"], dtype=float).T
        step = column.get("step")
        if step is None:
            values = low[inside] + rng.random(len(codes)) * (high - low)[inside]
        else:
            counts = np.round((high - low) / step).astype(int) + 1
            values = low[inside] + step * np.floor(rng.random(len(codes)) * counts[inside])
        return np.where(codes >= known, np.nan, values)
