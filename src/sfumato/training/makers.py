"""What training calls to make rows from weights. Two of the same kind share what was compiled for one of them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from sfumato.training.network import Architecture, Lens, make


class NetworkRows(eqx.Module):
    """Rows of a network of sfumato's own, its weights in the order of their names."""

    architecture: Architecture = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    show: jax.Array | None
    tell: jax.Array | None

    def __init__(self, architecture: Architecture, names: tuple[str, ...], lens: Lens | None) -> None:
        self.architecture, self.names = architecture, names
        self.show, self.tell = (None, None) if lens is None else (jnp.asarray(lens.show), jnp.asarray(lens.tell))

    def __call__(self, weights: Any, noise: jax.Array) -> jax.Array:
        lens = None if self.show is None else Lens(self.show, self.tell)
        return make(self.architecture, dict(zip(self.names, weights, strict=True)), noise, lens, jnp)


class OwnRows(eqx.Module):
    """Rows of a user's module, called as module(noise, one_hot_class) for one row."""

    module: Any

    def __call__(self, leaves: Any, noise: jax.Array) -> jax.Array:
        filled = with_leaves(self.module, leaves)
        return jax.vmap(lambda rows, k: jax.vmap(lambda one: filled(one, k))(rows))(noise, jnp.eye(len(noise)))


def with_leaves(module: Any, leaves: Any) -> Any:
    """The same module with other numbers in it."""
    numbers, rest = eqx.partition(module, eqx.is_inexact_array)
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(numbers), list(leaves)), rest)
