"""The committed record: every audit by its command, at the number of runs that the claims about it are made for.

python -m benchmarks.audits            # all, into audits/
python -m benchmarks.audits mixture    # some
python -m benchmarks.audits merged --adjacency replace-one --trials 500 --workers 1
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from experiments.provenance import made_by
from rich.progress import Progress

from sfumato import __version__
from sfumato.audit.game_plot import draw
from sfumato.audit.run import AUDITS, run

FOLDER = Path("audits")
MU_ONE = 4.377  # at delta 1e-5
MU_THREE = 16.67  # the same; of few runs a bound comes closest to a claim of about 3
SETTINGS = {  # epsilon and trials, where they are not the usual ones
    "mixture": (MU_ONE, 20_000),
    "mixture-affine": (MU_ONE, 2_000),
    "mixture-components": (MU_ONE, 200),
    "mixture-adapt": (MU_ONE, 200),
    "mixture-pairs": (MU_ONE, 5_000),
    "merged": (MU_THREE, 800),
    "clustmix": (MU_ONE, 200),
    "slicing": (MU_ONE, 200),
    "gaussian-query": (MU_ONE, 20_000),
    "histogram-query": (MU_ONE, 20_000),
    "moment-query": (MU_ONE, 20_000),
    "cell-query": (MU_ONE, 20_000),
    "gradient-query": (MU_ONE, 20_000),
    "wave-query": (MU_ONE, 20_000),
    "table-query": (MU_ONE, 20_000),
    "distance-query": (MU_ONE, 20_000),
    "published-clustmix": (1.0, 2_000),
    "membership": (1.0, 400),
}
USUAL = (1.0, 20_000)
DELTA = 1e-5
SEEN = {"slicing-rows": (0.5, 0.05), "published-slicing": (0.5, 0.05)}  # no mu to bound: a delta that runs can show
CONVICTED = ("published-wishart", "published-weights", "published-clustmix")
FEWER = 2_000  # runs for the adjacencies beside the first


def record(name: str, adjacency: str, wanted: int | None = None, workers: int | None = None) -> bool:
    """Run one audit and write its JSON and its picture. Says whether it convicted."""
    epsilon, usual = SETTINGS.get(name, USUAL)
    epsilon, delta = SEEN.get(name, (epsilon, DELTA))
    trials = wanted or (usual if adjacency == AUDITS[name].adjacencies[0] else min(usual, FEWER))
    started = time.perf_counter()
    with Progress() as progress:
        task = progress.add_task(f"{name} {adjacency}", total=1.0)
        verdict = run(
            name,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            adjacency=adjacency,
            workers=workers,
            advance=lambda done, total: progress.advance(task, done / total),
        )
    options = f"--epsilon {epsilon} --delta {delta} --trials {trials} --adjacency {adjacency}"
    made = made_by(f"sfumato audit {name} {options}") | {
        "seeds": "none: the noise is of the operating system",
        "date": datetime.now(UTC).date().isoformat(),
        "sfumato": __version__,
        "seconds": round(time.perf_counter() - started),
    }
    stem = FOLDER / (name if AUDITS[name].adjacencies[0] == adjacency else f"{name}-{adjacency}")
    stem.with_suffix(".json").write_text(json.dumps(verdict.data() | {"run": made}, indent=1) + "\n")
    draw(verdict, stem.with_suffix(".png"))
    print(verdict.table(), flush=True)
    return verdict.violation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which audits; all by default")
    parser.add_argument("--adjacency", help="under this one alone; under all that an audit knows by default")
    parser.add_argument("--trials", type=int, help="runs a table, where not the usual number")
    parser.add_argument("--workers", type=int, help="processes; as many as cores by default")
    given = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    plans = [(name, str(each)) for name in given.names or AUDITS for each in AUDITS[name].adjacencies]
    plans = [plan for plan in plans if given.adjacency in (None, plan[1])]
    surprises = [
        " ".join(plan) for plan in plans if record(*plan, given.trials, given.workers) != (plan[0] in CONVICTED)
    ]
    if surprises:
        sys.exit(f"not as expected: {', '.join(surprises)}")


if __name__ == "__main__":
    main()
