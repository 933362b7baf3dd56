"""The figures of README.md, written from the runs that are kept: none is typed."""

from __future__ import annotations

from pathlib import Path

from experiments.slicing import mnist, overtake, runs, tables

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- results: python -m experiments.slicing readme -->", "<!-- end of results -->"


def make(out: Path, readme: Path = README) -> Path:
    """Put the tables of all runs between the two marks."""
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n\n{section(out)}\n{END}{after}")
    return readme


def section(out: Path) -> str:
    """The three tables, each as far as its runs go."""
    parts = [
        tables.markdown(runs.kept(out / tables.FILE)).replace("## ", "### "),
        f"### Adult over epsilon\n\n{overtake.markdown(runs.kept(out / overtake.FILE))}",
        f"### MNIST\n\n{mnist.markdown(runs.kept(out / mnist.FILE))}",
    ]
    return "\n".join(parts)
