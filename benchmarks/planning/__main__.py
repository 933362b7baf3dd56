"""Measure what plans foresee: `python -m benchmarks.planning PART`, of usefulness, widths and correlations.

Results are kept in benchmarks/planning/results, one file a part, cell by cell: a run that was stopped goes on.
`python -m benchmarks.planning tables` prints the tables of docs/planning.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from experiments.provenance import made_by

from benchmarks.planning import correlation_widths, half_widths, page, usefulness
from benchmarks.planning.page import RESULTS

PARTS: dict[str, Any] = {"usefulness": usefulness, "widths": half_widths, "correlations": correlation_widths}


def run(name: str, releases: int) -> None:
    """Measure the cells of a part that are not there yet, and write after each."""
    part, path = PARTS[name], RESULTS / f"{name}.json"
    kept = json.loads(path.read_text())["cells"] if path.exists() else {}
    for cell in part.cells():
        key = " ".join(map(str, cell))
        found = kept.setdefault(key, [])
        while len(found) < releases:
            figures = part.measure(*cell, seed=len(found))
            if figures is None:
                break
            found.append(figures)
            save(path, name, releases, kept)
            print(key, figures, flush=True)


def save(path: Path, name: str, releases: int, kept: dict[str, Any]) -> None:
    """All cells so far, with what made them."""
    made = made_by(f"python -m benchmarks.planning {name} --releases {releases}")
    path.parent.mkdir(exist_ok=True)
    seeds = "one a release, from 0 on"
    path.write_text(json.dumps({"made_by": made | {"seeds": seeds}, "cells": kept}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "tables"])
    parser.add_argument("--releases", type=int, default=2)
    given = parser.parse_args()
    if given.part == "tables":
        print(page.tables())
    else:
        run(given.part, given.releases)


if __name__ == "__main__":
    main()
