"""The scoreboard's data sets: rows, a split with a fixed seed, and a schema by the code book, never by the rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.three_a import data as three_a

from benchmarks.honest_bounds import schema as credit_schema
from sfumato.schema.schema import Schema

SHARED = Path(os.environ.get("SFUMATO_SHARED", Path(__file__).parents[3] / "shared")) / "data"
SPLIT_SEED, TEST_SHARE = 15, 0.2
XOR_ROWS = 40_000

# The densities of the excerpt's regions, which the Census Bureau publishes.
DENSITIES = {"25-00503": 2872.7, "25-00703": 2195.3, "25-01000": 2447.1, "25-01300": 1457.2, "25-02800": 3683.9}

# Whom the questionnaire asks what: "N/A (less than 15 years old)" and the like in the PUMS data dictionary.
ACS_RULES = (
    "if AGEP < 15 then MSP == 'N'",
    "if AGEP >= 15 then MSP != 'N'",
    "if AGEP < 15 then PINCP is missing",
    "if AGEP >= 15 then PINCP is not missing",
    "if AGEP < 5 then DREM == 'N'",
    "if AGEP < 5 then DPHY == 'N'",
    "if AGEP < 3 then EDU == 'N'",
)


class DataMissing(Exception):
    """A file that a data set needs is not there."""


@dataclass(frozen=True)
class Loaded:
    """The rows of a data set, and what is public of them.

    `grouped` is the schema of the same columns in groups, for methods that know what these are.
    """

    train: pd.DataFrame
    test: pd.DataFrame | None
    schema: Schema
    rules: tuple[str, ...] = ()
    grouped: Schema | None = None

    @property
    def delta(self) -> float:
        """One over the number of rows that are released."""
        return 1 / len(self.train)


@dataclass(frozen=True)
class DataSet:
    """A data set by its name.

    `nist` says that SDNist scores it too, `labelled` that it has a label.
    """

    name: str
    title: str
    load: Callable[[], Loaded]
    nist: bool = False
    labelled: bool = True


def found(name: str) -> Path:
    """A file of the shared folder."""
    path = SHARED / name
    if not path.exists():
        raise DataMissing(f"no {name} in {SHARED}: name the folder above `data` by SFUMATO_SHARED")
    return path


def split(table: pd.DataFrame, schema: Schema, rules: tuple[str, ...] = ()) -> Loaded:
    """A random fifth as test rows, the same ones every time."""
    is_test = np.random.default_rng(SPLIT_SEED).random(len(table)) < TEST_SHARE
    train, test = (table[mask].reset_index(drop=True) for mask in (~is_test, is_test))
    return Loaded(train, test, schema, rules)


def of_experiment(name: str) -> Loaded:
    """A data set with the split and schema of experiments.three_a."""
    try:
        data = three_a.load(name)
    except three_a.MissingData as error:
        raise DataMissing(str(error)) from None
    assert data.schema is not None
    return Loaded(data.train, data.test, data.schema)


def credit() -> Loaded:
    """Credit default under honest wide bounds: no scales and no atoms are named."""
    table = pd.read_parquet(found("credit_default.parquet"))
    return split(table, credit_schema())


def acs() -> Loaded:
    """The survey of Massachusetts with the decile of income as label."""
    table = pd.read_parquet(found("acs_ma2019.parquet")).astype(str)
    schema = Schema.load(found("nist/schema.ma2019.24.yaml")).dump()
    return split(table, Schema.of({**schema, "label": "PINCP_DECILE"}), ACS_RULES)


def nist(features: int, derived: bool = False) -> Loaded:
    """All rows of NIST's excerpt without a label: what SDNist compares with."""
    table = pd.read_csv(found("nist/massachusetts/ma2019.csv"), dtype=str, keep_default_na=False)
    schema = Schema.load(found(f"nist/schema.ma2019.{features}.yaml")).dump()
    if derived:
        schema["columns"]["DENSITY"]["derived"] = {"from": "PUMA", "map": DENSITIES}
    loaded = Schema.of(schema)
    return Loaded(table[list(loaded.columns)], None, loaded, ACS_RULES)


def digits() -> Loaded:
    """The 1,797 images of 8 by 8 pixels that come with scikit-learn."""
    from sklearn.datasets import load_digits

    images = load_digits()
    names = [f"px_{place}" for place in range(64)]
    table = pd.DataFrame(images.data.astype(int), columns=names).assign(digit=images.target.astype(str))
    columns: dict[str, Any] = {name: {"type": "number", "min": 0, "max": 16, "step": 1} for name in names}
    columns["digit"] = digit = {"type": "category", "values": list(map(str, range(10)))}
    image = {"columns": "px_*", "shape": [8, 8], "min": 0, "max": 16, "step": 1}
    grouped = Schema.of({"label": "digit", "columns": {"digit": digit}, "groups": {"image": image}})
    return replace(split(table, Schema.of({"label": "digit", "columns": columns})), grouped=grouped)


def xor(told: int, among: int) -> Loaded:
    """A label that is the exclusive or of the first columns; all columns are fair coins."""
    rng = np.random.default_rng(told * 100 + among)
    names = [f"x{place}" for place in range(among)]
    bits = rng.integers(0, 2, (int(XOR_ROWS * 1.25), among))
    table = pd.DataFrame(bits, columns=names).assign(y=bits[:, :told].sum(axis=1) % 2).astype(str)
    coin = {"type": "category", "values": ["0", "1"]}
    schema = Schema.of({"label": "y", "columns": dict.fromkeys([*names, "y"], coin)})
    return Loaded(table[:XOR_ROWS], table[XOR_ROWS:].reset_index(drop=True), schema)


NIST = {"nist": True, "labelled": False}
DATASETS = {
    each.name: each
    for each in (
        DataSet("adult", "UCI Adult, its own split", lambda: of_experiment("adult")),
        DataSet("credit", "Credit default, wide bounds, a random fifth as test", credit),
        DataSet("census", "Census-Income (KDD), a random half, its own split", lambda: of_experiment("census")),
        DataSet("acs", "ACS Massachusetts 2019, label PINCP_DECILE, a random fifth as test", acs),
        DataSet("nist21", "NIST's Massachusetts excerpt, 21 features, no label", lambda: nist(21), **NIST),
        DataSet("nist24", "NIST's Massachusetts excerpt, 24 features, no label", lambda: nist(24), **NIST),
        DataSet("nist21-derived", "NIST's excerpt, 21 features, DENSITY by PUMA", lambda: nist(21, True), **NIST),
        DataSet("nist24-derived", "NIST's excerpt, 24 features, DENSITY by PUMA", lambda: nist(24, True), **NIST),
        DataSet("fraud", "Credit card fraud, a sample, a quarter as test", lambda: of_experiment("fraud")),
        DataSet("digits", "Digits of scikit-learn, a random fifth as test", digits),
        DataSet("xor5of10", "XOR of 5 among 10 coins, 40,000 rows", lambda: xor(5, 10)),
        DataSet("xor3of8", "XOR of 3 among 8 coins, 40,000 rows", lambda: xor(3, 8)),
    )
}
