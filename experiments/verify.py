"""Do the recorded figures still come out? One seeded point of every figure and table, made again and compared.

    python -m experiments.verify                     points that were not verified at this commit, for 10 minutes
    python -m experiments.verify --only slicing      of one package
    python -m experiments.verify --again             all of them anew

A package offers its points in a module `verify` of its own: `points()` gives `Point`s. A point agrees if it is within
4 standard deviations of what is recorded; with the same code and versions it is the same number. Points that were made
are kept in results/verify.jsonl, so that a run which was stopped goes on; where time runs out, the rest is named.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.provenance import commit, made_by

PACKAGES = ("liu2025", "three_a", "slicing")
RESULTS = Path(__file__).parent / "results"
FILE = "verify.jsonl"
MINUTES = 10.0
DEVIATIONS = 4.0
DIGITS = 5e-3  # of a recorded figure, which may be rounded to three digits
MEDIAN = math.sqrt(math.pi / 2)  # standard deviation of a median over that of a mean, of normals

Result = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """A figure that is recorded, and how its trials are made again."""

    name: str
    """Package, figure or table, and which of its points."""
    recorded: float
    redo: Callable[[], Sequence[float]]
    """The values of the point's trials, with the seeds that were recorded."""
    sd: float | None = None
    """Of the recorded figure; by default what the trials' own spread says of it."""
    summary: Callable[[Sequence[float]], float] = statistics.median
    absent: type[Exception] = FileNotFoundError
    """What `redo` raises where its data is not on this machine."""

    def made(self) -> Result:
        """The point anew, and whether it agrees."""
        started = time.perf_counter()
        values = [float(value) for value in self.redo()]
        sd = self._spread(values) if self.sd is None else self.sd
        found = self.summary(values)
        agrees = abs(found - self.recorded) <= DEVIATIONS * sd + DIGITS * abs(self.recorded)
        seconds = round(time.perf_counter() - started, 1)
        told = {"name": self.name, "recorded": self.recorded, "found": found, "sd": sd, "agrees": agrees}
        return told | {"seconds": seconds} | made_by("python -m experiments.verify")

    def _spread(self, values: Sequence[float]) -> float:
        deviation = statistics.stdev(values)
        return deviation if self.summary is first else MEDIAN * deviation / math.sqrt(len(values))


def first(values: Sequence[float]) -> float:
    """The first release is what is recorded; the others tell how much it may vary."""
    return values[0]


def spread(values: Sequence[float], least: float) -> float:
    """The standard deviation of recorded releases, and no less than `least`: few releases may be alike by chance."""
    return max(least, statistics.stdev(values) if len(values) > 1 else 0.0)


def points(packages: Iterable[str] = PACKAGES) -> list[Point]:
    """The points of the packages, in their order."""
    return [point for name in packages for point in import_module(f"experiments.{name}.verify").points()]


def verify(offered: Sequence[Point], path: Path, *, minutes: float = MINUTES, again: bool = False) -> list[Result]:
    """Make the points that are not kept from this commit, as far as the time goes; all that are kept by then."""
    done = {} if again else {each["name"]: each for each in kept(path) if each["commit"] == commit()}
    until = time.monotonic() + 60.0 * minutes
    for point in offered:
        if point.name in done or time.monotonic() >= until:
            continue
        try:
            done[point.name] = point.made()
        except point.absent as error:
            print(f"{point.name} skipped: {error}", file=sys.stderr)
            done[point.name] = {"name": point.name, "skipped": str(error)}
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(each) + "\n" for each in done.values() if "skipped" not in each))
        print(line(done[point.name]), file=sys.stderr, flush=True)
    return [done[point.name] for point in offered if point.name in done]


def kept(path: Path) -> list[Result]:
    """The points in a file."""
    return [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []


def line(result: Result) -> str:
    """A point as a line of the table."""
    if "skipped" in result:
        return f"{result['name']:64} skipped: {result['skipped']}"
    says = "agrees" if result["agrees"] else "DIFFERS"
    figures = f"{result['recorded']:10.4g} {result['found']:10.4g} {result['sd']:9.2g} {result['seconds']:7.1f}"
    return f"{result['name']:64} {figures}  {says}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PACKAGES, help="one package")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="after which no further point is begun")
    parser.add_argument("--again", action="store_true", help="also points that were verified at this commit")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where points are kept")
    arguments = parser.parse_args()
    offered = points([arguments.only] if arguments.only else PACKAGES)
    found = verify(offered, arguments.out / FILE, minutes=arguments.minutes, again=arguments.again)
    print(f"{'point':64} {'recorded':>10} {'found':>10} {'sd':>9} {'seconds':>7}")
    print("\n".join(map(line, found)))
    made = {each["name"] for each in found}
    left = [point.name for point in offered if point.name not in made]
    if left:
        print(f"no time for {len(left)} of {len(offered)} points, run again to go on: {'; '.join(left)}")
    sys.exit(0 if all(each.get("agrees", True) for each in found) and not left else 1)


if __name__ == "__main__":
    main()
