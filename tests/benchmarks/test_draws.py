"""The figures of docs/draws.md are those of the benchmark, and it sees intervals that are too narrow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import draws

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_figures() -> None:
    cells = json.loads((ROOT / "benchmarks" / "draws.json").read_text())["cells"]
    page = (ROOT / "docs" / "draws.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) \| ([\d.]+) % \|$", page, re.MULTILINE)
    for cell, row in zip(cells, rows, strict=True):
        told = [cell["draws"], cell["ratio"], 100 * cell["covers"], cell["half_width"], 100 * cell["rubin_covers"]]
        np.testing.assert_allclose(told, [float(each) for each in row], atol=0.0501)


def test_narrow_intervals_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert draws.covers(20, 0.1, 4000, 1)["covers"] > 0.95 - 5.0 * np.sqrt(0.95 * 0.05 / 4000)
    monkeypatch.setattr(draws, "LEVEL", 0.9)
    assert draws.covers(20, 0.1, 4000, 1)["covers"] < 0.95 - 5.0 * np.sqrt(0.95 * 0.05 / 4000)
