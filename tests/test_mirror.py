"""`tests/` mirrors `src/`: one test file a module, in the same folder, little beside it; no test reads the clock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sfumato

PACKAGE = Path(sfumato.__file__).parent
TESTS = Path(__file__).parent
WHOLE = {  # of no one module: the package, the repository, a property of many modules, or a theme of a large one
    "benchmarks",  # no part of the package
    "browser",  # pages in chromium, whatever module makes them
    "cli/test_main.py",  # what holds for every verb, and the command as a process
    "docs",
    "experiments",
    "ledger/test_adaptive_slices.py",  # releases chosen after earlier ones were seen: account and ledger together
    "ledger/test_ledger_kill.py",  # fits that are killed at any moment: the ledger and the releases on disk
    "ledger/test_ledger_slices.py",  # slices in the books: account, ledger and the file's format
    "models/test_mixture_groups.py",  # columns in groups, from the table through both mechanisms to the file
    "private/queries/test_clipped_gradients.py",  # of gradients.py: the clipped residuals alone
    "private/queries/test_feature_moments.py",  # of group_sums.py: moments of features
    "private/queries/test_group_sums_cells.py",  # of group_sums.py: groups that are cells
    "private/queries/test_group_sums_projected.py",  # of group_sums.py: projected rows and values of columns
    "private/test_door.py",  # what goes into the curator and comes out, from whatever module
    "private/test_elsewhere.py",  # a curator in another process
    "private/test_row_alone.py",
    "release/test_column_types.py",  # every kind of column, from the table through a release and back
    "release/test_golden.py",
    "tables/test_sources.py",  # what holds for tables of every source alike
    "serving/test_remote_kill.py",  # servers that are killed, and requests that are none: both sides and the ledger
    "test_architecture.py",
    "test_docstrings.py",  # of every public name
    "test_fuzz.py",
    "test_init.py",  # the package's own names
    "test_mirror.py",
    "test_packaging.py",  # what is handed out
    "test_same_totals.py",
    "test_side_doors.py",
    "test_trusted_base.py",
    "studio/test_whole_way.py",  # from a table to a release, by the commands that the studio shows
    "test_unreadable.py",  # cells that fit no bin, from table to sample
}
CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time.time", "time.time_ns"}
READ_THE_CLOCK: set[str] = set()
CEILINGS = {"modules without tests": 20, "tests without a module": 0}


def modules(package: Path) -> set[str]:
    """The test file that each module with code asks for."""
    found = (path.relative_to(package) for path in package.rglob("*.py") if path.name != "__init__.py")
    return {path.with_name(f"test_{path.name}").as_posix() for path in found}


def apart(package: Path, folder: Path) -> dict[str, list[str]]:
    """What stands on one side only."""
    wanted = modules(package)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("test_*.py")}
    alone = {path for path in there - wanted if path not in WHOLE and path.split("/")[0] not in WHOLE}
    return {"modules without tests": sorted(wanted - there), "tests without a module": sorted(alone)}


@pytest.mark.parametrize("side", CEILINGS)
def test_tests_mirror_the_package(side: str) -> None:
    found = apart(PACKAGE, TESTS)[side]
    assert len(found) <= CEILINGS[side], found


def test_what_is_apart_is_seen(tmp_path: Path) -> None:
    names = ("src/a.py", "src/__init__.py", "src/b/c.py", "tests/test_a.py", "tests/b/test_d.py", "tests/test_fuzz.py")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert apart(tmp_path / "src", tmp_path / "tests") == {
        "modules without tests": ["b/test_c.py"],
        "tests without a module": ["b/test_d.py"],
    }


def clocks(source: str) -> set[str]:
    """The clocks of the wall that a test reads."""
    if not any(name in source for name in CLOCKS):  # parsing takes longer
        return set()
    read = {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}
    return {name for name in read if name in CLOCKS or name.split(".")[-1] in CLOCKS}


def test_no_test_reads_the_clock() -> None:
    """A machine may be busy: what a test takes there is no fault of the code."""
    found = {p.relative_to(TESTS).as_posix() for p in TESTS.rglob("*.py") if clocks(p.read_text(encoding="utf-8"))}
    assert found <= READ_THE_CLOCK


@pytest.mark.parametrize("call", ["time.perf_counter()", "monotonic()", "time.time()", "t.monotonic_ns()"])
def test_a_clock_would_be_seen(call: str) -> None:
    assert clocks(f"started = {call}\nassert {call} - started < 1")
    assert not clocks("import time\ntime.sleep(1)\ntime.process_time()\nrow.time()")
