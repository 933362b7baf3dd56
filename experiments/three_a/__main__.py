"""Table 1 and the figures of 3A/ClustMix (Madl, Xu, Choudhury and Howard 2023), one command each.

    python -m experiments.three_a table1                          every cell that is missing
    python -m experiments.three_a table1 --data mnist --methods dp-gan --releases 3
    python -m experiments.three_a table1 --data adult --split quarter
    python -m experiments.three_a jobs                            the commands that would fill what is missing
    python -m experiments.three_a page                            the page again, from the cells
    python -m experiments.three_a tune --methods dp-gan           30 rounds on public data
    python -m experiments.three_a tune --methods printed --data adult    the same on private rows: unpaid
    python -m experiments.three_a objective                       alpha L1 + (1 - alpha) L2
    python -m experiments.three_a figure1                         the three steps in a picture
    python -m experiments.three_a figure2                         toy data over epsilon
    python -m experiments.three_a figure3                         synthetic digits
    python -m experiments.three_a ablation                        what each step is worth

Results go to experiments/three_a/results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from experiments.three_a import ablation, figure1, figure2, figure3, objective, table1, tuning
from experiments.three_a.data import LOADERS, SPLITS, MissingData
from experiments.three_a.methods import METHODS, NotThere, tried


def main() -> None:
    arguments = _parser().parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        print(_run(arguments))
    except (MissingData, NotThere) as error:
        print(f"{arguments.what} skipped: {error}", file=sys.stderr)


def _run(arguments: argparse.Namespace) -> Path | str:
    if arguments.what == "figure1":
        return figure1.make(arguments.out)
    if arguments.what == "objective":
        known = {"releases": arguments.releases or objective.RELEASES}
        return objective.make(arguments.out, data=arguments.data or objective.DATA, **known)
    if arguments.what == "figure2":
        return figure2.make(arguments.out)
    if arguments.what == "figure3":
        return figure3.make(arguments.out)
    if arguments.what == "ablation":
        releases = arguments.releases or table1.RELEASES
        return ablation.make(arguments.out, only=arguments.data or ablation.DATA, releases=releases)
    if arguments.what == "jobs":
        return "\n".join(table1.jobs(arguments.out, arguments.split, arguments.methods))
    if arguments.what == "tune":
        searched = [(method, name) for method in arguments.methods for name in arguments.data or [tuning.PUBLIC]]
        rounds = arguments.releases or tuning.ROUNDS
        known = {"rounds": rounds, "workers": arguments.workers}
        made = [tuning.tune(arguments.out, method, name, tried(method), **known) for method, name in searched]
        return "\n".join(map(str, made))
    if arguments.what == "page":
        return table1.write_page(arguments.out)
    return table1.make(
        arguments.out,
        data=arguments.data,
        methods=arguments.methods,
        split=arguments.split,
        releases=arguments.releases,
        again=arguments.again,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=["table1", "jobs", "page", "tune", "objective", "figure1", "figure2", "figure3", "ablation"]
    )
    parser.add_argument("--data", type=_some(LOADERS), default=[], help="data sets, with commas between")
    parser.add_argument("--methods", type=_some(METHODS), default=[], help="with commas between")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[0], help="the documentation's, or the paper's")
    parser.add_argument("--releases", type=int, help="of each cell; rounds of a search")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the rounds of a search")
    parser.add_argument("--again", action="store_true", help="make the named cells anew")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="where the files go")
    return parser


def _some(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Names with commas between, each among the known ones."""

    def names(text: str) -> list[str]:
        found = text.split(",")
        if unknown := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not among {', '.join(known)}")
        return found

    return names


if __name__ == "__main__":
    main()
