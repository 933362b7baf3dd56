"""The figures of Liu, Scaglione and Peisert (2025), one command each.

    python -m experiments.liu2025 fig1            KL against epsilon, 100 data sets
    python -m experiments.liu2025 all --full      every figure, 1000 trials as in the paper

Numbers go to experiments/liu2025/results/NAME.json, pictures beside them. A run that was stopped goes on where it was,
as long as the commit is the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from experiments.liu2025.figures import FIGURES, FULL_TRIALS
from experiments.liu2025.record import made_by
from experiments.liu2025.setups import MissingData


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=[*FIGURES, "all"])
    parser.add_argument("--trials", type=int, help="data sets or repetitions, instead of the figure's own number")
    parser.add_argument("--full", action="store_true", help=f"{FULL_TRIALS} trials, as in the paper")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="where the files go")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in FIGURES if arguments.figure == "all" else [arguments.figure]:
        figure = FIGURES[name]
        trials = arguments.trials or (FULL_TRIALS if arguments.full and figure.trials > 1 else figure.trials)
        try:
            found = figure.make(trials, arguments.out / name)
        except MissingData as error:
            print(f"{name} skipped: {error}", file=sys.stderr)
            continue
        path = arguments.out / f"{name}.json"
        path.write_text(json.dumps({"made_by": made_by(figure.seeds), **found}, indent=1) + "\n")
        print(path)


if __name__ == "__main__":
    main()
