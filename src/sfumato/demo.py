"""The demo: release UCI Adult, sample it, and see what a model trained on the sample is worth.

It compares with the real rows, which is private in general; this data set is public.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.api import fit
from sfumato.errors import OutputError
from sfumato.evaluation.judges import boosted_auc
from sfumato.evaluation.marginals_plot import draw_marginals
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import typed
from sfumato.guarantee import Guarantee
from sfumato.rows_file import write_rows
from sfumato.schema.schema import Schema

TRAIN_ROWS = 32_561  # public: UCI's documentation states it


@dataclass(frozen=True)
class Demo:
    """What the demo made and measured."""

    folder: Path
    guarantee: Guarantee
    auc_synthetic: float
    auc_real: float
    distance: float
    fit_seconds: float
    seconds: float

    def data(self) -> dict[str, Any]:
        """What the demo made and measured, as JSON."""
        from sfumato.release.guarantee import guarantee_data

        return vars(self) | {"folder": str(self.folder), "guarantee": guarantee_data(self.guarantee)}

    def table(self) -> str:
        """The closing table."""
        lines = [
            ("guarantee", str(self.guarantee).split(";")[0]),
            ("AUC, trained on synthetic rows", f"{self.auc_synthetic:.3f}"),
            ("AUC, trained on real rows", f"{self.auc_real:.3f}"),
            ("mean distance of marginals", f"{self.distance:.4f} (total variation; 0 is equal, 1 disjoint)"),
            ("seconds to fit", f"{self.fit_seconds:.2f}"),
            ("seconds in all", f"{self.seconds:.1f}"),
        ]
        made = "adult.sfumato, synthetic.csv, marginals.png"
        return "\n".join(["", *(f"{name:<32}{value}" for name, value in lines), "", f"in {self.folder}: {made}"])


def adult() -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """UCI Adult as shipped: train split, test split and schema."""
    folder = files("sfumato") / "data"
    with (folder / "adult.parquet").open("rb") as file:
        rows = pd.read_parquet(file)
    schema = Schema.parse((folder / "adult.schema.yaml").read_text(encoding="utf-8"))
    train, test = (rows[rows["split"] == part].drop(columns="split") for part in ("train", "test"))
    return train.reset_index(drop=True), test.reset_index(drop=True), schema


def run_demo(folder: Path, say: Callable[[str], None]) -> Demo:
    """Run the whole demo into a folder."""
    started = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror}") from error
    train, test, schema = adult()

    epsilon = 1.0
    say(f"fitting UCI Adult (train split) at epsilon {epsilon:g}")
    before = time.perf_counter()
    release = fit(train, schema, epsilon=epsilon, delta=1 / TRAIN_ROWS, rows=30_000)
    fit_seconds = time.perf_counter() - before
    release.save(folder / "adult.sfumato")
    write_rows(release.sample_batches(10_000), folder / "synthetic.csv")

    say("drawing real against synthetic marginals")
    synthetic = release.sample(TRAIN_ROWS)
    title = f"UCI Adult: real rows (bars) and rows sampled from the release (dots). {release.guarantee}"
    draw_marginals(train, synthetic, schema, folder / "marginals.png", title)

    say("training one model on synthetic rows and one on real rows; both are tested on real rows")
    ours, real, unseen = (typed(rows, schema) for rows in (synthetic, train, test))
    return Demo(
        folder=folder,
        guarantee=release.guarantee,
        auc_synthetic=boosted_auc(ours, unseen),
        auc_real=boosted_auc(real, unseen),
        distance=table_distance(real, ours, 1),
        fit_seconds=fit_seconds,
        seconds=time.perf_counter() - started,
    )
