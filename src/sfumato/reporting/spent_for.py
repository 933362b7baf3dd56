"""What each question of a release was asked for, in plain words, by the name that its guarantee has for it."""

from __future__ import annotations

import re

SPENT_FOR = {
    "histograms": "how many rows have each value of each column, class by class",
    "finer bins": "the same with finer bins, where the look before found rows",
    "moments": "how the columns go together: sums, squares and products of their scores",
    "moments again": "the same, in the shape that the first look found",
    "cells": "where the rows of each class lie, to cut it into cells",
    "shapes": "the shape that the cells of a class share",
    "points": "how many rows each cell has, and where their middle is",
    "distances": "how far each table of columns is from the model, to choose which to buy",
    "tables": "the chosen tables of columns",
    "labels": "a step towards how the label follows from the columns",
    "features": "what a kernel regression on the rows would have to know",
    "waves": "sums of cosines and sines along random directions, on which a generator is trained",
    "rows": "every row, projected, with noise of its own",
    "centres": "where the middle of each class lies",
    "centres again": "the same, around where it was last seen",
    "shape": "how the columns of a group go together",
    "columns": "how the columns of a group spread",
    "summary": "where each column's rows lie",
}


def spent_for(name: str) -> str:
    """What a question was asked for.

    Args:
        name: As a guarantee names it; questions that were asked several times are numbered.

    Returns:
        A few words; "" for one that is not known.

    Example:
        >>> spent_for("distances 2")
        'how far each table of columns is from the model, to choose which to buy'
    """
    return SPENT_FOR.get(re.sub(r" \d+$", "", name), "")
