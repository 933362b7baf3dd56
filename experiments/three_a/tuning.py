"""Settings tried over 30 rounds, as many as the paper gave each method.

On credit default, which is no data set of Table 1, that is free: whoever publishes another table may do it too. On the
data set that is then published it is not: the paper does so, and nothing pays for it. Such a search is marked unpaid.
The search is random, seeded, and continues where it stopped; a round is one release, judged on rows held out of the
train rows, never on test rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.provenance import made_by
from experiments.three_a.data import DataSet, held_out, load
from experiments.three_a.judge import lightgbm
from sfumato.files import replacing

PUBLIC = "credit_default"
ROUNDS = 30
EPSILON = 1.0

Settings = dict[str, Any]
Space = Mapping[str, Callable[[np.random.Generator], Any]]
"""How each setting is drawn."""


def one_of(*values: Any) -> Callable[[np.random.Generator], Any]:
    """One of these, each as likely."""
    return lambda rng: values[int(rng.integers(len(values)))]


def between(low: float, high: float, whole: bool = False) -> Callable[[np.random.Generator], Any]:
    """Evenly on a logarithmic scale."""

    def draw(rng: np.random.Generator) -> float:
        value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        return round(value) if whole else float(f"{value:.3g}")

    return draw


SPACES: dict[str, Space] = {
    "dp-gan": {
        "width": one_of(32, 64, 128),
        "noise": one_of(8, 32, 100),
        "batch": one_of(64, 256, 1024),
        "critic_steps": one_of(1, 5, 20),
        "steps": between(100, 2000, whole=True),
        "rate": between(1e-4, 1e-2),
        "weight_cap": one_of(0.01, 0.05, 0.2),
        "gradient_bound": one_of(0.1, 1.0),
    },
    "pate-gan": {
        "teacher_rows": one_of(100, 300, 1000, 3000),
        "teacher_width": one_of(0, 16),
        "votes_scale": between(1e-2, 1.0),
        "batch": one_of(8, 16, 64),
        "teacher_steps": one_of(5, 20, 100),
        "teacher_rate": between(1e-3, 1e-1),
        "rate": between(1e-4, 1e-2),
    },
    "ads-gan": {
        "width": one_of(30, 100, 300),
        "noise": one_of(10, 30, 100),
        "batch": one_of(128, 512),
        "steps": one_of(2000, 5000, 10_000),
        "rate": between(1e-4, 3e-3),
        "identifiability": between(1e-2, 1.0),
    },
    "printed": {
        "sigma_max": between(0.05, 2.0),
        "alpha": one_of(0.0, 0.25, 0.5, 0.75, 1.0),
        "ridge": between(1e-5, 1e-1),
        "scaling": one_of("min-max", "quantile"),
        "depth": one_of(1, 2, 3),
        "random_kernel": one_of(False, True),
        "support": one_of(None, 10),
        "learn_labels": one_of(False, True),
    },
}


def tune(
    out: Path,
    method: str,
    name: str,
    make: Callable[[DataSet, Settings, int], pd.DataFrame],
    rounds: int = ROUNDS,
    workers: int = 1,
) -> Path:
    """Try settings of a method on a data set until there are so many rounds, and keep them all. Each round has its own
    seed, so that several processes may share them.
    """
    path = tuning_path(out, method, name)
    kept = json.loads(path.read_text()) if path.is_file() else _fresh(method, name)
    done = {each["seed"] for each in kept["rounds"]}
    missing = [number for number in range(rounds) if number not in done]
    for found in _played(partial(played, method, name, make), missing, workers):
        kept["rounds"] = sorted([*kept["rounds"], found], key=lambda each: each["seed"])
        said = f"round {found['seed']}: {found['score']:.4f} with {found['settings']}"
        print(f"{method} on {name}, {said}", file=sys.stderr, flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(kept | made_by(), indent=1) + "\n")
    return path


def _played(play: Callable[[int], dict[str, Any]], numbers: list[int], workers: int) -> Iterator[dict[str, Any]]:
    """Rounds as they end, in this process or in several."""
    if workers == 1:
        yield from map(play, numbers)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for each in as_completed([pool.submit(play, number) for number in numbers]):
            yield each.result()


def played(
    method: str, name: str, make: Callable[[DataSet, Settings, int], pd.DataFrame], number: int
) -> dict[str, Any]:
    """One setting, and what its release is worth."""
    data = held_out(load(name))
    rng = np.random.default_rng([number, list(SPACES).index(method)])
    settings = {key: draw(rng) for key, draw in SPACES[method].items()}
    started = time.perf_counter()
    score = max(lightgbm(make(data, settings, number), data).values())
    seconds = round(time.perf_counter() - started, 1)
    return {"settings": settings, "score": round(score, 5), "seconds": seconds, "seed": number}


def best(out: Path, method: str, name: str = PUBLIC) -> Settings | None:
    """The settings with the best score, None where nothing was tried."""
    path = tuning_path(out, method, name)
    if not path.is_file():
        return None
    found: Settings = max(json.loads(path.read_text())["rounds"], key=lambda each: each["score"])["settings"]
    return found


def tuning_path(out: Path, method: str, name: str) -> Path:
    """Where a search is kept."""
    return out / "tuning" / f"{method}.{name}.json"


def _fresh(method: str, name: str) -> dict[str, Any]:
    paid = "public: no table of the paper" if name == PUBLIC else "UNPAID: searched on private rows, as the paper does"
    return {"method": method, "data": name, "privacy": paid, "epsilon": EPSILON, "rounds": []}
