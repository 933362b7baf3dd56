"""A whole fit with the curator in another process, which alone can open the table."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.private.elsewhere import Elsewhere

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.mechanisms import find
from sfumato.mechanisms.asker import Client

SCHEMA = """
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  dose: {type: number, min: 0, max: 10, bins: 7, atoms: [0], missing: true}
  ward: {type: category, values: [north, south]}
  ill: {type: category, values: ["yes", "no"]}
"""
SEED = 5
ROOT = Path(__file__).parents[2]
MECHANISMS = [sf.Mixture(), sf.Mixture(adapt="labels"), sf.Clustmix(), sf.Slicing(training=None)]

needs_descriptors = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no folder of open files here")


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(2000) < 0.3
    return pd.DataFrame(
        {
            "age": rng.normal(40 + 20 * ill, 10).round(),
            "dose": np.where(rng.random(2000) < 0.5, 0.0, rng.random(2000) * 10),
            "ward": rng.choice(["north", "south"], 2000),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@contextmanager
def curator_elsewhere(folder: Path, plan: sf.Plan) -> Iterator[tuple[Elsewhere, Path]]:
    """A process that holds the only open file of the table; its name leads nowhere in any other process."""
    hidden, name = folder / "hidden.parquet", folder / "table.parquet"
    people().to_parquet(hidden)
    held = os.open(hidden, os.O_RDONLY)
    hidden.unlink()
    name.symlink_to(f"/proc/self/fd/{held}")
    ours, theirs = socket.socketpair()
    given = [str(theirs.fileno()), str(name), SCHEMA, repr(plan.mu), str(SEED), str(plan.values)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.private.elsewhere", *given],
        pass_fds=(held, theirs.fileno()),
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(sf.__file__).parents[1]), str(ROOT)])},
    )
    os.close(held)
    theirs.close()
    wire = Connection(ours.detach())
    try:
        yield Elsewhere(wire), name
    finally:
        wire.close()
        assert process.wait(timeout=60) == 0


def arrays(model: Any) -> dict[str, Any]:
    return dict(model.to_arrays()[1])


@pytest.mark.half
@needs_descriptors
@pytest.mark.parametrize(
    "mechanism", [sf.Mixture(), sf.Mixture(adapt="labels"), sf.Clustmix(), sf.Slicing(training=None)]
)
def test_a_whole_fit_through_a_door_to_another_process(tmp_path: Path, mechanism: Any) -> None:
    schema = sf.Schema.parse(SCHEMA)
    plan = sf.plan(schema, epsilon=1, delta=1e-6, mechanism=mechanism, rows=2000)
    with curator_elsewhere(tmp_path, plan) as (door, name):
        with pytest.raises(OSError, match="No such file"):
            name.open("rb")
        model = find(mechanism).run(Client(door), plan)
        assert door.sent > 0
        assert door.received > 0
    here = sf.fit(people(), schema, epsilon=1, delta=1e-6, mechanism=mechanism, rows=2000, insecure_seed=SEED)
    there, same = arrays(model), arrays(here.model)
    assert there.keys() == same.keys()
    assert all(np.array_equal(there[key], same[key]) for key in same)


@needs_descriptors
def test_what_is_refused_there_is_refused_here(tmp_path: Path) -> None:
    plan = sf.plan(sf.Schema.parse(SCHEMA), epsilon=1, delta=1e-6)
    with curator_elsewhere(tmp_path, plan) as (door, _):
        left = door.remaining
        with pytest.raises(SfumatoError, match="a question"):
            door.total("nonsense", b"\x02\x00\x00\x00\x00\x00\x00\x00{}", 0.01)
        assert door.remaining == left
