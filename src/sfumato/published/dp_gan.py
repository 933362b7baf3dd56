"""DP-GAN (Xie, Lin, Wang, Wang and Zhou 2018, arXiv 1802.06739), for comparison: a Wasserstein GAN whose critic learns
from noisy gradients.

Algorithm 1: the critic takes n_d steps for each of the generator's. A step draws rows at random, each with a made row,
averages the gradients of f(x) - f(G(z)), adds Gaussian noise, and cuts the weights off at c_p. The generator sees the
critic alone, so what holds for the critic holds for it.

Two things are read so that the claim holds, and both cost noise:

- Lemma 2 gives the noise, sigma_n = 2 q sqrt(n_d log(1 / delta)) / epsilon, for the rows of one outer loop. Here the
  moments accountant that the paper names goes over all steps of the training.
- Lemma 1 says that a gradient is bounded where weights are, without a number. Here each pair's gradient is shortened
  to a length c_g, as in Abadi et al. (2016).

The guarantee is that of DP-SGD for a row added or removed, with rows drawn by independent coins, ideal noise and exact
sums. This code draws from a seeded generator and adds floats: for experiments, not for releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from sfumato.published.baselines import ORDERS
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

BATCH_ROOM = 6.0  # standard deviations of a batch's size that there is room for; more rows than that are left out


@dataclass(frozen=True)
class Settings:
    """Width of two hidden layers, size of z, rows in a batch on average, n_d, the generator's steps, RMSprop's rate,
    c_p and c_g.
    """

    width: int = 128
    noise: int = 100
    batch: int = 64
    critic_steps: int = 5
    steps: int = 10_000
    rate: float = 5e-5
    weight_cap: float = 0.01
    gradient_bound: float = 1.0


AUTHORS = Settings()
"""Batch, n_d, rate, c_p and steps as in the paper and its code; width and c_g are ours: neither is in the paper."""


def dp_gan(
    table: LabelledRows,
    *,
    epsilon: float,
    delta: float,
    rows: int,
    rng: np.random.Generator,
    settings: Settings = AUTHORS,
) -> Made:
    """`rows` synthetic rows as numbers, category codes and classes.

    Formal guarantee: (epsilon, delta)-DP, add-remove, for ideal arithmetic: a pair's gradient has at most the length
    c_g, rows are drawn by coins of probability batch / n, and `sampled_epsilon` adds up n_d times `steps` such sums.
    The number of rows is public, and so are bounds.
    """
    encoding, x = table.encoding, table.encoded.astype(np.float32)
    share = min(1.0, settings.batch / len(x))
    multiplier = noise_multiplier(epsilon, delta, share, settings.critic_steps * settings.steps)
    weights = train(encoding, x, share, multiplier, settings, rng)
    z = rng.standard_normal((rows, settings.noise), dtype=np.float32)
    return labelled(*encoding.decode(np.asarray(encoding.generate(weights, z), dtype=np.float64), rng))


def sampled_epsilon(share: float, multiplier: float, times: int, delta: float) -> float:
    """The epsilon of a Gaussian mechanism on rows drawn by coins, asked `times` times, for a row added or removed.

    With noise `multiplier` times the sensitivity the Renyi divergence of a whole order a is, by Mironov, Talwar and
    Zhang (2019), section 3.3, log(sum over j from 0 to a of C(a, j) (1 - q)^(a - j) q^j e^(j (j - 1) / (2 sigma^2))) /
    (a - 1). It adds up, and gives epsilon by Canonne, Kamath and Steinke (2020), Proposition 12.
    """
    renyi = np.array([_sampled_renyi(order, share, multiplier) for order in ORDERS])
    found = times * renyi + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)
    return max(0.0, float(found.min()))


def _sampled_renyi(order: int, share: float, multiplier: float) -> float:
    if share == 1.0:
        return float(order / (2 * multiplier**2))
    j = np.arange(order + 1)
    choose = gammaln(order + 1) - gammaln(j + 1) - gammaln(order - j + 1)
    coins = j * math.log(share) + (order - j) * math.log1p(-share)
    return float(logsumexp(choose + coins + j * (j - 1) / (2 * multiplier**2)) / (order - 1))


def noise_multiplier(epsilon: float, delta: float, share: float, times: int) -> float:
    """The least noise for which `sampled_epsilon` is at most epsilon, to a thousandth."""
    low, high = 0.2, 0.4
    while sampled_epsilon(share, high, times, delta) > epsilon:
        low, high = high, 2 * high
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        enough = sampled_epsilon(share, middle, times, delta) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


def train(
    encoding: Encoding, x: Any, share: float, multiplier: float, settings: Settings, rng: np.random.Generator
) -> Any:
    """The generator's weights after all steps."""
    jax, optax = trainers("DP-GAN")
    optimiser = optax.rmsprop(settings.rate)
    capacity = min(len(x), math.ceil(settings.batch + BATCH_ROOM * math.sqrt(settings.batch)))

    def one_gradient(critic: Any, row: Any, made: Any, there: Any) -> Any:
        slope = jax.grad(lambda w: (forward(w, made) - forward(w, row))[0])(critic)
        length = jax.numpy.sqrt(sum((g**2).sum() for g in jax.tree.leaves(slope)))
        shorter = settings.gradient_bound / jax.numpy.maximum(length, settings.gradient_bound)
        return jax.tree.map(lambda g: g * shorter * there, slope)

    def critic_step(carry: Any, batch: Any) -> Any:
        generator, critic, state, rows = carry
        chosen, there, key = batch
        at_z, at_noise = jax.random.split(key)
        made = encoding.generate(generator, jax.random.normal(at_z, (capacity, settings.noise)))
        each = jax.vmap(one_gradient, in_axes=(None, 0, 0, 0))(critic, rows[chosen], made, there)
        leaves, tree = jax.tree.flatten(each)
        keys = jax.random.split(at_noise, len(leaves))
        scale = multiplier * settings.gradient_bound
        noisy = [
            (g.sum(axis=0) + scale * jax.random.normal(k, g.shape[1:])) / settings.batch
            for g, k in zip(leaves, keys, strict=True)
        ]
        change, state = optimiser.update(jax.tree.unflatten(tree, noisy), state)
        cap = settings.weight_cap
        critic = jax.tree.map(lambda w: jax.numpy.clip(w, -cap, cap), optax.apply_updates(critic, change))
        return (generator, critic, state, rows), None

    def generator_loss(generator: Any, critic: Any, z: Any) -> Any:
        return -forward(critic, encoding.generate(generator, z)).mean()

    def step(carry: Any, batches: Any) -> Any:
        generator, critic, states, rows = carry
        chosen, there, keys, key = batches
        (_, critic, of_critic, _), _ = jax.lax.scan(
            critic_step, (generator, critic, states[0], rows), (chosen, there, keys)
        )
        z = jax.random.normal(key, (settings.batch, settings.noise))
        change, of_generator = optimiser.update(jax.grad(generator_loss)(generator, critic, z), states[1])
        return (optax.apply_updates(generator, change), critic, (of_critic, of_generator), rows), None

    run = jax.jit(lambda carry, batches: jax.lax.scan(step, carry, batches)[0])
    generator = encoding.weights(settings.noise, settings.width, rng)
    critic = jax.tree.map(
        lambda w: np.clip(w, -settings.weight_cap, settings.weight_cap),
        layers((encoding.width, settings.width, settings.width, 1), rng),
    )
    carry = (generator, critic, (optimiser.init(critic), optimiser.init(generator)), jax.numpy.asarray(x))
    key = jax.random.key(int(rng.integers(2**32)))
    for start in range(0, settings.steps, STEPS_A_CALL):
        count = min(STEPS_A_CALL, settings.steps - start)
        chosen, there = by_coins(len(x), share, (count, settings.critic_steps), capacity, rng)
        key, first, second = jax.random.split(key, 3)
        keys = jax.random.split(first, (count, settings.critic_steps))
        carry = run(carry, (chosen, there, keys, jax.random.split(second, count)))
    return carry[0]


def by_coins(
    rows: int, share: float, batches: tuple[int, int], capacity: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Which rows are in each batch, every row by a coin of its own, and 1 where a place is taken, 0 where it is not."""
    sizes = np.minimum(rng.binomial(rows, share, size=batches), capacity)
    chosen = np.zeros((*batches, capacity), dtype=np.int32)
    for place in np.ndindex(*batches):
        chosen[place][: sizes[place]] = rng.choice(rows, sizes[place], replace=False, shuffle=False)
    return chosen, (np.arange(capacity) < sizes[..., None]).astype(np.float32)
