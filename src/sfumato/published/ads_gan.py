"""ADS-GAN (Yoon, Drumright and van der Schaar 2020), for comparison. NOT DIFFERENTIALLY PRIVATE, and not said to be.

A Wasserstein GAN with gradient penalty whose generator is given a private row beside its noise: G(z, x). Its loss holds
down the critic's and, weighed by lambda, minus the distance between x and G(z, x): made rows are pushed away from the
rows that they are made of. That lowers the share of made rows that are nearer to a private row than its next neighbour
is (`identifiability`), which is a statement about this table and these rows, not a bound on what anybody can learn: no
noise is added anywhere, and each synthetic row is made of one private row. Rows are raw arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.published.row_generator import (
    STEPS_A_CALL,
    Encoding,
    LabelledRows,
    Made,
    forward,
    labelled,
    layers,
    trainers,
)
from sfumato.schema.layout import FloatArray

CRITIC_STEPS = 5  # for each of the generator's
MOMENTUM = 0.5  # Adam's first


@dataclass(frozen=True)
class Settings:
    """Width of the hidden layers, size of z, rows in a batch, the generator's steps, Adam's rate, lambda, and the
    weight of the gradient penalty.
    """

    width: int = 30
    noise: int = 10
    batch: int = 128
    steps: int = 10_000
    rate: float = 1e-4
    identifiability: float = 0.1
    penalty: float = 10.0


AUTHORS = Settings()
"""All as in the authors' code."""


def ads_gan(
    table: LabelledRows,
    *,
    rows: int,
    rng: np.random.Generator,
    settings: Settings = AUTHORS,
) -> Made:
    """`rows` synthetic rows as numbers, category codes and classes.

    No guarantee: see the module's text. Categories are probabilities in training and drawn in the end; the authors
    have numbers there too, and round them.
    """
    encoding, x = table.encoding, table.encoded.astype(np.float32)
    weights = train(encoding, x, settings, rng)
    each = np.arange(rows) if rows <= len(x) else rng.integers(len(x), size=rows)
    z = rng.uniform(-1.0, 1.0, (rows, settings.noise)).astype(np.float32)
    made = encoding.generate(weights, np.hstack([z, x[each]]), "tanh")
    return labelled(*encoding.decode(np.asarray(made, dtype=np.float64), rng))


def train(encoding: Encoding, x: Any, settings: Settings, rng: np.random.Generator) -> Any:
    """The generator's weights after all steps."""
    jax, optax = trainers("ADS-GAN")
    jnp, optimiser = jax.numpy, optax.adam(settings.rate, b1=MOMENTUM)

    def make(generator: Any, rows: Any, key: Any) -> Any:
        z = jax.random.uniform(key, (settings.batch, settings.noise), minval=-1.0)
        return encoding.generate(generator, jnp.hstack([z, rows]), "tanh")

    def critic_loss(critic: Any, generator: Any, rows: Any, key: Any) -> Any:
        at_z, at_place = jax.random.split(key)
        made = make(generator, rows, at_z)
        place = jax.random.uniform(at_place, (settings.batch, 1))
        between = place * rows + (1.0 - place) * made
        slopes = jax.vmap(jax.grad(lambda row: forward(critic, row)[0]))(between)
        steepness = jnp.sqrt((slopes**2 + 1e-8).sum(axis=1))
        penalty = settings.penalty * ((steepness - 1.0) ** 2).mean()
        return forward(critic, made).mean() - forward(critic, rows).mean() + penalty

    def generator_loss(generator: Any, critic: Any, rows: Any, key: Any) -> Any:
        made = make(generator, rows, key)
        apart = jnp.sqrt(((rows - made) ** 2).sum(axis=1) + 1e-12).mean()
        return -forward(critic, made).mean() - settings.identifiability * apart

    def descend(loss: Any, weights: Any, state: Any, *known: Any) -> tuple[Any, Any]:
        change, state = optimiser.update(jax.grad(loss)(weights, *known), state)
        return optax.apply_updates(weights, change), state

    def critic_step(carry: Any, batch: Any) -> Any:
        generator, critic, state, table = carry
        chosen, key = batch
        critic, state = descend(critic_loss, critic, state, generator, table[chosen], key)
        return (generator, critic, state, table), None

    def step(carry: Any, batch: Any) -> Any:
        generator, critic, states, table = carry
        chosen, keys = batch
        before = (generator, critic, states[0], table)
        (_, critic, of_critic, _), _ = jax.lax.scan(critic_step, before, (chosen[:-1], keys[:-1]))
        generator, state = descend(generator_loss, generator, states[1], critic, table[chosen[-1]], keys[-1])
        return (generator, critic, (of_critic, state), table), None

    run = jax.jit(lambda carry, batches: jax.lax.scan(step, carry, batches)[0])
    width = settings.width
    generator = layers((settings.noise + encoding.width, width, width, width, encoding.width), rng)
    critic = layers((encoding.width, width, width, 1), rng)
    carry = (generator, critic, (optimiser.init(critic), optimiser.init(generator)), jnp.asarray(x))
    key = jax.random.key(int(rng.integers(2**32)))
    for start in range(0, settings.steps, STEPS_A_CALL):
        count = min(STEPS_A_CALL, settings.steps - start)
        chosen = rng.integers(len(x), size=(count, CRITIC_STEPS + 1, settings.batch), dtype=np.int32)
        key, use = jax.random.split(key)
        carry = run(carry, (chosen, jax.random.split(use, (count, CRITIC_STEPS + 1))))
    return carry[0]


def identifiability(real: FloatArray, made: FloatArray) -> float:
    """The share of private rows that a made row is nearer to than any other private row is (Definition 1).

    >>> identifiability(np.array([[0.0], [1.0], [5.0]]), np.array([[0.9], [9.0]]))
    0.6666666666666666
    """
    from scipy.spatial import cKDTree

    to_real = np.asarray(cKDTree(real).query(real, k=2)[0])[:, 1]
    to_made = cKDTree(made).query(real, k=1)[0]
    return float((to_made < to_real).mean())
