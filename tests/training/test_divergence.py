"""The sliced f-divergence: values that are known, which way each name goes, and what its gradient does."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from sfumato.training.divergence import KINDS, divergence, median_bandwidths, ratio, sliced_divergence

Floats = NDArray[np.float64]
Gaussian = tuple[float, float]  # mean and standard deviation of the first coordinate; any other is standard normal

REAL, MADE = (0.0, 1.0), (0.6, 0.8)
SIGMA = 0.75
FEW, MANY = 100, 800
CASES = (1, 0.0), (2, SIGMA)  # dimensions and smoothing
ADAM, KEY = optax.adam(0.05), jax.random.key(3)


def kl(a: Gaussian, b: Gaussian) -> float:
    """KL(a || b)."""
    return math.log(b[1] / a[1]) + (a[1] ** 2 + (a[0] - b[0]) ** 2) / (2 * b[1] ** 2) - 0.5


def chi2(made: Gaussian, real: Gaussian) -> float:
    """E_real (made / real - 1)^2."""
    v, u = made[1] ** 2, real[1] ** 2
    return u / math.sqrt(v * (2 * u - v)) * math.exp((made[0] - real[0]) ** 2 / (2 * u - v)) - 1.0


def js(made: Gaussian, real: Gaussian) -> float:
    def half(a: Gaussian, b: Gaussian) -> float:
        """KL(a || (a + b) / 2), by quadrature."""
        return quad(lambda t: a_log_b(norm.pdf(t, *a), (norm.pdf(t, *a) + norm.pdf(t, *b)) / 2), -12, 12)[0]

    def a_log_b(p: float, q: float) -> float:
        return p * math.log(p / q)

    return 0.5 * (half(made, real) + half(real, made))


KNOWN: dict[str, Callable[[Gaussian, Gaussian], float]] = {
    "kl": kl,
    "reverse-kl": lambda made, real: kl(real, made),
    "chi2": chi2,
    "js": js,
    "r-log-r": kl,
}


def draw(law: Gaussian, rows: int, dim: int, seed: int) -> Floats:
    points = np.random.default_rng(seed).normal(size=(rows, dim))
    points[:, 0] = law[0] + law[1] * points[:, 0]
    return points


@jax.jit
def every_kind(x: jax.Array, w: jax.Array) -> dict[str, jax.Array]:
    """What `divergence` is by its own account, for all kinds at the price of one."""
    r = jax.vmap(lambda h: ratio(x, w, h))(median_bandwidths(x))
    return {kind: f(r).mean() for kind, f in KINDS.items()}


def smooth(law: Gaussian, sigma: float) -> Gaussian:
    return law[0], math.hypot(law[1], sigma)


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, int, float, int], float]:
    """By kind, dimension, smoothing and number of points: the mean of |estimate - value| over draws."""
    found: dict[tuple[str, int, float, int], list[float]] = {}
    for (dim, sigma), (n, runs) in product(CASES, ((FEW, 12), (MANY, 4))):
        for seed in range(runs):
            noise = sigma * np.random.default_rng(5000 + seed).normal(size=(2, n, dim))
            estimates = every_kind(draw(REAL, n, dim, seed) + noise[0], draw(MADE, n, dim, 1000 + seed) + noise[1])
            for kind, known in KNOWN.items():
                error = abs(float(estimates[kind]) - known(smooth(MADE, sigma), smooth(REAL, sigma)))
                found.setdefault((kind, dim, sigma, n), []).append(error)
    return {case: float(np.mean(values)) for case, values in found.items()}


@pytest.mark.parametrize("kind", KNOWN)
def test_each_name_is_the_divergence_it_says_of_the_true_ratio(kind: str) -> None:
    """E_real f(made / real), without an estimate. The other direction of KL is half as large again."""
    t = np.linspace(-6.0, 6.0, 20_001)
    p, q = norm.pdf(t, *REAL), norm.pdf(t, *MADE)
    exact = float(np.trapezoid(p * np.asarray(KINDS[kind](jnp.asarray(q / p))), t))
    assert exact == pytest.approx(KNOWN[kind](MADE, REAL), rel=0.01)
    assert kl(REAL, MADE) > 1.4 * kl(MADE, REAL)


@pytest.mark.parametrize(("dim", "near"), [(1, 0.35), (2, 0.8)])
@pytest.mark.parametrize("kind", KNOWN)
def test_the_estimate_comes_near_the_value_as_points_grow(
    errors: dict[tuple[str, int, float, int], float], kind: str, dim: int, near: float
) -> None:
    for sigma in (sigma for d, sigma in CASES if d == dim):
        assert errors[kind, dim, sigma, MANY] < 0.4 * errors[kind, dim, sigma, FEW]
        assert errors[kind, dim, sigma, MANY] < near * KNOWN[kind](smooth(MADE, sigma), smooth(REAL, sigma))


def test_a_divergence_is_the_mean_over_the_bandwidths_and_slices() -> None:
    x, w = draw(REAL, FEW, 2, 1), draw(MADE, FEW, 2, 2)
    gaps = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(FEW, 1)]
    multiples = (0.5, 3.0)
    np.testing.assert_allclose(median_bandwidths(x, multiples), np.median(gaps) * np.array(multiples), rtol=1e-5)
    assert median_bandwidths(np.ones((5, 1)), multiples).tolist() == list(multiples)
    expected = float(every_kind(x, w)["js"])
    assert float(jax.jit(divergence, static_argnames="kind")(x, w, "js")) == pytest.approx(expected, rel=1e-4)
    real, made = np.stack([x, 2.0 * x, w], axis=1), np.stack([w, 2.0 * w, w], axis=1)
    sliced = float(jax.jit(sliced_divergence, static_argnames="kind")(real, made, KEY, sigma=0.0, kind="js"))
    assert sliced == pytest.approx(expected * 2.0 / 3.0, rel=1e-3), "twice as wide is the same, and nothing is nothing"


def test_made_points_get_fresh_noise() -> None:
    x, w = draw(REAL, FEW, 1, 1)[:, None], draw(MADE, FEW, 1, 2)[:, None]
    widths = np.ones((1, 1))
    run = jax.jit(lambda made, key, sigma: sliced_divergence(x, made, key, sigma=sigma, bandwidths=widths, tau=1.0))
    noise = np.asarray(jax.random.normal(KEY, w.shape, jnp.float32))
    assert float(run(w, KEY, 2.0)) == pytest.approx(float(run(w + 2.0 * noise, KEY, 0.0)), rel=1e-4)
    assert float(run(w, KEY, 2.0)) != float(run(w, jax.random.key(2), 2.0))


def slow_ratio(x: Floats, w: Floats, h: float, tau: float) -> Floats:
    def kernel(a: Floats, b: Floats) -> Floats:
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / (2 * h**2))

    weights = np.linalg.solve(kernel(x, x) + tau * np.eye(len(x)), kernel(x, w).sum(axis=1))
    return np.maximum(weights, 0.0) * len(x) / len(w)


@pytest.mark.parametrize("made", [300, 40])
def test_the_ratio_is_the_papers_in_64_bits_for_any_type_and_number_of_points(made: int) -> None:
    x, w = (draw(law, n, 1, n).astype(np.float32) for law, n in ((REAL, 300), (MADE, made)))
    for tau in (1e-4, 1.0):
        known = slow_ratio(x.astype(float), w.astype(float), 1.0, tau)
        found = jax.jit(ratio)(x, w, 1.0, tau)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, known, atol=1e-5 * known.max())
        assert known.mean() == pytest.approx(1.0, abs=0.3), "the scale does not depend on how many points there are"
    assert (known == 0.0).any(), "a part is cut off"


def descend(kind: str, real: Floats, sigma: float, tau: float = 1.0, steps: int = 120) -> tuple[list[float], Floats]:
    """Standard normal points moved by their gradients, with fresh noise in every step, and the losses on the way."""
    widths = np.asarray(median_bandwidths(real))[None]

    @jax.jit
    def step(made: jax.Array, state: optax.OptState, key: jax.Array) -> tuple[jax.Array, optax.OptState, jax.Array]:
        def loss(made: jax.Array) -> jax.Array:
            return sliced_divergence(
                real[:, None], made[:, None], key, sigma=sigma, kind=kind, bandwidths=widths, tau=tau
            )

        value, slope = jax.value_and_grad(loss)(made)
        change, state = ADAM.update(slope, state)
        return made + change, state, value

    made, losses = jnp.asarray(draw((0.0, 1.0), len(real), 1, 2)), []
    state = ADAM.init(made)
    for key in jax.random.split(KEY, steps):
        made, state, value = step(made, state, key)
        losses.append(float(value))
    return losses, np.asarray(made)


@pytest.mark.parametrize("kind", ["kl", "chi2"])
def test_its_gradient_brings_the_made_points_to_the_real_ones(kind: str) -> None:
    real = draw(smooth((1.5, 1.0), SIGMA), 150, 1, 1)
    losses, made = descend(kind, real, SIGMA)
    assert np.mean(losses[-10:]) < 0.25 * losses[0]
    assert made.mean() == pytest.approx(real.mean(), abs=0.3)
    assert 0.6 < np.std(made) < 1.3 or kind == "r-log-r"  # by which the outermost points are driven off


def test_with_little_ridge_made_points_gather() -> None:
    """Known, and said in the module's text: where made and real points are of one law, with the paper's tau a batch's
    noise is worth avoiding, and the loss grows with their spread. Forty batches, as slices."""
    rng = np.random.default_rng(1)
    real, made = smooth((0.0, 1.0), 2.0)[1] * rng.normal(size=(150, 40, 1)), rng.normal(size=(150, 40, 1))
    widths = np.tile(np.asarray(median_bandwidths(real[:, 0])), (40, 1))

    @jax.jit
    def pull(tau: float) -> jax.Array:
        loss = jax.grad(lambda s: sliced_divergence(real, s * made, KEY, sigma=2.0, bandwidths=widths, tau=tau))
        return loss(jnp.ones((40, 1))) * 40.0

    found = {tau: np.asarray(pull(tau)) for tau in (1e-4, 1.0)}
    assert found[1e-4].mean() > 0.1
    assert abs(found[1.0].mean()) < 0.02


def test_gradients_are_those_of_finite_differences_also_where_r_is_cut_off() -> None:
    x, w = draw(REAL, 30, 2, 1), draw(MADE, 20, 2, 2)
    with jax.enable_x64(True):
        assert (np.asarray(ratio(x, w, 1.0)) == 0.0).any()
        for kind in ("kl", "reverse-kl"):
            loss = jax.jit(lambda w, kind=kind: divergence(x, w, kind, bandwidths=[1.0]))
            slope = np.asarray(jax.grad(loss)(jnp.asarray(w)))
            for i, j in ((0, 0), (7, 1)):
                step = np.zeros(w.shape)
                step[i, j] = 1e-6
                moved = (float(loss(w + step)) - float(loss(w - step))) / 2e-6
                assert slope[i, j] == pytest.approx(moved, rel=1e-3, abs=1e-6)


def test_made_points_out_of_reach_pay_off_only_as_printed() -> None:
    """r log r is least where only a part 1/e of the made points is near the real ones."""
    x, w = draw(REAL, 200, 1, 1), draw(REAL, 2000, 1, 2)
    lost = np.where(np.arange(2000)[:, None] < 2000 / math.e, w, 1e3)
    here, away = (np.asarray(jax.jit(ratio)(x, made, 1.0, 1.0)) for made in (w, lost))
    gain = {kind: float(f(jnp.asarray(here)).mean() - f(jnp.asarray(away)).mean()) for kind, f in KINDS.items()}
    assert gain.pop("r-log-r") > 0.3
    assert max(gain.values()) < -0.05
