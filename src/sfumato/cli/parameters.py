"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path, typer.Argument(help="The private table: Parquet (file or folder), CSV (also .gz, .zst), Arrow or DuckDB.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")]
Adjacency = Annotated[
    str,
    typer.Option(help="What a neighbouring table is: add-remove, replace-one (row count public) or label."),
]
Rows = Annotated[
    int | None,
    typer.Option(help="A public guess at the number of rows. It divides the budget better; never the true count."),
]
Encode = Annotated[
    str, typer.Option(help="How columns become numbers: scores, or affine to keep numeric data in its own units.")
]
Components = Annotated[
    str | None,
    typer.Option(help="Gaussians a class: a number, or auto for as many as noisy answers say will pay (the default)."),
]
Adapt = Annotated[
    str | None,
    typer.Option(help="Spend a part on what classifiers need: labels, points (of clustmix), both, auto, or no."),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="mixture, for the distribution; clustmix, for rows to train classifiers on; slicing, for a generator."
    ),
]
SigmaMax = Annotated[
    float | None, typer.Option(help="The noise that a point of clustmix may carry; smaller makes fewer, larger cells.")
]
Alpha = Annotated[
    float | None, typer.Option(help="How much adapted labels and points are held to what they were: 0 to below 1.")
]
Form = Annotated[
    str | None,
    typer.Option(help="Of slicing: central, class sums along random slices (the default), or rows, each with noise."),
]
SliceCount = Annotated[
    int | None, typer.Option("--slices", help="Slices of every row (form rows); without a word, noisy rows.")
]
SliceDim = Annotated[int | None, typer.Option(help="Dimensions of a slice: 1, 2, 3; 2 without a word.")]
Calibration = Annotated[
    str | None,
    typer.Option(help="How much noise rows get: exact (the default), or theorem1, as the paper has it."),
]
Steps = Annotated[int | None, typer.Option(help="Steps of training, at most.")]
Rate = Annotated[float | None, typer.Option(help="The rate at which training begins; it falls to zero.")]
Architecture = Annotated[str | None, typer.Option(help="The generator: mlp, or conv for images.")]
Width = Annotated[int | None, typer.Option(help="Hidden units of a layer.")]
Depth = Annotated[int | None, typer.Option(help="Hidden layers.")]
Divergence = Annotated[
    str | None, typer.Option(help="What noisy rows are compared by: kl, reverse-kl, js or chi2 (form rows).")
]
TrainSeed = Annotated[int | None, typer.Option(help="Of the training, which is free: another seed, another generator.")]
Delta = Annotated[float, typer.Option(help="Chance that the epsilon bound fails; far below 1 / number of rows.")]
