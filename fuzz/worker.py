"""One process that feeds one target by one driver: `python -m fuzz.worker TARGET DRIVER CASES SEED FOLDER`.

A library underneath may take the whole process down, so the case at hand always lies in FOLDER/current, behind the
number of cases begun, and `record.json` there holds what was seen so far.
"""

from __future__ import annotations

import importlib
import json
import mmap
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

from fuzz.harness import Limits, Outcome, Target, attempt, limit_memory

HEAD = struct.Struct("<QQ")
ROOM = 1 << 22
FLUSH_SECONDS = 1.0
NEVER_SECONDS = 1_000_000
BATCH = 1000  # examples of one Hypothesis run
HEADROOM_MEGABYTES = 4096.0
LIBRARIES = ["sfumato"]  # whose branches lead atheris


class Recorder:
    """Runs cases and keeps the books."""

    def __init__(self, target: Target, cases: int, folder: Path, limits: Limits) -> None:
        self._target, self._cases, self._folder, self._limits = target, cases, folder, limits
        self._flushed = time.monotonic()
        path = folder / "current"
        path.write_bytes(bytes(HEAD.size + ROOM))
        with path.open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), 0)
        self.done = 0
        self._refused = 0
        self._slowest, self._peak = 0.0, 0.0
        self._faults: dict[str, dict[str, Any]] = {}

    @property
    def full(self) -> bool:
        return self.done >= self._cases

    def take(self, data: bytes) -> None:
        """Run one case."""
        if self.full:
            return
        self.done += 1
        self._current[: HEAD.size] = HEAD.pack(self.done, len(data))
        self._current[HEAD.size : HEAD.size + len(data[:ROOM])] = data[:ROOM]
        outcome = attempt(self._target.run, data, self._limits)
        self._refused += outcome.refused
        self._slowest = max(self._slowest, outcome.seconds)
        self._peak = max(self._peak, outcome.megabytes)
        if outcome.fault:
            self._note(outcome, data)
        if self.full or time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def _note(self, outcome: Outcome, data: bytes) -> None:
        known = self._faults.setdefault(outcome.fault, {"count": 0, "detail": outcome.detail})
        known["count"] += 1
        if len(data) < len(bytes.fromhex(known.get("case", ""))) or "case" not in known:
            known["case"] = data.hex()
        self.flush()

    def flush(self) -> None:
        """Write what was seen so far."""
        self._flushed = time.monotonic()
        record = {
            "cases": self.done,
            "refused": self._refused,
            "slowest_seconds": self._slowest,
            "peak_megabytes": self._peak,
            "faults": self._faults,
        }
        temporary = self._folder / "record.tmp"
        temporary.write_text(json.dumps(record))
        temporary.replace(self._folder / "record.json")


def with_hypothesis(target: Target, seeds: list[bytes], recorder: Recorder, seed: int) -> None:
    """Cases from the target's strategy."""
    import hypothesis

    for data in seeds:
        recorder.take(data)

    quiet = {"database": None, "deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}
    batch = hypothesis.settings(max_examples=BATCH, phases=[hypothesis.Phase.generate], **quiet)
    while not recorder.full:
        hypothesis.seed(seed)(batch(hypothesis.given(target.cases())(lambda data: recorder.take(data))))()
        seed += 1


def with_atheris(target: Target, seeds: list[bytes], recorder: Recorder, seed: int, folder: Path) -> None:
    """Cases that atheris makes out of good ones, led by the branches they reach."""
    import atheris

    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for place, data in enumerate(seeds):
        (corpus / f"seed{place:03}").write_bytes(data)

    words = folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))

    def take(data: bytes) -> None:
        recorder.take(data)
        if recorder.full:
            sys.stderr.flush()
            os._exit(0)  # libFuzzer has no other way out of its loop

    options = [f"-seed={seed}", f"-max_len={target.longest}", "-rss_limit_mb=0", "-len_control=0"]
    options += [f"-timeout={NEVER_SECONDS}"]  # of wall time, and 0 would mean 1 to atheris; the harness has a clock
    options += [f"-artifact_prefix={folder}/", *([f"-dict={words}"] if target.words else [])]
    unhandled = [f"-handle_{name}=0" for name in ("segv", "bus", "abrt", "ill", "fpe")]  # the watcher tells them apart
    atheris.Setup([sys.argv[0], *options, *unhandled, str(corpus)], take)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def _load(name: str, is_led: bool) -> Target:
    def find() -> Target:
        found: Target = importlib.import_module(f"fuzz.{name}").TARGET
        return found

    if not is_led:
        return find()
    import atheris

    with atheris.instrument_imports(include=LIBRARIES):
        for module in ("sfumato.api", "sfumato.cli", "sfumato.drafting", "sfumato.rows_file"):
            importlib.import_module(module)
        return find()


def main() -> None:
    """Run one job to its end."""
    name, driver, cases, seed, folder, seconds, megabytes = sys.argv[1:8]
    target = _load(name, is_led=driver == "atheris")
    recorder = Recorder(target, int(cases), Path(folder), Limits(float(seconds), float(megabytes)))
    limit_memory(HEADROOM_MEGABYTES)
    fatal = {path.read_bytes() for path in Path(folder).parent.glob("*/fatal")}  # to earlier processes of this campaign
    seeds = [data for data in target.seeds() if data not in fatal]
    if driver == "atheris":
        with_atheris(target, seeds, recorder, int(seed), Path(folder))
    else:
        with_hypothesis(target, seeds, recorder, int(seed))
    recorder.flush()


if __name__ == "__main__":
    main()
