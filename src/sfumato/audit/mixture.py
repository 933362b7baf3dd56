"""Audits of whole fits: neighbours built to hurt, every noisy answer, and the released file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sfumato.api import Job, prepare
from sfumato.arrays import NamedArrays
from sfumato.audit.game import Attack, Claim
from sfumato.audit.insider import NOISE, VIEW, Insider
from sfumato.audit.queries import GROUP, Pair
from sfumato.engines import Local
from sfumato.mechanisms import Clustmix, Mechanism, Mixture, Slicing
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.models import GeneratorModel
from sfumato.models.bought import BoughtRows
from sfumato.models.generator_training import untrained
from sfumato.private.accounting import Adjacency
from sfumato.private.curator import Curator, Engine
from sfumato.release.file import contents
from sfumato.release.release import Release
from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Schema
from sfumato.training.settings import Training

CROWD = 400  # rows that are the same in both tables
FEW = 3  # of them, where every row is shown with noise of its own and a crowd would hide one
MOST_NUMBERS = 40  # in an array of clustmix with four columns, two classes and two cells of each
KINDS = [f"kind {i}" for i in range(20)]
PLACE = {"type": "number", "min": 0, "max": 100, "step": 1}
PLACES = Schema.of({"label": "group", "columns": {"x": PLACE, "y": PLACE, "group": GROUP}})
PARTS = Schema.of(
    {
        "label": "group",
        "columns": {"group": GROUP},
        "groups": {"parts": {"columns": ["x", "y", "v", "w"], "min": 0, "max": 100, "step": 1}},
    }
)
GRADE = {"type": "number", "min": 0, "max": 4, "step": 1}
GRADES = Schema.of({"label": "group", "columns": dict.fromkeys("xyvw", GRADE) | {"group": GROUP}})
# What a fit with tables does for free, without any private row, is cut short: its questions are what a run is about.
SHORT = MixtureTuning(pairs=PairTuning(pools=(1000, 1000), refreshes=1, settlings=1, sweeps=1, steps=5))
CATEGORIES = Schema.of({"label": "group", "columns": {"kind": {"type": "category", "values": KINDS}, "group": GROUP}})


@dataclass(frozen=True)
class FitGame:
    """A whole fit, from reading the table to the released file."""

    pair: str
    claim: Claim
    adjacency: Adjacency
    tables: Pair
    schema: Schema
    mechanism: Mechanism
    curator: Callable[[Job], Curator] = Job.curator
    room: int = 0  # numbers that an array may have, where noise says how many

    attacks = (
        Attack("all noisy answers, best statistic", slice(0, 1), threshold=0.0),
        Attack("how the noise behaves, learned statistic", NOISE),
        Attack("the released file, learned statistic", slice(VIEW, None)),
    )

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        job = self._job(with_row, seed)
        curator = self.curator(job)
        insider = Insider(Client(curator), *self._engines)
        release = job.release(curator, insider)
        return np.array([*insider.view, *file_numbers(release, self.room)])

    def _job(self, with_row: bool, seed: int | None) -> Job:
        return prepare(
            self.tables[with_row],
            self.schema,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            mechanism=self.mechanism,
            adjacency=self.adjacency,
            engine=Local(workers=1),
            insecure_seed=seed,
        )

    @cached_property
    def _engines(self) -> tuple[Engine, Engine]:
        """What the insider knows: both tables, read once."""
        return self._job(False, None).engine, self._job(True, None).engine


def mixture(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """The mixture mechanism, one Gaussian a class, on tables that differ in its most telling rows."""
    one = Mixture(components=1, pairs=None)
    return [FitGame(pair, claim, adjacency, tables, schema, one) for pair, tables, schema in _pairs(adjacency)]


def affine(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """The mixture in data units, one Gaussian a class."""
    far, opposite, other = (100, 100, "a"), (0, 0, "a"), (100, 100, "b")
    pair, without, with_row = {
        Adjacency.ADD_REMOVE: ("a far outlier", [], [far]),
        Adjacency.REPLACE_ONE: ("an extreme row replaced by its opposite", [far], [opposite]),
        Adjacency.LABEL: ("the label of an outlier flipped into an empty class", [far], [other]),
    }[adjacency]
    tables = _frames(_crowd(), without, with_row)
    return [FitGame(pair, claim, adjacency, tables, PLACES, Mixture(encoding="affine"))]


def components(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """The same mechanism with several Gaussians a class: cells of normal scores, and clusters in data units."""
    crowd = _crowd()
    without, with_row = {
        Adjacency.ADD_REMOVE: ([], [(100, 100, "b")]),
        Adjacency.REPLACE_ONE: ([(100, 100, "a")], [(0, 0, "b")]),
        Adjacency.LABEL: ([(100, 100, "a")], [(100, 100, "b")]),
    }[adjacency]
    tables = _frames(crowd, without, with_row)
    return [
        FitGame(f"an extreme row, {what}", claim, adjacency, tables, PLACES, mechanism)
        for what, mechanism in (
            ("cells of scores", Mixture(components=2, pairs=None)),
            ("clusters in data units", Mixture(components=2, encoding="affine")),
        )
    ]


def adapted(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """The same mechanism with part of the budget on the labels."""
    adapts = Mixture(components=1, pairs=None, adapt="labels")
    return [FitGame(pair, claim, adjacency, tables, schema, adapts) for pair, tables, schema in _pairs(adjacency)]


def pair_tables(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """The same mechanism with tables of pairs of columns: which are bought, and how far they are from the model."""
    far, opposite, other = (4, 4, 4, 4, "a"), (0, 0, 0, 0, "b"), (4, 4, 4, 4, "b")
    pair, without, with_row = {
        Adjacency.ADD_REMOVE: ("an extreme row in an otherwise empty class", [], [other]),
        Adjacency.REPLACE_ONE: ("an extreme row replaced by its opposite of another class", [far], [opposite]),
        Adjacency.LABEL: ("the label of an outlier flipped into an empty class", [far], [other]),
    }[adjacency]
    crowd = [(1 + i % 3, 1 + i // 3 % 3, 1 + i // 5 % 3, 1 + i // 7 % 3, "a") for i in range(CROWD)]
    tables = _frames(crowd, without, with_row, list(GRADES.columns))
    return [FitGame(pair, claim, adjacency, tables, GRADES, Mixture(pairs="auto", tuning=SHORT))]


def clustmix(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """Clustmix with adapted labels: cells of normal scores, and columns in a group."""
    pair, tables, schema = next(_pairs(adjacency))
    mechanism = Clustmix(adapt="labels", components=2, sigma_max=1.0)
    grouped = _twice(tables[0]), _twice(tables[1])
    return [
        FitGame(f"{pair}, {what}", claim, adjacency, tables, schema, mechanism, room=MOST_NUMBERS)
        for what, tables, schema in (("cells of scores", tables, schema), ("columns in a group", grouped, PARTS))
    ]


def slicing(claim: Claim, adjacency: Adjacency) -> list[FitGame]:
    """Slicing up to what it buys: class sums of waves, of columns and of a group; and noisy rows, where their number
    may be public. Training is not played: it happens after the last answer, where no row is near, and whoever plays
    this game may train what they like on what they see.
    """
    pair, tables, schema = next(_pairs(adjacency))
    grouped = _twice(tables[0]), _twice(tables[1])
    bought = Slicing(training=None)
    games = [
        FitGame(f"{pair}, {what}", claim, adjacency, tables, schema, bought)
        for what, tables, schema in (("waves of scores", tables, schema), ("waves of a group", grouped, PARTS))
    ]
    return games + (noisy_rows(claim) if adjacency is Adjacency.REPLACE_ONE else [])


def noisy_rows(claim: Claim, **options: Any) -> list[FitGame]:
    """Slicing of every row.

    Rows in the crowd are alike, so that the insider's statistic is the best although their order is not known.
    """
    asked = Slicing(form="rows", training=None, **options)
    return [
        FitGame(
            f"{who} replaced by its opposite of another class, noisy rows",
            claim,
            Adjacency.REPLACE_ONE,
            _frames([(50, 50, "a")] * crowd, [(0, 0, "a")], [(100, 100, "b")]),
            PLACES,
            asked,
        )
        for who, crowd in (("the only row", 0), ("an extreme row in a small crowd", FEW))
    ]


def file_numbers(release: Release, room: int = 0) -> FloatArray:
    """Every number in a release file: the arrays, each filled up with zeros to `room`, and all that its document
    says.
    """
    document, found = contents(release)
    arrays = list(found.values())
    if isinstance(release.model, GeneratorModel):
        arrays = _generator_arrays(release.model, found)
    if "tilt.weights" in found:
        arrays, document = _tilted_arrays(found), {"guarantee": document["guarantee"]}
    parts = [np.ravel(array).astype(np.float64) for array in arrays]
    parts = [np.pad(part, (0, max(room - len(part), 0))) for part in parts]
    return np.concatenate([*parts, list(_numbers(document))])


def _generator_arrays(model: GeneratorModel, found: NamedArrays) -> list[Any]:
    """The arrays of a generator that is not trained yet.

    Its thousands of weights follow from the rest of the file: how far they are from doing so stands for them, and is
    zero. Noisy rows, whose order is random, are there as they are and summed up, because what is learned is linear.
    """
    begun = untrained(model.bought, model.encoder, Training(), None)
    kept = [array for name, array in found.items() if not name.startswith("net.")]
    kept.append(np.array([np.abs(found[f"net.{name}"] - known).max() for name, known in begun.weights.items()]))
    if isinstance(model.bought, BoughtRows):
        kept += _row_moments(model.bought)
    return kept


def _tilted_arrays(found: NamedArrays) -> list[Any]:
    """The arrays of a tilted mixture. Noise says which tables are bought: their numbers, whose count varies, are there
    as their moments.
    """
    long = [name for name in found if name.startswith(("answers.", "tilt."))]
    kept = [array for name, array in found.items() if name not in long]
    places = [np.linspace(-1.0, 1.0, found[name].size) for name in long]
    return kept + [
        np.array([found[name].sum(), (found[name] ** 2).sum(), found[name].ravel() @ place, found[name].size])
        for name, place in zip(long, places, strict=True)
    ]


def _row_moments(bought: BoughtRows) -> list[FloatArray]:
    """Sums and products of noisy rows, in the coordinates of the vectors where they were projected."""
    values = bought.values.astype(np.float64)
    vectors = values if bought.directions is None else values @ np.linalg.pinv(bought.directions)
    return [vectors.sum(axis=0), vectors.T @ vectors]


def _numbers(data: Any) -> Iterator[float]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from _numbers(item)
    elif isinstance(data, (int, float)):
        yield float(data)


def _pairs(adjacency: Adjacency) -> Iterator[tuple[str, Pair, Schema]]:
    """In words and rows: what the two tables are, and what is public about them."""
    crowd = _crowd()
    alone, far = (100, 100, "b"), (100, 100, "a")
    many = [(kind, group) for i, kind in enumerate(KINDS) for group in "ab" for _ in range(_common(i, group))]
    rare = [(kind, group) for kind, group in many if kind != KINDS[0]]
    if adjacency is Adjacency.ADD_REMOVE:
        yield "an extreme row in an otherwise empty class", _frames(crowd, [], [alone]), PLACES
        yield "a category that nobody else has", _kinds(rare, [], [(KINDS[0], "b")]), CATEGORIES
        yield "one more row of a common category", _kinds(many, [], [(KINDS[0], "b")]), CATEGORIES
    if adjacency is Adjacency.REPLACE_ONE:
        yield "a row replaced by one of another class", _frames(crowd, [far], [alone]), PLACES
        yield "a category replaced by another", _kinds(many, [(KINDS[0], "a")], [(KINDS[1], "b")]), CATEGORIES
    if adjacency is Adjacency.LABEL:
        yield "the label of an outlier flipped into an empty class", _frames(crowd, [far], [alone]), PLACES
        yield "the label of a common row flipped", _kinds(many, [(KINDS[0], "a")], [(KINDS[0], "b")]), CATEGORIES


def _common(i: int, group: str) -> int:
    """How often a category is seen: so often that no cleaning hides a row, and differently in each class."""
    return 20 + 2 * i if group == "a" else 60 - 2 * i


def _crowd() -> list[tuple[Any, ...]]:
    """Rows of class a around the middle, on a line so that an outlier stands out in every direction."""
    return [(40 + i % 21, 40 + (i * 7) % 21, "a") for i in range(CROWD)]


def _frames(
    crowd: list[tuple[Any, ...]],
    without: list[tuple[Any, ...]],
    with_row: list[tuple[Any, ...]],
    columns: Sequence[str] = ("x", "y", "group"),
) -> Pair:
    columns = list(columns)
    return pd.DataFrame(crowd + without, columns=columns), pd.DataFrame(crowd + with_row, columns=columns)


def _twice(table: pd.DataFrame) -> pd.DataFrame:
    """Both places once more, so that a group has four columns."""
    return table.assign(v=table["y"], w=table["x"])


def _kinds(crowd: list[tuple[Any, ...]], without: list[tuple[Any, ...]], with_row: list[tuple[Any, ...]]) -> Pair:
    columns = ["kind", "group"]
    return pd.DataFrame(crowd + without, columns=columns), pd.DataFrame(crowd + with_row, columns=columns)
