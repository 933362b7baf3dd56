"""Data sets of Table 1 that everybody has to fetch for themselves: loaders for the files as their owners give them out.

| name | files, in `data` under the folder that SFUMATO_SHARED names | from |
|---|---|---|
| census_full | census-income.data, census-income.test | UCI, Census-Income (KDD) |
| credit_full | creditcard.csv | Machine Learning Group of ULB, by Kaggle |
| mimic_mortality, mimic_stay | ADMISSIONS.csv, PATIENTS.csv | PhysioNet, MIMIC-III, to whoever is granted access |

The paper does not list the 18 and 25 features that it made of MIMIC-III. Here they are what is known at admission; what
becomes known later (where a patient is discharged to, when one died) would give the answer away. `write_made_up` writes
small files of the same kind, made up, which show that the loaders run and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.three_a.data import INCOMES, SCHEMAS, DataSet, _found, _split, _stratified
from sfumato.schema.schema import Category, Schema

WEIGHT_PLACE = 24  # of the instance weight among the columns of the Census file: left out, as its documentation asks
STAY_DAYS = (3.0, 7.0, 14.0)
STAYS = ("under 3 days", "under a week", "under two weeks", "two weeks or more")
OLDEST = 90.0  # MIMIC-III moves births of older patients 300 years back
ETHNICITIES = ("WHITE", "BLACK", "HISPANIC", "ASIAN")
DAY = np.timedelta64(1, "D")


def census_full() -> DataSet:
    """Census-Income (KDD), all 299,285 rows, with its own split."""
    schema = Schema.load(SCHEMAS / "census.yaml")
    parts = [_census_file(_found(f"census-income.{part}"), schema) for part in ("data", "test")]
    train, test = parts
    return DataSet("census_full", train, test, "income", INCOMES, 1 / len(train), 200_000, schema)


def _census_file(path: Path, schema: Schema) -> pd.DataFrame:
    names = [name for name in schema.columns if name != "income"]
    names = [*names[:WEIGHT_PLACE], "weight", *names[WEIGHT_PLACE:], "income"]
    texts = {name: str for name, column in schema.columns.items() if isinstance(column, Category)}
    known = {"header": None, "names": names, "skipinitialspace": True, "dtype": texts, "keep_default_na": False}
    table = pd.read_csv(path, **known).drop(columns="weight")
    return table.assign(income=np.where(table["income"].str.startswith("-"), *INCOMES))


def credit_full() -> DataSet:
    """Credit card fraud, all 284,807 payments; a quarter of each class is the test set, and `Time` is left out."""
    table = pd.read_csv(_found("creditcard.csv")).rename(columns=str.lower).drop(columns="time")
    table.insert(0, "split", np.where(_stratified(table["class"].to_numpy()), "test", "train"))
    train, test = _split(table)
    schema = Schema.load(SCHEMAS / "fraud.yaml")
    return DataSet("credit_full", train, test, "class", (0, 1), 1 / len(train), 200_000, schema)


def mimic_mortality() -> DataSet:
    """MIMIC-III, whether a patient dies in hospital."""
    table = _admissions()
    return _mimic("mimic_mortality", table.drop(columns="stay"), "died", ("no", "yes"))


def mimic_stay() -> DataSet:
    """MIMIC-III, how long a patient stays, in the paper's four buckets."""
    table = _admissions()
    table = table[table["stay"].notna()].drop(columns="died")
    return _mimic("mimic_stay", table, "stay", STAYS)


def _mimic(name: str, table: pd.DataFrame, label: str, classes: tuple[str, ...]) -> DataSet:
    whole = Schema.load(SCHEMAS / "mimic.yaml").model_dump(mode="json", exclude_none=True)
    columns = {key: column for key, column in whole["columns"].items() if key in table}
    table = table.reset_index(drop=True)
    test = _stratified(table[label].to_numpy())
    train, held = (table[mask].reset_index(drop=True) for mask in (~test, test))
    schema = Schema.of({"label": label, "columns": columns})
    return DataSet(name, train, held, label, classes, 1 / len(train), 40_000, schema)


def _admissions() -> pd.DataFrame:
    """One row an admission: what is known on arrival, whether the patient died, and the bucket of the stay."""
    times = ["ADMITTIME", "DISCHTIME", "EDREGTIME"]
    admitted = pd.read_csv(_found("ADMISSIONS.csv"), parse_dates=times)
    people = pd.read_csv(_found("PATIENTS.csv"), usecols=["SUBJECT_ID", "GENDER", "DOB"], parse_dates=["DOB"])
    both = admitted.merge(people, on="SUBJECT_ID", how="left")
    came, born = both["ADMITTIME"].dt, both["DOB"].dt  # by the calendar: 300 years are too long for a difference
    years = came.year - born.year + (came.dayofyear - born.dayofyear) / 366.0
    days = (both["DISCHTIME"] - both["ADMITTIME"]) / DAY
    stay = pd.cut(days.where(days > 0), [0.0, *STAY_DAYS, np.inf], right=False, labels=list(STAYS))
    return pd.DataFrame(
        {
            "age": np.floor(years.clip(0.0, OLDEST)),
            "gender": both["GENDER"],
            "admission_type": both["ADMISSION_TYPE"],
            "admission_location": both["ADMISSION_LOCATION"],
            "insurance": both["INSURANCE"],
            "marital_status": both["MARITAL_STATUS"].fillna("none"),
            "ethnicity": _ethnicity(both["ETHNICITY"]),
            "speaks_english": np.where(
                both["LANGUAGE"].isna(), "none", np.where(both["LANGUAGE"] == "ENGL", "yes", "no")
            ),
            "religion": np.where(both["RELIGION"].isin(["CATHOLIC"]), "CATHOLIC", "other"),
            "hour": both["ADMITTIME"].dt.hour,
            "weekday": both["ADMITTIME"].dt.day_of_week.astype(str),
            "hours_in_emergency": ((both["ADMITTIME"] - both["EDREGTIME"]) / DAY * 24.0).clip(0.0, 48.0),
            "earlier_admissions": both.sort_values("ADMITTIME").groupby("SUBJECT_ID").cumcount().clip(upper=20),
            "died": np.where(both["HOSPITAL_EXPIRE_FLAG"] == 1, "yes", "no"),
            "stay": stay.astype(object),
        }
    )


def _ethnicity(texts: pd.Series) -> pd.Series:
    """The first word that is one of ETHNICITIES, or "other"."""
    found = texts.fillna("").str.extract(f"({'|'.join(ETHNICITIES)})", expand=False)
    return found.fillna("other")


LOADERS: dict[str, Callable[[], DataSet]] = {
    "census_full": census_full,
    "credit_full": credit_full,
    "mimic_mortality": mimic_mortality,
    "mimic_stay": mimic_stay,
}


# --- Files that are made up


def write_made_up(folder: Path, rows: int = 400, seed: int = 0) -> None:
    """Small files with the columns of the real ones and values drawn at random, with a trace of the label."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    _made_up_mimic(folder, rows, rng)
    _made_up_credit(folder, rows, rng)
    for part in ("data", "test"):
        _made_up_census(folder / f"census-income.{part}", rows, rng)


def _made_up_mimic(folder: Path, rows: int, rng: np.random.Generator) -> None:
    died = rng.random(rows) < 0.1
    start = pd.Timestamp("2130-01-01") + pd.to_timedelta(rng.integers(0, 20_000, rows), unit="h")
    stay = pd.to_timedelta(np.round(rng.lognormal(1.7 + 0.3 * died, 0.8) * 24), unit="h")
    known = Schema.load(SCHEMAS / "mimic.yaml").columns

    def drawn(name: str) -> np.ndarray:
        column = known[name]
        assert isinstance(column, Category)
        return rng.choice(np.array(column.texts, dtype=object), rows)

    admissions = {
        "SUBJECT_ID": rng.integers(0, rows // 2, rows),
        "ADMITTIME": start,
        "DISCHTIME": start + stay,
        "EDREGTIME": start - pd.to_timedelta(rng.integers(0, 10, rows), unit="h"),
        "ADMISSION_TYPE": drawn("admission_type"),
        "ADMISSION_LOCATION": drawn("admission_location"),
        "INSURANCE": drawn("insurance"),
        "LANGUAGE": rng.choice(["ENGL", "SPAN", ""], rows),
        "RELIGION": rng.choice(["CATHOLIC", "JEWISH", ""], rows),
        "MARITAL_STATUS": rng.choice(["MARRIED", "SINGLE", ""], rows),
        "ETHNICITY": rng.choice(["WHITE - RUSSIAN", "BLACK/AFRICAN AMERICAN", "UNABLE TO OBTAIN"], rows),
        "HOSPITAL_EXPIRE_FLAG": died.astype(int),
    }
    pd.DataFrame(admissions).to_csv(folder / "ADMISSIONS.csv", index=False)
    births = pd.Timestamp("2070-01-01") + pd.to_timedelta(rng.integers(0, 15_000, rows // 2), unit="D")
    people = {"SUBJECT_ID": np.arange(rows // 2), "GENDER": rng.choice(["F", "M"], rows // 2), "DOB": births}
    pd.DataFrame(people).to_csv(folder / "PATIENTS.csv", index=False)


def _made_up_credit(folder: Path, rows: int, rng: np.random.Generator) -> None:
    fraud = rng.random(rows) < 0.1
    scores = rng.standard_normal((rows, 28)) + 2.0 * fraud[:, None]
    table = pd.DataFrame(scores, columns=[f"V{i}" for i in range(1, 29)])
    table.insert(0, "Time", np.arange(rows))
    table.assign(Amount=rng.lognormal(3, 1, rows).round(2), Class=fraud.astype(int)).to_csv(
        folder / "creditcard.csv", index=False
    )


def _made_up_census(path: Path, rows: int, rng: np.random.Generator) -> None:
    columns: list[np.ndarray] = []
    for name, column in Schema.load(SCHEMAS / "census.yaml").columns.items():
        if len(columns) == WEIGHT_PLACE:
            columns.append(rng.random(rows).round(2))
        if name == "income":
            columns.append(np.where(rng.random(rows) < 0.2, "50000+.", "- 50000."))
        elif isinstance(column, Category):
            columns.append(rng.choice(np.array(column.texts, dtype=object), rows))
        else:
            columns.append(rng.integers(0, 40, rows))
    lines = (", ".join(map(str, row)) for row in zip(*columns, strict=True))
    path.write_text("\n".join(lines) + "\n")
