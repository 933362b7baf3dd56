"""The picture of plans: what is drawn around the epsilons asked for, and what has no picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan_plot import draw_plans, sweep

SCHEMA: dict[str, Any] = {"columns": {"age": {"type": "number", "min": 0, "max": 100, "bins": 16}}}


def plan(epsilon: float) -> Any:
    return sf.plan(SCHEMA, epsilon=epsilon, delta=1e-6, rows=1000)


def test_the_curve_goes_beyond_what_was_asked_on_both_sides() -> None:
    found = sweep([plan(2.0), plan(0.5)], points=7, wider=4.0)
    assert found == pytest.approx([0.125 * 2.0**step for step in range(7)])
    assert sweep([plan(1.0)])[12] == pytest.approx(1.0), "what was asked is in the middle"
    assert (np.diff(sweep([plan(1.0)])) > 0).all()


def test_a_picture_is_written(tmp_path: Path) -> None:
    draw_plans([plan(0.5), plan(1.0), plan(2.0)], [plan(1.0)], tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_plan_without_a_forecast_has_no_picture(tmp_path: Path) -> None:
    silent = replace(plan(1.0), expected_kl={})
    with pytest.raises(ArgumentError, match=r"nothing to plot$"):
        draw_plans([silent], [silent], tmp_path / "p.png")
    assert not list(tmp_path.iterdir())
