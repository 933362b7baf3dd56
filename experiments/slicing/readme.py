"""The figures of README.md, written from the runs that are kept: none is typed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from experiments.slicing import mnist, overtake, runs, tables, tune
from experiments.slicing.methods import METHODS
from experiments.slicing.runs import Run, select

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- results: python -m experiments.slicing readme -->", "<!-- end of results -->"


def make(out: Path, readme: Path = README) -> Path:
    """Put the tables of all runs between the two marks."""
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n\n{section(out)}\n{END}{after}")
    return readme


def section(out: Path) -> str:
    """All tables, each as far as its runs go."""
    parts = [
        f"### Beside the baselines\n\n{beside(runs.kept(out / tables.FILE))}",
        f"### Settings of slicing as printed\n\n{tune.chosen(runs.kept(out / tune.FILE))}",
        tables.markdown(runs.kept(out / tables.FILE)).replace("## ", "### "),
        f"### Adult over epsilon\n\n{overtake.markdown(runs.kept(out / overtake.FILE))}",
        f"### MNIST\n\n{mnist.markdown(runs.kept(out / mnist.FILE))}",
    ]
    return "\n".join(parts)


COMPARED = ("printed", "tuned", "wasserstein", "gan", "pategan", "merf", "few", "central", "mixture")


def beside(found: Sequence[Run]) -> str:
    """The mean of the five scores of each method, and in how many of them slicing as printed is ahead of DP-MERF."""
    there = [name for name in COMPARED if select(found, method=name)]
    lines = [["data", "epsilon", *(METHODS[name].title for name in there), "tuned ahead of DP-MERF in"]]
    for data in tables.TABLES:
        for epsilon in sorted({run["epsilon"] for run in select(found, data=data)} - {None}):
            means = {name: _means(select(found, data=data, epsilon=epsilon, method=name)) for name in there}
            cells = [f"{statistics.mean(each.values()):.3f}" if each else "" for each in means.values()]
            tuned, merf = (means.get(name, {}) for name in ("tuned", "merf"))
            ahead = f"{sum(tuned[score] > merf[score] for score in merf)} of {len(merf)}" if tuned and merf else ""
            lines.append([tables.TITLES[data], f"{epsilon:g}", *cells, ahead])
    return runs.table(lines) if len(lines) > 1 else "No runs yet.\n"


def _means(mine: Sequence[Run]) -> dict[str, float]:
    """The mean of each score over the releases."""
    scores = mine[0]["scores"] if mine else {}
    return {score: statistics.mean(run["scores"][score] for run in mine) for score in scores}
