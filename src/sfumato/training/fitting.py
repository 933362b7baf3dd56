"""The one training loop: Adam on whatever a target asks, in blocks of steps between which anyone may stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]

from sfumato.training.settings import Training

BLOCK = 50  # steps between two looks at the loss
ADAM = optax.scale_by_adam()


class Target(Protocol):
    """What training is towards; `enough` is the loss below which it would learn noise."""

    @property
    def enough(self) -> float:
        """The loss at which training may end."""

    def loss(self, make: Callable[[jax.Array], jax.Array], rows: int, dim: int, key: jax.Array) -> jax.Array:
        """How far made rows are from what was bought."""


class State(NamedTuple):
    """A training that can go on: steps done, the weights (a tree of arrays), and Adam's two means of gradients."""

    step: int
    weights: Any
    first: Any
    second: Any

    @classmethod
    def begin(cls, weights: Any) -> State:
        """The state before the first step."""
        zeros = jax.tree.map(jnp.zeros_like, weights)
        return cls(0, jax.tree.map(jnp.asarray, weights), zeros, zeros)


def train(
    target: Target,
    make: Callable[[Any, jax.Array], jax.Array],
    dim: int,
    state: State,
    settings: Training,
    on_block: Callable[[State, float], None] = lambda state, loss: None,
) -> State:
    """Go on until the steps are done, or the loss of a block is below what is enough.

    `make(weights, noise)` are rows. Whatever is drawn at a step follows from the seed and the step's number, so a
    training that was stopped after a block and goes on later ends where it would have. `on_block` hears every block.
    """
    while state.step < settings.steps:
        size = min(BLOCK, settings.steps - state.step)
        rates = jnp.asarray([_rate(settings, state.step + i) for i in range(size)])
        state, losses = _block(target, make, dim, settings.rows, state, rates, jnp.asarray(settings.seed))
        loss = float(losses.mean())
        on_block(state, loss)
        if loss < target.enough:
            break
    return state


def _rate(settings: Training, step: int) -> float:
    return settings.rate * 0.5 * (1.0 + math.cos(math.pi * step / settings.steps))


def _block(
    target: Target,
    make: Callable[[Any, jax.Array], jax.Array],
    dim: int,
    rows: int,
    state: State,
    rates: jax.Array,
    seed: jax.Array,
) -> tuple[State, jax.Array]:
    memory = optax.ScaleByAdamState(jnp.asarray(state.step), state.first, state.second)
    weights, memory, losses = _steps(target, make, dim, rows, state.weights, memory, rates, seed)
    return State(state.step + len(rates), weights, memory.mu, memory.nu), losses


@eqx.filter_jit
def _steps(
    target: Target,
    make: Callable[[Any, jax.Array], jax.Array],
    dim: int,
    rows: int,
    weights: Any,
    memory: Any,
    rates: jax.Array,
    seed: jax.Array,
) -> tuple[Any, Any, jax.Array]:
    def step(carry: tuple[Any, Any], rate: jax.Array) -> tuple[tuple[Any, Any], jax.Array]:
        weights, memory = carry
        key = jax.random.fold_in(jax.random.key(seed), memory.count)
        loss, slopes = jax.value_and_grad(lambda w: target.loss(partial(make, w), rows, dim, key))(weights)
        change, memory = ADAM.update(slopes, memory)
        return (jax.tree.map(lambda w, c: w - rate * c, weights, change), memory), loss

    (weights, memory), losses = jax.lax.scan(step, (weights, memory), rates)
    return weights, memory, losses
