"""How fast the noise is drawn, against plain `ndtri` on 53 random bits.

Run `python -m benchmarks.noise`. Both sides take their bits from the operating system and run on one thread.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.private.noise import noisy, secure_bits

DRAWS = 1 << 21
REPEATS = 5
CHUNK = 1 << 13


@dataclass(frozen=True)
class Timing:
    """Draws a second, the best of a few runs."""

    plain: float
    noisy: float

    @property
    def ratio(self) -> float:
        """How many times slower `noisy` is."""
        return self.plain / self.noisy


def measure(draws: int = DRAWS, repeats: int = REPEATS) -> Timing:
    """Time both samplers in turn, so that a slow spell of the machine hits both."""
    totals = np.arange(draws, dtype=np.int64)
    sigmas = np.geomspace(0.1, 1e6, draws)
    plain_seconds, noisy_seconds = [], []
    for _ in range(repeats):
        plain_seconds.append(_seconds(lambda: _plain(draws)))
        noisy_seconds.append(_seconds(lambda: noisy(totals, sigmas, secure_bits)))
    return Timing(plain=draws / min(plain_seconds), noisy=draws / min(noisy_seconds))


def _plain(draws: int) -> NDArray[np.float64]:
    """Gaussian floats by inversion of 53 random bits, in chunks that stay in cache."""
    sample = np.empty(draws)
    for start in range(0, draws, CHUNK):
        part = sample[start : start + CHUNK]
        words = np.frombuffer(os.urandom(8 * part.size), dtype="<u8")
        part[:] = ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    return sample


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    """Print the two speeds and their ratio."""
    timing = measure()
    print(f"plain ndtri  {timing.plain / 1e6:6.2f} million draws/s")
    print(f"noisy        {timing.noisy / 1e6:6.2f} million draws/s")
    print(f"ratio        {timing.ratio:6.2f}")


if __name__ == "__main__":
    main()
