"""A made-up table of hospital stays with all that real ones have: ids, repeated people, sentinels, codes, odd formats.

Its columns are in the manner of the diabetes data of 130 US hospitals (UCI Machine Learning Repository, data set 296).
`python tests/hospital.py ROWS stays.csv codes.csv` writes it, and a code book of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MEDICINES = ["metformin", "repaglinide", "nateglinide", "chlorpropamide", "glimepiride", "glipizide", "glyburide"]
MEDICINES += ["tolbutamide", "pioglitazone", "rosiglitazone", "acarbose", "miglitol", "tolazamide", "insulin", "other"]
DOSES = ["Down", "No", "Steady", "Up"]
RACES = ["AfricanAmerican", "Asian", "Caucasian", "Hispanic", "Other"]
AGES = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
WEIGHTS = [f"[{low}-{low + 25})" for low in range(0, 200, 25)]
SPECIALTIES = ["Cardiology", "Emergency", "InternalMedicine", "Surgery"]
COLUMNS = 50


def stays(rows: int, seed: int = 0) -> pd.DataFrame:
    """The table, every cell a text as in a file."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, max(2, rows * 7 // 10), rows)
    admitted = np.datetime64("2019-01-01") + rng.integers(0, 1500, rows)
    stay = rng.poisson(3.5, rows) + 1
    columns: dict[str, Any] = {
        "encounter_id": 2_278_392 + 6 * rng.permutation(rows) + rng.integers(0, 6, rows),
        "patient_nbr": 8_222_157 + 17 * people,
        "race": some(rng, RACES, rows, "?", 0.02),
        "gender": rng.choice(["Female", "Male"], rows),
        "sex_code": rng.choice([1, 2], rows),
        "age": rng.choice(AGES, rows),
        "age_years": some(rng, rng.integers(18, 96, rows).astype(str), rows, "999", 0.03),
        "weight": some(rng, WEIGHTS, rows, "?", 0.9),
        "zip": [f"{code:05d}" for code in rng.integers(501, 30_000, rows)],
        "admission_type_id": rng.integers(1, 9, rows),
        "discharge_disposition_id": rng.integers(1, 30, rows),
        "admission_source_id": rng.integers(1, 26, rows),
        "admitted": np.datetime_as_string(admitted),
        "discharged": pd.Series(admitted + stay).dt.strftime("%m/%d/%Y"),
        "time_in_hospital": stay,
        "payer_code": some(rng, ["BC", "HM", "MC", "MD", "SP"], rows, "?", 0.4),
        "medical_specialty": some(rng, SPECIALTIES, rows, "?", 0.5),
        "num_lab_procedures": rng.integers(1, 133, rows),
        "num_procedures": rng.integers(0, 7, rows),
        "num_medications": rng.poisson(16, rows),
        "number_outpatient": rng.geometric(0.6, rows) - 1,
        "number_emergency": some(rng, (rng.geometric(0.5, rows) - 1).astype(str), rows, "-1", 0.05),
        "diag_1": [icd(rng) for _ in range(rows)],
        "diag_2": some(rng, [icd(rng) for _ in range(rows)], rows, "?", 0.01),
        "temperature": [f"{value:.1f}" for value in rng.normal(37, 0.6, rows)],
        "glucose": some(rng, rng.lognormal(5, 0.4, rows).round().astype(int).astype(str), rows, "N", 0.1),
        "bmi": some(rng, [f"{value:.2f}" for value in rng.gamma(30, 0.9, rows)], rows, "", 0.1),
        "cost": [f"${value:,.2f}" for value in rng.lognormal(9, 1, rows)],
        "copay": rng.choice([0.0, 1.0], rows, p=[0.6, 0.4]) * rng.integers(1, 20_000, rows),
        "deposit": 100 * rng.integers(0, 300, rows),
        "smoker": rng.choice(["true", "false"], rows),
        "max_glu_serum": rng.choice([">200", ">300", "None", "Norm"], rows),
        **{medicine: rng.choice(DOSES, rows, p=[0.05, 0.7, 0.2, 0.05]) for medicine in MEDICINES},
        "change": rng.choice(["Ch", "No"], rows),
        "diabetesMed": rng.choice(["No", "Yes"], rows),
        "readmitted": rng.choice(["<30", ">30", "NO"], rows, p=[0.1, 0.3, 0.6]),
    }
    return pd.DataFrame({name: pd.Series(cells).astype(str) for name, cells in columns.items()})


def some(rng: np.random.Generator, cells: Any, rows: int, sentinel: str, share: float) -> Any:
    """Cells, or a choice of values, of which a share is a sentinel."""
    chosen = np.asarray(cells, dtype=object)
    chosen = chosen if len(chosen) == rows else rng.choice(chosen, rows)
    return np.where(rng.random(rows) < share, sentinel, chosen)


def icd(rng: np.random.Generator) -> str:
    """A code of a diagnosis: 250.83, V27, E934."""
    kind = rng.random()
    return f"V{rng.integers(10, 90)}" if kind < 0.05 else f"{rng.integers(1, 999)}" if kind < 0.9 else "250.83"


def codebook() -> pd.DataFrame:
    """What the hospitals have published about the columns."""
    values: dict[str, list[Any]] = {
        "race": RACES,
        "gender": ["Female", "Male"],
        "sex_code": [1, 2],
        "age": AGES,
        "weight": WEIGHTS,
        "admission_type_id": [*range(1, 9)],
        "discharge_disposition_id": [*range(1, 30)],
        "admission_source_id": [*range(1, 27)],
        "payer_code": ["BC", "HM", "MC", "MD", "SP"],
        "medical_specialty": SPECIALTIES,
        "diag_1": [*range(1, 1000), "250.83", *(f"V{code}" for code in range(1, 92))],
        "diag_2": [*range(1, 1000), "250.83", *(f"V{code}" for code in range(1, 92))],
        "max_glu_serum": [">200", ">300", "None", "Norm"],
        **dict.fromkeys(MEDICINES, DOSES),
        "change": ["Ch", "No"],
        "diabetesMed": ["No", "Yes"],
        "readmitted": ["<30", ">30", "NO"],
    }
    bounds = {
        "age_years": (0, 120),
        "time_in_hospital": (1, 30),
        "num_lab_procedures": (0, 150),
        "num_procedures": (0, 10),
        "num_medications": (0, 100),
        "number_outpatient": (0, 50),
        "number_emergency": (0, 50),
        "temperature": (30, 45),
        "glucose": (0, 2000),
        "bmi": (10, 80),
        "cost": (0, 1_000_000),
        "copay": (0, 20_000),
        "deposit": (0, 30_000),
        "admitted": ("2019-01-01", "2024-12-31"),
    }
    lines = [{"column": name, "value": value} for name, listed in values.items() for value in listed]
    return pd.DataFrame(lines + [{"column": name, "min": a, "max": b} for name, (a, b) in bounds.items()])


if __name__ == "__main__":
    stays(int(sys.argv[1])).to_csv(sys.argv[2], index=False)
    codebook().to_csv(Path(sys.argv[3]), index=False)
