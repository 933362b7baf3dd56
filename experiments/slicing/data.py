"""The tables that synthetic rows are made of: ACS, Adult, and MNIST for the digits.

The paper takes its tables from the American Community Survey too. Ours is an excerpt of it that NIST chose.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.three_a import data as three_a
from experiments.three_a.data import INCOMES, DataSet
from sfumato.schema.schema import Category, Schema

SCHEMAS = Path(__file__).parent / "schemas"
RICH = 50_000  # dollars a year
TABLES = ("acs", "adult")


@cache
def load(name: str) -> DataSet:
    """One data set by its name."""
    return acs() if name == "acs" else three_a.load(name)


def acs() -> DataSet:
    """Persons of 15 and more in five areas near Boston, 2019; a quarter of each class, by a seeded permutation, is the
    test set. Who is younger has no income, which the row itself says."""
    table = pd.read_parquet(three_a._found("acs_ma2019.parquet"))
    table = persons(table[table["PINCP"] != "N"].reset_index(drop=True), Schema.load(SCHEMAS / "acs.yaml"))
    test = three_a._stratified(table["income"].to_numpy())
    train, held = (table[mask].reset_index(drop=True) for mask in (~test, test))
    return DataSet("acs", train, held, "income", INCOMES, 1 / len(train), 5_000, Schema.load(SCHEMAS / "acs.yaml"))


def persons(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows of the excerpt with the columns of the schema: codes as text, numbers as floats, NaN for "N"."""
    columns: dict[str, object] = {}
    for name in schema.features:
        if isinstance(schema.columns[name], Category):
            columns[name] = table[name].astype(str)
        else:
            columns[name] = pd.to_numeric(table[name].replace("N", None)).astype(float)
    columns["income"] = np.where(pd.to_numeric(table["PINCP"]) > RICH, INCOMES[1], INCOMES[0])
    return pd.DataFrame(columns)
