"""Compare the rounds of the same seeded fits in two checkouts: exact totals, sensitivities, sigmas, noisy answers.

    python tools/compare_checkouts.py OLD NEW

OLD and NEW are folders that hold `src/sfumato`. Both are run with this interpreter on the table that comes with the
package. The exact totals exist inside the two processes and their temporary files only: the table is public.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FITS = ("mixture", "clustmix", "slicing", "adapted mixture")
SEED = 7

RECORDER = """
import pickle, sys, time
import sfumato as sf
from sfumato.private import accounting, curator
from sfumato.private.engines import local

name, seed, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rounds, seconds = [], []

def keep(owner, attribute, found):
    whole = getattr(owner, attribute)
    def kept(*given, **named):
        answer = whole(*given, **named)
        rounds.append(found(answer))
        return answer
    setattr(owner, attribute, kept)

keep(accounting.Budget, "charge", lambda spend: ("charge", spend.name, spend.sensitivity, spend.sigma, spend.mu))
keep(local.LocalEngine, "total", lambda total: ("total", total))
keep(curator, "noisy", lambda values: ("noisy", values))

folder = __import__("pathlib").Path(sf.__file__).parent / "data"
schema = next(folder.glob("adult*.yaml"))
options = dict(epsilon=1.0, delta=1e-5, insecure_seed=seed)
new = hasattr(sf, "Mixture")
if name == "adapted mixture":
    options |= dict(mechanism=sf.Mixture(adapt="labels")) if new else dict(adapt=True)
elif name == "slicing":
    options |= dict(mechanism=sf.Slicing(training=None)) if new else dict(mechanism="slicing", training=False)
else:
    options["mechanism"] = name
start = time.perf_counter()
for turn in range(5 if name != "slicing" else 2):
    del rounds[:]
    start = time.perf_counter()
    sf.fit(folder / "adult.parquet", schema, **options)
    seconds.append(time.perf_counter() - start)
with open(out, "wb") as file:
    pickle.dump((rounds, min(seconds)), file)
"""


def record(checkout: Path, fit: str) -> tuple[list[Any], float]:
    """The rounds of one fit in one checkout, and the seconds it took at best."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rounds"
        given = [sys.executable, "-c", RECORDER, fit, str(SEED), str(out)]
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
        subprocess.run(given, check=True, env=environment, cwd=folder)
        with out.open("rb") as file:
            rounds, seconds = pickle.load(file)  # our own process wrote it
    return rounds, seconds


def differences(old: list[Any], new: list[Any]) -> list[str]:
    """What is not equal, a line each."""
    found = [] if len(old) == len(new) else [f"{len(old)} steps before, {len(new)} after"]
    name = "?"
    for one, two in zip(old, new, strict=False):
        if one[0] != two[0]:
            return [*found, f"{name}: {one[0]} before, {two[0]} after"]
        if one[0] == "charge":
            name = one[1]
            found += [f"{name}: charged {one[1:]} before, {two[1:]} after"] if one != two else []
        elif one[1].shape != two[1].shape:
            found.append(f"{name}: {one[0]} of {one[1].shape} numbers before, {two[1].shape} after")
        elif not np.array_equal(one[1], two[1]):
            same = np.array_equal(np.sort(one[1].ravel()), np.sort(two[1].ravel()))
            unequal = int((one[1] != two[1]).sum())
            found.append(f"{name}: {unequal} of {one[1].size} {one[0]} numbers differ" + (" in order" if same else ""))
    return found


def main() -> int:
    """Compare all fits; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--fits", nargs="*", default=FITS, choices=FITS)
    chosen = parser.parse_args()
    differ = False
    for fit in chosen.fits:
        (old, before), (new, after) = record(chosen.old, fit), record(chosen.new, fit)
        found = differences(old, new)
        rounds = sum(step[0] == "charge" for step in new)
        print(f"{fit}: {rounds} rounds, {'all equal' if not found else 'DIFFERENT'}; {before:.2f} s -> {after:.2f} s")
        for line in found:
            print(f"  {line}")
        differ |= bool(found)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
