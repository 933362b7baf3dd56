"""NIST's k-marginal score, by SDNist 2.4 as it is published; run by the interpreter of its own environment.

    run_sdnist.py FOLDER DATASET FILE.csv [...]

FOLDER holds the target data as SDNist wants it, DATASET is such as ma2019; absent cells of the file are "N". Prints a
JSON object a file: the score (1000 is best), the features and rows that counted, and values that SDNist dropped.
"""

import json
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
warnings.filterwarnings("ignore")

import sdnist.report  # noqa: E402, F401  (first: its modules import each other in a circle)
from sdnist.load import TestDatasetName  # noqa: E402
from sdnist.metrics.kmarginal import KMarginal  # noqa: E402
from sdnist.report.dataset import Dataset  # noqa: E402


class Quiet:
    """Takes the messages that SDNist logs; errors are shown."""

    def msg(self, text, *_, msg_type=None, **__):
        if msg_type == "error":
            print(f"SDNist: {text}", file=sys.stderr)

    def end_msg(self, *_, **__):
        pass


def score(folder, dataset, path):
    """The score as the report of SDNist has it: marginals of pairs, by the regions that its configuration names."""
    data = Dataset(Path(path), Quiet(), TestDatasetName[dataset], Path(folder), False)
    marginals = KMarginal(data.d_target_data, data.d_synthetic_data, data.config["k_marginal"]["group_features"])
    marginals.compute_score()
    dropped = data.validation_log.get("values_out_of_bound") or {}
    return {
        "k_marginal": float(marginals.score),
        "features": len(data.features),
        "rows": len(data.synthetic_data),
        "dropped": {name: list(map(str, values[:5])) for name, values in dropped.items()},
    }


if __name__ == "__main__":
    for name in sys.argv[3:]:
        print(json.dumps(score(sys.argv[1], sys.argv[2], name)), flush=True)
