"""The command of the experiments, and the tables that compare the strict release: two trials each, no figures."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.liu2025 import __main__ as command
from experiments.liu2025 import components, setups, strict
from experiments.liu2025.figures import FIGURES, SET_UP
from experiments.liu2025.oracle import oracle
from experiments.liu2025.record import Cells
from experiments.liu2025.runners import release
from experiments.liu2025.sweeps import kl_to_fit

from sfumato.accounting import add_up, mu_of


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["liu2025", *arguments])
    command.main()


def test_the_command_lists_its_figures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "--help")
    said = capsys.readouterr().out
    assert set(FIGURES) >= {f"fig{number}" for number in range(1, 11)} | {"strict", "forecast", "clusters"}
    assert all(name in said for name in FIGURES)


def test_two_trials_write_numbers_and_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(monkeypatch, "fig1", "--trials", "2", "--out", str(tmp_path))
    found = json.loads((tmp_path / "fig1.json").read_text())
    assert found["trials"] == 2
    assert {"commit", "command", "seeds", "versions"} <= set(found["made_by"])
    assert "strict-label" in found["lines"]
    assert (tmp_path / "fig1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("figure", ["fig5", "fig7", "fig9"])
def test_figures_without_their_data_are_skipped_and_say_so(
    figure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    setups._mnist_images.cache_clear()
    run(monkeypatch, figure, "--trials", "1", "--out", str(tmp_path))
    assert f"{figure} skipped: " in (said := capsys.readouterr().err)
    assert "SFUMATO_SHARED" in said
    assert not list(tmp_path.glob("*.json"))


def test_the_oracle_is_below_the_strict_release() -> None:
    tables = [setups.synthetic(index, rows=10_000) for index in range(4)]
    known = [kl_to_fit(oracle(t, 1.0, setups.DELTA, np.random.default_rng(i)), t) for i, t in enumerate(tables)]
    found = [kl_to_fit(release("strict", t, 1.0, setups.DELTA, (i,)), t) for i, t in enumerate(tables)]
    assert np.mean(known) < np.mean(found)


def test_the_oracle_without_noise_is_the_fit() -> None:
    setup = setups.synthetic(0, rows=10_000)
    assert kl_to_fit(oracle(setup, 100.0, setups.DELTA, np.random.default_rng(0)), setup) < 1e-4


def test_the_tables_of_the_strict_release_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(strict, "EPSILONS", (1.0,))
    found = strict.table(replace(SET_UP, values=(1.0,)), 2, tmp_path / "strict", Cells(tmp_path))
    said = [row["method"].split(" (")[-1] for row in found["kl"]]
    assert said == ["not DP)", "not DP)", "DP, add-remove)", "DP, add-remove)", "DP, label)"]
    assert {"strict_over_printed", "label_over_printed"} <= set(found["ratios"][0])
    assert "| oracle (not DP) | 10000 | 1 |" in (tmp_path / "strict.md").read_text()


def test_components_and_mixture_together_spend_the_budget() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.uniform(0, 2, (500, 49))
    blocks[:, :5] *= np.arange(5, 0, -1) / 2
    table = setups.synthetic(0)
    setup = setups.Setup(blocks, table.y[:500], 5, table.bounds, blocks, table.y[:500], blocks=(blocks, blocks))
    found, left = components.found_privately(setup, 2.0, setups.DELTA, rng)
    assert found.x.shape == (500, setups.MNIST_DIM)
    spent = mu_of(2.0, setups.DELTA) / np.sqrt(2.0)
    assert add_up([spent, mu_of(left, setups.DELTA)]) == pytest.approx(mu_of(2.0, setups.DELTA), rel=1e-9)


def test_cells_are_measured_once_for_a_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiments.liu2025.record.commit", lambda: "a" * 40)
    assert Cells(tmp_path).get("one", lambda: 1.5) == 1.5
    assert Cells(tmp_path).get("one", lambda: 2.5) == 1.5
    monkeypatch.setattr("experiments.liu2025.record.commit", lambda: "a" * 40 + "+")
    assert Cells(tmp_path).get("one", lambda: 2.5) == 2.5
