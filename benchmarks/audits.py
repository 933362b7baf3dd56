"""The committed record: every audit by its command, at the number of runs that the claims about it are made for.

python -m benchmarks.audits            # all, into audits/
python -m benchmarks.audits mixture    # some
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.progress import Progress

from sfumato import __version__
from sfumato.audit.game_plot import draw
from sfumato.audit.run import AUDITS, run

FOLDER = Path("audits")
MU_ONE = 4.377  # at delta 1e-5
SETTINGS = {  # epsilon and trials, where they are not the usual ones
    "mixture": (MU_ONE, 20_000),
    "mixture-affine": (MU_ONE, 2_000),
    "mixture-components": (MU_ONE, 200),
    "mixture-adapt": (MU_ONE, 200),
    "mixture-pairs": (MU_ONE, 5_000),
    "merged": (MU_ONE, 200),
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


def record(name: str, adjacency: str) -> bool:
    """Run one audit and write its JSON and its picture. Says whether it convicted."""
    epsilon, trials = SETTINGS.get(name, USUAL)
    epsilon, delta = SEEN.get(name, (epsilon, DELTA))
    if adjacency != AUDITS[name].adjacencies[0]:
        trials = min(trials, FEWER)
    started = time.perf_counter()
    with Progress() as progress:
        task = progress.add_task(f"{name} {adjacency}", total=1.0)
        verdict = run(
            name,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            adjacency=adjacency,
            advance=lambda done, total: progress.advance(task, done / total),
        )
    options = f"--epsilon {epsilon} --delta {delta} --trials {trials} --adjacency {adjacency}"
    made = {
        "command": f"sfumato audit {name} {options}",
        "date": datetime.now(UTC).date().isoformat(),
        "sfumato": __version__,
        "python": platform.python_version(),
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
    names = parser.parse_args().names or list(AUDITS)
    FOLDER.mkdir(exist_ok=True)
    plans = [(name, str(adjacency)) for name in names for adjacency in AUDITS[name].adjacencies]
    surprises = [" ".join(plan) for plan in plans if record(*plan) != (plan[0] in CONVICTED)]
    if surprises:
        sys.exit(f"not as expected: {', '.join(surprises)}")


if __name__ == "__main__":
    main()
