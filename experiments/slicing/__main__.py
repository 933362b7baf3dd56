"""The tables of the slicing mechanism (Greenewald, Yu, Wang and Xu 2024) again, one command each.

    python -m experiments.slicing tables                          every run that is missing, ACS and Adult
    python -m experiments.slicing tables --only acs --methods mixture,merf --epsilons 1,5.1 --releases 5
    python -m experiments.slicing overtake                        Adult, epsilon from 1 to 500
    python -m experiments.slicing mnist                           digits at epsilon 1 and 10
    python -m experiments.slicing tune                            settings of slicing as printed, on other tables
    python -m experiments.slicing consistency                     how its estimate converges
    python -m experiments.slicing ceiling                         what noise on rows leaves to be learned
    python -m experiments.slicing readme                          the figures of README.md, from the runs

Results go to experiments/slicing/results.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from experiments.slicing import ceiling, consistency, mnist, overtake, readme, tables, tune
from experiments.slicing.data import TABLES
from experiments.slicing.methods import METHODS
from experiments.three_a.__main__ import _some
from experiments.three_a.data import MissingData


def main() -> None:
    arguments = _parser().parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        print(_run(arguments))
    except MissingData as error:
        print(f"{arguments.what} skipped: {error}", file=sys.stderr)


def _run(arguments: argparse.Namespace) -> Path:
    if arguments.what == "readme":
        return readme.make(arguments.out)
    if arguments.what == "tune":
        return tune.make(arguments.out, data=arguments.only, epsilons=arguments.epsilons, full=arguments.full)
    if arguments.what == "consistency":
        return consistency.make(arguments.out)
    if arguments.what == "ceiling":
        return ceiling.make(arguments.out)
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in ("methods", "epsilons", "releases", "again")}
    if arguments.what == "tables":
        return tables.make(arguments.out, data=arguments.only, **settings)
    return {"overtake": overtake.make, "mnist": mnist.make}[arguments.what](arguments.out, **settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ceiling", "consistency", "tune", "tables", "overtake", "mnist", "readme"])
    parser.add_argument(
        "--only",
        type=_some((*TABLES, *tune.SETS)),
        default=[],
        help="data sets of `tables` or `tune`, with commas between",
    )
    parser.add_argument("--methods", type=_some(METHODS), default=[], help="with commas between")
    parser.add_argument("--epsilons", type=_numbers, default=[], help="with commas between")
    parser.add_argument("--releases", type=int, help="of each method at each epsilon")
    parser.add_argument("--again", action="store_true", help="forget the runs of the named data sets and methods first")
    parser.add_argument("--full", action="store_true", help="of `tune`: all slices in every step, for a GPU")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="where the files go")
    return parser


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
