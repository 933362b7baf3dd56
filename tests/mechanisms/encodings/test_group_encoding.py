"""Columns in groups: where noise would hide the shapes of classes, their means are asked again instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.api import prepare
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.cell_shapes import FoundCells
from sfumato.mechanisms.encodings.group_encoding import GroupEncoding
from sfumato.mechanisms.questions import cells_at
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.private.queries.base import Batch

CLASSES, PIXELS = 5, 36
SCHEMA = sf.Schema.of(
    {
        "label": "kind",
        "columns": {"kind": {"type": "category", "values": [str(k) for k in range(CLASSES)]}},
        "groups": {"pixels": {"columns": "px_*", "min": 0, "max": 16, "step": 1, "shape": [6, 6]}},
    }
)
CENTRES = np.random.default_rng(3).uniform(1.0, 15.0, (CLASSES, PIXELS))


def images(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    kinds = rng.integers(0, CLASSES, rows)
    pixels = np.clip(np.rint(CENTRES[kinds] + 2.0 * rng.standard_normal((rows, PIXELS))), 0, 16).astype(int)
    return pd.DataFrame(pixels, columns=[f"px_{i}" for i in range(PIXELS)]).assign(kind=kinds.astype(str))


def fitted(rows: int, epsilon: float, seed: int = 1, **groups: float) -> sf.Release:
    tuning = sf.Mixture().tuning
    tuning = replace(tuning, groups=replace(tuning.groups, **groups))
    mechanism = sf.Mixture(adapt="auto", tuning=tuning)
    return sf.fit(images(rows), SCHEMA, epsilon=epsilon, delta=1e-4, mechanism=mechanism, insecure_seed=seed)


def asked(release: sf.Release) -> list[str]:
    return [spend.name for spend in release.guarantee.spends]


def mean_error(release: sf.Release) -> float:
    """How far the pixels of sampled rows are from their class's on average."""
    drawn = release.sample(4000, seed=5)
    own = drawn.groupby("kind").mean(numeric_only=True).reindex([str(k) for k in range(CLASSES)]).to_numpy()
    return float(np.sqrt(np.nanmean((own - CENTRES) ** 2)))


def test_few_rows_tell_means_instead_of_shapes_and_labels() -> None:
    assert asked(fitted(600, 1.0)) == ["centres", "shape", "centres again", "columns"]


@pytest.mark.slow
def test_many_rows_tell_shapes_and_labels() -> None:
    names = asked(fitted(8_000, 16.0, label_drawn=500, free_steps=5))
    assert {"shapes", "labels 1"} <= set(names)
    assert "centres again" not in names


def test_labels_that_are_asked_for_are_adapted_all_the_same() -> None:
    mechanism = sf.Mixture(adapt="labels")
    release = sf.fit(images(600), SCHEMA, epsilon=1.0, delta=1e-4, mechanism=mechanism, insecure_seed=1)
    assert {"centres again", "labels 1"} <= set(asked(release))


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_means_of_few_rows_are_nearer_than_with_shapes(seed: int) -> None:
    assert mean_error(fitted(600, 1.0, seed)) < 0.75 * mean_error(fitted(600, 1.0, seed, noisiest_shape=1e9))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_snaps_no_column_to_its_bounds(seed: int) -> None:
    """The twin, without a largest distance, takes columns for constant."""

    def constant(most_snap: float) -> int:
        drawn = fitted(600, 0.3, seed, most_snap=most_snap).sample(1000, seed=5)
        return int((drawn.std(numeric_only=True) < 1.0).sum())

    assert constant(0.02) <= 3 < constant(1.0)


def test_cells_and_rows_are_in_one_place_without_the_label() -> None:
    """The means of a mixture's components are where its cells are; another label leaves a row where it was."""
    rng = np.random.default_rng(6)
    job = prepare(images(600), SCHEMA, epsilon=8.0, delta=1e-4, mechanism="clustmix", insecure_seed=1)
    learned = GroupEncoding(GroupTuning()).learn(Client(job.curator()), job.plan)
    classes = np.repeat(np.arange(CLASSES), 2)
    shapes = learned.alike
    means = rng.normal(0.0, 0.5, (len(classes), shapes.shape[1]))
    cells = cells_at(learned.image, [means[classes == k] for k in range(CLASSES)])
    ones = np.ones(len(classes))
    found = FoundCells(cells, ones, means, ones, np.ones(CLASSES))
    blind = learned.blind(found, learned.mixture(found, shapes).means, classes)
    assert blind.rows == pytest.approx(blind.means, abs=1e-9)
    projected = rng.integers(-9000, 9000, (learned.projection.dim, 50))
    batch = Batch(np.zeros((0, 50)), np.zeros(50, dtype=np.int64), None, projected)
    everyone = np.ones(50, dtype=bool)
    places = [blind.image.rows(batch, everyone, k) for k in range(CLASSES)]
    assert all((place == places[0]).all() for place in places)
