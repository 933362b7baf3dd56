"""PATE-GAN (Jordon, Yoon and van der Schaar 2019), for comparison: a GAN whose discriminator learns from noisy votes.

Algorithm 1: the table is cut into k parts, and a teacher on each learns to tell its rows from made ones. A student sees
made rows only, with labels that the teachers vote on: the larger of two counts after Laplace noise of scale 1 / lambda.
The generator learns from the student. It goes on while the moments accountant (4) is below epsilon.

What does not hold as printed: that accountant adds up a bound which depends on how far apart the votes were, that is on
the private rows, and training stops when it is reached. Neither the epsilon that was reached nor when it was reached is
noisy, so the guarantee is one for these votes and not for every table that could have been; (epsilon, delta)-DP in the
sense of this library it is not. `most_charged` is the part of the bound that holds for all votes: with it the same
epsilon buys far fewer labels. Ganev et al. (2024) found more in six published implementations, the authors' among them
(teachers that all see one part, and noise of scale lambda on one count). This one follows the paper. It draws from a
seeded generator: for experiments, not for releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.published.row_generator import Encoding, LabelledRows, Made, forward, labelled, layers, trainers
from sfumato.schema.layout import FloatArray, IntArray

MOMENTS = np.arange(1, 21)
"""Moments that are counted: 20, as in the authors' code."""


@dataclass(frozen=True)
class Settings:
    """Rows a teacher has and its hidden layer's width (0: a logistic regression), lambda, rows in a batch, steps of
    teachers and student for one of the generator, RMSprop's rates, and the most steps the generator takes, should votes
    stay so clear that they cost nothing.
    """

    teacher_rows: int = 1000
    teacher_width: int = 0
    votes_scale: float = 1.0
    batch: int = 64
    teacher_steps: int = 5
    student_steps: int = 1
    teacher_rate: float = 1e-2
    rate: float = 1e-4
    most_steps: int = 2000


AUTHORS = Settings()
"""Rows a teacher from the paper; lambda, batch, student's steps, sizes of networks and rate from the authors' code;
steps and rate of the teachers are ours, logistic regressions as in that code, which are fitted anew each time there."""


def pate_gan(
    table: LabelledRows,
    *,
    epsilon: float,
    delta: float,
    rows: int,
    rng: np.random.Generator,
    settings: Settings = AUTHORS,
) -> Made:
    """`rows` synthetic rows as numbers, category codes and classes.

    Claimed: (epsilon, delta)-DP for a row replaced, which moves one vote. The module's text says what is missing.
    """
    encoding, x = table.encoding, table.encoded.astype(np.float32)
    weights, _ = train(encoding, x, epsilon, delta, settings, rng)
    z = rng.uniform(-1.0, 1.0, (rows, encoding.width)).astype(np.float32)
    return labelled(*encoding.decode(np.asarray(encoding.generate(weights, z, "tanh"), dtype=np.float64), rng))


def charged(gaps: IntArray, votes_scale: float) -> FloatArray:
    """What labels cost: the log moments of Papernot et al. (2017), Theorem 3, summed over labels, for each of MOMENTS.

    `gaps` is by how many votes each label was won before noise. A label is the other one with probability at most
    q = (2 + lambda gap) / (4 e^(lambda gap)); where q is small the moment l is at most
    log((1 - q) ((1 - q) / (1 - e^(2 lambda) q))^l + q e^(2 lambda l)), and always at most 2 lambda^2 l (l + 1).
    """
    scale, moments = votes_scale, MOMENTS[:, None]
    clear = scale * np.abs(np.asarray(gaps, dtype=np.float64))
    q = (2.0 + clear) / 4.0 * np.exp(-clear)
    small = q < math.expm1(2.0 * scale) / math.expm1(4.0 * scale)
    q = np.where(small, q, 0.0)
    stay = (1.0 - q) * ((1.0 - q) / (1.0 - math.exp(2.0 * scale) * q)) ** moments
    by_gap = np.log(stay + q * np.exp(2.0 * scale * moments))
    return np.asarray(
        np.where(small, np.minimum(by_gap, most_charged(scale)[:, None]), most_charged(scale)[:, None]).sum(1)
    )


def most_charged(votes_scale: float) -> FloatArray:
    """What one label costs at the most, whatever the votes: 2 lambda^2 l (l + 1)."""
    return np.asarray(2.0 * votes_scale**2 * MOMENTS * (MOMENTS + 1.0))


def spent(moments: FloatArray, delta: float) -> float:
    """The epsilon of summed log moments: the least of (moment l + log(1 / delta)) / l."""
    return float(np.min((moments - math.log(delta)) / MOMENTS))


def train(
    encoding: Encoding, x: Any, epsilon: float, delta: float, settings: Settings, rng: np.random.Generator
) -> tuple[Any, int]:
    """The generator's weights once the next labels would cost more than there is, and how many were paid for."""
    jax, optax = trainers("PATE-GAN")
    jnp = jax.numpy
    teachers = max(2, len(x) // settings.teacher_rows)
    parts = jnp.asarray(rng.permutation(len(x))[: len(x) // teachers * teachers].reshape(teachers, -1))
    learn, learn_teachers = optax.rmsprop(settings.rate), optax.rmsprop(settings.teacher_rate)
    table, width = jnp.asarray(x), encoding.width

    def drawn(generator: Any, key: Any, count: int) -> Any:
        return encoding.generate(generator, jax.random.uniform(key, (count, width), minval=-1.0), "tanh")

    def teacher_loss(teacher: Any, rows: Any, made: Any) -> Any:
        outputs = [forward(teacher, part)[:, 0] for part in (rows, made)]
        return (jax.nn.softplus(-outputs[0]) + jax.nn.softplus(outputs[1])).mean()

    @jax.jit
    def teach(taught: Any, state: Any, generator: Any, key: Any) -> tuple[Any, Any]:
        def once(carry: Any, key: Any) -> Any:
            taught, state = carry
            at_rows, at_z = jax.random.split(key)
            chosen = jax.random.randint(at_rows, (teachers, settings.batch), 0, parts.shape[1])
            rows = table[jnp.take_along_axis(parts, chosen, axis=1)]
            slopes = jax.vmap(jax.grad(teacher_loss), in_axes=(0, 0, None))(
                taught, rows, drawn(generator, at_z, settings.batch)
            )
            change, state = learn_teachers.update(slopes, state)
            return (optax.apply_updates(taught, change), state), None

        return jax.lax.scan(once, (taught, state), jax.random.split(key, settings.teacher_steps))[0]

    @jax.jit
    def vote(taught: Any, made: Any) -> Any:
        return (jax.vmap(forward, in_axes=(0, None))(taught, made)[..., 0] > 0).sum(axis=0)

    def student_loss(student: Any, made: Any, labels: Any) -> Any:
        outputs = forward(student, made)[:, 0]
        return (jax.nn.softplus(outputs) - labels * outputs).mean()

    def generator_loss(generator: Any, student: Any, key: Any) -> Any:
        # log(1 - S(G(z))), S the student's sigmoid
        return -jax.nn.softplus(forward(student, drawn(generator, key, settings.batch))).mean()

    def descend(loss: Any, weights: Any, state: Any, *known: Any) -> tuple[Any, Any]:
        change, state = learn.update(jax.grad(loss)(weights, *known), state)
        return optax.apply_updates(weights, change), state

    study = jax.jit(lambda student, state, made, labels: descend(student_loss, student, state, made, labels))
    improve = jax.jit(lambda generator, state, student, key: descend(generator_loss, generator, state, student, key))
    draw = jax.jit(lambda generator, key: drawn(generator, key, settings.batch))

    hidden = (settings.teacher_width,) if settings.teacher_width else ()
    each = [layers((width, *hidden, 1), rng) for _ in range(teachers)]
    taught = jax.tree.map(lambda *same: np.stack(same), *each)
    student, generator = layers((width, width, 1), rng), layers((width, 4 * width, 4 * width, width), rng)
    states = [learn_teachers.init(taught), learn.init(student), learn.init(generator)]
    key, moments, labels = jax.random.key(int(rng.integers(2**32))), np.zeros(len(MOMENTS)), 0
    for _ in range(settings.most_steps):
        key, at_teachers, at_student, at_generator = jax.random.split(key, 4)
        taught, states[0] = teach(taught, states[0], generator, at_teachers)
        for at_z in jax.random.split(at_student, settings.student_steps):
            made = draw(generator, at_z)
            ours = np.asarray(vote(taught, made))
            after = moments + charged(2 * ours - teachers, settings.votes_scale)
            if spent(after, delta) > epsilon:
                return generator, labels
            moments, labels = after, labels + settings.batch
            noise = rng.laplace(scale=1.0 / settings.votes_scale, size=(2, settings.batch))
            won = (ours + noise[0] > teachers - ours + noise[1]).astype(np.float32)
            student, states[1] = study(student, states[1], made, won)
        generator, states[2] = improve(generator, states[2], student, at_generator)
    return generator, labels
