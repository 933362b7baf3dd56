"""Problem (23): the multiplicative solver beside a general SDP solver (cvxpy with Clarabel).

    python -m experiments.liu2025.solver          seconds and costs at N = 1000, and the fast one at N = 100,000

Both get the differences of one class of the set-up of Section V-A, rows that leave and rows that join.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import cvxpy
import numpy as np

from experiments.liu2025.setups import synthetic
from sfumato.published.liu2025 import fit_labelled, mean_differences
from sfumato.published.noise_shape import noise_shape
from sfumato.schema.layout import FloatArray

LARGE = 100_000
REPEATS = 9


def problem_of(rows: int) -> tuple[FloatArray, FloatArray]:
    """The differences and the weight of class 0."""
    setup = synthetic(0, rows=rows)
    precision = np.linalg.inv(fit_labelled(setup.x, setup.y, setup.classes).mixture.covariances[0])
    return np.vstack(mean_differences(setup.x, setup.y, 0)), (precision + precision.T) / 2


def fast(rows: int) -> dict[str, Any]:
    differences, weight = problem_of(rows)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        found = noise_shape(differences, weight)
        times.append(time.perf_counter() - start)
    cost = float(np.trace(weight @ found.covariance))
    return {"rows": rows, "seconds": statistics.median(times), "cost": cost, "gap": found.gap, "updates": found.updates}


def general(rows: int) -> dict[str, Any]:
    """The same in the Schur form of (19); scaled, or the solver's tolerances are larger than the answer."""
    differences, weight = problem_of(rows)
    size = np.abs(differences).max()
    covariance = cvxpy.Variable((len(weight), len(weight)), symmetric=True)
    one = np.ones((1, 1))
    blocks = [cvxpy.bmat([[one, v[None, :]], [v[:, None], covariance]]) for v in differences / size]
    least = cvxpy.Minimize(cvxpy.trace(weight @ covariance))
    problem = cvxpy.Problem(least, [block >> 0 for block in blocks])
    start = time.perf_counter()
    cost = problem.solve(solver="CLARABEL") * size**2
    return {
        "rows": rows,
        "seconds": time.perf_counter() - start,
        "seconds_in_the_solver": problem.solver_stats.solve_time,
        "cost": float(cost),
    }


def main() -> None:
    small, reference = fast(1000), general(1000)
    print(
        json.dumps(
            {
                "fast": small,
                "sdp": reference,
                "times_faster": reference["seconds"] / small["seconds"],
                "times_faster_than_the_solver_alone": reference["seconds_in_the_solver"] / small["seconds"],
                "dearer_by": small["cost"] / reference["cost"] - 1,
                "fast_large": fast(LARGE),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
