"""What training makes rows by, of a user's own: a module that is filled with other numbers at every step."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sfumato.training.makers import OwnRows, with_leaves


class Scaled(eqx.Module):
    """A module of a user's: noise times a factor, moved by the class."""

    factor: jax.Array
    moved: jax.Array
    name: str = "scaled"

    def __call__(self, noise: jax.Array, one_hot: jax.Array) -> jax.Array:
        return noise * self.factor + self.moved @ one_hot


MODULE = Scaled(jnp.asarray(2.0), jnp.asarray([10.0, 20.0]))
LEAVES = [jnp.asarray(3.0), jnp.asarray([0.0, 100.0])]


def test_a_module_is_filled_with_other_numbers_and_keeps_the_rest() -> None:
    filled = with_leaves(MODULE, LEAVES)
    assert (float(filled.factor), filled.moved.tolist(), filled.name) == (3.0, [0.0, 100.0], "scaled")
    assert float(MODULE.factor) == 2.0


def test_a_user_s_module_makes_rows_class_by_class() -> None:
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(2, 5, 3)))
    made = OwnRows(MODULE)(LEAVES, noise)
    np.testing.assert_allclose(made, 3.0 * noise + np.array([0.0, 100.0])[:, None, None], rtol=1e-6)
