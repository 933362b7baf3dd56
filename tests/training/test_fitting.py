"""The training loop: it finds what it is trained towards, can be stopped anywhere, and stops by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.training.test_targets import COVARIANCE, RHO, wave_target

from sfumato.training.settings import Training

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
fitting = pytest.importorskip("sfumato.training.fitting")


def linear(weights: Any, noise: Any) -> Any:
    return noise @ weights["root"]


def begin() -> Any:
    return fitting.State.begin({"root": jnp.eye(2)})


def test_a_correlation_is_learned_from_exact_waves() -> None:
    """Its noise is next to none, so training goes on to the end. Over 5 seeds the covariance is off by 0.03 at most."""
    target, _ = wave_target(sd=1e-3)
    losses: list[float] = []
    done = fitting.train(
        target, linear, 2, begin(), Training(steps=150, rows=400, rate=0.03), lambda state, loss: losses.append(loss)
    )
    root = np.asarray(done.weights["root"])
    assert done.step == 150
    assert np.abs(root.T @ root - COVARIANCE).max() < 0.1 < RHO
    assert losses[-1] < losses[0] / 10


def test_a_training_that_was_stopped_ends_where_it_would_have() -> None:
    """Bit for bit, from numbers that went through single precision, as in a file."""
    target, _ = wave_target(sd=1e-3)
    settings = Training(steps=150, rows=400, rate=0.03)
    states: list[Any] = []
    whole = fitting.train(target, linear, 2, begin(), settings, lambda state, loss: states.append(state))
    assert [state.step for state in states] == [50, 100, 150]
    first = states[0]
    copies = [{n: jnp.asarray(np.asarray(a, dtype=np.float32)) for n, a in part.items()} for part in first[1:]]
    again = fitting.train(target, linear, 2, fitting.State(first.step, *copies), settings)
    np.testing.assert_array_equal(again.weights["root"], whole.weights["root"])
    np.testing.assert_array_equal(again.second["root"], whole.second["root"])
    other = fitting.train(target, linear, 2, begin(), Training(steps=150, rows=400, rate=0.03, seed=1))
    assert not np.array_equal(other.weights["root"], whole.weights["root"])


def test_it_stops_where_the_answers_are_met() -> None:
    target, _ = wave_target(sd=10.0)  # a chi-square of 1 is met at once, and then of less, since noise is of length 0
    target = type(target)(target.frequencies, target.means * 0.0, target.sd, target.view)
    done = fitting.train(target, linear, 2, begin(), Training(steps=150, rows=400))
    assert done.step == fitting.BLOCK


def test_a_last_block_may_be_short_and_the_rate_falls_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def block(target: Any, make: Any, dim: int, rows: int, state: Any, some: Any, seed: Any) -> tuple[Any, Any]:
        rates.extend(np.asarray(some).tolist())
        return state._replace(step=state.step + len(some)), np.full(len(some), 2.0)

    monkeypatch.setattr(fitting, "_block", block)
    steps: list[int] = []
    target, _ = wave_target(sd=1.0, waves=2)
    settings = Training(steps=120, rate=0.1)
    done = fitting.train(target, linear, 2, begin(), settings, lambda state, loss: steps.append(state.step))
    assert steps == [50, 100, 120]
    assert done.step == 120
    assert rates[0] == pytest.approx(0.1)
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 1e-4
    assert len(rates) == 120
