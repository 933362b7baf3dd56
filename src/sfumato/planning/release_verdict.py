"""What a release is good for, by the noise of its own answers: public, and free.

The same verdict as on a plan, with what the release knows in the place of guesses: the noise that was drawn on each
column's histogram, and the number of rows as the noisy answers have it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.planning.verdict import Verdict
from sfumato.planning.widths import best_variance, half_of
from sfumato.release.unread import histograms_in

MISFIT = 0.1  # of a column's cells: more of them fit no bin where a schema was written for another table

if TYPE_CHECKING:
    from sfumato.guarantee import FloatArray
    from sfumato.release.release import Release


def release_verdict(release: Release) -> Verdict:
    """What a release is good for, from the release alone.

    Args:
        release: Any release.

    Returns:
        The verdict; unknown where no histograms are kept, as in a compact file or of columns in groups.

    Example:
        >>> import pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> made = sf.fit(pd.DataFrame({"age": range(50)}), schema, epsilon=1, delta=1e-6, insecure_seed=0)
        >>> release_verdict(made).fit_for
        'nothing'
    """
    looks = _first_looks(release)
    if not looks:
        return Verdict("unknown", None)
    if misfits := tuple(each.column for each in release.unread if each.is_clear and each.share > MISFIT):
        return Verdict("nothing", _blur(looks), misfits)
    return Verdict.at(_blur(looks))


def _blur(looks: list[tuple[FloatArray, FloatArray]]) -> float:
    """The mean over columns of the noise on half of a column's bins, over the rows there."""
    classes = np.array([len(counts) for counts, _ in looks])
    cells = np.array([counts.shape[1] for counts, _ in looks])  # one of them for what fits no bin
    variances = np.array([variance[0, 0] for _, variance in looks])
    precision = 1.0 / (variances * cells)
    totals = np.array([counts.sum() for counts, _ in looks])
    weights = precision / classes
    rows = max(float(weights @ totals / weights.sum()), 1.0 / math.sqrt(weights.sum()))
    halves = [
        classes[place] * best_variance(variances[place], precision.sum() - precision[place], half_of(cells[place] - 1))
        for place in range(len(looks))
    ]
    return float(np.sqrt(halves).mean() / (rows / 2.0))


def _first_looks(release: Release) -> list[tuple[FloatArray, FloatArray]]:
    """The counts and variances of the first histogram of each column that has one."""
    found: dict[int, tuple[FloatArray, FloatArray]] = {}
    width = len(release.asked.names)
    for answer in release.answers:
        for place, counts, variances in histograms_in(answer, width):
            found.setdefault(place, (counts, variances))
    return list(found.values())
