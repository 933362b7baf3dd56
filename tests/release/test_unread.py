"""The share of cells that fitted no bin, from noisy answers alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.guarantee import NoisyAnswer
from sfumato.release.unread import Unread, find_unread, unread_lines

WHAT = {"kind": "histograms", "classes": 2, "bins": [3, 2], "nowhere": "first"}
COUNTS = np.array([[10.0, 30, 30, 30, 0, 50, 50], [30.0, 20, 20, 30, 0, 100, 0]])


def answer(counts: Any, sd: Any, **what: Any) -> NoisyAnswer:
    return NoisyAnswer("histograms", np.ravel(counts), sd, WHAT | what)


def test_shares_and_their_noise() -> None:
    weight, height = find_unread([answer(COUNTS, 1.0)], ["weight", "height"])
    assert (weight.column, weight.share, height.share) == ("weight", pytest.approx(0.2), 0.0)
    rows_variance = 1.0 / (1 / 8 + 1 / 6)  # of the two columns' sums
    common = 2 * (1 / 8) * rows_variance  # of the count and the rows, to whose first estimate it belongs
    assert weight.sd == pytest.approx(np.sqrt(2 + 0.2**2 * rows_variance - 2 * 0.2 * common) / 200)
    assert height.sd == pytest.approx(np.sqrt(2) / 200)


def test_several_answers_are_weighted_by_their_noise() -> None:
    again = NoisyAnswer("finer", [100.0, 50, 50], 1.0, WHAT | {"classes": 1, "bins": [2], "columns": [1]})
    plain = find_unread([answer(COUNTS, 1.0)], ["weight", "height"])
    more = find_unread([answer(COUNTS, 1.0), again], ["weight", "height"])
    assert more[1].share == pytest.approx((100 / 1 + 0 / 2) / (1 / 1 + 1 / 2) / 200, rel=1e-6)
    assert more[1].sd < plain[1].sd


def test_the_noise_is_what_it_says() -> None:
    rng = np.random.default_rng(1)
    sd = np.tile([4.0, 4, 4, 4, 9, 9, 9], 2)
    far = []
    for _ in range(2000):
        (weight, _) = find_unread([answer(COUNTS.ravel() + rng.normal(0, sd), sd)], ["weight", "height"])
        far.append((weight.share - 0.2) / weight.sd)
    assert abs(np.mean(far)) < 0.12
    assert 0.9 < np.std(far) < 1.1  # 6 sd of it for Gaussian noise


@pytest.mark.parametrize(
    "what",
    [
        {"kind": "group sums"},
        {"nowhere": None},
        {"classes": 3},
        {"classes": True},
        {"bins": [3, 3]},
        {"bins": []},
        {"bins": "32"},
        {"bins": [3.0, 2.0]},
        {"columns": [0, 9]},
        {"columns": [0]},
        {"columns": [-1, 0]},
    ],
)
def test_other_answers_tell_nothing(what: dict[str, Any]) -> None:
    assert find_unread([answer(COUNTS, 1.0, **what)], ["weight", "height"]) == ()


def test_absurd_numbers_tell_nothing() -> None:
    assert find_unread([answer(COUNTS * 1e300, 1.0)], ["a", "b"]) == ()
    assert find_unread([answer(COUNTS, 1e-300)], ["a", "b"]) == ()
    assert find_unread([], ["a", "b"]) == ()


def test_a_table_too_small_to_tell() -> None:
    found = find_unread([answer(-COUNTS, 50.0)], ["a", "b"])
    assert unread_lines(found) == ["all columns fit their bins, within noise"]


def test_what_is_told() -> None:
    clear, small, noisy = Unread("weight", 0.191, 0.005), Unread("age", 0.004, 0.0001), Unread("pay", 0.2, 0.15)
    assert [each.is_clear for each in (clear, small, noisy)] == [True, False, False]
    assert unread_lines([clear, small, noisy]) == ["about 19 % (± 1 %) of `weight` fits no bin"]
    assert str(Unread("x", 0.0512, 0.0011)) == "about 5.1 % (± 0.2 %) of `x` fits no bin"
    assert str(Unread("x", 0.0512, 0.00011)) == "about 5.12 % (± 0.02 %) of `x` fits no bin"
    assert str(Unread("x", 0.512, 0.08)) == "about 51 % (± 16 %) of `x` fits no bin"
    assert unread_lines([small, noisy]) == ["all columns fit their bins, within noise"]
    assert unread_lines([]) == []


def test_a_release_tells_how_much_fitted_no_bin(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(75, 15, 20_000)
    weight[rng.random(20_000) < 0.19] = np.nan
    frame = pd.DataFrame({"weight": weight, "age": rng.integers(18, 90, 20_000)})
    schema = {
        "columns": {
            "weight": {"type": "number", "min": 0, "max": 300},
            "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        }
    }
    release = sf.fit(frame, schema, epsilon=1, delta=1e-6, insecure_seed=1)
    found = {each.column: each for each in release.unread}
    assert found["weight"].share == pytest.approx(np.isnan(weight).mean(), abs=6 * found["weight"].sd)
    assert found["weight"].is_clear
    assert found["age"].share < 6 * found["age"].sd
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").unread == release.unread
    assert replace(release, answers=()).unread == ()
