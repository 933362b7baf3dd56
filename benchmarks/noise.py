"""The noise: its law on many draws, and its speed.

    python -m benchmarks.noise                                          speed alone
    python -m benchmarks.noise --draws 100000000 -o audits/noise.json   also the law, on so many draws of each case

The law: draws with bits of the operating system are counted cell by cell and compared by chi-square with the exact
probabilities of the rounded Gaussian. Neighbours are merged, in the tails, until ten draws are expected.

OpenDP's discrete Gaussian is drawn at the same sigma on the same grid. A rounded and a discrete Gaussian are two laws:
at s grid steps to a sigma the probabilities of a cell z sigmas out differ by a factor 1 + (z^2 - 1) / (24 s^2) to first
order, so no number of draws made here can tell them apart, and both are compared as if they were one.

The speeds: plain `ndtri` on 53 random bits, ours, and OpenDP through its Python interface, each on one thread and by
the processor time it takes, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from sfumato.private.noise import noisy, secure_bits

SPEED_DRAWS = 1 << 21
OPENDP_SPEED_DRAWS = 1 << 16
OPENDP_DRAWS = 1 << 20
REPEATS = 5
CHUNK = 1 << 13
COUNTED_AT_ONCE = 1 << 22
LEAST_EXPECTED = 10.0
REACH = 12  # sigmas to either side that are counted cell by cell; what lies farther counts in the outermost cells
OPENDP_SIGMA = 300.0  # on a grid of step 1

# (total, sigma): 256 steps a sigma, the fewest; nearly 512, the most; a total between the steps of a coarse grid, and
# a huge one.
CASES = [(5, 2.0), (-17, math.nextafter(512.0, 0.0)), (1_234_567, 1e6), (-(2**61) + 12_345, 3e17)]

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A total and a sigma, seen as cells: place 0 is the grid point at or below the total."""

    total: int
    sigma: float

    @property
    def scale(self) -> float:
        """How many grid steps make a sigma."""
        return math.ldexp(self.sigma, -grid_exponent(self.sigma))

    @property
    def origin(self) -> tuple[int, float]:
        """The grid point at or below the total, and how many steps beyond it the total lies."""
        quotient, rest = divmod(Fraction(self.total), Fraction(2) ** grid_exponent(self.sigma))
        return quotient, float(rest / Fraction(2) ** grid_exponent(self.sigma))

    @property
    def reach(self) -> int:
        return math.ceil(REACH * self.scale)

    def draw(self, draws: int) -> Counts:
        """The cells of some answers."""
        answers = noisy(np.full(draws, self.total), np.full(draws, self.sigma), secure_bits)
        return (np.ldexp(answers, -grid_exponent(self.sigma)) - self.origin[0]).astype(np.int64)

    def probabilities(self) -> Floats:
        """Of every cell from -reach to reach under the rounded Gaussian; the outer two take the rest."""
        inner = (np.arange(-self.reach + 1, self.reach + 1) - 0.5 - self.origin[1]) / self.scale
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        # In each half from its own tail, where a difference keeps its digits.
        below, above = np.diff(ndtr(edges)), -np.diff(ndtr(-edges))
        return np.where(edges[:-1] < 0, below, above)


def grid_exponent(sigma: float) -> int:
    """The k for which the grid step g = 2^k has sigma / g in [256, 512).

    >>> grid_exponent(256.0), grid_exponent(511.9), grid_exponent(1.0)
    (0, 0, -8)
    """
    return math.frexp(sigma)[1] - 9


def check_law(total: int, sigma: float, draws: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Chi-square of many draws against the exact law, cell by cell."""
    case = Case(total, sigma)
    counts, farthest = np.zeros(2 * case.reach + 1, dtype=np.int64), 0.0
    start = time.perf_counter()
    for done in range(0, draws, COUNTED_AT_ONCE):
        cells = case.draw(min(COUNTED_AT_ONCE, draws - done))
        farthest = max(farthest, float(np.abs(cells - case.origin[1]).max()) / case.scale)
        counts += np.bincount(np.clip(cells, -case.reach, case.reach) + case.reach, minlength=counts.size)
        progress(f"sigma {sigma:g}: {min(done + COUNTED_AT_ONCE, draws):,} of {draws:,} draws")
    alone = 2.0 * float(ndtr(-farthest))
    return {
        "total": total,
        "sigma": sigma,
        "grid_step": 2.0 ** grid_exponent(sigma),
        "steps_in_a_sigma": case.scale,
        "draws": draws,
        **_chi_square(counts, draws * case.probabilities()),
        "farthest_draw_in_sigmas": farthest,
        "chance_of_a_draw_so_far": alone,
        "chance_that_one_of_all_is_so_far": -math.expm1(draws * math.log1p(-alone)),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _chi_square(counts: Counts, expected: Floats) -> dict[str, Any]:
    groups = merged(expected, LEAST_EXPECTED)
    seen, meant = np.bincount(groups, counts), np.bincount(groups, expected)
    statistic = float(((seen - meant) ** 2 / meant).sum())
    freedom = len(seen) - 1
    return {
        "groups": len(seen),
        "single_cells": int((np.bincount(groups) == 1).sum()),
        "chi_square": statistic,
        "degrees_of_freedom": freedom,
        "p_value": float(chi2.sf(statistic, freedom)),
        "largest_z": float((np.abs(seen - meant) / np.sqrt(meant)).max()),
    }


def merged(expected: Floats, least: float) -> Counts:
    """The group of every cell: runs of neighbours, each just long enough for `least` expected draws.

    >>> merged(np.array([1.0, 2.0, 5.0, 6.0, 2.0, 1.0, 1.0]), 3.0).tolist()
    [0, 0, 1, 2, 3, 3, 3]
    """
    groups, group, held = [], 0, 0.0
    for value in expected.tolist():
        groups.append(group)
        held += value
        if held >= least:
            group, held = group + 1, 0.0
    return np.minimum(groups, group - 1)  # what is left at the end joins the last full one


def compare_with_opendp(draws: int) -> dict[str, Any]:
    """Our cells against those of OpenDP's discrete Gaussian of the same sigma and grid: chi-square of two samples."""
    case = Case(0, OPENDP_SIGMA)
    theirs, ours = _opendp(draws), case.draw(draws)
    bins = [np.bincount(np.clip(cells, -case.reach, case.reach) + case.reach) for cells in (theirs, ours)]
    size = max(map(len, bins))
    first, second = (np.pad(counts, (0, size - len(counts))) for counts in bins)
    groups = merged(draws * case.probabilities()[:size], LEAST_EXPECTED)
    a, b = np.bincount(groups, first), np.bincount(groups, second)
    statistic = float(((a - b) ** 2 / np.maximum(a + b, 1)).sum())
    spreads = [float(np.std(cells)) / OPENDP_SIGMA for cells in (ours, theirs)]
    return {
        "sigma_in_grid_steps": OPENDP_SIGMA,
        "draws_of_each": draws,
        "chi_square": statistic,
        "degrees_of_freedom": len(a) - 1,
        "p_value": float(chi2.sf(statistic, len(a) - 1)),
        "standard_deviations_over_sigma": {"ours": spreads[0], "opendp": spreads[1], "error": 1 / math.sqrt(2 * draws)},
        "draws_beyond_4_sigma": {
            "ours": int((np.abs(ours) > 4 * OPENDP_SIGMA).sum()),
            "opendp": int((np.abs(theirs) > 4 * OPENDP_SIGMA).sum()),
            "expected": 2 * draws * float(ndtr(-(4 * OPENDP_SIGMA + 0.5) / OPENDP_SIGMA)),
        },
        "largest_relative_difference_of_the_laws_within_6_sigma": _law_difference(case),
    }


def _law_difference(case: Case) -> float:
    """Of the probabilities of a cell under the rounded and the discrete Gaussian."""
    cells = np.arange(-case.reach, case.reach + 1)
    weights = np.exp(-((cells / case.scale) ** 2) / 2)
    inside = np.abs(cells) <= 6 * case.scale
    return float(np.abs(case.probabilities() / (weights / weights.sum()) - 1)[inside].max())


def _opendp(draws: int) -> Counts:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return np.array(dp.m.make_gaussian(*space, scale=OPENDP_SIGMA)([0] * draws))


def measure_speed() -> dict[str, float]:
    """Draws a second, the best of a few runs taken in turn, so that a slow spell of the machine hits all."""
    totals = np.arange(SPEED_DRAWS, dtype=np.int64)
    sigmas = np.geomspace(0.1, 1e6, SPEED_DRAWS)
    samplers: dict[str, tuple[int, Callable[[], object]]] = {
        "plain_ndtri": (SPEED_DRAWS, lambda: _plain(SPEED_DRAWS)),
        "ours": (SPEED_DRAWS, lambda: noisy(totals, sigmas, secure_bits)),
        "opendp": (OPENDP_SPEED_DRAWS, lambda: _opendp(OPENDP_SPEED_DRAWS)),
    }
    best = dict.fromkeys(samplers, 0.0)
    for _ in range(REPEATS):
        for name, (draws, draw) in samplers.items():
            best[name] = max(best[name], draws / _seconds(draw))
    return {f"{name}_draws_a_second": rate for name, rate in best.items()} | {
        "plain_ndtri_over_ours": best["plain_ndtri"] / best["ours"],
        "ours_over_opendp": best["ours"] / best["opendp"],
    }


def _plain(draws: int) -> Floats:
    """Gaussian floats by inversion of 53 random bits, in chunks that stay in cache."""
    sample = np.empty(draws)
    for start in range(0, draws, CHUNK):
        part = sample[start : start + CHUNK]
        words = np.frombuffer(os.urandom(8 * part.size), dtype="<u8")
        part[:] = ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    return sample


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _environment(arguments: list[str]) -> dict[str, Any]:
    packages = ("sfumato", "numpy", "scipy", "mpmath", "opendp")
    return {
        "command": " ".join(["python -m benchmarks.noise", *arguments]),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def main() -> None:
    """Measure, print, and leave a file if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=0, help="how many draws of each case to hold against the law")
    parser.add_argument("-o", "--output", type=Path, help="where to leave the results, as JSON")
    arguments = parser.parse_args()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    found = _environment(sys.argv[1:]) | {"speed": measure_speed()}
    if arguments.draws:
        found["law"] = [check_law(total, sigma, arguments.draws, say) for total, sigma in CASES]
        found["against_opendp"] = compare_with_opendp(min(arguments.draws, OPENDP_DRAWS))
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
