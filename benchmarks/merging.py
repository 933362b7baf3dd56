"""What is lost where k sites release UCI Adult's rows on their own and merge, against one fit on all rows.

    python -m benchmarks.merging [--seeds 5] [--output benchmarks/merging.json]
    python -m benchmarks.merging --page    # the table of docs/merging.md

The train split is divided at random, or by education with noise, as regions differ. Every site fits at the same epsilon
and delta = 1/32561, on a layout of the schema or on the first site's release; the releases are merged. Measured are the
AUC of LightGBM trained on 32,561 synthetic rows and scored on the test split, the mean total variation distance of one-
and two-way tables to the train rows, and the noise of merged answers: half-widths of 95 % intervals for counts, and how
many of the exact counts of age by income they cover. Noise is seeded, so that figures can be made again. Cells that the
output holds are not measured again. A site's own tilt is cut short: no merged release depends on it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.provenance import made_by

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.demo import TRAIN_ROWS, adult
from sfumato.evaluation.judges import learned, lightgbm
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.layout import Layout, OrderedBins

EPSILON, DELTA = 1.0, 1.0 / TRAIN_ROWS
SITES = (2, 5, 20)
SPLITS = ("random", "skewed")
LAYOUTS = ("schema", "first release")
Z = 1.96
SKEW_NOISE = 1.0  # of the score that rows are ordered by, in its standard deviations


def divided(train: pd.DataFrame, sites: int, split: str, seed: int) -> list[pd.DataFrame]:
    """The rows of each site."""
    rng = np.random.default_rng(seed)
    if split == "random":
        where = rng.permutation(len(train)) % sites
    else:
        years = train["education_num"].astype(float)
        order = np.argsort((years - years.mean()) / years.std() + SKEW_NOISE * rng.normal(size=len(train)))
        where = np.empty(len(train), dtype=int)
        where[order] = np.arange(len(train)) * sites // len(train)
    return [train[where == site] for site in range(sites)]


def merged(tables: list[pd.DataFrame], schema: sf.Schema, layout: str, seed: int) -> sf.Release:
    """All sites' releases as one."""
    terms: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "rows": TRAIN_ROWS // len(tables)}
    seeds = iter(range(1000 * (seed + 1), 1000 * (seed + 2)))
    first: list[sf.Release] = []
    if layout == "schema":
        shared: Any = sf.SharedLayout.of(schema, **terms, sites=len(tables))
    else:
        apart = sf.Mixture(label="classes")
        first.append(sf.fit(tables[0], schema, mechanism=apart, insecure_seed=next(seeds), **terms))
        shared = first[0]
    mechanism = sf.Mixture(layout=shared, tuning=SHORT)
    others = (
        sf.fit(table, schema, mechanism=mechanism, insecure_seed=next(seeds), **terms) for table in tables[len(first) :]
    )
    return sf.merge([*first, *others])


class Judge:
    """Measures a release against the real rows."""

    def __init__(self) -> None:
        self.train, test, self.schema = adult()
        self._real, self._unseen = typed(self.train, self.schema), typed(test, self.schema)

    def figures(self, release: sf.Release, seed: int) -> dict[str, Any]:
        rows = typed(release.sample(TRAIN_ROWS, seed=seed), self.schema)
        return {
            "auc": round(self._auc(rows), 4),
            "tv_1": round(table_distance(self._real, rows, 1), 4),
            "tv_2": round(table_distance(self._real, rows, 2), 4),
            **self._widths(release),
        }

    def _auc(self, rows: TypedRows) -> float:
        features = (each.features(self.schema.features) for each in (rows, self._unseen))
        return learned(lightgbm(), tuple(features), rows.codes["income"], self._unseen.codes["income"])

    def _widths(self, release: sf.Release) -> dict[str, Any]:
        """Half-widths of intervals for counts, from the first look and from tables, and what those of age cover."""
        (first, *_) = (each for each in release.answers if each.name == "histograms")
        sd = np.broadcast_to(first.sd, first.values.shape).reshape(2, -1)
        values = first.values.reshape(2, -1)
        starts = np.cumsum([0, *np.add(first.what["bins"], 1)])
        age, sex = (release.layout.names.index(name) for name in ("age", "sex"))
        mine = slice(starts[age] + 1, starts[age + 1])
        exact = self._by_age(release, first.what)
        tables = [each for each in release.answers if each.what.get("kind") == "tables"]
        women = sd[:, starts[sex] + 1 : starts[sex + 1]][:, 0]
        return {
            "half_width_age_bin": round(float(Z * sd[0, mine].mean()), 1),
            "half_width_women": round(float(Z * np.sqrt((women**2).sum())), 1),
            "half_width_table_cell": round(float(Z * min(each.sd.min() for each in tables)), 1) if tables else None,
            "tables": len({tuple(t) for each in tables for t in each.what["tables"]}),
            "covered": round(float((np.abs(values[:, mine] - exact) <= Z * sd[:, mine]).mean()), 3),
        }

    def _by_age(self, release: sf.Release, what: Any) -> np.ndarray[Any, Any]:
        """Exact counts of age by income, in the bins of an answer."""
        bins = Layout.of(self.schema).bins[release.layout.names.index("age")]
        assert isinstance(bins, OrderedBins)
        cells = bins.cell(self.train["age"].to_numpy(dtype=float))
        place = what["columns"].index(release.layout.names.index("age")) if "columns" in what else 0
        starts = np.array(what["starts"][place]) if "starts" in what else np.arange(bins.cells)
        codes = np.searchsorted(starts, cells, "right") - 1
        return np.stack(
            [
                np.bincount(codes[(self.train["income"] == name).to_numpy()], minlength=len(starts))
                for name in release.layout.class_names()
            ]
        )


def cells(seeds: int) -> Iterator[dict[str, Any]]:
    """All that is to be measured."""
    for seed in range(seeds):
        for layout in ("schema", "chosen"):
            yield {"sites": 1, "split": "none", "layout": layout, "seed": seed}
        for sites in SITES:
            for split in SPLITS:
                for layout in LAYOUTS:
                    yield {"sites": sites, "split": split, "layout": layout, "seed": seed}


def measured(cell: dict[str, Any], judge: Judge) -> dict[str, Any]:
    seed, schema = cell["seed"], judge.schema
    if cell["sites"] == 1:
        terms: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "rows": TRAIN_ROWS}
        layout = sf.SharedLayout.of(schema, **terms) if cell["layout"] == "schema" else None
        made = sf.fit(judge.train, schema, mechanism=sf.Mixture(layout=layout), insecure_seed=seed, **terms)
    else:
        tables = divided(judge.train, cell["sites"], cell["split"], seed)
        made = merged(tables, schema, cell["layout"], seed)
    return cell | judge.figures(made, seed)


def page(measured: list[dict[str, Any]]) -> Iterator[str]:
    """The table of docs/merging.md: means over runs, the AUC with its standard deviation; then coverage, and losses."""
    runs = pd.DataFrame(measured)
    names = ["sites", "split", "layout"]
    every = runs.groupby(names, sort=False)
    found, spread = every.mean(numeric_only=True), every["auc"].std()
    yield "| sites | divided | layout | AUC | TV 1 | TV 2 | tables | age | women | cell |"
    yield "|---" * 10 + "|"
    for key, row in found.iterrows():
        cell = "-" if np.isnan(row["half_width_table_cell"]) else f"{row['half_width_table_cell']:.0f}"
        widths = f"{row['half_width_age_bin']:.0f} | {row['half_width_women']:.0f} | {cell}"
        auc = f"{row['auc']:.3f} ({spread[key]:.3f})"
        what = " | ".join(map(str, key))
        yield f"| {what} | {auc} | {row['tv_1']:.4f} | {row['tv_2']:.4f} | {row['tables']:.0f} | {widths} |"
    covered = runs["covered"]
    yield f"\ncovered: {covered.mean():.3f} over all, {covered.min():.3f} to {covered.max():.3f} in single runs"
    whole = runs[runs["sites"] == 1].groupby("layout")["auc"].mean()
    yield f"AUC lost against one fit: {(whole['schema'] - found['auc']).round(4).to_dict()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/merging.json"))
    parser.add_argument("--page", action="store_true", help="measure nothing: print the page's figures")
    arguments = parser.parse_args()
    kept = json.loads(arguments.output.read_text())["cells"] if arguments.output.exists() else []
    if arguments.page:
        print("\n".join(page(kept)))
        return
    command = shlex.join(["python", "-m", "benchmarks.merging", *sys.argv[1:]])
    judge = Judge()
    for cell in cells(arguments.seeds):
        if any(cell.items() <= each.items() for each in kept):
            continue
        kept.append(measured(cell, judge) | made_by(command))
        print(json.dumps(kept[-1]), flush=True)
        arguments.output.write_text(json.dumps({"epsilon": EPSILON, "delta": DELTA, "cells": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
