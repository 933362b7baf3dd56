"""What honest, wide bounds cost: `python -m benchmarks.honest_bounds credit_default.parquet [--releases 5]`.

The table is UCI's default of credit card clients (Yeh 2016, CC BY 4.0) as a Parquet file with lower-case names. Bills
lie between -400,000 and 2,000,000, payments between 0 and 2,000,000; no atoms and no bins are named. Each release is
fitted with fresh secure noise at epsilon 1 and delta 1/N. The distance is the mean over all columns of the total
variation between real and as many synthetic rows, numbers in 16 quantile bins of the real ones.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import typed

LABEL = "default_payment_next_month"


def schema() -> sf.Schema:
    """By the code book: categories as they are coded, and bounds that nobody exceeds."""
    months = (1, 2, 3, 4, 5, 6)
    delays = {f"pay_{month}": {"type": "number", "min": -2, "max": 9, "step": 1} for month in (0, *months[1:])}
    bills = {f"bill_amt{month}": {"type": "number", "min": -400_000, "max": 2_000_000} for month in months}
    payments = {f"pay_amt{month}": {"type": "number", "min": 0, "max": 2_000_000} for month in months}
    columns = {
        "limit_bal": {"type": "number", "min": 0, "max": 1_000_000},
        "sex": {"type": "category", "values": [1, 2]},
        "education": {"type": "category", "values": [0, 1, 2, 3, 4, 5, 6]},
        "marriage": {"type": "category", "values": [0, 1, 2, 3]},
        "age": {"type": "number", "min": 18, "max": 100, "step": 1},
        **delays,
        **bills,
        **payments,
        LABEL: {"type": "category", "values": [0, 1]},
    }
    return sf.Schema.of({"label": LABEL, "columns": columns})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--releases", type=int, default=5)
    arguments = parser.parse_args()
    table = pd.read_parquet(arguments.table)
    known, rows = schema(), len(table)
    real = typed(table, known)
    found = []
    for _ in range(arguments.releases):
        drawn = sf.fit(table, known, epsilon=1, delta=1 / rows, rows=30_000).sample(rows)
        found.append(table_distance(real, typed(drawn, known), 1))
    mean, sd = round(float(np.mean(found)), 4), round(float(np.std(found)), 4)
    print(json.dumps({"releases": [round(each, 4) for each in found], "mean": mean, "sd": sd}, indent=2))


if __name__ == "__main__":
    main()
