"""The neural tangent kernel of a fully connected ReLU network, in closed form and by random features.

A network of `depth` hidden layers reads a row x of d coordinates as (x / sqrt(d), bias); its weights are standard
normal and every hidden layer is scaled by sqrt(2 / width) (He et al. 2015, in the parametrisation of Jacot et al.
2018). As the widths grow, its kernel is found layer by layer (Cho and Saul 2009; Arora et al. 2019, eq. 9):

    S_0 = T_0 = <x, y> / d + bias^2,    S_h = k1(S_{h-1}),    T_h = S_h + k0(S_{h-1}) T_{h-1},

where k0 and k1 are the arc-cosine kernels, k1 scaled so that S_h(x, x) = S_0(x, x).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

Layer: TypeAlias = tuple[jax.Array, jax.Array]  # gates and values, each (width, size of what they read)


def ntk(x: ArrayLike, y: ArrayLike, depth: int = 1, bias: float = 1.0) -> jax.Array:
    """The kernel of every row of x with every row of y."""
    a, b = _augment(jnp.asarray(x), bias), _augment(jnp.asarray(y), bias)
    lengths = _length(a)[:, None] * _length(b)[None, :]
    inverse = jnp.where(lengths > 0, 1.0 / jnp.where(lengths > 0, lengths, 1.0), 0.0)
    tangent = a @ b.T
    cosine = tangent * inverse
    for _ in range(depth):
        gate = _arc0(cosine)
        cosine = _arc1(cosine)
        tangent = lengths * cosine + gate * tangent
    return tangent


def ntk_diagonal(x: ArrayLike, depth: int = 1, bias: float = 1.0) -> jax.Array:
    """The kernel of every row with itself."""
    a = _augment(jnp.asarray(x), bias)
    return (depth + 1) * (a * a).sum(axis=1)


class RandomFeatures(eqx.Module):
    """Features whose inner products approximate the kernel, better with width: error of order 1 / sqrt(width).

    With W and V standard normal, psi_0 = phi_0 = (x / sqrt(d), bias) and layer by layer (after Zandieh et al. 2021)
        psi_h = sqrt(2 / width) relu(W psi),    phi_h = (psi_h, sqrt(2 / width) step(W psi) * (V phi)),
    E<psi_h, psi_h'> = S_h and E<phi_h, phi_h'> = T_h. Features longer than `radius` are scaled down to it.

    The true derivative of a step is zero almost everywhere, which would hide from a gradient that points move across
    it; here it is that of a step smoothed over `blur` standard deviations, as the average over many gates is smooth.
    """

    layers: tuple[Layer, ...]
    bias: float = eqx.field(static=True, default=1.0)
    radius: float = eqx.field(static=True, default=math.inf)
    blur: float = eqx.field(static=True, default=0.25)

    @classmethod
    def draw(cls, seed: int, dim: int, width: int, depth: int = 1, bias: float = 1.0) -> RandomFeatures:
        """Standard normal gates and values, `width` of each a layer: 2 * width features."""
        rng = np.random.default_rng(seed)
        reads = [(dim + 1, dim + 1)] + [(width, 2 * width)] * (depth - 1)
        return cls(
            tuple(
                (jnp.asarray(rng.standard_normal((width, g))), jnp.asarray(rng.standard_normal((width, v))))
                for g, v in reads
            ),
            bias,
        )

    @property
    def size(self) -> int:
        """How many features a row has."""
        return 2 * len(self.layers[-1][0])

    def __call__(self, x: ArrayLike) -> jax.Array:
        """The features of every row of x: (rows, size)."""
        psi = phi = _augment(jnp.asarray(x), self.bias)
        for gates, values in self.layers:
            scale = math.sqrt(2.0 / len(gates))
            before = psi @ gates.T
            gate = _step(before, self.blur * _length(jax.lax.stop_gradient(psi))[:, None])
            psi = scale * jax.nn.relu(before)
            phi = jnp.concatenate([psi, scale * gate * (phi @ values.T)], axis=1)
        return _shorten(phi, self.radius)


def _augment(x: jax.Array, bias: float) -> jax.Array:
    return jnp.concatenate([x / math.sqrt(x.shape[1]), jnp.full((len(x), 1), bias, dtype=x.dtype)], axis=1)


def _length(a: jax.Array) -> jax.Array:
    """The norm of every row, with gradient 0 at 0."""
    square = (a * a).sum(axis=1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def _shorten(phi: jax.Array, radius: float) -> jax.Array:
    if math.isinf(radius):
        return phi
    length = _length(phi)
    return phi * jnp.where(length > radius, radius / jnp.where(length > radius, length, 1.0), 1.0)[:, None]


@jax.custom_jvp
def _arc0(cosine: jax.Array) -> jax.Array:
    """2 E[step(u) step(v)] for standard normal u and v of this correlation."""
    return 1.0 - jnp.arccos(jnp.clip(cosine, -1.0, 1.0)) / math.pi


@_arc0.defjvp
def _arc0_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    # The kernel has a kink where two points coincide; of the slopes on its two sides we take the mean, 0.
    (cosine,), (moved,) = primals, tangents
    rest = 1.0 - cosine * cosine
    apart = rest > 4.0 * jnp.finfo(rest.dtype).eps
    return _arc0(cosine), jnp.where(apart, moved / (math.pi * jnp.sqrt(jnp.where(apart, rest, 1.0))), 0.0)


@jax.custom_jvp
def _arc1(cosine: jax.Array) -> jax.Array:
    """2 E[relu(u) relu(v)] for standard normal u and v of this correlation. Its derivative is _arc0."""
    inside = jnp.clip(cosine, -1.0, 1.0)
    return jnp.sqrt(1.0 - inside * inside) / math.pi + inside * _arc0(inside)


@_arc1.defjvp
def _arc1_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    (cosine,), (moved,) = primals, tangents
    return _arc1(cosine), _arc0(cosine) * moved


@jax.custom_jvp
def _step(u: jax.Array, width: jax.Array) -> jax.Array:
    return (u > 0).astype(u.dtype)


@_step.defjvp
def _step_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (u, width), (moved, _) = primals, tangents
    within = width > 0
    apart = jnp.abs(u) / jnp.where(within, width, 1.0)
    slope = jnp.where(within, jnp.maximum(0.0, 1.0 - apart) / jnp.where(within, width, 1.0), 0.0)
    return _step(u, width), slope * moved
