"""The experiments' set-ups and their one interface: small, because the figures themselves take minutes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.liu2025 import __main__ as command
from experiments.liu2025 import runners, setups
from experiments.liu2025.sweeps import kl_to_fit


@pytest.mark.parametrize(("rows", "classes", "dim"), [(1000, 5, 3), (250, 5, 3), (1000, 10, 3), (1000, 5, 8)])
def test_synthetic_data_is_as_described(rows: int, classes: int, dim: int) -> None:
    setup = setups.synthetic(1, rows=rows, classes=classes, dim=dim)
    assert setup.x.shape == (rows, dim)
    assert np.bincount(setup.y, minlength=classes).min() >= setups.LEAST_ROWS
    np.testing.assert_array_equal(setup.x, setups.synthetic(1, rows=rows, classes=classes, dim=dim).x)
    assert (setup.x != setups.synthetic(2, rows=rows, classes=classes, dim=dim).x).any()
    low, high = setup.bounds
    assert ((setup.x >= low) & (setup.x <= high)).mean() > 0.95


def test_the_public_domain_of_three_columns_is_14() -> None:
    assert setups.synthetic(0).bounds[1].tolist() == [14.0] * 3


@pytest.mark.parametrize("method", runners.METHODS)
def test_every_method_releases_a_mixture_and_repeats(method: str) -> None:
    setup = setups.synthetic(0)
    one, again = (runners.release(method, setup, 2.0, setups.DELTA, (0,)) for _ in range(2))
    assert one.means.shape == (5, 3)
    np.testing.assert_array_equal(one.covariances, again.covariances)
    assert np.isfinite(kl_to_fit(one, setup))


def test_legends_say_which_lines_are_private_and_for_whom() -> None:
    private = {name for name, method in runners.ALL.items() if method.private}
    assert private == {"naive-strict", "strict", "strict-components", "strict-label"}
    assert all(("not DP" in method.legend) != method.private for method in runners.ALL.values())
    assert {name for name in private if runners.ALL[name].legend.endswith("(DP, label)")} == {"strict-label"}


def test_a_flipped_label_is_another_promise_at_equal_epsilon() -> None:
    """The adjacency reaches the library: the same table and seed, other noise."""
    setup = setups.synthetic(0)
    rows, flips = (
        runners._strict(setup, 1.0, setups.DELTA, np.random.default_rng(0), adjacency)
        for adjacency in ("add-remove", "label")
    )
    assert not np.allclose(rows.means, flips.means)


@pytest.mark.parametrize("method", ["naive-strict", "strict"])
def test_a_unit_of_several_rows_has_more_noise(method: str) -> None:
    setup = setups.synthetic(0)
    of_homes = setups.Setup(setup.x, setup.y, setup.classes, setup.bounds, unit=np.arange(1000) // 10, rows_per_unit=10)
    row, home = (
        np.median([kl_to_fit(runners.release(method, s, 4.0, setups.DELTA, (seed,)), s) for seed in range(5)])
        for s in (setup, of_homes)
    )
    assert home > 2 * row


def test_missing_data_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    with pytest.raises(setups.MissingData, match=r"iris\.parquet is not in .*SFUMATO_SHARED"):
        setups.iris()


def test_one_command_writes_numbers_and_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["liu2025", "fig1", "--trials", "1", "--out", str(tmp_path)])
    command.main()
    found = json.loads((tmp_path / "fig1.json").read_text())
    assert found["lines"]["strict"]["differentially_private"]
    assert len(found["lines"]["printed"]["median"]) == len(found["values"]) == 5
    assert (tmp_path / "fig1.png").stat().st_size > 10_000
