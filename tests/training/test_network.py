"""The network: what it computes, in numpy and in JAX, and where it begins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.signal import correlate
from scipy.special import erf

from sfumato.training.network import CONVOLUTIONS, KERNEL, Architecture, Lens, _convolve, _gelu, make

MLP = Architecture("mlp", classes=3, dim=4, width=8, depth=2)
CONV = Architecture("conv", classes=2, dim=5, width=8, depth=1, channels=3, image=(4, 6))


def weights(architecture: Architecture, seed: int = 0) -> dict[str, Any]:
    """Weights of which none is zero."""
    rng = np.random.default_rng(seed)
    return {n: rng.normal(0, 0.4, s).astype(np.float32) for n, s in architecture.shapes().items()}


def begin(architecture: Architecture, seed: int = 0) -> dict[str, Any]:
    """From standard normals."""
    unit = np.tile(np.eye(architecture.dim), (architecture.classes, 1, 1))
    return architecture.start(seed, unit, np.zeros((architecture.classes, architecture.dim)))


def normals(architecture: Architecture, rows: int = 7) -> Any:
    drawn = np.random.default_rng(1).standard_normal((architecture.classes, rows, architecture.dim))
    return drawn.astype(np.float32)


def lens(architecture: Architecture) -> Lens | None:
    if architecture.image is None:
        return None
    rng = np.random.default_rng(2)
    shape = architecture.dim, int(np.prod(architecture.image))
    return Lens(*(rng.normal(0, 0.3, each).astype(np.float32) for each in (shape, shape[::-1])))


@pytest.mark.parametrize("architecture", [MLP, CONV], ids=["mlp", "conv"])
def test_numpy_and_jax_agree(architecture: Architecture) -> None:
    jax = pytest.importorskip("jax")
    seen = lens(architecture)
    given = weights(architecture), normals(architecture)
    compiled = jax.jit(lambda *each: make(architecture, *each, seen, jax.numpy))
    np.testing.assert_allclose(make(architecture, *given, seen), compiled(*given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("architecture", [MLP, CONV], ids=["mlp", "conv"])
def test_it_begins_with_the_shapes_that_it_says(architecture: Architecture) -> None:
    start = begin(architecture)
    assert {name: array.shape for name, array in start.items()} == architecture.shapes()
    assert all(array.dtype == np.float32 for array in start.values())
    assert architecture.shapes()["matrix.0"] == (architecture.classes, architecture.dim, 8)
    assert architecture.shapes()[f"matrix.{architecture.depth}"] == (architecture.classes, 8, architecture.dim)
    kernels = [shape for name, shape in architecture.shapes().items() if name.startswith("kernel")]
    sizes = [1, *[architecture.channels] * (CONVOLUTIONS - 1), 1]
    expected = [(KERNEL, KERNEL, *pair) for pair in pairwise(sizes)]
    assert kernels == (expected if architecture.kind == "conv" else [])


def test_it_begins_with_the_affine_part_alone() -> None:
    rng = np.random.default_rng(3)
    skip, shift = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4))
    noise = normals(MLP)
    made = make(MLP, MLP.start(0, skip, shift), noise)
    np.testing.assert_allclose(made, np.einsum("krd,kde->kre", noise, skip) + shift[:, None], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(make(MLP, begin(MLP), noise), noise)
    begun = begin(MLP)
    assert all(np.ptp(begun[f"matrix.{i}"]) > 0 for i in range(MLP.depth)), "hidden layers must not begin at zero"
    assert not np.array_equal(begun["matrix.0"], begin(MLP, 1)["matrix.0"])
    np.testing.assert_array_equal(begun["matrix.0"], begin(MLP)["matrix.0"])


def test_convolutions_begin_with_nothing_to_add() -> None:
    noise, seen = normals(CONV), lens(CONV)
    assert seen is not None
    np.testing.assert_allclose(make(CONV, begin(CONV), noise, seen), noise, rtol=1e-5)
    changed = begin(CONV) | {"offset.2": np.full((2, 1), 0.25, dtype=np.float32)}
    added = 0.25 * seen.tell.sum(axis=0)
    np.testing.assert_allclose(make(CONV, changed, noise, seen), noise + added, rtol=1e-4, atol=1e-5)


def test_convolutions_see_what_rows_show() -> None:
    """One convolution after another, by hand, of the image that the affine part and the MLP show."""
    given, noise, seen = weights(CONV), normals(CONV), lens(CONV)
    assert seen is not None
    before = make(CONV, given, noise)
    shown = (before @ seen.show).reshape(2, 7, 4, 6, 1)
    for i in range(CONVOLUTIONS):
        shown = _convolve(shown, given[f"kernel.{i}"], np) + given[f"offset.{i}"][:, None, None, None]
        shown = _gelu(shown, np) if i < CONVOLUTIONS - 1 else shown
    expected = before + shown.reshape(2, 7, 24) @ seen.tell
    np.testing.assert_allclose(make(CONV, given, noise, seen), expected, rtol=1e-4, atol=1e-4)


def test_a_convolution_is_a_correlation() -> None:
    rng = np.random.default_rng(4)
    images, kernel = rng.normal(size=(2, 3, 5, 4, 2)), rng.normal(size=(KERNEL, KERNEL, 2, 3))
    made = _convolve(images, kernel, np)
    assert made.shape == (2, 3, 5, 4, 3)
    for k, row, channel in [(0, 0, 0), (1, 2, 1), (0, 1, 2)]:
        expected = sum(correlate(images[k, row, :, :, c], kernel[:, :, c, channel], mode="same") for c in range(2))
        np.testing.assert_allclose(made[k, row, :, :, channel], expected)


def test_gelu_is_close_to_its_definition() -> None:
    x = np.linspace(-4, 4, 101)
    assert np.abs(_gelu(x, np) - x * (1 + erf(x / np.sqrt(2))) / 2).max() < 1e-3


@pytest.mark.parametrize("architecture", [MLP, CONV], ids=["mlp", "conv"])
def test_a_class_is_made_with_its_own_weights(architecture: Architecture) -> None:
    up = lens(architecture)
    before = weights(architecture)
    made = make(architecture, before, normals(architecture), up)
    after = {n: array.copy() for n, array in before.items()}
    for name in (n for n in after if not n.startswith("kernel")):
        after[name][1] += 0.1
    changed = make(architecture, after, normals(architecture), up)
    others = [k for k in range(architecture.classes) if k != 1]
    np.testing.assert_array_equal(changed[others], made[others])
    assert np.abs(changed[1] - made[1]).min() > 0
    one = {n: w if n.startswith("kernel") else w[1:2] for n, w in before.items()}
    np.testing.assert_allclose(make(architecture, one, normals(architecture)[1:2], up)[0], made[1], rtol=1e-5)
