"""Recorded figures are made again and compared: by stand-ins, and, slowly, all that there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.verify import Point, first

from experiments import verify


def point(value: float | Sequence[float], recorded: float = 1.0, sd: float | None = 0.1, name: str = "a/b") -> Point:
    values = [value] if isinstance(value, float) else value
    return Point(name, recorded, lambda: values, sd)


@pytest.mark.parametrize(("value", "agrees"), [(1.0, True), (1.39, True), (0.61, True), (1.41, False), (0.59, False)])
def test_a_point_agrees_within_four_deviations(value: float, agrees: bool) -> None:
    assert point(value).made()["agrees"] is agrees


def test_without_a_deviation_the_trials_tell_it() -> None:
    values = [0.0, 1.0, 2.0, 3.0, 4.0]
    median = point(values, recorded=2.0, sd=None).made()
    assert median["found"] == 2.0
    assert median["sd"] == pytest.approx(1.2533 * 1.5811 / 5**0.5, rel=1e-3)
    one = Point("a/b", 2.0, lambda: values, None, first).made()
    assert (one["found"], one["sd"]) == (0.0, pytest.approx(1.5811, rel=1e-3))


def test_what_was_made_is_kept_and_says_what_made_it(tmp_path: Path) -> None:
    path = tmp_path / "results" / verify.FILE
    offered = [point(1.0, name="a"), point(3.0, name="b")]
    assert [each["agrees"] for each in verify.verify(offered, path)] == [True, False]
    (line, _) = verify.kept(path)
    assert {"commit", "command", "versions", "seconds"} <= set(line)
    again = [point(9.0, name="a"), point(1.0, name="b")]
    assert [each["found"] for each in verify.verify(again, path)] == [1.0, 3.0]
    assert [each["found"] for each in verify.verify(again, path, again=True)] == [9.0, 1.0]
    path.write_text(path.read_text().replace(line["commit"], "another"))
    assert [each["found"] for each in verify.verify(offered, path)] == [1.0, 3.0]


def test_time_may_run_out(tmp_path: Path) -> None:
    assert verify.verify([point(1.0)], tmp_path / verify.FILE, minutes=0.0) == []


def test_data_that_is_not_there_is_said(tmp_path: Path) -> None:
    def redo() -> list[float]:
        raise FileNotFoundError("no rows here")

    (told,) = verify.verify([Point("a/b", 1.0, redo)], tmp_path / verify.FILE)
    assert "skipped: no rows here" in verify.line(told)


@pytest.mark.parametrize(("value", "code"), [(1.0, 0), (2.0, 1)])
def test_the_command_tells_by_its_code(
    value: float,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(verify, "points", lambda packages: [point(value)])
    monkeypatch.setattr(sys, "argv", ["verify", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        verify.main()
    assert ended.value.code == code
    assert ("DIFFERS" in capsys.readouterr().out) is bool(code)


def test_every_figure_and_table_offers_a_point() -> None:
    names = {each.name.partition(":")[0] for each in verify.points()}
    assert {f"liu2025/fig{i}" for i in range(1, 11)} | {"three_a/table1", "three_a/tuning"} <= names
    for package in verify.PACKAGES:
        results = Path(verify.__file__).parent / package / "results"
        kept = {path.relative_to(results).parts[0].partition(".")[0] for path in results.rglob("*.json*")}
        assert kept <= {name.partition("/")[2] for name in names if name.startswith(package)} | OTHERWISE, package


OTHERWISE = {"times"}  # seconds are those of the machine


def test_recorded_figures_say_what_made_them() -> None:
    results = Path(verify.__file__).parent / "slicing" / "results"
    for path in results.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            run = json.loads(line)
            assert {"commit", "command", "versions", "seed"} <= set(run), path.name
            assert run["versions"], (path.name, run["command"])


@pytest.mark.slow
def test_recorded_figures_come_out_again(tmp_path: Path) -> None:
    found = verify.verify(verify.points(), tmp_path / verify.FILE)
    told = "\n".join(map(verify.line, found))
    assert len(found) == len(verify.points()), told  # within ten minutes
    assert all(each.get("agrees", True) for each in found), told
