"""What an onlooker sees of a fit besides the noisy answers is the same whatever the rows are.

Two tables that differ in rows are released, and everything is compared: both output streams, log records, warnings,
the exit code, the files left behind, and the release byte by byte. Three ways to look:

- *Sealed*: the noise is replaced by one that does not see the totals, as if sigma were infinite. Then nothing at all
  may differ, so nothing has to be masked: whatever does differ found a way around the noise.
- *Open*: with real noise. Only values of arrays are masked, because they are noisy answers. The books are not: the
  mixture's shares of the budget are public, and its sensitivities are too. How long an array is, and what a zip entry
  says of itself, must agree; how well its numbers compress is a function of the numbers. Where tables of pairs are
  chosen by noisy answers, which ones they are is masked too, and with it how long their arrays are.
- *The real command*, in a process of its own, with every warning and log record switched on.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.configs import asked
from tests.private.queries.helpers import told_by

import sfumato as sf
from sfumato import cli
from sfumato.errors import TableError
from sfumato.insecure import insecure_bits
from sfumato.private import curator, source
from sfumato.private.noise import Bits, noisy
from sfumato.private.queries.wire import decode
from sfumato.schema.layout import OrderedBins
from sfumato.tables import cells

Row = dict[str, Any] | bytes  # a line of a CSV file may be any bytes
Rows = list[Row]

NAMES = ("who", "age", "dose", "ward", "seen", "ill")
SCORES = """\
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  dose: {type: number, min: 0, max: 10, bins: 8, missing: true}
  ward: {type: category, values: [north, south]}
  seen: {type: date, min: 2020-01-01, max: 2020-12-31, bins: 12}
  ill: {type: category, values: ["no", "yes"]}
"""
AFFINE = """\
label: ill
columns:
  age: {type: number, min: 0, max: 100, bins: 20}
  dose: {type: number, min: 0, max: 10, bins: 20}
  ill: {type: category, values: ["no", "yes"]}
"""
UNIT = "unit: {column: who, rows: 2}\n"


# --- tables


def clean_rows(count: int = 40) -> Rows:
    rng = np.random.default_rng(5)
    return [
        {
            "who": f"p{i}",
            "age": float(rng.integers(0, 101)),
            "dose": float(rng.uniform(0, 10)),
            "ward": str(rng.choice(["north", "south"])),
            "seen": f"2020-{rng.integers(1, 13):02}-11",
            "ill": "yes" if rng.random() < 0.4 else "no",
        }
        for i in range(count)
    ]


def csv_file(rows: Rows, path: Path) -> Path:
    lines = [row if isinstance(row, bytes) else b",".join(_field(row[name]) for name in NAMES) for row in rows]
    path = path.with_suffix(".csv")
    path.write_bytes(b"\n".join([",".join(NAMES).encode(), *lines, b""]))
    return path


def _field(cell: Any) -> bytes:
    return cell if isinstance(cell, bytes) else b"" if cell is None else str(cell).encode()


def typed_table(rows: Rows) -> pa.Table:
    """Every column in a declared type, whatever its cells."""
    kinds = [pa.string(), pa.float64(), pa.float64(), pa.binary(), pa.timestamp("us"), pa.string()]
    return pa.table([pa.array(_column(rows, name), kind) for name, kind in zip(NAMES, kinds, strict=True)], NAMES)


def _column(rows: Rows, name: str) -> list[Any]:
    found = [row[name] for row in rows if isinstance(row, dict)]
    return [datetime.fromisoformat(cell) if cell else cell for cell in found] if name == "seen" else found


def parquet_file(rows: Rows, path: Path) -> Path:
    path = path.with_suffix(".parquet")
    pq.write_table(typed_table(rows), path)
    return path


def text_parquet_file(rows: Rows, path: Path) -> Path:
    path = path.with_suffix(".parquet")
    texts = {name: [_field(row[name]) for row in rows if isinstance(row, dict)] for name in NAMES}
    pq.write_table(pa.table({name: pa.array(column, pa.binary()) for name, column in texts.items()}), path)
    return path


def typed_frame(rows: Rows, path: Path) -> pd.DataFrame:
    return typed_table(rows).to_pandas()


def object_frame(rows: Rows, path: Path) -> pd.DataFrame:
    found = [row for row in rows if isinstance(row, dict)]
    return pd.DataFrame({name: pd.Series([row[name] for row in found], dtype=object) for name in NAMES})


Form = Callable[[Rows, Path], Any]
TYPED: tuple[Form, ...] = (csv_file, parquet_file, text_parquet_file, typed_frame, object_frame)
TEXT: tuple[Form, ...] = (csv_file, text_parquet_file, object_frame)
CSV: tuple[Form, ...] = (csv_file,)
OBJECT: tuple[Form, ...] = (object_frame,)


# --- pairs of tables


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables, the kinds of table that can hold both, and whether they differ in ids."""

    one: Rows
    other: Rows
    forms: tuple[Form, ...] = TYPED
    unit: bool = False


CLEAN = clean_rows()


def with_cell(column: str, cell: Any, rows: Rows = CLEAN, at: int = 7) -> Rows:
    row = rows[at]
    assert isinstance(row, dict)
    return [*rows[:at], row | {column: cell}, *rows[at + 1 :]]


def with_line(line: bytes, at: int = 7) -> Rows:
    return [*CLEAN[:at], line, *CLEAN[at + 1 :]]


def all_with(column: str, cell: Any) -> Rows:
    return [row | {column: cell} for row in CLEAN if isinstance(row, dict)]


NOTHING = dict.fromkeys(NAMES)

PAIRS = {
    "a NaN": Pair(CLEAN, with_cell("dose", float("nan"))),
    "a NaN without a bin for it": Pair(CLEAN, with_cell("age", float("nan"))),
    "an infinity": Pair(CLEAN, with_cell("dose", float("inf"))),
    "minus infinity": Pair(CLEAN, with_cell("age", float("-inf"))),
    "the largest float": Pair(CLEAN, with_cell("age", sys.float_info.max)),
    "a null": Pair(CLEAN, with_cell("dose", None)),
    "a number that is none": Pair(CLEAN, with_cell("age", "n/a"), TEXT),
    "a number beyond all floats": Pair(CLEAN, with_cell("age", "1e999"), TEXT),
    "a huge integer": Pair(CLEAN, with_cell("age", 10**400), TEXT),
    "an integer that str refuses": Pair(CLEAN, with_cell("age", 10**5000), OBJECT),
    "below the bounds": Pair(CLEAN, with_cell("age", -5.0)),
    "above the bounds": Pair(CLEAN, with_cell("dose", 11.0)),
    "an unknown category": Pair(CLEAN, with_cell("ward", "east")),
    "a NUL byte": Pair(CLEAN, with_cell("ward", "no\x00rth")),
    "an undecodable byte": Pair(CLEAN, with_cell("ward", b"nor\xffth")),
    "a lone surrogate": Pair(CLEAN, with_cell("ward", "\ud800"), OBJECT),
    "an over-long cell": Pair(CLEAN, with_cell("ward", "x" * 5_000_000), TEXT),
    "an unknown label": Pair(CLEAN, with_cell("ill", "maybe")),
    "a missing label": Pair(CLEAN, with_cell("ill", None)),
    "another label": Pair(with_cell("ill", "no"), with_cell("ill", "yes")),
    "a class in one table only": Pair(all_with("ill", "no"), with_cell("ill", "yes", all_with("ill", "no"))),
    "no label that counts": Pair(CLEAN, all_with("ill", "maybe")),
    "a date long ago": Pair(CLEAN, with_cell("seen", "0001-01-01")),
    "a date far ahead": Pair(CLEAN, with_cell("seen", "9999-12-31")),
    "a date that is none": Pair(CLEAN, with_cell("seen", "2020-02-30"), TEXT),
    "a list": Pair(CLEAN, with_cell("dose", [1.0]), OBJECT),
    "an object": Pair(CLEAN, with_cell("dose", object()), OBJECT),
    "a complex number": Pair(CLEAN, with_cell("age", 1 + 2j), OBJECT),
    "a date among numbers": Pair(CLEAN, with_cell("age", pd.Timestamp("2020-01-01")), OBJECT),
    "a text among numbers": Pair(CLEAN, with_cell("age", "40"), TEXT),
    "a long double": Pair(CLEAN, with_cell("age", np.longdouble(10) ** 4000), OBJECT),
    "a line too short": Pair(CLEAN, with_line(b"p7,40"), CSV),
    "a line too long": Pair(CLEAN, with_line(b"p7,40,1,north,2020-01-11,no,more"), CSV),
    "a line without end": Pair(CLEAN, with_line(b"p7," + b"9" * 5_000_000), CSV),
    "a stray quote": Pair(CLEAN, with_line(b'p7,40,1,"north,2020-01-11,no'), CSV),
    "a stray carriage return": Pair(CLEAN, with_line(b"p7,40,1,north\r,2020-01-11,no"), CSV),
    "bytes of no encoding": Pair(CLEAN, with_line(bytes(range(128, 256))), CSV),
    "a byte order mark": Pair(CLEAN, with_line(b"\xef\xbb\xbf"), CSV),
    "an empty line": Pair(CLEAN, with_line(b""), CSV),
    "a row of nothing": Pair(CLEAN, [*CLEAN, NOTHING]),
    "nothing but rows of nothing": Pair(CLEAN, [NOTHING, NOTHING]),
    "one row more": Pair(CLEAN, [*CLEAN, CLEAN[0]]),
    "one row less": Pair(CLEAN, CLEAN[:-1]),
    "another row": Pair(CLEAN, [*CLEAN[:-1], CLEAN[0]]),
    "twice the rows": Pair(CLEAN, CLEAN + CLEAN),
    "another order": Pair(CLEAN, CLEAN[::-1]),
    "a row or none": Pair([], CLEAN[:1]),
    "a column no longer constant": Pair(all_with("dose", 1.0), with_cell("dose", 2.0, all_with("dose", 1.0))),
    "a missing id": Pair(CLEAN, with_cell("who", None), unit=True),
    "an empty id": Pair(CLEAN, with_cell("who", ""), unit=True),
    "no id at all": Pair(CLEAN, all_with("who", None), unit=True),
    "a repeated id": Pair(CLEAN, with_cell("who", "p8"), unit=True),
    "one id for all": Pair(CLEAN, all_with("who", "p1"), unit=True),
    "an undecodable id": Pair(CLEAN, with_cell("who", b"\xff"), TEXT, unit=True),
}
CASES = [pytest.param(pair, form, id=f"{name}, {form.__name__}") for name, pair in PAIRS.items() for form in pair.forms]


# --- what an onlooker sees


@dataclass(frozen=True)
class Trace:
    """All that a fit leaves for others to see."""

    code: Any
    out: str
    err: str
    logs: tuple[tuple[str, str], ...]
    warnings: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    release: Any


def differences(one: Trace, other: Trace) -> list[str]:
    return [field.name for field in fields(Trace) if getattr(one, field.name) != getattr(other, field.name)]


def open_differences(one: Trace, other: Trace) -> list[str]:
    """The same with real noise, of which what fits no bin and what it is fit for are told: functions of noisy
    answers.
    """
    return differences(*(replace(each, out=_without_unread(each.out)) for each in (one, other)))


def _without_unread(out: str) -> str:
    told = ("fits no bin", "fit their bins", "fit for ")
    return "\n".join(line for line in out.split("\n") if not any(words in line for words in told))


def described(path: Path) -> Any:
    """A release without the values of its arrays, which are noisy answers, and without what those chose."""
    with zipfile.ZipFile(path) as archive:
        entries = [
            {name: getattr(entry, name) for name in zipfile.ZipInfo.__slots__ if name not in CONTENT}
            for entry in archive.infolist()
        ]
        document = archive.read("release.json")
        arrays = archive.read("arrays.safetensors")
    header = arrays[: 8 + int.from_bytes(arrays[:8], "little")]  # names, order, types, shapes, places
    size: int | None = len(arrays)
    if json.loads(document)["model"]["kind"] == "tilted":
        document, header, size = *without_tables(document, header[8:]), None
        entries = [{name: fact for name, fact in entry.items() if name != "file_size"} for entry in entries]
    return archive.comment, entries, document, header, size, path.stat().st_mode


def without_tables(document: bytes, header: bytes) -> tuple[bytes, bytes]:
    """What a release says of itself, but for which tables noisy answers chose, and how the mixture was moved."""
    told, arrays = json.loads(document), json.loads(header)
    told["model"]["facts"] = told["model"]["facts"]["base"]
    chosen = [place for place, each in enumerate(told["answers"]) if each["name"].split()[0] in ("distances", "tables")]
    told["answers"] = [each["name"] if i in chosen else each for i, each in enumerate(told["answers"])]
    masked = ("tilt.", *(f"answers.{place}." for place in chosen))
    kept = {name: (each["dtype"], each["shape"]) for name, each in arrays.items() if not name.startswith(masked)}
    return json.dumps(told, indent=1).encode(), json.dumps([list(arrays), kept]).encode()


# Of a zip entry: check sum, packed size, and where that puts the next one; all functions of the released numbers.
CONTENT = ("CRC", "compress_size", "header_offset", "_end_offset", "orig_filename", "_raw_time")


OF_CLUSTERS = {"py4j", "pyspark", "distributed", "tornado", "asyncio"}
"""Loggers of engines that other tests have started in this process: their objects are let go of at any time, also while
a file is fitted, which has none of them."""


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.found: list[tuple[str, str]] = []
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in OF_CLUSTERS or record.thread in self._others:
            return
        self.found.append((record.name, record.getMessage()))


@contextmanager
def logged() -> Iterator[list[tuple[str, str]]]:
    """Every record of every logger, down to DEBUG."""
    root, handler = logging.getLogger(), Records()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield handler.found
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class Watcher:
    """Runs fits, each in a folder of its own under the same names, and looks at everything they leave."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._folder, self._monkeypatch, self._capfd = folder, monkeypatch, capfd
        self._runs = 0

    def watch(self, run: Callable[[], Any], see: Callable[[Path], Any] = Path.read_bytes) -> Trace:
        """Run in the current folder; what it leaves in r.sfumato is the release."""
        self._capfd.readouterr()
        with warnings.catch_warnings(record=True) as warned, logged() as logs:
            warnings.simplefilter("always")
            code = _outcome(run)
        out, err = self._capfd.readouterr()
        here = Path()
        release = here / "r.sfumato"
        return Trace(
            code,
            out,
            err,
            tuple(logs),
            tuple((each.category.__name__, str(each.message)) for each in warned),
            tuple(sorted(str(path) for path in here.rglob("*"))),
            see(release) if release.exists() else None,
        )

    def enter(self, schema: str) -> Path:
        """A new folder, with a place for temporary files and a schema."""
        self._runs += 1
        here = self._folder / str(self._runs)
        (here / "tmp").mkdir(parents=True)
        (here / "s.yaml").write_text(schema)
        self._monkeypatch.chdir(here)
        self._monkeypatch.setattr(tempfile, "tempdir", str(here / "tmp"))
        return here

    def fit(
        self,
        rows: Rows,
        form: Form,
        schema: str = SCORES,
        *options: str,
        see: Callable[[Path], Any] = Path.read_bytes,
    ) -> Trace:
        here = self.enter(schema)
        table = form(rows, here / "data")
        if isinstance(table, Path):
            arguments = ["fit", table.name, "--schema", "s.yaml", *BUDGET, "-o", "r.sfumato", *options]
            self._monkeypatch.setattr(sys, "argv", ["sfumato", *arguments])
            return self.watch(cli.main, see)
        given = {name.removeprefix("--"): value for name, value in zip(options[::2], options[1::2], strict=True)}
        return self.watch(
            lambda: sf.fit(table, "s.yaml", epsilon=1, delta=1e-6, **asked(**given)).save("r.sfumato"), see
        )


BUDGET = ("--epsilon", "1", "--delta", "1e-6")


def _outcome(run: Callable[[], Any]) -> Any:
    try:
        run()
    except SystemExit as stop:
        return stop.code
    except Exception as error:
        return type(error).__name__, str(error)
    return 0


@pytest.fixture
def watcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], small_pool: None
) -> Watcher:
    return Watcher(tmp_path, monkeypatch, capfd)


def blind_noise(totals: NDArray[np.int64], sigmas: NDArray[np.float64], bits: Bits) -> NDArray[np.float64]:
    """Noise that does not see the totals, nor how many random bits were drawn before."""
    return noisy(np.full_like(totals, 5), sigmas, insecure_bits(11))


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator, "noisy", blind_noise)


# --- sealed


WAYS = [
    (schema, "--encoding", encoding, "--adjacency", adjacency)
    for schema, encoding in ((SCORES, "scores"), (AFFINE, "affine"))
    for adjacency in ("add-remove", "replace-one", "label")
]
ADAPTED = [
    (SCORES, "--adjacency", adjacency, "--adapt", "labels") for adjacency in ("add-remove", "replace-one", "label")
]


SEEN: dict[tuple[Any, ...], Trace] = {}


def in_turn() -> list[Any]:
    """Every case with one of the ways, and with units in every other case and where ids differ."""
    found = []
    for place, case in enumerate(CASES):
        pair, form = case.values
        schema, *options = WAYS[place % len(WAYS)]
        unit = UNIT if pair.unit or place // len(WAYS) % 2 else ""
        found.append(pytest.param(pair, form, schema + unit, options, id=case.id))
    return found


@pytest.mark.every(8)
@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(("pair", "form", "schema", "options"), in_turn())
def test_rows_reach_nothing_but_the_noise(
    watcher: Watcher, pair: Pair, form: Form, schema: str, options: list[str]
) -> None:
    # Most pairs share their first table, so what was seen of it is kept.
    key = id(pair.one), form, schema, *options
    if key not in SEEN:
        SEEN[key] = watcher.fit(pair.one, form, schema, *options)
    one, other = SEEN[key], watcher.fit(pair.other, form, schema, *options)
    assert one.code == 0, one
    assert one.release is not None
    assert differences(one, other) == []
    assert set(one.files) <= {"s.yaml", "tmp", "r.sfumato", "data.csv", "data.parquet"}


@pytest.mark.every(6)
@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize("way", [*WAYS, *ADAPTED], ids=lambda way: ", ".join(way[2:5]))
@pytest.mark.parametrize("unit", ["", UNIT], ids=["rows", "units"])
def test_every_way_to_fit_is_sealed(watcher: Watcher, way: tuple[str, ...], unit: str) -> None:
    schema, *options = way
    traces = [watcher.fit(rows, csv_file, schema + unit, *options, "--json") for rows in (CLEAN, ODD, [])]
    assert traces[0].code == 0
    assert differences(traces[0], traces[1]) == differences(traces[0], traces[2]) == []


def all_odd() -> Rows:
    """One row of every oddity that a line of CSV can hold, short of the endless ones."""
    found = list(CLEAN)
    for pair in PAIRS.values():
        if csv_file in pair.forms and sum(len(str(row)) for row in pair.other) < 10**5:
            found += [row for row in pair.other if isinstance(row, bytes) or row not in found]
    return found


ODD = all_odd()


# --- open


@pytest.mark.every(8)
@pytest.mark.parametrize(("pair", "form"), CASES[::4])
def test_a_real_release_differs_in_noisy_answers_only(watcher: Watcher, pair: Pair, form: Form) -> None:
    unit = UNIT if pair.unit else ""
    one, other = (watcher.fit(rows, form, SCORES + unit, see=described) for rows in (pair.one, pair.other))
    assert one.code == 0
    assert open_differences(one, other) == []


@pytest.mark.every(3)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one", "label"])
def test_the_books_are_the_same_whatever_the_noise(watcher: Watcher, adjacency: str) -> None:
    """Later rounds are divided by what earlier answers say of the classes; the charges need not show it. (They may,
    being functions of noisy answers: looks in data units do where a row is replaced, by their sensitivity.)"""
    lopsided = [CLEAN[0]] * 500
    encodings = [(SCORES, "scores")] if adjacency == "replace-one" else [(SCORES, "scores"), (AFFINE, "affine")]
    for schema, encoding in encodings:
        for pairs in ("auto", "none"):
            options = ("--encoding", encoding, "--adjacency", adjacency, "--components", "1", "--pairs", pairs)
            traces = [watcher.fit(rows, csv_file, schema, *options, see=described) for rows in (CLEAN, lopsided)]
            assert traces[0].code == 0
            assert open_differences(*traces) == []


# --- the real command


LOUD = "import logging; logging.basicConfig(level=logging.DEBUG); from sfumato.cli import main; main()"


def start(folder: Path, table: str, program: list[str]) -> subprocess.Popen[bytes]:
    """Begin a fit in a folder, with a place for temporary files and everything said aloud."""
    (folder / "tmp").mkdir()
    (folder / "s.yaml").write_text(SCORES)
    # Without cached byte code a library's syntax warnings would show in the first run only.
    loud = {"PYTHONWARNINGS": "always", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder / "tmp")}
    arguments = ["fit", table, "--schema", "s.yaml", *BUDGET, "-o", "r.sfumato"]
    return subprocess.Popen(
        [*program, *arguments],
        cwd=folder,
        env=os.environ | loud,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], folder: Path) -> Trace:
    out, err = (stream.decode() for stream in process.communicate(timeout=60))
    files = tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))
    release = folder / "r.sfumato"
    return Trace(process.returncode, out, err, (), (), files, described(release) if release.exists() else None)


PROGRAMS = {
    "loud": ([sys.executable, "-X", "dev", "-c", LOUD], csv_file),
    "as installed": ([str(Path(sys.executable).with_name("sfumato"))], text_parquet_file),
}


@pytest.mark.slow
@pytest.mark.parametrize(("program", "form"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_real_command_says_nothing_of_the_rows(tmp_path: Path, program: list[str], form: Form) -> None:
    if not Path(program[0]).exists():
        pytest.skip("the command is not installed beside this Python")
    folders = [tmp_path / "one", tmp_path / "other"]
    processes = []
    for folder, rows in zip(folders, (CLEAN, ODD), strict=True):
        folder.mkdir()
        processes.append(start(folder, form(rows, folder / "data").name, program))
    one, other = (finish(process, folder) for process, folder in zip(processes, folders, strict=True))
    assert one.code == 0, one.err
    assert "asking for histograms" in one.err
    assert open_differences(one, other) == []
    assert set(one.files) == {"s.yaml", "tmp", "r.sfumato", f"data{Path(one.files[0]).suffix}"}


# --- the estimator


VALUES = np.random.default_rng(6).normal(size=(30, 2))
LABELS = (VALUES[:, 0] > 0).astype(int)


def changed(cell: Any, dtype: Any = float) -> NDArray[Any]:
    values = VALUES.astype(dtype)
    values[4, 1] = cell
    return values


def labelled(label: Any) -> list[Any]:
    return [*LABELS[:4].tolist(), label, *LABELS[5:].tolist()]


def signalling() -> NDArray[np.float64]:
    values = VALUES.copy()
    values.view(np.uint64)[4, 1] = 0x7FF0000000000001
    return values


ROWS = VALUES.tolist()
FITS: dict[str, list[tuple[Any, Any]]] = {
    "floats": [
        (VALUES, LABELS),
        (changed(np.nan), LABELS),
        (changed(np.inf), LABELS),
        (changed(-np.inf), LABELS),
        (changed(1e308), LABELS),
        (changed(5e-324), LABELS),
        (signalling(), LABELS),
        (VALUES[:-1], LABELS[:-1]),
        (VALUES[:1], LABELS[:1]),
        (VALUES[:0], LABELS[:0]),
        (VALUES, np.zeros_like(LABELS)),
        (VALUES, LABELS + 7),
    ],
    "single precision": [(VALUES.astype(np.float32), LABELS), (changed(np.float32(3e38), np.float32), LABELS)],
    "labels in a list": [(VALUES, labelled(each)) for each in (0, 1, 2, None, "x", np.nan, 10**400, [1], 0.5)],
    "labels as floats": [(VALUES, LABELS.astype(float)), (VALUES, np.array([np.nan, *LABELS[1:]]))],
    "objects": [(changed(each, object), LABELS) for each in (0.0, "x", None, [1.0], 10**5000, 1 + 2j, b"\xff")],
    "rows in lists": [
        ([*ROWS[:4], each, *ROWS[5:]], LABELS)
        for each in (ROWS[4], [1.0], [1.0, 2.0, 3.0], [], ["x", None], (1.0, 2.0), None, 3.0, "ab", {"a": 1})
    ],
    "frames": [
        (pd.DataFrame(VALUES, columns=["a", "b"]), pd.Series(LABELS)),
        (pd.DataFrame(changed(np.nan), columns=["a", "b"]), pd.Series(LABELS)),
        (pd.DataFrame(VALUES, columns=["a", "b"]).iloc[1:], pd.Series(LABELS).iloc[1:]),
    ],
}


@pytest.mark.every(4)
@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize("fits", FITS.values(), ids=FITS)
def test_the_estimator_is_sealed(watcher: Watcher, fits: list[tuple[Any, Any]]) -> None:
    def run(values: Any, labels: Any) -> None:
        model = sf.PrivateMixture(epsilon=1, delta=1e-6, bounds=(-3, 3), classes=[0, 1]).fit(values, labels)
        model.release_.save("r.sfumato")
        print(model, model.n_features_in_, model.weights_, model.means_, model.covariances_, model.guarantee_)

    traces = []
    for values, labels in fits:
        watcher.enter(SCORES)
        traces.append(watcher.watch(lambda values=values, labels=labels: run(values, labels)))
    assert traces[0].code == 0
    assert [differences(traces[0], trace) for trace in traces] == [[]] * len(traces)


# --- that all this would show a leak


def warn_of_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = cells._numbers_of

    def numbers_of(values: pa.Array) -> NDArray[np.float64]:
        found = honest(values)
        if np.isinf(found).any():
            warnings.warn("invalid value encountered in cast", RuntimeWarning, stacklevel=2)
        return found

    monkeypatch.setattr(cells, "_numbers_of", numbers_of)


def name_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = OrderedBins.cell

    def cell(self: OrderedBins, values: NDArray[np.float64]) -> NDArray[np.int64]:
        if np.isinf(values).any():
            raise TableError(f"cannot place {values.max()}")
        return honest(self, values)

    monkeypatch.setattr(OrderedBins, "cell", cell)


def on_choosing(monkeypatch: pytest.MonkeyPatch, tell: Callable[[int], object]) -> None:
    """Tell how many rows there are once they have been read."""
    honest = source.Source.choose

    def choose(self: source.Source, read: Iterable[source.Tagged]) -> Iterator[source.Batch]:
        found = list(honest(self, read))
        tell(sum(len(batch) for batch in found))
        yield from found

    monkeypatch.setattr(source.Source, "choose", choose)


def print_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    on_choosing(monkeypatch, lambda count: print(f"read {count} rows"))


def log_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    on_choosing(monkeypatch, lambda count: logging.getLogger("sfumato").debug("read %d rows", count))


def leave_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    on_choosing(monkeypatch, lambda count: tempfile.NamedTemporaryFile(prefix=f"{count}-rows", delete=False).close())


def store_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.release import file as release_file

    counts: list[int] = []
    on_choosing(monkeypatch, counts.append)
    honest = release_file._entry

    def entry(name: str) -> zipfile.ZipInfo:
        made = honest(name)
        made.comment = str(counts[-1]).encode()
        return made

    monkeypatch.setattr(release_file, "_entry", entry)


def go_around_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = curator.Curator.total

    def total(self: Any, name: str, request: bytes, mu_squared: float) -> Any:
        answer = honest(self, name, request, mu_squared)
        query = decode(request)
        return replace(answer, values=answer.values + told_by(self._engine, query))

    monkeypatch.setattr(curator.Curator, "total", total)


LEAKS = {
    warn_of_nan: ["warnings"],
    name_a_cell: ["code", "err", "files", "out", "release"],
    print_the_count: ["out"],
    log_the_count: ["logs"],
    leave_a_file: ["files"],
    store_the_count: ["release"],
    go_around_the_noise: ["release"],
}


@pytest.mark.every(2)
@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(("leak", "shows"), LEAKS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_leak_is_seen(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch, leak: Callable[[pytest.MonkeyPatch], None], shows: list[str]
) -> None:
    odd = with_cell("dose", float("inf"))[:-1]
    assert differences(*(watcher.fit(rows, csv_file) for rows in (CLEAN, odd))) == []
    leak(monkeypatch)
    assert sorted(differences(*(watcher.fit(rows, csv_file) for rows in (CLEAN, odd)))) == shows


def test_the_masked_comparison_sees_what_is_not_an_answer(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count in the zip's metadata, with real noise."""
    store_the_count(monkeypatch)
    one, other = (watcher.fit(rows, csv_file, see=described) for rows in (CLEAN, CLEAN[1:]))
    assert open_differences(one, other) == ["release"]


def test_a_release_is_described_down_to_its_fields(tmp_path: Path) -> None:
    bare = sf.Mixture(pairs=None)
    release = sf.fit(typed_frame(CLEAN, tmp_path), sf.Schema.parse(SCORES), epsilon=1, delta=1e-6, mechanism=bare)
    release.save(tmp_path / "r.sfumato")
    comment, entries, document, header, _, _ = described(tmp_path / "r.sfumato")
    assert comment == b""
    assert [(entry["filename"], entry["date_time"]) for entry in entries] == [
        ("release.json", (1980, 1, 1, 0, 0, 0)),
        ("arrays.safetensors", (1980, 1, 1, 0, 0, 0)),
    ]
    assert next(spend["name"] for spend in json.loads(document)["guarantee"]["spends"]) == "histograms"
    means = json.loads(header[8:])["means"]
    assert (means["dtype"], means["shape"]) == ("F64", [2, 4])


def test_of_a_tilted_release_all_is_described_but_what_its_tables_chose(tmp_path: Path) -> None:
    release = sf.fit(typed_frame(CLEAN, tmp_path), sf.Schema.parse(SCORES), epsilon=1, delta=1e-6)
    release.save(tmp_path / "r.sfumato")
    _, entries, document, header, _, _ = described(tmp_path / "r.sfumato")
    told, (names, arrays) = json.loads(document), json.loads(header)
    assert "file_size" not in entries[0]
    assert [spend["name"] for spend in told["guarantee"]["spends"]][-2:] == ["distances 3", "tables 3"]
    assert told["answers"][-1] == "tables 3"
    assert told["answers"][0]["what"]["kind"] == "histograms"
    assert (arrays["means"], "tilt.weights" in arrays, "tilt.weights" in names) == (["F64", [2, 4]], False, True)
