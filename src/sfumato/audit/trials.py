"""Playing a game many times, on all cores, with progress."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from sfumato.audit.game import Game
from sfumato.schema.layout import FloatArray

CHUNK = 50  # runs on each table in one piece of work


def play(
    game: Game,
    trials: int,
    workers: int = 1,
    seed: int | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[FloatArray, FloatArray]:
    """The views of `trials` runs on each of the two tables.

    Without a seed the noise is drawn for real, in every process from the operating system.
    """
    starts = range(0, trials, CHUNK)
    chunks = [(start, min(start + CHUNK, trials)) for start in starts]
    without, with_row = [], []
    for absent, present in _spread(partial(_play_chunk, game, seed), chunks, workers):
        without.append(absent)
        with_row.append(present)
        advance(len(absent) + len(present))
    return np.concatenate(without), np.concatenate(with_row)


def _play_chunk(game: Game, seed: int | None, chunk: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    runs = range(*chunk)
    views = [[game.play(world, _seed(seed, i, world)) for i in runs] for world in (False, True)]
    return np.stack(views[0]), np.stack(views[1])


def _seed(seed: int | None, run: int, world: bool) -> int | None:
    return None if seed is None else (seed << 40) + 2 * run + world


def _spread(
    work: Callable[[tuple[int, int]], tuple[FloatArray, FloatArray]], chunks: list[tuple[int, int]], workers: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    if workers == 1 or len(chunks) == 1:
        yield from map(work, chunks)
        return
    # Fresh processes, not forks of one that has threads and open pools.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(work, chunks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
