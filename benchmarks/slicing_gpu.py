"""How fast a generator is trained on each device that JAX has, the same code and the same numbers on all.

    python -m benchmarks.slicing_gpu [--steps 200] [-o FILE.json]

Two trainings that need no private data: the central form at the size of MNIST's digits (10 classes, 64 coordinates,
1,500 waves, an MLP and a convolutional network of 28 x 28 images), and noisy rows (20 coordinates, batches of 128).
The first block of steps, in which JAX compiles, is not counted. Only numpy, jax, optax and equinox are imported, and
what of this library needs no more than that. Ratios are of one run on one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfumato.training.fitting import BLOCK, State, train
from sfumato.training.makers import NetworkRows
from sfumato.training.network import Architecture, Lens
from sfumato.training.settings import Training
from sfumato.training.targets import RowTarget, WaveTarget
from sfumato.training.views import Mapped

CLASSES, DIM, WAVES, IMAGE = 10, 64, 1500, (28, 28)
ROWS, COORDINATES = 30_000, 20


class EndlessWaves(WaveTarget):
    """Waves that are never met, so that every step is made."""

    enough = -float("inf")


def waves() -> EndlessWaves:
    """A target of the central form: the waves of standard normals."""
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((WAVES, DIM)) / np.sqrt(DIM)
    means = np.exp(-0.5 * (frequencies**2).sum(axis=1))
    told = np.tile(np.concatenate([means, np.zeros(WAVES)]), (CLASSES, 1))
    view = Mapped.of(np.eye(DIM), np.zeros((CLASSES, DIM)))
    small = (jnp.asarray(a, dtype=jnp.float32) for a in (frequencies, told, np.full(CLASSES, 0.03)))
    return EndlessWaves(*small, view)


def rows() -> RowTarget:
    """A target of noisy rows: standard normals."""
    rng = np.random.default_rng(0)
    values = jnp.asarray(rng.standard_normal((ROWS, COORDINATES)), dtype=jnp.float32)
    view = Mapped.of(np.eye(COORDINATES), np.zeros((1, COORDINATES)))
    return RowTarget(values, None, jnp.ones(1), view, 1.0, 100.0, 0.0, 2, "kl")


def network(kind: str, classes: int, dim: int) -> tuple[NetworkRows, tuple[Any, ...]]:
    """A network and its first weights."""
    conv = kind == "conv"
    known = Architecture(kind, classes, dim, channels=8 if conv else 0, image=IMAGE if conv else None)
    first = known.start(0, np.tile(np.eye(dim), (classes, 1, 1)), np.zeros((classes, dim)))
    show = np.linalg.qr(np.random.default_rng(0).standard_normal((IMAGE[0] * IMAGE[1], dim)))[0].T
    lens = Lens(show.astype(np.float32), show.T.astype(np.float32)) if conv else None
    return NetworkRows(known, tuple(first), lens), tuple(first.values())


WORKS: dict[str, tuple[Any, str, int, int]] = {
    "waves, mlp": (waves, "mlp", CLASSES, DIM),
    "waves, conv": (waves, "conv", CLASSES, DIM),
    "noisy rows, mlp": (rows, "mlp", 1, COORDINATES),
}


def milliseconds(work: str, device: Any, steps: int) -> float:
    """Of one step, after the first block."""
    target, kind, classes, dim = WORKS[work]
    with jax.default_device(device):
        make, weights = network(kind, classes, dim)
        settings = Training(steps=BLOCK + steps)
        times: list[float] = []
        first = State.begin(weights)
        train(target(), make, dim, first, settings, lambda *_: times.append(time.perf_counter()))
    return 1000.0 * (times[-1] - times[0]) / (BLOCK * (len(times) - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="timed steps, in blocks of 50")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    kinds = ["cpu"] + [kind for kind in ("gpu", "tpu") if _has(kind)]
    found: dict[str, Any] = {
        "jax": jax.__version__,
        "devices": {kind: str(jax.devices(kind)[0].device_kind) for kind in kinds},
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "milliseconds_a_step": {
            work: {kind: round(milliseconds(work, jax.devices(kind)[0], arguments.steps), 3) for kind in kinds}
            for work in WORKS
        },
    }
    if len(kinds) > 1:
        times = found["milliseconds_a_step"]
        found["times_faster"] = {work: round(times[work]["cpu"] / times[work][kinds[1]], 1) for work in WORKS}
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.output is not None:
        arguments.output.write_text(text + "\n")


def _has(kind: str) -> bool:
    try:
        return bool(jax.devices(kind))
    except RuntimeError:
        return False


if __name__ == "__main__":
    main()
