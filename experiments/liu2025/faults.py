"""How far Algorithm 1 is from its claim on the set-up of Section V-A, one label away.

    python -m experiments.liu2025.faults          epsilon = 1, 100 data sets

On every data set the label of the row farthest out (Mahalanobis) in its class changes to another class.
"""

from __future__ import annotations

import json

import numpy as np
from scipy.linalg import eigh

from experiments.liu2025.setups import DELTA, synthetic
from sfumato.published.liu2025 import fit_labelled, output_law, settle_noise, wishart_covariance

EPSILON, TABLES, DRAWS = 1.0, 100, 300


def one_table(index: int) -> dict[str, float]:
    """Shares of outputs after the flip that were impossible before, and how the means' noise changed."""
    setup = synthetic(index)
    before = fit_labelled(setup.x, setup.y, setup.classes)
    shift = setup.x - before.mixture.means[setup.y]
    precisions = np.linalg.inv(before.mixture.covariances)[setup.y]
    row = int(np.einsum("ni,nij,nj->n", shift, precisions, shift).argmax())
    k = int(setup.y[row])
    labels = setup.y.copy()
    labels[row] = (k + 1) % setup.classes
    after = fit_labelled(setup.x, labels, setup.classes)
    old, new = (
        settle_noise(setup.x, y, fit, epsilon=EPSILON, delta=DELTA) for y, fit in ((setup.y, before), (labels, after))
    )
    rng = np.random.default_rng([index])
    drawn = [wishart_covariance(after.mixture.covariances[k], new.gamma[k], rng) for _ in range(DRAWS)]
    dominates = np.linalg.eigvalsh(np.stack(drawn) - before.mixture.covariances[k])[:, 0] >= 0
    reachable = np.isclose(new.weight_outputs[:, None], old.weight_outputs[None], atol=1e-9).all(axis=2).any(axis=1)
    ratios = eigh(new.mean_covariances[k], old.mean_covariances[k], eigvals_only=True)
    return {
        "covariance_impossible": float(1 - dominates.mean()),
        "weights_impossible": float(output_law(new.weight_map)[~reachable].sum()),
        "mean_noise_variance_ratio": float(max(ratios[-1], 1 / ratios[0])),
    }


def main() -> None:
    found = [one_table(index) for index in range(TABLES)]
    print(
        json.dumps(
            {
                name: dict(
                    zip(
                        ("median", "largest"),
                        np.quantile([one[name] for one in found], [0.5, 1.0]).tolist(),
                        strict=True,
                    )
                )
                for name in found[0]
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
