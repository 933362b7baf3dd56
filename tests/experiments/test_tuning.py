"""The search for settings of slicing as printed: which are tried, what is kept, what is chosen."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.slicing import runs, tune
from experiments.slicing.data import load
from experiments.slicing.plain import Plain
from experiments.slicing.tune import GRID, Settings
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet

BEST = Settings(50, 0.6, 1e-2, 64, 1e-3, "kl")


def worth(settings: Settings) -> float:
    """Least far from BEST on the grid is best."""
    return -sum(abs(GRID[name].index(getattr(settings, name)) - GRID[name].index(getattr(BEST, name))) for name in GRID)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Settings, int | None]]:
    """Stand-ins for the table, the release and the judge; what was released."""
    made: list[tuple[Settings, int | None]] = []
    table = DataSet("credit", pd.DataFrame({"y": [0]}), pd.DataFrame({"y": [0]}), "y", (0, 1), 0.1, 1, None)

    def printed(settings: Settings) -> object:
        def make(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> Settings:
            made.append((settings, seed))
            return settings

        return make

    monkeypatch.setattr(tune, "printed", printed)
    monkeypatch.setitem(tune.SETS, "credit", (lambda: table, lambda settings, data: {"score": worth(settings)}))
    return made


def test_draws_are_the_same_and_begin_alike() -> None:
    assert tune.drawn(5) == tune.drawn(12)[:5]
    assert len(set(tune.drawn(700))) == 700


def test_neighbours_differ_in_one_thing() -> None:
    found = tune.neighbours(BEST)
    assert len(set(found)) == len(found) == 11  # slices, radius, tau and batch go both ways
    for each in found:
        assert sum(getattr(each, field.name) != getattr(BEST, field.name) for field in fields(Settings)) == 1


def test_the_search_goes_on_where_it_stopped(tried: list[tuple[Settings, int | None]], tmp_path: Path) -> None:
    tune.make(tmp_path, epsilons=[1.0], tried=2)
    once = len(tried)
    text = tune.make(tmp_path, epsilons=[1.0], tried=6).read_text()
    assert once < len(tried)
    assert len(set(tried)) == len(tried)
    kept = runs.kept(tmp_path / tune.FILE)
    assert len(kept) == len(tried)
    assert {"commit", "command", "versions", "seed"} <= set(kept[0])
    leader, _ = tune.ranked(kept, "credit", 1.0, seeds=1)[0]
    assert leader in [settings for settings, seed in tried if seed == tune.SEEDS - 1]
    assert "## credit, epsilon = 1" in text


def test_the_best_mean_of_enough_releases_is_chosen(tmp_path: Path) -> None:
    once, often, elsewhere = (Settings(n, 1.0, 1.0, 32, 1e-3, "kl") for n in (10, 25, 50))
    told = [(1.0, once, 0, 0.9), (10.0, elsewhere, 0, 0.7)]
    told += [(1.0, often, seed, 0.5) for seed in range(tune.SEEDS)]
    told += [(10.0, elsewhere, seed, 0.7) for seed in range(1, tune.SEEDS)]
    lines = [
        {"data": "credit", "epsilon": epsilon, "seed": seed, "settings": asdict(settings), "worth": value}
        for epsilon, settings, seed, value in told
    ]
    path = tmp_path / tune.FILE
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tune.best("credit", 2.0, path) == often  # the nearest epsilon by ratio, one release is not enough
    assert tune.best("credit", 5.1, path) == elsewhere
    with pytest.raises(LookupError, match="tune --only digits"):
        tune.best("digits", 1.0, path)


def test_settings_become_options() -> None:
    options = BEST.options(rows=5_000, widest=2.0)
    assert (options["radius"], options["slices"]) == (1.2, 50)
    assert options["training"].epochs == tune.SEEN // 5_000


def test_the_widest_radius_holds_every_row() -> None:
    data = load("adult")
    cube = Cube.of(Plain(data).set)
    numbers = sum(not part.levels for part in cube.parts)
    blocks = sum(1.0 - 1.0 / levels for levels in (*cube.levels, len(data.classes)))
    assert tune.widest(data) == pytest.approx(np.sqrt(numbers / 4 + blocks))
