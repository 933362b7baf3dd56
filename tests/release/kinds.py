"""One small release of each kind of model and encoding, and rows to score with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from tests.configs import asked

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.models import MixtureModel, Tilt, TiltedModel
from sfumato.models.followers import Follower

SCORES: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 100, "step": 1},
        "dose": {"type": "number", "min": 0, "max": 2, "step": 0.25},
        "height": {"type": "number", "min": 1.2, "max": 2.2, "bins": 64},
        "gain": {"type": "number", "min": 0, "max": 100_000, "scale": "log", "atoms": [0], "bins": 64},
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Köln"], "missing": True},
        "grade": {"type": "category", "values": [1, 2, 3]},
        "seen": {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "bins": 64, "missing": True},
        "visits": {"type": "number", "min": 0, "max": 20, "step": 1, "missing": True},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
AFFINE: dict[str, Any] = {
    "label": "kind",
    "columns": {
        "x": {"type": "number", "min": -10, "max": 10},
        "y": {"type": "number", "min": 0, "max": 1},
        "count": {"type": "number", "min": 0, "max": 50, "step": 1},
        "kind": {"type": "category", "values": ["a", "b", "c"]},
    },
}
PROJECTED: dict[str, Any] = {
    "label": "kind",
    "columns": {"kind": {"type": "category", "values": ["bar", "beam"]}},
    "groups": {"pixels": {"columns": "px_{1..12}", "min": 0, "max": 15, "step": 1, "shape": [3, 4]}},
}
SCHEMAS = {"scores": SCORES, "affine": AFFINE, "projected": PROJECTED}
TRAINING = sf.Training(steps=50, rows=100, width=4, depth=1)
KINDS: dict[str, dict[str, Any]] = {
    "scores": {"encoding": "scores", "components": 1},
    "affine": {"encoding": "affine", "components": 1},
    "components": {"encoding": "scores", "components": 3},
    "adapt": {"encoding": "scores", "components": 1, "adapt": "labels"},
    "tilted": {"encoding": "scores", "components": 2, "tilted": True},
    "follows": {"encoding": "scores", "components": 2, "tilted": True, "follows": True},
    "clustmix": {"encoding": "scores", "components": 3, "mechanism": "clustmix", "sigma_max": 2.0},
    "groups": {"encoding": "projected", "components": 1, "adapt": "labels"},
    "slicing": {"encoding": "scores", "mechanism": "slicing", "training": TRAINING},
    "rows": {
        "encoding": "projected",
        "mechanism": "slicing",
        "training": TRAINING,
        "form": "rows",
        "adjacency": "replace-one",
        "slices": 2,
    },
    "merged": {"encoding": "scores", "components": 1, "merged": True},
}
SINCE = {"tilted": 7, "merged": 7, "follows": 8}  # the first version of the format with this kind
# Rows with missing cells, and with one that has no place in the schema.
FIXED: dict[str, list[dict[str, Any]]] = {
    "scores": [
        {
            "age": 40,
            "dose": 0.5,
            "height": 1.75,
            "gain": 0,
            "town": None,
            "grade": 2,
            "seen": "2021-05-06",
            "visits": None,
            "ill": "yes",
        },
        {
            "age": 41,
            "dose": 1.25,
            "height": 1.6,
            "gain": 5000,
            "town": "Köln",
            "grade": 9,
            "seen": None,
            "visits": 4,
            "ill": "no",
        },
    ],
    "projected": [
        {f"px_{i}": i for i in range(1, 13)} | {"kind": "bar"},
        {f"px_{i}": None if i == 3 else 14 - i for i in range(1, 13)} | {"kind": "beam"},
    ],
    "affine": [{"x": 1.5, "y": 0.4, "count": 12, "kind": "b"}, {"x": -3, "y": 0.6, "count": None, "kind": "c"}],
}


def table(encoding: str, rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    if encoding == "affine":
        kind = rng.integers(0, 3, rows)
        return pd.DataFrame(
            {
                "x": rng.normal(3.0 * kind - 3, 1.5),
                "y": rng.beta(2 + kind, 3),
                "count": rng.poisson(10 + 5 * kind),
                "kind": np.array(["a", "b", "c"])[kind],
            }
        )
    if encoding == "projected":
        beam = rng.random(500) < 0.5
        lit = np.where(np.tile([1, 0, 0, 0], 3), ~beam[:, None], beam[:, None]) * 9.0
        pixels = np.clip(np.rint(lit + rng.normal(3, 2, (500, 12))), 0, 15).astype(int)
        frame = pd.DataFrame(pixels, columns=[f"px_{i}" for i in range(1, 13)])
        return frame.assign(kind=np.where(beam, "beam", "bar"))
    ill = rng.random(rows) < 0.3
    age = np.clip(rng.normal(40 + 25 * ill, 12), 0, 100).round()
    seen = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1461, rows), unit="D"))
    return pd.DataFrame(
        {
            "age": age,
            "dose": rng.integers(0, 9, rows) / 4,
            "height": rng.normal(1.7, 0.1, rows) - 0.001 * age,
            "gain": np.where(rng.random(rows) < 0.7, 0.0, np.exp(rng.normal(7, 1.5, rows))),
            "town": rng.choice(np.array(["Ulm", "Bonn", "Köln", None], dtype=object), rows),
            "grade": rng.integers(1, 4, rows),
            "seen": seen.mask(rng.random(rows) < 0.3),
            "visits": pd.Series(rng.poisson(3 + 4 * ill)).astype("Int64").mask(rng.random(rows) < 0.2),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def made_of(name: str, **options: Any) -> sf.Release:
    """A release of one of the kinds."""
    encoding = KINDS[name]["encoding"]
    # Columns in groups are projected by their schema, and others have scores by default.
    given = {key: value for key, value in (KINDS[name] | options).items() if value not in ("projected", "scores")}
    is_tilted, follows = given.pop("tilted", False), given.pop("follows", False)
    if given.pop("merged", False):
        return merged()
    made = sf.fit(table(encoding), SCHEMAS[encoding], epsilon=2, delta=1e-6, insecure_seed=1, **asked(**given))
    return tilted(made, follows) if is_tilted else made


def merged() -> sf.Release:
    """The same people twice and others once, on one layout; with real noise, so that it has promises."""
    terms: dict[str, Any] = {"epsilon": 2, "delta": 1e-6, "rows": 3000}
    layout = replace(sf.SharedLayout.of(SCORES, **terms), tables=((0, 4, 8), (5, 7, 8)))
    mechanism = sf.Mixture(layout=layout, tuning=SHORT)
    rows = table("scores")
    one, again, other = (sf.fit(each, SCORES, mechanism=mechanism, **terms) for each in (rows, rows, rows[::2]))
    return sf.merge([sf.merge([one, again], same_people=True), other])


def tilted(release: sf.Release, follows: bool = False) -> sf.Release:
    """The release with a tilt that is made up: town by illness, age by visits by grade, and no visits in Ulm.

    Grades may follow doses.
    """
    base = release.model.base if isinstance(release.model, TiltedModel) else release.model
    assert isinstance(base, MixtureModel)
    layout = release.layout
    halves = [np.minimum(np.arange(size) * 4 // size, 3) for size in layout.sizes]
    levels = tuple(np.arange(size) if size <= 4 else half for size, half in zip(layout.sizes, halves, strict=True))
    place = {name: c for c, name in enumerate((*layout.names, layout.label))}
    tables = [(place["town"], place["ill"]), (place["age"], place["visits"], place["grade"])]
    tilt = Tilt(levels, layout.classes, (), np.zeros(0)).with_tables(tables)
    tilt = tilt.reweighted(np.random.default_rng(1).normal(0, 0.7, tilt.cells))
    forbidden = np.zeros((4, 4))
    forbidden[0, 0] = -np.inf
    tilt = tilt.with_tables([(place["town"], place["visits"])], forbidden.ravel())
    chances = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.01, 0.01, 0.98], [0.2, 0.3, 0.5]])
    followers = (Follower(place["grade"], place["dose"], chances),) if follows else ()
    return replace(release, model=TiltedModel.of(base, tilt, 20_000, np.random.default_rng(2), followers))
