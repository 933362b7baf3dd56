"""Every way to be refused: one line, exit code 2, nothing written, and the same words from Python.

The table of cases below is also the page docs/errors.md, which `SFUMATO_WRITE_DOCS=1 pytest tests/test_errors.py`
writes anew.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sqlite3
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato import cli
from sfumato.accounting import calibrate
from sfumato.cli.verb_command import by_option
from sfumato.drafting.confirming import accepted
from sfumato.errors import (
    ArgumentError,
    BudgetError,
    LedgerError,
    MissingExtraError,
    OutputError,
    ReleaseError,
    SchemaError,
    SfumatoError,
    TableError,
)
from sfumato.ledger.account import Ask
from sfumato.private.accounting import Adjacency
from sfumato.rows_file import write_rows

PAGE = Path(__file__).parent.parent / "docs" / "errors.md"
INTRODUCTION = """\
# Errors

Whatever sfumato refuses to do, it says so in one line on stderr with exit code 2, writes nothing and leaves a file that
was there as it was; from Python the same line, without `error: ` and with arguments for options (`epsilon` for
`--epsilon`), is the message of the exception. No message repeats a cell of a private table or tells how many rows it
has. All exit codes: 0 done; 1 found wanting (`check`: not ready; `audit`: a violation); 2 refused; 3 the audit itself
failed; 130 interrupted.

"""
FOOT = "\nThe tests make this table: `SFUMATO_WRITE_DOCS=1 pytest tests/test_errors.py` writes it anew.\n"

SECRETS = ("73519", "Zyxwv", "Qwfpg")  # cells of the private table
ROWS = 211
BEFORE = b"what was there before"
REPLACING = ("fit", "schema", "check", "update", "merge", "train")  # verbs that write over nothing unasked
SCHEMA = """\
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  town: {type: category, values: [Ulm, Bonn], missing: true}
  ill: {type: category, values: ["no", "yes"]}
"""
BARE = "columns: {age: {type: number, min: 0, max: 100}}\n"

Maker = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A command line that is refused; the Python call that is refused alike; the files that the two need."""

    name: str
    line: str
    error: type[SfumatoError] | None = None  # None where the command line itself cannot be read
    python: Callable[[], Any] | None = None
    files: Mapping[str, str | bytes | Maker] = field(default_factory=dict)
    lacking: str | None = None  # a library that is not installed

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.line)


# --- what the cases are made of


def fit_line(data: str = "data.csv", schema: str = "s.yaml", output: str = "new.sfumato", more: str = "") -> str:
    budget = {"--epsilon": "1", "--delta": "1e-6"}
    extra = shlex.split(more)
    given = " ".join(f"{flag} {value}" for flag, value in budget.items() if flag not in extra)
    return f"fit {data} --schema {schema} {given} {more} -o {output}"


def fit(data: Any = "data.csv", schema: Any = "s.yaml", **options: Any) -> sf.Release:
    budget: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
    return sf.fit(data, schema, **(budget | options))


def argument(name: str, option: str, value: str, given: Any) -> Case:
    """An argument of a fit that is out of its range."""
    return Case(
        name, fit_line(more=f"--{option} {value}"), ArgumentError, lambda: fit(**{option.replace("-", "_"): given})
    )


def faulty_schema(name: str, text: str) -> Case:
    """A schema that says something it cannot mean."""
    return Case(
        name, fit_line(schema="faulty.yaml"), SchemaError, lambda: fit(schema="faulty.yaml"), {"faulty.yaml": text}
    )


def faulty_table(name: str, data: str, content: str | bytes | Maker, schema: str = "s.yaml") -> Case:
    """A table that cannot be read."""
    return Case(name, fit_line(data, schema), TableError, lambda: fit(data, schema), {data: content})


def faulty_release(name: str, content: str | bytes | Maker) -> Case:
    return Case(
        name, "inspect faulty.sfumato", ReleaseError, lambda: sf.load("faulty.sfumato"), {"faulty.sfumato": content}
    )


def refused_sample(name: str, option: str, value: str, given: Any) -> Case:
    """A condition that no row can meet, or that makes no sense."""
    return Case(
        name,
        f"sample r.sfumato -n 3 -o new.csv --{option} {shlex.quote(value)}",
        ArgumentError,
        lambda: sf.load("r.sfumato").sample(3, **{option: given}),
    )


def column(text: str) -> str:
    """A schema with a column like this, and another."""
    return f"columns:\n  x: {text}\n  age: {{type: number, min: 0, max: 100}}\n"


def group(text: str) -> str:
    """The schema with a group in place of its other columns."""
    return f'label: ill\ncolumns: {{ill: {{type: category, values: ["no", "yes"]}}}}\ngroups: {{pixels: {text}}}\n'


def csv_text() -> str:
    return private_table().to_csv(index=False)


def private_table() -> pd.DataFrame:
    """The secrets stand in the first row: where there is no header, it is taken for one."""
    rows = [SECRETS, *[("40", "Ulm", "no"), ("60", "Bonn", "yes")] * (ROWS // 2)]
    assert len(rows) == ROWS
    return pd.DataFrame(rows, columns=["age", "town", "ill"])


def duplicated(path: Path) -> None:
    table = pa.Table.from_pandas(private_table())
    pq.write_table(table.append_column("age", table["age"]), path)


def nested(path: Path) -> None:
    lists = pa.array([[int(SECRETS[0])]] * ROWS)
    pq.write_table(pa.Table.from_pandas(private_table()).set_column(0, "age", lists), path)


def two_tables(path: Path) -> None:
    import duckdb

    with contextlib.closing(duckdb.connect(str(path))) as connection:
        for name in ("visits", "people"):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT {SECRETS[0]} AS age, '{SECRETS[1]}' AS town, 'no' AS ill"
            )


def two_sheets(path: Path) -> None:
    with pd.ExcelWriter(path) as writer:
        for name in ("people", "visits"):
            private_table().to_excel(writer, sheet_name=name, index=False)


def truncated(path: Path) -> None:
    content = (path.parent / "r.sfumato").read_bytes()
    path.write_bytes(content[: len(content) // 2])


def saying(**changes: Any) -> Maker:
    """A release file that says something else."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path.parent / "r.sfumato") as old, zipfile.ZipFile(path, "w") as made:
            document = json.loads(old.read("release.json"))
            made.writestr("release.json", json.dumps(document | changes))
            made.writestr("arrays.safetensors", old.read("arrays.safetensors"))

    return make


def foreign(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("letter.txt", "hello")


def folder(path: Path) -> None:
    path.mkdir()


def bought(path: Path) -> None:
    """A release of slicing that was not trained."""
    made = fit(path.parent / "data.csv", path.parent / "s.yaml", mechanism=sf.Slicing(training=None), insecure_seed=1)
    made.save(path)


def refused_training(name: str, more: str, **options: Any) -> Case:
    """A training on what was bought that cannot be meant."""
    return Case(
        name,
        f"train g.sfumato {more}",
        ArgumentError,
        lambda: sf.load("g.sfumato").train(**options),  # type: ignore[attr-defined]
        {"g.sfumato": bought},
    )


ENTRY = "0123456789abcdef" * 2
WHEN = "2030-01-01T00:00:00+00:00"


def books(path: Path) -> None:
    """A ledger of one data set with one entry, of which noise was drawn."""
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("sfumato.ledger.ledger._now", lambda: WHEN)
        ledger = sf.Ledger(path)
        ledger.open("people", 1, 1e-6)
        asked = Ask("mixture", Adjacency.ADD_REMOVE, "row", 0.5, 1e-6, calibrate(0.5, 1e-6))
        with ledger.reserve("people", asked) as entry:
            entry.draw()
    alter(path, f"UPDATE sfumato_entry SET id = '{ENTRY}'")


def newer_books(path: Path) -> None:
    books(path)
    alter(path, "UPDATE sfumato_ledger SET format = 99")


def unknown_law(path: Path) -> None:
    books(path)
    alter(path, """UPDATE sfumato_entry SET descriptor = '{"law": "slices"}'""")


def other_database(path: Path) -> None:
    alter(path, "CREATE TABLE letters (text TEXT)")


def alter(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)


def linked_books(path: Path) -> None:
    books(path)
    os.link(path, path.with_name("other.db"))


def config(name: str, more: str, make: Callable[[], Any]) -> Case:
    """A mechanism that cannot be meant, or not with this schema."""
    return Case(name, fit_line(more=more), ArgumentError, lambda: fit(mechanism=make()))


def counted(name: str, more: str, error: type[SfumatoError], dataset: str = "people", **options: Any) -> Case:
    """A fit that a ledger refuses."""
    return Case(
        name,
        fit_line(more=f"{more} --ledger l.db --dataset {dataset}"),
        error,
        lambda: fit(ledger="l.db", dataset=dataset, **options),
        {"l.db": books},
    )


def faulty_ledger(name: str, content: bytes | Maker) -> Case:
    return Case(
        name,
        fit_line(more="--epsilon 0.1 --ledger faulty.db --dataset people"),
        LedgerError,
        lambda: fit(epsilon=0.1, ledger="faulty.db", dataset="people"),
        {"faulty.db": content},
    )


# --- the cases

UNIT = "unit: {column: person, rows: 2}\n"
TABLES = [
    Case("the table does not exist", fit_line("none.csv"), TableError, lambda: fit("none.csv")),
    faulty_table("a file of an unknown kind", "data.sav", b"$FL2"),
    faulty_table("a Parquet file that is none", "garbage.parquet", b"\x00garbage " + SECRETS[1].encode()),
    faulty_table("an Arrow file that is none", "garbage.arrow", b"\x00garbage " + SECRETS[1].encode()),
    faulty_table("a DuckDB file that is none", "garbage.duckdb", b"\x00garbage " + SECRETS[1].encode()),
    faulty_table("a compressed file that is none", "garbage.csv.gz", b"\x00garbage " + SECRETS[1].encode()),
    faulty_table("a folder without Parquet files", "folder", folder),
    faulty_table("an empty CSV file", "empty.csv", ""),
    faulty_table("a CSV file without a header", "bare.csv", csv_text().split("\n", 1)[1]),
    faulty_table("a CSV header in another encoding", "old.csv", csv_text().replace("town", "größe").encode("latin-1")),
    faulty_table("a CSV file in UTF-16", "wide.csv", csv_text().encode("utf-16")),
    faulty_table("a CSV file with another delimiter", "semicolon.csv", csv_text().replace(",", ";")),
    faulty_table("a CSV header with a quote that is not closed", "torn.csv", csv_text().replace("town", '"town', 1)),
    Case(
        "a CSV file to convert that ends inside a quote",
        "convert torn.csv new.parquet",
        TableError,
        files={"torn.csv": csv_text() + '1,"'},
    ),
    faulty_table("an Excel file that is none", "garbage.xlsx", b"PK\x03\x04 " + SECRETS[1].encode()),
    faulty_table("an Excel file of two sheets, none named", "two.xlsx", two_sheets),
    Case(
        "an Excel file without the sheet named",
        fit_line("two.xlsx", more="--sheet patients"),
        TableError,
        lambda: sf.open_table("two.xlsx", sheet="patients"),
        {"two.xlsx": two_sheets},
    ),
    faulty_table("an SQLite file that is none", "garbage.sqlite", b"\x00garbage " + SECRETS[1].encode()),
    faulty_table("an SQLite file without tables", "none.sqlite", lambda path: alter(path, "VACUUM")),
    Case(
        "a query that the database refuses",
        fit_line("lite.sqlite", more="--query 'SELECT town FROM letters'"),
        TableError,
        lambda: sf.open_table("lite.sqlite", query="SELECT town FROM letters"),
        {"lite.sqlite": other_database},
    ),
    Case(
        "a table and a query",
        fit_line("lite.sqlite", more="--table letters --query 'SELECT 1'"),
        ArgumentError,
        lambda: sf.open_table("lite.sqlite", table="letters", query="SELECT 1"),
        {"lite.sqlite": other_database},
    ),
    Case(
        "a database that cannot be reached",
        fit_line(f"postgresql://me:{SECRETS[1]}@localhost:1/clinic", more="--table people"),
        TableError,
        lambda: sf.open_table(f"postgresql://me:{SECRETS[1]}@localhost:1/clinic", table="people"),
    ),
    Case(
        "a database of an unknown kind",
        fit_line(f"klingon://me:{SECRETS[1]}@localhost/clinic"),
        ArgumentError,
        lambda: sf.open_table(f"klingon://me:{SECRETS[1]}@localhost/clinic"),
    ),
    faulty_table("a CSV header with a name twice", "twice.csv", csv_text().replace("town", "age", 1)),
    faulty_table("a CSV header that lacks a name", "unnamed.csv", csv_text().replace("town", "", 1)),
    faulty_table("a column is missing, CSV", "narrow.csv", private_table().drop(columns="age").to_csv(index=False)),
    faulty_table(
        "a column is missing, Parquet",
        "narrow.parquet",
        lambda path: private_table().drop(columns="age").to_parquet(path),
    ),
    faulty_table("a column is there twice", "twice.parquet", duplicated),
    faulty_table("a column of lists", "nested.parquet", nested),
    Case(
        "the unit column is missing",
        fit_line(schema="unit.yaml"),
        TableError,
        lambda: fit(schema="unit.yaml"),
        {"unit.yaml": UNIT + SCHEMA},
    ),
    Case(
        "a DuckDB file of two tables, none named",
        fit_line("two.duckdb"),
        TableError,
        lambda: fit("two.duckdb"),
        {"two.duckdb": two_tables},
    ),
    Case(
        "a DuckDB file without the table named",
        fit_line("two.duckdb", more="--table patients"),
        TableError,
        lambda: sf.open_table("two.duckdb", table="patients"),
        {"two.duckdb": two_tables},
    ),
    Case(
        "an extra is not installed",
        fit_line("two.duckdb"),
        MissingExtraError,
        lambda: fit("two.duckdb"),
        {"two.duckdb": two_tables},
        lacking="duckdb",
    ),
    Case(
        "a delimiter of two characters",
        fit_line(more="--delimiter ';;'"),
        ArgumentError,
        lambda: sf.open_table("data.csv", delimiter=";;"),
    ),
    Case(
        "a quote that is the delimiter",
        fit_line(more="--quote ','"),
        ArgumentError,
        lambda: sf.open_table("data.csv", quote=","),
    ),
    Case(
        "an unknown CSV encoding",
        fit_line(more="--csv-encoding klingon"),
        ArgumentError,
        lambda: sf.open_table("data.csv", encoding="klingon"),
    ),
    Case(
        "a delimiter for a Parquet file",
        fit_line("data.parquet", more="--delimiter ';'"),
        ArgumentError,
        lambda: sf.open_table("data.parquet", delimiter=";"),
    ),
    Case(
        "the label of a draft is no column",
        "schema data.csv --label zip -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", "zip"),
    ),
    Case(
        "the label of a draft has too many values",
        "schema many.csv --label id -o new.yaml",
        SchemaError,
        lambda: sf.draft("many.csv", "id"),
        {"many.csv": "id,age\n" + "".join(f"{SECRETS[1]}{i},{i}\n" for i in range(ROWS))},
    ),
    Case(
        "nothing in the table to draft from",
        "schema empty.csv -o new.yaml",
        SchemaError,
        lambda: sf.draft("empty.csv"),
        {"empty.csv": "a,b\n,\n"},
    ),
    Case(
        "the unit of a draft is no column",
        "schema data.csv --unit person -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", unit="person"),
    ),
    Case(
        "a column to drop is none",
        "schema data.csv --drop zip -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", drop=["zip"]),
    ),
    Case(
        "the label is to be dropped",
        "schema data.csv --label ill --drop ill -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", "ill", drop=["ill"]),
    ),
    Case(
        "no such code book",
        "schema data.csv --codebook none.csv -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", codebook="none.csv"),
    ),
    Case(
        "a code book without values or bounds",
        "schema data.csv --codebook codes.csv -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", codebook="codes.csv"),
        {"codes.csv": "column,label\nage,years\n"},
    ),
    Case(
        "a code book with one bound",
        "schema data.csv --codebook codes.csv -o new.yaml",
        SchemaError,
        lambda: sf.draft("data.csv", codebook="codes.csv"),
        {"codes.csv": "column,min,max\nage,0,\n"},
    ),
    Case(
        "bounds are not confirmed at once",
        "confirm draft.yaml --accept min",
        ArgumentError,
        lambda: accepted(sf.Schema.load("draft.yaml"), ["min"]),
        {"draft.yaml": SCHEMA + "unconfirmed: [columns.age.min]\n"},
    ),
]
SCHEMAS = [
    Case("the schema does not exist", fit_line(schema="none.yaml"), SchemaError, lambda: fit(schema="none.yaml")),
    faulty_schema("not YAML", "columns: {age: [\n"),
    faulty_schema("not a mapping", "- age\n- town\n"),
    faulty_schema("an empty list of what means missing", "columns: {a: {type: number, min: 0, max: 1, missing: []}}\n"),
    faulty_schema("what means missing is unquoted", "columns: {a: {type: number, min: 0, max: 1, missing: [no]}}\n"),
    faulty_schema("a value that means missing", "columns: {a: {type: category, values: [x, y], missing: [y]}}\n"),
    faulty_schema("no columns", "label: ill\n"),
    faulty_schema("a key given twice", SCHEMA + "label: age\n"),
    faulty_schema("an unknown key", SCHEMA + "lable: ill\n"),
    faulty_schema("an unknown key of a column", column("{type: number, min: 0, max: 1, maximum: 2}")),
    faulty_schema("an unknown type", column("{type: integer, min: 0, max: 1}")),
    faulty_schema("no type", column("{min: 0, max: 1}")),
    faulty_schema("no bounds", column("{type: number, min: 0}")),
    faulty_schema("min equal to max", column("{type: number, min: 5, max: 5}")),
    faulty_schema("min above max", column("{type: number, min: 9, max: 3}")),
    faulty_schema("dates in the wrong order", column("{type: date, min: 2021-01-01, max: 2020-01-01}")),
    faulty_schema("a time that is none", column("{type: time, min: '25:00'}")),
    faulty_schema("a duration without a length", column("{type: duration, min: 0d, max: 1 month}")),
    faulty_schema("a moment that is none", column("{type: datetime, min: 2020-01-01, max: 2020-02-30}")),
    faulty_schema(
        "a time zone that is none", column("{type: datetime, min: 2020-01-01, max: 2021-01-01, zone: Vienna}")
    ),
    faulty_schema(
        "a format of dates without a year", column("{type: date, min: 2020-01-01, max: 2021-01-01, format: '%d.%m.'}")
    ),
    faulty_schema(
        "a format of dates with an unknown code", column("{type: date, min: 2020-01-01, max: 2021-01-01, format: '%x'}")
    ),
    faulty_schema(
        "a format of numbers that shows another one", column("{type: number, min: 0, max: 9, format: '$9.99'}")
    ),
    faulty_schema("booleans with one spelling", column("{type: boolean, values: {true: 'Y', false: 'Y'}}")),
    faulty_schema("bounds that are no numbers", column("{type: number, min: low, max: high}")),
    faulty_schema("a bound that is infinite", column("{type: number, min: 0, max: .inf}")),
    faulty_schema("a step of 0", column("{type: number, min: 0, max: 9, step: 0}")),
    faulty_schema("an atom outside the bounds", column("{type: number, min: 0, max: 9, atoms: [10]}")),
    faulty_schema("a category twice", column("{type: category, values: [a, b, a]}")),
    faulty_schema("a category twice, as 1 and 1.0", column("{type: category, values: [1, 1.0]}")),
    faulty_schema("no categories", column("{type: category, values: []}")),
    faulty_schema("yes and no without quotes", column("{type: category, values: [yes, no]}")),
    faulty_schema("a date without quotes as category", column("{type: category, values: [2020-01-01]}")),
    faulty_schema("a label that is no column", SCHEMA.replace("label: ill", "label: healthy")),
    faulty_schema("a number as label without bins", SCHEMA.replace("label: ill", "label: age")),
    faulty_schema("nothing but a label", "label: y\ncolumns: {y: {type: category, values: [a, b]}}\n"),
    faulty_schema("a unit that is also a column", "unit: {column: town, rows: 2}\n" + SCHEMA),
    faulty_schema("a unit of 0 rows", "unit: {column: person, rows: 0}\n" + SCHEMA),
    faulty_schema("a group without a pattern", group("{columns: px, min: 0, max: 255}")),
    faulty_schema("a group of another shape", group("{columns: [a, b, c], min: 0, max: 255, shape: [2, 2]}")),
    faulty_schema("a group with a column twice", group("{columns: [a, ill], min: 0, max: 255}")),
    faulty_schema("an image without a shape", group("{columns: [a, b], min: 0, max: 1, projection: dct2}")),
    faulty_schema(
        "more directions than a group has", group("{columns: [a, b], min: 0, max: 1, projection: random, keep: 3}")
    ),
    faulty_schema("columns beside a group", SCHEMA + "groups: {pixels: {columns: [a, b], min: 0, max: 1}}\n"),
    faulty_schema("a draft nobody confirmed", SCHEMA + "unconfirmed: [columns.age.min, columns.age.max]\n"),
]
ARGUMENTS = [
    argument("epsilon 0", "epsilon", "0", 0.0),
    argument("epsilon negative", "epsilon", "-1", -1.0),
    argument("epsilon nan", "epsilon", "nan", float("nan")),
    argument("epsilon infinite", "epsilon", "inf", float("inf")),
    Case("epsilon no number", fit_line(more="--epsilon much")),
    argument("epsilon too large for the noise", "epsilon", "1e12", 1e12),
    argument("delta 0", "delta", "0", 0.0),
    argument("delta 1", "delta", "1", 1.0),
    argument("delta nan", "delta", "nan", float("nan")),
    Case("delta no number", fit_line(more="--delta little")),
    argument("rows 0", "rows", "0", 0),
    argument("an unknown adjacency", "adjacency", "cousin", "cousin"),
    Case(
        "label adjacency without a label",
        fit_line(schema="bare.yaml", more="--adjacency label"),
        ArgumentError,
        lambda: fit(schema="bare.yaml", adjacency="label"),
        {"bare.yaml": BARE},
    ),
    Case(
        "labels to adapt without a label",
        fit_line(schema="bare.yaml", more="--adapt labels"),
        ArgumentError,
        lambda: fit(schema="bare.yaml", mechanism=sf.Mixture(adapt="labels")),
        {"bare.yaml": BARE},
    ),
    argument("an unknown mechanism", "mechanism", "magic", "magic"),
    Case("sigma_max of a mixture", fit_line(more="--sigma-max 0.1"), ArgumentError),
    config("alpha without anything to adapt", "--alpha 0.5", lambda: sf.Mixture(alpha=0.5)),
    config("points of a mixture", "--adapt points", lambda: sf.Mixture(adapt="points")),  # type: ignore[arg-type]
    config("components that are no number", "--components many", lambda: sf.Mixture(components="many")),  # type: ignore[arg-type]
    Case("a tuned number that is none", fit_line(more="--tuning.lloyd-rounds few")),
    Case("clustmix in data units", fit_line(more="--mechanism clustmix --encoding affine"), ArgumentError),
    Case(
        "points without the extra",
        fit_line(more="--mechanism clustmix --adapt points"),
        MissingExtraError,
        lambda: fit(mechanism=sf.Clustmix(adapt="points")),
        lacking="jax",
    ),
    Case(
        "a group in data units",
        fit_line(schema="group.yaml", more="--encoding affine"),
        ArgumentError,
        lambda: fit(schema="group.yaml", mechanism=sf.Mixture(encoding="affine")),
        {"group.yaml": group("{columns: [age, town], min: 0, max: 1}")},
    ),
    Case("slices of a mixture", fit_line(more="--slices 3"), ArgumentError),
    config("an unknown form of slices", "--mechanism slicing --form sums", lambda: sf.Slicing(form="sums")),  # type: ignore[arg-type]
    config("noisy rows whose number is private", "--mechanism slicing --form rows", lambda: sf.Slicing(form="rows")),
    config("slices where sums are asked", "--mechanism slicing --slices 3", lambda: sf.Slicing(slices=3)),
    config(
        "noise by no theorem",
        "--mechanism slicing --calibration theorem2",
        lambda: sf.Slicing(calibration="theorem2"),  # type: ignore[arg-type]
    ),
    config(
        "a theorem where sums are asked",
        "--mechanism slicing --calibration theorem1",
        lambda: sf.Slicing(calibration="theorem1"),
    ),
    Case("components of a generator", fit_line(more="--mechanism slicing --components 3"), ArgumentError),
    config("an unknown encoding", "--encoding magic", lambda: sf.Mixture(encoding="magic")),  # type: ignore[arg-type]
    config("affine with a category column", "--encoding affine", lambda: sf.Mixture(encoding="affine")),
    Case("several epsilons, one no number", "plan s.yaml --epsilon 1,much --delta 1e-6", ArgumentError),
    Case("an option is missing", "plan s.yaml --epsilon 1"),
    Case("an unknown option", fit_line(more="--seed 3")),
    Case("an unknown verb", "publish data.csv"),
]
RELEASES = [
    Case("the release does not exist", "inspect none.sfumato", ReleaseError, lambda: sf.load("none.sfumato")),
    faulty_release("a folder", folder),
    faulty_release("a truncated release", truncated),
    faulty_release("another zip", foreign),
    faulty_release("not a zip at all", SCHEMA),
    faulty_release("a release of a newer library", saying(version=99)),
    faulty_release("a release of before the first release", saying(version=5)),
    faulty_release("a model of an unknown kind", saying(model={"kind": "ours", "facts": {}})),
]
TRAINING = [
    config(
        "a training of no steps",
        "--mechanism slicing --training.steps 0",
        lambda: sf.Slicing(training=sf.Training(steps=0)),
    ),
    config(
        "convolutions of what is no image",
        "--mechanism slicing --training.architecture conv",
        lambda: sf.Slicing(training=sf.Training(architecture="conv")),
    ),
    Case(
        "training without the extra",
        fit_line(more="--mechanism slicing"),
        MissingExtraError,
        lambda: fit(mechanism="slicing"),
        lacking="jax",
    ),
    Case("options of training for a mixture", fit_line(more="--training.steps 100"), ArgumentError),
    Case("a mixture to train", "train r.sfumato", ArgumentError),
    refused_training("a rate above 1", "--rate 2", training=sf.Training(rate=2.0)),
    refused_training("an unknown divergence", "--divergence tv", training=sf.Training(divergence="tv")),
    refused_training("nothing to go on with", "--resume", resume=True),
    refused_training("a warm start of another width", "--warm --width 3", training=sf.Training(width=3), warm=True),
]
OUTPUTS = [
    Case(
        "a release into a folder that is not there",
        fit_line(output="nowhere/new.sfumato"),
        OutputError,
        lambda: sf.load("r.sfumato").save("nowhere/new.sfumato"),
    ),
    Case(
        "a release over a folder",
        fit_line(output="folder"),
        OutputError,
        lambda: sf.load("r.sfumato").save("folder"),
        {"folder": folder},
    ),
    Case("a release over another file", fit_line(output="r.sfumato"), OutputError),
    Case("a draft over another file", "schema data.csv -o s.yaml", OutputError),
    Case("a report over a release", "report r.sfumato -o r.sfumato", OutputError),
    Case("rows over a release", "sample r.sfumato -n 3 --format csv -o r.sfumato", OutputError),
    Case(
        "a release over a database",
        fit_line(output="l.db"),
        OutputError,
        lambda: sf.load("r.sfumato").save("l.db"),
        {"l.db": books},
    ),
    Case(
        "a draft over a database's log",
        "schema data.csv -o l.db-wal",
        OutputError,
        lambda: sf.draft("data.csv").schema.save("l.db-wal"),
        {"l.db": books},
    ),
    Case(
        "a draft into a folder that is not there",
        "schema data.csv -o nowhere/new.yaml",
        OutputError,
        lambda: sf.draft("data.csv").schema.save("nowhere/new.yaml"),
    ),
    Case(
        "rows into a folder that is not there",
        "sample r.sfumato -n 3 -o nowhere/new.csv",
        OutputError,
        lambda: write_rows(sf.load("r.sfumato").sample_batches(3), "nowhere/new.csv"),
    ),
    Case(
        "rows over a folder",
        "sample r.sfumato -n 3 -o folder.csv",
        OutputError,
        lambda: write_rows(sf.load("r.sfumato").sample_batches(3), "folder.csv"),
        {"folder.csv": folder},
    ),
    Case(
        "rows in an unknown format",
        "sample r.sfumato -n 3 -o new.csv --format word",
        OutputError,
        lambda: write_rows(sf.load("r.sfumato").sample_batches(3), "new.csv", kind="word"),
    ),
    Case("rows and JSON on stdout", "sample r.sfumato -n 3 -o - --json", ArgumentError),
    Case("a conversion into an unknown kind", "convert data.csv data.sav", OutputError),
    Case(
        "rows into a file of an unknown kind",
        "sample r.sfumato -n 3 -o new.sav",
        OutputError,
        lambda: write_rows(sf.load("r.sfumato").sample_batches(3), "new.sav"),
    ),
]
SAMPLES = [
    Case("fewer than no rows", "sample r.sfumato -n -3 -o new.csv"),
    refused_sample("given an unknown column", "given", "zip=1", {"zip": "1"}),
    refused_sample("given a category that is none", "given", "town=Rome", {"town": "Rome"}),
    refused_sample("given a label that is none", "given", "ill=maybe", {"ill": "maybe"}),
    refused_sample("given a number outside the bounds", "given", "age=101", {"age": "101"}),
    refused_sample("given a number between the steps", "given", "age=40.5", {"age": "40.5"}),
    refused_sample("given a number that is none", "given", "age=old", {"age": "old"}),
    Case("given without =", "sample r.sfumato -n 3 -o new.csv --given town", ArgumentError),
    Case("given twice", "sample r.sfumato -n 3 -o new.csv --given age=1 --given age=2", ArgumentError),
    Case(
        "given another column than the label of a generator",
        "sample g.sfumato -n 3 -o new.csv --given age=40",
        ArgumentError,
        lambda: sf.load("g.sfumato").sample(3, given={"age": "40"}),
        {"g.sfumato": bought},
    ),
    refused_sample("where is no condition", "where", "age >", "age >"),
    refused_sample("where calls something", "where", "age.to_csv('new.csv') == 1", "age.to_csv('new.csv') == 1"),
    refused_sample("where names an unknown column", "where", "zip > 3", "zip > 3"),
    refused_sample("where compares a number with text", "where", "age > 'old'", "age > 'old'"),
    refused_sample("where names a category that is none", "where", "town == 'Rome'", "town == 'Rome'"),
    refused_sample("where says neither true nor false", "where", "age + 1", "age + 1"),
    refused_sample("where is never true", "where", "age > 100", "age > 100"),
]
LEDGERS = [
    Case(
        "a ledger without a data set",
        fit_line(more="--ledger l.db"),
        ArgumentError,
        lambda: fit(ledger="l.db"),
        {"l.db": books},
    ),
    counted("a seed with a ledger", "--insecure-seed 1", ArgumentError, insecure_seed=1),
    Case(
        "the ledger does not exist",
        "ledger none.db",
        LedgerError,
        lambda: sf.Ledger("none.db").accounts(),
    ),
    counted("a data set that was not opened", "", LedgerError, dataset="staff"),
    counted("too little is left", "--epsilon 3", BudgetError, epsilon=3),
    counted("a release of another adjacency", "--adjacency replace-one", LedgerError, adjacency="replace-one"),
    Case(
        "a release of another unit",
        fit_line(schema="unit.yaml", more="--epsilon 0.1 --ledger l.db --dataset people"),
        LedgerError,
        lambda: fit(schema="unit.yaml", epsilon=0.1, ledger="l.db", dataset="people"),
        {"l.db": books, "unit.yaml": "unit: {column: town, rows: 2}\n" + BARE},
    ),
    Case(
        "a data set that is opened again",
        "ledger l.db --open people --epsilon 9 --delta 1e-6",
        LedgerError,
        lambda: sf.Ledger("l.db").open("people", 9, 1e-6),
        {"l.db": books},
    ),
    Case(
        "a data set without a cap",
        "ledger l.db --open staff --epsilon 1",
        ArgumentError,
        files={"l.db": books},
    ),
    Case("a cap without a data set", "ledger l.db --epsilon 1", ArgumentError, files={"l.db": books}),
    Case("two things at once", "ledger l.db --open a --give-back b", ArgumentError, files={"l.db": books}),
    Case(
        "a cap that is none",
        "ledger new.db --open staff --epsilon 0 --delta 1e-6",
        ArgumentError,
        lambda: sf.Ledger("new.db").open("staff", 0.0, 1e-6),
    ),
    Case(
        "a data set's name of two lines",
        "ledger new.db --open 'a\nb' --epsilon 1 --delta 1e-6",
        ArgumentError,
        lambda: sf.Ledger("new.db").open("a\nb", 1, 1e-6),
    ),
    Case(
        "a ledger in a folder that is not there",
        "ledger nowhere/new.db --open staff --epsilon 1 --delta 1e-6",
        OutputError,
        lambda: sf.Ledger("nowhere/new.db").open("staff", 1, 1e-6),
    ),
    Case(
        "an unknown entry given back",
        "ledger l.db --give-back 0123",
        LedgerError,
        lambda: sf.Ledger("l.db").give_back("0123"),
        {"l.db": books},
    ),
    Case(
        "a drawn entry given back",
        f"ledger l.db --give-back {ENTRY}",
        LedgerError,
        lambda: sf.Ledger("l.db").give_back(ENTRY),
        {"l.db": books},
    ),
    faulty_ledger("a file that is no database", b"what is this " * 50),
    faulty_ledger("a database that is no ledger", other_database),
    faulty_ledger("a ledger of a newer library", newer_books),
    faulty_ledger("a ledger with an entry of an unknown law", unknown_law),
    faulty_ledger("a ledger with a second hard link", linked_books),
    Case(
        "a release over the ledger",
        fit_line(output="l.db", more="--ledger l.db --dataset people"),
        ArgumentError,
        files={"l.db": books},
    ),
    Case(
        "a release over a log of the ledger",
        fit_line(output="l.db-wal", more="--ledger l.db --dataset people"),
        ArgumentError,
        files={"l.db": books},
    ),
    Case(
        "a data set whose name reads like another's",
        "ledger l.db --open People --epsilon 1 --delta 1e-6",
        LedgerError,
        lambda: sf.Ledger("l.db").open("People", 1, 1e-6),
        {"l.db": books},
    ),
    Case(
        "another kind of database",
        "ledger mysql://me@host/db",
        ArgumentError,
        lambda: sf.Ledger("mysql://me@host/db").accounts(),
    ),
    Case(
        "PostgreSQL without its extra",
        "ledger postgresql://me@host/db",
        MissingExtraError,
        lambda: sf.Ledger("postgresql://me@host/db").accounts(),
        lacking="psycopg",
    ),
]
CHAPTERS = {
    "The table": TABLES,
    "The schema": SCHEMAS,
    "Arguments": ARGUMENTS,
    "The release file": RELEASES,
    "Training": TRAINING,
    "Where to write": OUTPUTS,
    "Sampling": SAMPLES,
    "The ledger": LEDGERS,
}
CASES = [case for cases in CHAPTERS.values() for case in cases]


# --- how each is run


@dataclass(frozen=True)
class Outcome:
    """What a case did, by the command line and from Python."""

    code: int
    out: str
    lines: list[str]
    changed: list[str]  # files and folders that were made, altered or removed
    raised: type[Exception] | None  # from Python
    said: str

    @property
    def message(self) -> str:
        return self.lines[-1].removeprefix("error: ")


See = Callable[[Case, bool], Outcome]


@pytest.fixture(scope="module")
def see(tmp_path_factory: pytest.TempPathFactory) -> See:
    """Run a case in a folder of its own; with `taken`, what it would write is already there."""
    world = tmp_path_factory.mktemp("world")
    (world / "s.yaml").write_text(SCHEMA)
    private_table().to_csv(world / "data.csv", index=False)
    private_table().to_parquet(world / "data.parquet")
    fit(world / "data.csv", world / "s.yaml", insecure_seed=1).save(world / "r.sfumato")
    shared = {path.name: path.read_bytes() for path in world.iterdir()}
    found: dict[tuple[str, bool], Outcome] = {}

    def run(case: Case, taken: bool) -> Outcome:
        if (case.name, taken) not in found:
            found[case.name, taken] = outcome(case, taken)
        return found[case.name, taken]

    def outcome(case: Case, taken: bool) -> Outcome:
        place = tmp_path_factory.mktemp("case")
        for name, content in {**shared, **case.files}.items():
            if callable(content):
                content(place / name)
            else:
                (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
        target, arguments = output(case), case.arguments
        if taken and target is not None and not (place / target).exists() and (place / target).parent.exists():
            (place / target).write_bytes(BEFORE)
            arguments = [*arguments, *(["--replace"] * (arguments[0] in REPLACING))]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(place)
            if case.lacking is not None:
                patch.setitem(sys.modules, case.lacking, None)
            before = state(place)
            code, out, err = command(arguments, patch)
            raised, said = None, ""
            if case.python is not None:
                try:
                    case.python()
                except Exception as error:
                    raised, said = type(error), str(error)
            after = state(place)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        return Outcome(code, out, err.splitlines(), changed, raised, said)

    return run


def output(case: Case) -> str | None:
    """What the command line names to be written."""
    return case.arguments[case.arguments.index("-o") + 1] if "-o" in case.arguments else None


def state(place: Path) -> dict[str, bytes | None]:
    found = {str(path.relative_to(place)): path for path in place.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


def command(arguments: list[str], patch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    patch.setattr(sys, "argv", ["sfumato", *arguments])
    code: Any = 0
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


# --- what holds for each


@pytest.mark.every(3)
@pytest.mark.parametrize("taken", [False, True], ids=["new", "taken"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line_and_nothing_written(case: Case, taken: bool, see: See) -> None:
    seen = see(case, taken)
    assert seen.code == 2
    assert seen.out == ""
    assert len(seen.lines) == 1, seen.lines
    assert seen.lines[0].startswith("error: ")
    assert len(seen.message) > 10
    assert seen.changed == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_python_says_the_same(case: Case, see: See) -> None:
    seen = see(case, False)
    if case.python is None:
        assert seen.raised is None
        return
    assert seen.raised is case.error
    assert by_option(seen.said, set(re.findall("--[a-z.-]+", seen.message))) == seen.message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_message_tells_of_rows(case: Case, see: See) -> None:
    seen = see(case, False)
    for secret in (*SECRETS, str(ROWS), str(ROWS - 1), str(ROWS + 1)):
        for text in (*seen.lines, seen.said):
            assert secret not in text


def test_the_check_for_secrets_would_see_one(see: See) -> None:
    # The same table, named by its first cell: what a message that repeats a name would give away.
    case = faulty_table("leak", f"{SECRETS[1]}.sav", b"")
    with pytest.raises(AssertionError):
        test_no_message_tells_of_rows(case, see)


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for cases in CHAPTERS.values():
        assert cases


def test_every_kind_of_error_is_shown() -> None:
    ours = {kind for kind in SfumatoError.__subclasses__() if kind.__module__ == "sfumato.errors"}
    assert {case.error for case in CASES} - {None} == ours


# --- the page


def page(see: See) -> str:
    parts = [INTRODUCTION]
    for title, cases in CHAPTERS.items():
        parts.append(f"## {title}\n\n| case | what you see | exception | exit code |\n|---|---|---|---|\n")
        for case in cases:
            seen = see(case, False)
            kind = "" if case.error is None else f"`{case.error.__name__}`"
            parts.append(f"| {case.name} | {code_span(seen.lines[0])} | {kind} | {seen.code} |\n")
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n" + FOOT


def code_span(text: str) -> str:
    """Text as it stands, inside a cell of a Markdown table."""
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def test_the_page_is_up_to_date(see: See) -> None:
    made = page(see)
    if os.environ.get("SFUMATO_WRITE_DOCS"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made
    assert "/tmp" not in made
    assert "pytest-of" not in made
