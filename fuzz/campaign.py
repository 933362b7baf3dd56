"""A campaign: every target by both drivers, each job in a process of its own that is watched."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.harness import Limits
from fuzz.worker import HEAD

SHARES = {"schemas": 0.30, "releases": 0.32, "tables": 0.25, "conditions": 0.10, "cli": 0.03}
DRIVERS = {"atheris": 0.6, "hypothesis": 0.4}
STUCK_SECONDS = 60.0  # no new case for so long: the process hangs where no Python alarm reaches it
TO_START = 10.0  # times as long before the first case: imports that atheris rewrites take a minute on a busy machine
POLL_SECONDS = 0.5
COVERAGE = re.compile(rb"cov: (\d+)")


@dataclass
class Job:
    """One target by one driver, and what came of it."""

    target: str
    driver: str
    cases: int
    done: int = 0
    refused: int = 0
    slowest_seconds: float = 0.0
    peak_megabytes: float = 0.0
    edges: int = 0
    seconds: float = 0.0
    restarts: int = 0
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """The job as plain data for the record."""
        found = {
            "target": self.target,
            "driver": self.driver,
            "cases": self.done,
            "passed": self.done - self.refused - sum(fault["count"] for fault in self.faults.values()),
            "refused": self.refused,
            "faults": [{"what": what} | fault for what, fault in sorted(self.faults.items())],
            "slowest_seconds": round(self.slowest_seconds, 2),
            "peak_megabytes": round(self.peak_megabytes),
            "seconds": round(self.seconds),
        }
        return found | ({"edges_covered": self.edges} if self.driver == "atheris" else {})


def jobs(cases: int, targets: list[str]) -> list[Job]:
    """How so many cases are divided among targets and drivers."""
    total = sum(SHARES.get(name, 1.0) for name in targets)
    return [
        Job(name, driver, math.ceil(cases * SHARES.get(name, 1.0) / total * part))
        for name in targets
        for driver, part in DRIVERS.items()
    ]


def run_job(
    job: Job,
    folder: Path,
    keep: Path,
    seed: int,
    limits: Limits,
    say: Callable[[str], None],
    stuck: float = STUCK_SECONDS,
) -> None:
    """Run a job to its end; where a case takes the process down, note it and go on with the next."""
    started = time.monotonic()
    while job.done < job.cases:
        part = folder / f"{job.target}-{job.driver}-{job.restarts}"
        part.mkdir(parents=True)
        ended = _run_part(job, part, seed + job.restarts, limits, say, stuck)
        before = job.done
        _collect(job, part, keep, ended)
        job.seconds = time.monotonic() - started
        if job.done == before:
            raise RuntimeError(f"{job.target} by {job.driver} does not start; see {part / 'log'}")
        job.restarts += 1


def _run_part(job: Job, part: Path, seed: int, limits: Limits, say: Callable[[str], None], stuck: float) -> str:
    """Run one process; how it ended is empty if well."""
    left = job.cases - job.done
    sizes = [str(left), str(seed), str(part), str(limits.seconds), str(limits.megabytes)]
    with (part / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", job.target, job.driver, *sizes],
            stdout=log,
            stderr=log,
            env=os.environ | {"TMPDIR": str(part)},  # so that what a dead process left goes with the campaign's folder
        )
        try:
            return _watch(process, job, part, say, stuck)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _watch(process: subprocess.Popen[bytes], job: Job, part: Path, say: Callable[[str], None], stuck: float) -> str:
    begun, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(POLL_SECONDS)
        now = _current(part)[0]
        if now != begun:
            begun, since = now, time.monotonic()
            say(f"{job.target} by {job.driver}: {job.done + begun} of {job.cases}")
        elif time.monotonic() - since > (allowed := stuck if begun else TO_START * stuck):
            return f"hung for {allowed:g} s"
    code = process.returncode
    return "" if code == 0 else f"died of {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _current(part: Path) -> tuple[int, bytes]:
    """How many cases a process has begun, and the last of them."""
    path = part / "current"
    if not path.exists():
        return 0, b""
    content = path.read_bytes()
    if len(content) < HEAD.size:
        return 0, b""
    begun, size = HEAD.unpack_from(content)
    return begun, content[HEAD.size : HEAD.size + size]


def _collect(job: Job, part: Path, keep: Path, ended: str) -> None:
    path = part / "record.json"
    record = json.loads(path.read_text()) if path.exists() else {"cases": 0, "refused": 0, "faults": {}}
    begun, last = _current(part)
    job.done += begun
    job.refused += record["refused"]
    job.slowest_seconds = max(job.slowest_seconds, record.get("slowest_seconds", 0.0))
    job.peak_megabytes = max(job.peak_megabytes, record.get("peak_megabytes", 0.0))
    found = re.findall(COVERAGE, (part / "log").read_bytes())
    job.edges = max(job.edges, int(found[-1])) if found else job.edges
    faults = dict(record["faults"])
    if ended and begun:
        (part / "fatal").write_bytes(last)
        faults[f"the process {ended}"] = {"count": 1, "detail": "", "case": last.hex()}
    for what, fault in faults.items():
        known = job.faults.setdefault(what, {"count": 0, "detail": fault["detail"].strip()[-600:]})
        known["count"] += fault["count"]
        known["reproducer"] = _save(keep, job.target, what, bytes.fromhex(fault["case"]))


def _save(keep: Path, target: str, what: str, case: bytes) -> str:
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"{target}-{hashlib.sha256(what.encode()).hexdigest()[:12]}.bin"
    path.write_bytes(case)
    return path.name
