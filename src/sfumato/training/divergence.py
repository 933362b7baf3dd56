"""The smoothed-sliced f-divergence of Greenewald et al. (2024), by kernel mean matching.

Real points x have density p and made points w density q, both already smoothed by N(0, sigma^2 I). Every divergence
here is D_f(made || real) = E_real f(q / p), its name as in `KINDS`. The ratio q / p is wanted at the real points alone,
and there it is the weights that give the real points the made points' kernel mean (Gretton et al. 2009),

    r = (n / m) ((K_xx + tau I)^-1 K_xw 1)_+,    K_ab = exp(-|a - b|^2 / (2 h^2)),

for n real and m made points. The estimate is the mean of f(r), averaged over the bandwidths h of an ensemble. K_xx does
not depend on the made points: a gradient costs one more solve.

Every f but one has f(1) = f'(1) = 0, so that the weights' total, which need not be n, counts in second order only. The
paper prints f = r log r: the same divergence of densities, but where made points are out of the kernel's reach weights
are missing, and its least value is -1/e, at r = 1/e, not 0 at q = p. It is kept by the name "r-log-r".

The estimate is too large for few points: weights that match the made points' kernel mean match its noise too, at a cost
of about 1 / n for each direction in which K_xx exceeds tau, some log(n / tau) to the power k of them. Between N(0, I)
and a normal with mean 0.5 on one axis and variance 0.81 I, mean and standard deviation of 40 draws of n points each:

    k  tau   n      kl             reverse-kl     js             chi2
    1  -     value  0.135          0.166          0.036          0.257
    1  1e-4  128    0.36 +- 0.35   0.46 +- 0.38   0.08 +- 0.06   1.5 +- 2.7
    1  1e-4  1024   0.16 +- 0.05   0.20 +- 0.05   0.04 +- 0.01   0.4 +- 0.4
    1  1     128    0.13 +- 0.05   0.19 +- 0.09   0.04 +- 0.01   0.24 +- 0.10
    1  1     1024   0.14 +- 0.02   0.18 +- 0.03   0.04 +- 0.01   0.26 +- 0.05
    2  -     value  0.146          0.178          0.038          0.280
    2  1e-4  128    0.46 +- 0.18   0.73 +- 0.23   0.11 +- 0.04   1.4 +- 0.8
    2  1e-4  1024   0.18 +- 0.03   0.25 +- 0.04   0.05 +- 0.01   0.38 +- 0.10
    2  1     128    0.14 +- 0.05   0.22 +- 0.09   0.04 +- 0.01   0.25 +- 0.09
    2  1     1024   0.14 +- 0.02   0.20 +- 0.03   0.04 +- 0.01   0.26 +- 0.04

What is too much depends on the made points, and they are drawn together: the least loss is not at q = p. A normal
fitted to standard normal points by batches of 256, with "kl" and noise of sigma 1 (3) on both, came to a standard
deviation of 0.74 (0.30) with tau = 1e-4, to 0.82 (0.23) with eight times as many made points, and to 1.05 (1.11) with
tau = 1, in one run each. TAU is the paper's. A larger one is better where the noise is as wide as the rows, but sees
nothing fine: of KL = 1.27, of a normal from two modes at -1 and 1 of deviation 0.3 with its mean and variance, 256
points find 1.65 with tau = 1e-4, 0.54 with 0.01 and 0.12 with 1 (20 draws).

Roundings of K_xx and K_xw are weighed by n / tau. In 32 bits they would make r wrong by up to 0.7 at n = 128 and 5.7 at
n = 400, and "kl" by 0.01 and 0.64 on average (k = 1, 10 draws). So kernels and solution are computed in 64 bits,
whatever type the points have.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jax.typing import ArrayLike

from sfumato.training.settings import TAU

FLOOR = 1e-2  # of r, where its logarithm counts by itself: a point with less counts as that, and has no gradient


def _reverse(r: jax.Array) -> jax.Array:
    held = jnp.maximum(r, FLOOR)
    return held - 1.0 - jnp.log(held)


def _r_log_r(r: jax.Array) -> jax.Array:
    return xlogy(r, jnp.where(r > 0.0, r, 1.0))


KINDS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "kl": lambda r: _r_log_r(r) - r + 1.0,  # KL(made || real)
    "reverse-kl": _reverse,  # KL(real || made)
    "js": lambda r: 0.5 * (_r_log_r(r) - (1.0 + r) * jnp.log((1.0 + r) / 2.0)),  # Jensen-Shannon, at most log 2
    "chi2": lambda r: (r - 1.0) ** 2,  # E_real (q / p - 1)^2
    "r-log-r": _r_log_r,  # KL(made || real) as printed
}
"""f by name, of the ratio r = made / real at the real points."""


def sliced_divergence(
    real: ArrayLike,
    made: ArrayLike,
    key: jax.Array,
    *,
    sigma: float,
    kind: str = "kl",
    bandwidths: ArrayLike | None = None,
    tau: float = TAU,
) -> jax.Array:
    """The mean over slices of the divergence of their noisy projections.

    `real` is (n, slices, k) and carries its noise already; `made` is (m, slices, k) without noise and gets fresh noise
    of the same sigma by `key`. `bandwidths` is (slices, several), `median_bandwidths` of each slice if there are none.
    """
    x, clean = jnp.asarray(real), jnp.asarray(made)
    noisy = clean + sigma * jax.random.normal(key, clean.shape, clean.dtype)
    widths = jax.vmap(median_bandwidths, in_axes=1)(x) if bandwidths is None else jnp.asarray(bandwidths)

    def one(x: jax.Array, w: jax.Array, h: jax.Array) -> jax.Array:
        return divergence(x, w, kind, bandwidths=h, tau=tau)

    return jax.vmap(one, in_axes=(1, 1, 0))(x, noisy, widths).mean()


def divergence(
    real: ArrayLike, made: ArrayLike, kind: str = "kl", *, bandwidths: ArrayLike | None = None, tau: float = TAU
) -> jax.Array:
    """D_f(made || real) of points (n, k) and (m, k), averaged over the bandwidths."""
    widths = median_bandwidths(real) if bandwidths is None else jnp.asarray(bandwidths)
    return jax.vmap(lambda h: KINDS[kind](ratio(real, made, h, tau)).mean())(widths).mean()


def ratio(real: ArrayLike, made: ArrayLike, bandwidth: ArrayLike, tau: float = TAU) -> jax.Array:
    """made / real, the densities' ratio, at each real point: (n,)."""
    points = jnp.asarray(real)
    with jax.enable_x64(True):
        x, w, h = (jnp.asarray(a).astype(jnp.float64) for a in (points, made, bandwidth))
        inside = jnp.exp(-_squares(x, x) / (2.0 * h * h)) + tau * jnp.eye(len(x))
        across = len(x) * jnp.exp(-_squares(x, w) / (2.0 * h * h)).mean(axis=1)
        found = jnp.maximum(jax.scipy.linalg.solve(inside, across, assume_a="pos"), 0.0)
    return found.astype(points.dtype)


def median_bandwidths(real: ArrayLike, multiples: tuple[float, ...] = (1.0, 2.0, 4.0)) -> jax.Array:
    """Multiples of the median distance of two different points; 1 stands for it where it is 0. Which multiples is our
    choice: 0.5 is off by far more.
    """
    x = jnp.asarray(real)
    above = np.triu_indices(len(x), 1)
    median = jnp.sqrt(jnp.median(_squares(x, x)[above]))
    return jnp.where(median > 0.0, median, 1.0) * jnp.asarray(multiples, dtype=x.dtype)


def _squares(x: jax.Array, y: jax.Array) -> jax.Array:
    """The squared distance of every point of x to every point of y."""
    gap = x[:, None, :] - y[None, :, :]
    return (gap * gap).sum(axis=-1)
