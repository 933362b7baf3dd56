"""Repeatable random bytes, for tests and for comparing checkouts. No release made with them promises anything."""

from __future__ import annotations

import hashlib

from sfumato.private.noise import Bits

_BLOCK_BYTES = 1 << 16


def insecure_bits(seed: int) -> Bits:
    """A reproducible stream of bytes, for tests. Whoever knows the seed can subtract the noise.

    >>> insecure_bits(7)(4) == insecure_bits(7)(2) + insecure_bits(7)(4)[2:]
    True
    """
    return _InsecureStream(seed)


class _InsecureStream:
    """SHAKE-256 of the seed and of a block counter; the stream does not depend on the sizes asked for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._blocks = 0
        self._rest = b""

    def __call__(self, n: int, /) -> bytes:
        missing = max(0, n - len(self._rest))
        blocks = [self._next_block() for _ in range(-(-missing // _BLOCK_BYTES))]
        stream = b"".join([self._rest, *blocks])
        self._rest = stream[n:]
        return stream[:n]

    def _next_block(self) -> bytes:
        key = f"sfumato insecure bits, seed {self._seed}, block {self._blocks}"
        self._blocks += 1
        return hashlib.shake_256(key.encode()).digest(_BLOCK_BYTES)
