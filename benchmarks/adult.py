"""What rows sampled from a release of UCI Adult are worth to a classifier.

    python -m benchmarks.adult [--releases 5] [--epsilon 1] [--mechanism slicing] [--adapt] [--bare] [--times 1]

Each release is fitted on the train split with fresh secure noise at delta = 1/32561. Default LightGBM is trained on as
many synthetic rows as there were real ones (or so many times as many) and scored by AUC on the real test split. Labels
are drawn, and chance in them costs a classifier something: beside it stands what it learns of the same rows where each
comes with both labels, weighed by the release's own probabilities. Nothing is tuned here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
import pandas as pd

import sfumato
from sfumato.demo import TRAIN_ROWS, adult
from sfumato.evaluation.judges import learned, lightgbm
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.mechanisms import kind
from sfumato.schema.layout import FloatArray, IntArray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--mechanism", default="mixture")
    parser.add_argument("--form", help="of slicing: central or rows")
    parser.add_argument("--adapt", action="store_true", help="adapt the labels")
    parser.add_argument("--bare", action="store_true", help="the mixture without tables of pairs")
    parser.add_argument("--times", type=int, default=1, help="synthetic rows for each real one")
    parser.add_argument("--rows", type=int, help="a public guess at the number of rows; none by default")
    arguments = parser.parse_args()
    train, test, schema = adult()
    real, unseen = typed(train, schema), typed(test, schema)

    def auc(rows: TypedRows, labels: IntArray, weights: FloatArray | None = None) -> float:
        features = (each.features(schema.features) for each in (rows, unseen))
        return learned(lightgbm(), tuple(features), labels, unseen.codes["income"], weights)

    def weighed_auc(release: sfumato.Release, sample: pd.DataFrame) -> float:
        chances = release.predict_proba(sample.drop(columns="income")).to_numpy()
        both = typed(pd.concat([sample, sample], ignore_index=True), schema)
        return auc(both, np.repeat([0, 1], len(sample)), chances.T.ravel())

    said = {"adapt": "labels" if arguments.adapt else None, "form": arguments.form}
    said = {name: value for name, value in said.items() if value is not None}
    mechanism = kind(arguments.mechanism)(**said, **({"pairs": None} if arguments.bare else {}))
    adjacency = "replace-one" if arguments.form == "rows" else "add-remove"
    scores, weighed, distances, seconds = [], [], [], []
    for _ in range(arguments.releases):
        start = time.perf_counter()
        release = sfumato.fit(
            train,
            schema,
            epsilon=arguments.epsilon,
            delta=1 / TRAIN_ROWS,
            mechanism=mechanism,
            adjacency=adjacency,
            rows=arguments.rows,
        )
        seconds.append(time.perf_counter() - start)
        sample = release.sample(arguments.times * TRAIN_ROWS)
        rows = typed(sample, schema)
        scores.append(auc(rows, rows.codes["income"]))
        weighed.append(weighed_auc(release, sample))
        distances.append(table_distance(real, rows, 1))
    result = {
        "epsilon": arguments.epsilon,
        "mechanism": arguments.mechanism,
        **said,
        "bare": arguments.bare,
        "adjacency": adjacency,
        "rows": arguments.rows,
        "times": arguments.times,
        "releases": arguments.releases,
        "auc": [round(score, 4) for score in scores],
        "auc_mean": round(statistics.mean(scores), 4),
        "auc_sd": round(statistics.stdev(scores), 4) if len(scores) > 1 else None,
        "auc_weighed": [round(score, 4) for score in weighed],
        "auc_weighed_mean": round(statistics.mean(weighed), 4),
        "auc_real": round(auc(real, real.codes["income"]), 4),
        "mean_total_variation": round(statistics.mean(distances), 4),
        "largest_mean_total_variation": round(max(distances), 4),
        "fit_seconds": round(statistics.median(seconds), 3),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
