"""A whole fit with the curator in another process, which alone can open the table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

SCHEMA = """
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  dose: {type: number, min: 0, max: 10, bins: 7, atoms: [0], missing: true}
  ward: {type: category, values: [north, south]}
  ill: {type: category, values: ["yes", "no"]}
"""
SEED = 5
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
def curator_elsewhere(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server that holds the only open file of the table; its name leads nowhere in any other process."""
    hidden, name = folder / "hidden.parquet", folder / "table.parquet"
    people().to_parquet(hidden)
    (folder / "s.yaml").write_text(SCHEMA)
    held = os.open(hidden, os.O_RDONLY)
    hidden.unlink()
    name.symlink_to(f"/proc/self/fd/{held}")
    given = ["serve", str(name), "--schema", "s.yaml", "--socket", "socket", "--insecure-seed", str(SEED)]
    with subprocess.Popen(
        [sys.executable, "-c", "from sfumato.cli import main; main()", *given],
        pass_fds=(held,),
        cwd=folder,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(sf.__file__).parents[1])},
    ) as process:
        os.close(held)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"serving")
            yield f"unix:{folder / 'socket'}", name
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0


@pytest.mark.slow
@needs_descriptors
def test_whole_fits_through_a_door_to_another_process(tmp_path: Path) -> None:
    schema = sf.Schema.parse(SCHEMA)
    with curator_elsewhere(tmp_path) as (address, name):
        with pytest.raises(OSError, match="No such file"):
            name.open("rb")
        for mechanism in MECHANISMS:
            wish: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "mechanism": mechanism, "rows": 2000}
            there = sf.fit(sf.remote(address), **wish)
            here = sf.fit(people(), schema, insecure_seed=SEED, **wish)
            for number, release in enumerate((there, here)):
                release.save(tmp_path / f"{number}.sfumato")
            assert (tmp_path / "0.sfumato").read_bytes() == (tmp_path / "1.sfumato").read_bytes()
