"""The fuzzers' targets, the worst of what they are fed by name, and proof that the harness sees a fault.

`python -m fuzz` runs the same targets for much longer, by atheris too; audits/fuzz.json is its record.
"""

from __future__ import annotations

import gzip
import importlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fuzz import campaign, conditions, planted, releases, schemas, tables
from fuzz import cli as command_lines
from fuzz.harness import Limits, Outcome, Target, attempt, wrong_with
from hypothesis import HealthCheck, given, settings
from safetensors.numpy import save

import sfumato as sf
from sfumato.errors import ArgumentError, OutputError, SchemaError, SfumatoError, TableError
from sfumato.tables import csv, open_table
from sfumato.text import one_line

pytestmark = pytest.mark.slow

RECORD = Path(__file__).parent.parent / "audits" / "fuzz.json"
ENOUGH_CASES = 100_000
EXAMPLES = {"schemas": 100, "releases": 150, "tables": 100, "conditions": 100, "cli": 30}
PATIENCE = Limits(seconds=60.0)  # of processor time


def target(name: str) -> Target:
    found: Target = importlib.import_module(f"fuzz.{name}").TARGET
    return found


def judge(run: Callable[[bytes], None], data: bytes) -> Outcome:
    """The outcome of a case, which must be no fault."""
    outcome = attempt(run, data, PATIENCE)
    assert not outcome.fault, outcome
    return outcome


def refused(run: Callable[[bytes], None], data: bytes) -> None:
    assert judge(run, data).refused


def passed(run: Callable[[bytes], None], data: bytes) -> None:
    assert not judge(run, data).refused


# --- the targets


@pytest.mark.parametrize("name", EXAMPLES)
def test_seeds_are_no_faults_and_some_pass(name: str) -> None:
    outcomes = [judge(target(name).run, data) for data in target(name).seeds()]
    assert sum(not outcome.refused for outcome in outcomes) > len(outcomes) / 4


@pytest.mark.parametrize("name", EXAMPLES)
def test_structured_cases_are_no_faults(name: str) -> None:
    @settings(max_examples=EXAMPLES[name], suppress_health_check=list(HealthCheck))
    @given(target(name).cases())
    def take(data: bytes) -> None:
        judge(target(name).run, data)

    take()


@pytest.mark.parametrize("content", tables._good()[:3], ids=["text", "dictionary", "native"])
def test_damage_anywhere_in_the_end_of_a_parquet_file(content: tuple[int, bytes]) -> None:
    """There the numbers of rows, the sizes of pages and the places of columns are declared."""
    place, whole = content
    for at in range(len(whole) - 500, len(whole), 23):
        for word in (b"\xff\xff\xff\xff\x0f", b"\0\0\0\0"):
            judge(tables.run, bytes([place, 0]) + whole[:at] + word + whole[at + len(word) :])


# --- the harness sees what it is there for

FAULTS = {
    b"k": "KeyError at planted.py",
    b"h": "took more than 0.2 s of processor time at planted.py",
    b"m": "took more than 64 MB",
    b"l": "a message of several lines",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: bytes) -> None:
    limits = Limits(0.2 if fault == b"h" else PATIENCE.seconds, 64.0)
    assert FAULTS[fault] in attempt(planted.run, fault, limits).fault


def test_what_is_no_fault() -> None:
    assert judge(planted.run, b"r").refused
    assert not judge(planted.run, b"").refused


@pytest.mark.slow
def test_a_case_that_takes_the_process_down_is_kept_and_the_rest_goes_on(tmp_path: Path) -> None:
    job = campaign.Job("planted", "hypothesis", 12)
    campaign.run_job(job, tmp_path / "work", tmp_path / "keep", 1, Limits(1.0, 64.0), lambda line: None)
    assert job.done == 12
    assert job.restarts == 2
    whole = {what.split(" at ")[0] for what in job.faults}
    assert {"the process died of SIGSEGV", "KeyError", "a message of several lines"} <= whole
    assert {"took more than 1 s of processor time", "took more than 64 MB"} <= whole
    kept = {path.read_bytes() for path in (tmp_path / "keep").iterdir()}
    assert {b"c", b"k", b"l", b"h", b"m"} <= kept
    data = job.data()
    assert data["passed"] + data["refused"] + sum(fault["count"] for fault in data["faults"]) == 12


def test_a_process_that_hangs_where_no_alarm_reaches_it_is_seen(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        assert "hung" in campaign._watch(process, campaign.Job("planted", "atheris", 1), tmp_path, print, stuck=0.1)
        process.kill()


def test_a_campaign_has_as_many_cases_as_were_asked_for() -> None:
    made = campaign.jobs(ENOUGH_CASES, list(campaign.SHARES))
    assert ENOUGH_CASES <= sum(job.cases for job in made) < ENOUGH_CASES + len(made)
    assert {job.target for job in made} == set(EXAMPLES)


def test_the_record_is_of_a_whole_campaign_without_a_fault() -> None:
    record = json.loads(RECORD.read_text())
    assert record["cases"] >= ENOUGH_CASES
    assert record["faults"] == 0
    assert {(job["target"], job["driver"]) for job in record["jobs"]} == {
        (name, driver) for name in EXAMPLES for driver in campaign.DRIVERS
    }


# --- schemas


def laughs(use: str) -> bytes:
    """Nine to the twelfth elements in a few hundred letters."""
    lines = [f"a{i}: &a{i} [{','.join([f'*a{i - 1}' if i else 'x'] * 9)}]\n" for i in range(12)]
    return ("".join(lines) + use).encode()


MANY = ",".join(f'"a{i}":{{"type":"number","min":0,"max":1}}' for i in range(20_000))
SCHEMAS: dict[str, bytes] = {
    "billion laughs as the columns": laughs("columns: *a11\n"),
    "billion laughs as a type": laughs("columns: {a: {type: *a11}}\n"),
    "billion laughs as a key": laughs("? *a11\n: 1\n"),
    "billion laughs as values": laughs("columns: {a: {type: category, values: *a11}}\n"),
    "merges of merges": b"a: &a {x: 1}\nb: &b {<<: [*a, *a, *a]}\ncolumns: {<<: [*b, *b]}\n",
    "a structure that holds itself": b"columns: &a {x: *a}\n",
    "a list that holds itself": b"columns: &a [*a]\n",
    "nested JSON": b"[" * 100_000,
    "nested YAML": b"columns: " + b"[" * 1000,
    "nested dashes": b"- " * 20_000,
    "a line of 10 MB": b"columns: {a: {type: " + b"a" * 10_000_000 + b"}}",
    "many wrong values": b'{"columns":{"a":{"type":"category","values":[' + b"[]," * 200_000 + b"[]]}}}",
    "many wrong atoms": b'{"columns":{"a":{"type":"number","atoms":[' + b"[]," * 200_000 + b"[]]}}}",
    "an integer too long to write": b"columns: {a: {type: category, values: [0x" + b"f" * 5000 + b"]}}",
    "a date outside the calendar": b"columns: {a: {type: date, min: 0001-01-01T00:00:00+23:59, max: 9}}",
    "a column that moves the cursor": b'{"columns": {"a\\u001b[2Jb": {"type": "x"}}}',
    "a column on two lines": b'{"columns": {"a\\nb": {"type": "x"}}}',
    "a column without end": b'{"columns": {"' + b"a" * 10**6 + b'": {"type": "x"}}}',
    "a null byte": b"columns: \0",
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_hostile_schemas(name: str) -> None:
    refused(schemas.run, SCHEMAS[name])


def test_a_schema_of_many_columns_is_read_in_linear_time() -> None:
    assert len(sf.Schema.parse(f'{{"columns":{{{MANY}}}}}').columns) == 20_000


def test_aliases_for_whole_columns_are_read() -> None:
    made = sf.Schema.parse("columns: {x: &n {type: number, min: 0, max: 1}, y: *n}")
    assert made.columns["x"] == made.columns["y"]


def test_many_atoms_among_many_bins_take_little_memory() -> None:
    wide = {"type": "number", "min": 0, "max": 1, "bins": 5000, "atoms": [i / 5003 for i in range(5000)]}
    passed(schemas.run, json.dumps({"columns": {"a": wide}}).encode())


def test_a_path_that_no_file_can_have(tmp_path: Path) -> None:
    long = tmp_path / ("a" * 300)
    calls: list[Callable[[], Any]] = [
        lambda: sf.Schema.load(long),
        lambda: sf.Schema.load("a\0b"),
        lambda: sf.load(long),
        lambda: sf.load("a\0b"),
        lambda: open_table(f"{long}.csv"),
        lambda: open_table(f"{long}.parquet"),
        lambda: open_table("a\0b.csv"),
    ]
    for call in calls:
        with pytest.raises(SfumatoError):
            call()
    with pytest.raises(OutputError):
        sf.Schema.parse(schemas.GOOD).save(long)


def test_foreign_text_is_shown_on_one_short_line() -> None:
    for text in ("a\nb", "\x1b[2J", "\x9b31m", "a\u2028b", "\ud800", "x" * 10**6, "\x07" * 400):
        assert not wrong_with(one_line(text))
        assert one_line(text).isprintable()


# --- releases


def released(change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> bytes:
    document, arrays = releases.unpack(releases.good_releases()[0])
    change(document, arrays)
    return releases.case_of(json.dumps(document).encode(), save(arrays))


def costly(document: dict[str, Any], value: float) -> None:
    document["guarantee"]["mu"] = value
    for spend in document["guarantee"]["spends"]:
        spend["mu"] = value


def bombs() -> dict[str, bytes]:
    head = b'{"format": "sfumato-release", "x": ['
    return {
        "a bomb of empty lists": head + b"[]," * (20 << 20) + b"[]]}",
        "a bomb of empty lists, less tight": head + b"[]," * (1 << 20) + b"[]]}",
        "a bomb of numbers": head + b"1.5," * (15 << 20) + b"1]}",
    }


@pytest.mark.parametrize("name", bombs())
def test_bombs_of_json(name: str) -> None:
    packed = releases.pack([(releases.JSON, bombs()[name]), (releases.ARRAYS, b"")], method=8)
    refused(releases.run, releases.RAW + packed)


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "a mu whose square overflows": lambda d, a: costly(d, 1e200),
    "the largest mu": lambda d, a: costly(d, 1.7e308),
    "a weight that is no number": lambda d, a: a["weights"].fill(np.nan),
    "an infinite mean": lambda d, a: a["means"].fill(np.inf),
    "an indefinite covariance": lambda d, a: a.update(covariances=np.ones_like(a["covariances"])),
    "a huge covariance": lambda d, a: a["covariances"].fill(1e308),
    "another number format": lambda d, a: a.update(weights=a["weights"].astype(np.float16)),
    "many atoms in many bins": lambda d, a: d["schema"]["columns"].update(
        x={"type": "number", "min": 0, "max": 1, "bins": 60_000, "atoms": [i / 50_000 for i in range(50_000)]}
    ),
    "an unknown version": lambda d, a: d.update(version=10**4000),
    "a key that moves the cursor": lambda d, a: d["guarantee"].update({"\x1b[2J": 1}),
    "many wrong components": lambda d, a: d["model"]["facts"].update(components=[0] * 10**5),
    "components without end": lambda d, a: d["model"]["facts"].update(components=[1, 10**9]),
    "a spend whose name is no text": lambda d, a: d["guarantee"]["spends"][0].update(name="\ud800"),
    "a spend on two lines": lambda d, a: d["guarantee"]["spends"][0].update(name="x\nGuarantee: all"),
    "a unit whose name is no text": lambda d, a: (
        d["guarantee"].update(unit="\ud800"),
        d["schema"]["unit"].update(column="\ud800"),
    ),
    "many wrong spends": lambda d, a: d["guarantee"].update(spends=[{}] * 10**5),
}


@pytest.mark.parametrize("name", CHANGES)
def test_hostile_releases(name: str) -> None:
    refused(releases.run, released(CHANGES[name]))


def test_a_shape_without_end() -> None:
    _, arrays = releases.unpack(releases.good_releases()[0])
    document = json.dumps(releases.unpack(releases.good_releases()[0])[0]).encode()
    whole = save(arrays)
    size = struct.unpack("<Q", whole[:8])[0]
    for shape in ([2**62], [2**31, 2**31, 2**31], [0, 2**63], [-1]):
        header = json.loads(whole[8 : 8 + size])
        header["weights"]["shape"] = shape
        text = json.dumps(header).encode()
        refused(releases.run, releases.case_of(document, struct.pack("<Q", len(text)) + text + whole[8 + size :]))


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../release.json", "release.json", "C:\\x", "d/"])
def test_entries_that_point_elsewhere(name: str, tmp_path: Path) -> None:
    document, arrays = releases.unpack(releases.good_releases()[0])
    entries = [(releases.JSON, json.dumps(document).encode()), (releases.ARRAYS, save(arrays)), (name, b"x")]
    refused(releases.run, releases.RAW + releases.pack(entries))


def test_a_unit_on_two_lines_cannot_forge_a_guarantee() -> None:
    def change(document: dict[str, Any], arrays: dict[str, Any]) -> None:
        document["schema"]["unit"]["column"] = document["guarantee"]["unit"] = "who\n\x1b[2JGuarantee: (0.001, 0)"

    passed(releases.run, released(change))


# --- tables


def table_case(kind: str, content: bytes, dialect: int = 0) -> bytes:
    return bytes([tables.KINDS.index(kind), dialect]) + content


HEADER = b"x,c,d,y\n"
ROW = b"1,a,2020-02-02,yes\n"
LONG_LINES: dict[str, bytes] = {
    "10 MB in one cell": HEADER + b"1," + b"a" * 10_000_000 + b"\n" + ROW,
    "a line longer than a line may be": HEADER + ROW + b"1" * (csv.LONGEST_LINE + 1) + b"\n" + ROW,
    "no line break": HEADER + b"1" * (csv.LONGEST_LINE + 1),
    "delimiters only": HEADER + b"," * 1_000_000,
    "quotes only": HEADER + b'"' * 1_000_000 + b"\n",
    "nulls only": HEADER + b"\0" * 1_000_000,
}


@pytest.mark.parametrize("name", LONG_LINES)
def test_what_rows_hold_raises_nothing(name: str) -> None:
    passed(tables.run, table_case(".csv", LONG_LINES[name]))


def test_a_header_without_end_is_refused() -> None:
    refused(tables.run, table_case(".csv", b"x" * (csv.LONGEST_LINE + 1)))


@pytest.mark.parametrize("kind", [".csv.gz", ".csv.zst"])
def test_decompression_bombs(kind: str) -> None:
    """128 MB in one line or one header: neither is ever held in memory."""
    packer = tables.PACKERS[Path(kind).suffix]
    passed(tables.run, table_case(kind, packer(HEADER + b"a" * (1 << 27))))
    refused(tables.run, table_case(kind, packer(b"a" * (1 << 27))))
    refused(tables.run, table_case(kind, packer(HEADER + ROW * 5000)[:-9]))


def test_a_long_line_is_a_bad_row_wherever_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(csv, "BLOCK_BYTES", 8)
    monkeypatch.setattr(csv, "LONGEST_LINE", 16)
    path = tmp_path / "t.csv"
    for before in range(12):
        for length in (14, 15, 16, 17, 40):
            for ending in (b"", b"\n", b"\nab\nc"):
                path.write_bytes(b"x\n" + b"a\n" * before + b"b" * length + ending)
                cells = [cell for batch in open_table(path).batches(["x"]) for cell in batch["x"].to_pylist()]
                tail = ["ab", "c"] if ending.endswith(b"c") else []
                fits = length <= 16
                assert cells == ["a"] * before + ["b" * length if fits else None] + tail


def test_compressed_rows_without_end_are_read_in_pieces() -> None:
    passed(tables.run, table_case(".csv.gz", gzip.compress(HEADER + ROW * 200_000)))


def arrow_with(**columns: pa.Array) -> bytes:
    rest = {name: pa.array(cells) for name, cells in tables.COLUMNS.items()}
    return tables.arrow(pa.table(rest | columns))


def test_arrow_offsets_and_indices_that_point_elsewhere() -> None:
    good = pa.array(["1", "2", "3", "4", "5"])
    for odd in ([0, 1, 2**30, 3, 4, 5], [0, 1, -5, 3, 4, 5], [0, 5, 4, 3, 2, 5]):
        offsets = pa.py_buffer(np.array(odd, dtype=np.int32))
        broken = pa.Array.from_buffers(pa.string(), 5, [None, offsets, good.buffers()[2]])
        refused(tables.run, table_case(".arrow", arrow_with(x=broken)))
    for index in (-1, 5, 2**30):
        places = pa.array([0, 1, index, 0, 0], pa.int32())
        broken = pa.DictionaryArray.from_arrays(places, good, safe=False)
        refused(tables.run, table_case(".arrow", arrow_with(c=broken)))


def test_arrow_cells_that_are_odd_but_sound() -> None:
    """Full validation would refuse these, and so tell what a cell holds."""
    no_text = pa.array([b"\xff", b"a", None, b"\xc3", b"b"]).view(pa.string())
    too_wide = pa.array([Decimal("9999"), None, Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(38, 0))
    narrow = pa.Array.from_buffers(pa.decimal128(2, 0), 5, too_wide.buffers())
    passed(tables.run, table_case(".arrow", arrow_with(c=no_text, x=narrow)))
    passed(tables.run, table_case(".arrow", arrow_with(c=no_text.dictionary_encode())))


@pytest.mark.parametrize("kind", [".arrow", ".parquet"])
@pytest.mark.parametrize("nested", [False, True])
def test_names_that_are_no_text(kind: str, nested: bool) -> None:
    """A name that is not UTF-8 and, of a column asked for, a type that cannot be written down."""
    made = {"x": pa.array([{"Qwfpg": 1}])} if nested else {"Qwfpg": pa.array([1])}
    whole = tables.arrow(pa.table(made)) if kind == ".arrow" else tables.parquet(pa.table(made))
    for odd in (b"Q\xff\xff\xffg", b"Q\n\x1b[m"):
        refused(tables.run, table_case(kind, whole.replace(b"Qwfpg", odd)))


def test_names_of_columns_cannot_forge_a_line() -> None:
    odd = tables.parquet(pa.table({"a\nerror: none\x1b[2J": [1]}))
    refused(tables.run, table_case(".parquet", odd))


def test_damaged_duckdb_files() -> None:
    whole = tables.duckdb_file()
    passed(tables.run, table_case(".duckdb", whole))
    written = [at for at, byte in enumerate(whole) if byte]
    for at in written[:: len(written) // 15]:
        judge(tables.run, table_case(".duckdb", whole[:at] + b"\xff" + whole[at + 1 :]))


def test_a_table_of_no_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for content in (b"", b"PAR1", b"PAR1" * 3, b"PAR1" + b"\xff" * 40 + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(TableError, match="cannot read"):
            open_table(path)


# --- conditions and command lines


@pytest.mark.parametrize("given_", [3.5, [{}], "x", True, np.array([1, 2])])
def test_given_that_is_no_mapping(given_: Any) -> None:
    with pytest.raises(ArgumentError, match="given must be a mapping"):
        conditions._release().sample(1, given=given_)


LINES = {
    "an option without its value": "fit -o",
    "a name longer than a file's can be": f"inspect {'é' * 5000}",
    "an output longer than a file's name can be": f"sample r.sfumato -n 1 -o {'a' * 300}.csv",
    "a schema longer than a file's name can be": f"plan {'a' * 300} --epsilon 1 --delta 1e-6",
    "bytes that are no text, in a name to print": "schema data.csv -o \udcff.yaml",
    "bytes that are no text, as JSON": "sample r.sfumato -n 1 -o \udcff.csv --json",
    "control characters": "inspect \x1b[31m",
}


@pytest.mark.parametrize("name", LINES)
def test_hostile_command_lines(name: str) -> None:
    judge(command_lines.run, LINES[name].replace(" ", "\0").encode("utf-8", "surrogateescape"))


def test_a_schema_error_is_one_line_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(SCHEMAS["a column on two lines"])
    with pytest.raises(SchemaError) as caught:
        sf.Schema.load(path)
    assert not wrong_with(str(caught.value))
