"""`python -m fuzz --cases 100000 -o audits/fuzz.json`: fuzz every input, and record what came of it.

`python -m fuzz --again FILE --target NAME` runs one saved case.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fuzz.campaign import SHARES, Job, jobs, run_job
from fuzz.harness import Limits

PACKAGES = ("sfumato", "atheris", "hypothesis", "pyarrow", "pandas", "pydantic", "pyyaml", "safetensors", "numpy")


def main() -> int:
    """Run a campaign; exit code 1 where it found a fault."""
    options = _options()
    if options.again is not None:
        importlib.import_module(f"fuzz.{options.target[0]}").TARGET.run(options.again.read_bytes())
        return 0
    limits = Limits(options.seconds, options.megabytes)
    todo = jobs(options.cases, options.target or list(SHARES))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        try:
            for job in todo:
                run_job(job, Path(folder), options.faults, options.seed, limits, _show)
                _write(options.output, _record(todo, limits, options.seed, time.monotonic() - started))
                _show("")
                print(_summary(job), flush=True)
        except KeyboardInterrupt:
            print("\ninterrupted: the record holds the jobs that were done")
    record = _record(todo, limits, options.seed, time.monotonic() - started)
    _write(options.output, record)
    print(f"{record['cases']} cases in {record['seconds']} s, {record['faults']} faults")
    return 1 if record["faults"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many in all")
    parser.add_argument("-o", "--output", type=Path, help="where to write the record (JSON)")
    parser.add_argument("--faults", type=Path, default=Path("fuzz-faults"), help="where to keep a case of each fault")
    parser.add_argument("--target", action="append", help="one target only; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="of processor time for one case")
    parser.add_argument("--megabytes", type=float, default=Limits.megabytes, help="what one case may take")
    parser.add_argument("--again", type=Path, help="a saved case to run once more, with --target")
    return parser.parse_args()


def _record(done: list[Job], limits: Limits, seed: int, seconds: float) -> dict[str, Any]:
    return {
        "command": f"python -m fuzz {' '.join(sys.argv[1:])}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "limits_of_a_case": vars(limits),
        "seed": seed,
        "cases": sum(job.done for job in done),
        "faults": sum(fault["count"] for job in done for fault in job.faults.values()),
        "seconds": round(seconds),
        "jobs": [job.data() for job in done],
    }


def _write(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2) + "\n")


def _show(line: str) -> None:
    if sys.stdout.isatty():
        print(f"\r\x1b[K{line}", end="", flush=True)


def _summary(job: Job) -> str:
    faults = ", ".join(f"{fault['count']} times {what}" for what, fault in job.faults.items()) or "no fault"
    return (
        f"{job.target:<11} {job.driver:<11} {job.done:>6} cases in {job.seconds:4.0f} s, {job.refused} refused, "
        f"slowest {job.slowest_seconds:.1f} s, {job.peak_megabytes:.0f} MB: {faults}"
    )


if __name__ == "__main__":
    sys.exit(main())
