"""The tables: how like the private rows synthetic ones are, and what logistic regression learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.slicing import runs
from experiments.slicing.data import TABLES
from experiments.slicing.judge import real_scores, table_scores
from experiments.slicing.methods import REAL
from experiments.slicing.runs import Run, select

EPSILONS = (1.0, 5.1, 8.1)
RELEASES = 5
SHOWN = (
    *(REAL, "mixture", "untrained", "central", "rows1", "rows2", "rows3", "few"),
    *("printed", "tuned", "wasserstein", "merf", "gan", "pategan"),
)
TITLES = {"acs": "ACS", "adult": "Adult"}
FILE = "tables.jsonl"


def make(
    out: Path,
    *,
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    releases: int | None = None,
    again: bool = False,
) -> Path:
    """Make the runs that are missing, write the tables, and say where they are."""
    runs.make(
        out / FILE,
        table_scores,
        data=data or TABLES,
        methods=methods or SHOWN,
        epsilons=epsilons or EPSILONS,
        releases=releases or RELEASES,
        judge_real=real_scores,
        again=again,
    )
    written = out / "tables.md"
    written.write_text(f"{HEADING}\n{markdown(runs.kept(out / FILE))}")
    return written


HEADING = """# Synthetic tables, epsilon by epsilon

    python -m experiments.slicing tables

Mean ± standard deviation over releases. delta = 1 / N, N the train rows; as many synthetic rows as there are of those.
1 is best. Releases have fixed seeds, so that the table can be made again, and so carry no guarantee themselves; the
same call without a seed does.
"""


def markdown(found: Sequence[Run]) -> str:
    """One table a data set: a line for each method and epsilon."""
    return "\n".join(f"## {TITLES[name]}\n\n{_table(select(found, data=name))}" for name in TABLES)


def _table(mine: Sequence[Run]) -> str:
    return f"N = {mine[0]['rows']:,}.\n\n{runs.summary(mine, SHOWN)}" if mine else "No runs yet.\n"
