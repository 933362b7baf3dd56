"""Compare the four scores with SDMetrics, and keep what it gives: results/sdmetrics.json.

SDMetrics needs an older pandas than this project, so it has an environment of its own. From the project's root:

    python3 -m venv /tmp/sdmetrics
    /tmp/sdmetrics/bin/pip install -r experiments/slicing/requirements-sdmetrics.txt
    /tmp/sdmetrics/bin/python -m experiments.slicing.check_sdmetrics
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.provenance import made_by
from experiments.provenance import versions as versions_here
from experiments.slicing.frames import CATEGORIES, NUMBERS, frames
from experiments.slicing.similarity import scores

KEPT = Path(__file__).parent / "results" / "sdmetrics.json"
TOLERANCE = 1e-9
COMMAND = "python -m experiments.slicing.check_sdmetrics"
SEEDS = "none: nothing in the two tables is random"


def main() -> None:
    import sdmetrics

    real, synthetic = frames()
    theirs = reference(real, synthetic)
    ours = scores(real, synthetic, NUMBERS, CATEGORIES)
    distance = {name: abs(ours[name] - theirs[name]) for name in theirs}
    made = made_by(COMMAND)
    versions = made["versions"] = {"sdmetrics": sdmetrics.__version__, **versions_here()}
    KEPT.write_text(json.dumps({**made, "seeds": SEEDS, "scores": theirs}, indent=1) + "\n")
    print(json.dumps({"versions": versions, "sdmetrics": theirs, "here": ours, "distance": distance}, indent=1))
    sys.exit(max(distance.values()) > TOLERANCE)


def reference(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[str, float]:
    """What SDMetrics says, as means over columns and pairs."""
    from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
    from sdmetrics.single_column import KSComplement, TVComplement

    def mean(metric: Any, names: Sequence[Any]) -> float:
        return float(np.mean([metric.compute(real[name], synthetic[name]) for name in names]))

    return {
        "KSComplement": mean(KSComplement, NUMBERS),
        "TVComplement": mean(TVComplement, CATEGORIES),
        "ContingencySimilarity": mean(ContingencySimilarity, [list(pair) for pair in combinations(CATEGORIES, 2)]),
        "CorrelationSimilarity": mean(CorrelationSimilarity, [list(pair) for pair in combinations(NUMBERS, 2)]),
    }


if __name__ == "__main__":
    main()
