"""Answers as a curator gives them, of tables that are known: what was asked of every column, with fresh noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sfumato.asking.evidence import Round, read_rounds
from sfumato.asking.release_questions import Asked
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.asker import view_of
from sfumato.mechanisms.questions import describe
from sfumato.private.queries.base import Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.schema.layout import CategoryBins, Layout
from sfumato.schema.schema import Schema


@dataclass(frozen=True)
class Question:
    """One answer that a curator gives: its name, what it is of, and its noise."""

    name: str
    what: dict[str, Any]
    size: int
    sd: Any


def seen(layout: Layout, query: Query, columns: Sequence[int] | None = None) -> dict[str, Any]:
    view = view_of(layout, columns)
    return describe(query if view is None else Viewed(view, query))


def histograms(layout: Layout, sd: float, columns: Sequence[int] | None = None, name: str = "histograms") -> Question:
    sizes = tuple(layout.bins[c].size for c in (range(len(layout.bins)) if columns is None else columns))
    query = Histograms(sizes, layout.classes, (1.0 / len(sizes),) * len(sizes))
    return Question(name, seen(layout, query, columns), query.size, sd)


def tables(
    layout: Layout, sd: float, of: Sequence[tuple[int, ...]], levels: Any = None, name: str = "tables 1"
) -> Question:
    """Tables of levels: every bin its own unless they are given."""
    own = [np.arange(each.size) for each in layout.bins] if levels is None else levels
    numbered = tuple(np.append(level, level.max() + 1) for level in own)
    query = Tables(numbered, layout.classes, tuple(of), (1.0 / len(of),) * len(of))
    return Question(name, seen(layout, query), query.size, sd)


@dataclass(frozen=True)
class Curated:
    """A table, and the questions that are asked of it again and again."""

    schema: Schema
    frame: pd.DataFrame
    questions: tuple[Question, ...]

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(self.schema)

    @cached_property
    def exact(self) -> list[np.ndarray[Any, Any]]:
        blank = [NoisyAnswer(each.name, np.zeros(each.size), 1.0, each.what) for each in self.questions]
        rounds = read_rounds(blank, self.layout)
        assert len(rounds) == len(blank)
        return [self._counted(each) for each in rounds]

    def _counted(self, of: Round) -> np.ndarray[Any, Any]:
        parts = []
        for table in of.tables:
            counts = np.zeros(table.counts.shape)
            np.add.at(counts, tuple(self._levels(of, name) for name in table.columns), 1.0)
            parts.append(counts)
        if of.kind == "histograms":
            return np.concatenate([np.atleast_2d(part) for part in parts], axis=1).ravel()
        return np.concatenate([part.ravel() for part in parts])

    def _levels(self, of: Round, name: str) -> np.ndarray[Any, Any]:
        axis = of.axes[name]
        if isinstance(axis.bins, CategoryBins):
            places = {value: i for i, value in enumerate(axis.bins.column.levels)}
            codes = self.frame[name].map(places).fillna(axis.bins.missing).to_numpy(dtype=int)
        else:
            codes = axis.bins.code(self.frame[name].to_numpy(dtype=float))
        return np.where(codes < 0, -1 if axis.nowhere is None else axis.nowhere, axis.level[codes])

    def asked(self, rng: np.random.Generator | None = None, wrong: float = 1.0, sample: Any = None) -> Asked:
        """A release of fresh noise, or of none, whose answers say `wrong` times the noise that they have."""
        answers = []
        for each, exact in zip(self.questions, self.exact, strict=True):
            noise = 0.0 if rng is None else rng.normal(0.0, each.sd, each.size)
            answers.append(NoisyAnswer(each.name, exact + noise, each.sd * wrong, each.what))
        release: Any = SimpleNamespace(
            schema=self.schema, asked=self.layout, answers=tuple(answers), mechanism="mixture", sample=sample
        )
        return Asked.of(release)


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    """People with a sex, an age, hours that go with both, a wage, and an income class."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    age = rng.integers(20, 60, n)
    hours = np.clip(rng.normal(20 + 0.3 * age + 5 * (sex == "m"), 8.0).round(), 0, 79)
    rich = rng.random(n) < 1.0 / (1.0 + np.exp(-(age - 45) / 10.0))
    wage = rng.lognormal(2.0, 0.7, n).clip(0, 99.9)
    return pd.DataFrame({"sex": sex, "age": age, "hours": hours, "wage": wage, "income": np.where(rich, "high", "low")})


SCHEMA = Schema.of(
    {
        "label": "income",
        "columns": {
            "sex": {"type": "category", "values": ["f", "m"]},
            "age": {"type": "number", "min": 20, "max": 59, "step": 1},
            "hours": {"type": "number", "min": 0, "max": 79, "step": 1},
            "wage": {"type": "number", "min": 0, "max": 100, "bins": 20},
            "income": {"type": "category", "values": ["low", "high"]},
        },
    }
)
LAYOUT = Layout.of(SCHEMA)
LEVELS = (np.arange(2), np.arange(40) // 5, np.arange(80) // 8, np.arange(20) // 4)


PAIRS = ((0, 1), (1, 2), (0, 2))


def people(n: int = 5000, sd: float = 10.0, seed: int = 0, of: Sequence[tuple[int, ...]] = PAIRS) -> Curated:
    """Histograms of every column, and tables of pairs in levels."""
    return Curated(SCHEMA, rows(n, seed), (histograms(LAYOUT, sd), tables(LAYOUT, sd, of, LEVELS)))


def binned(curated: Curated, asked: Asked, place: int = 1) -> pd.DataFrame:
    """The table as a round sees it: for each number what stands for its level."""
    of = asked.rounds[place]
    numbers = {name: of.axes[name].middles[curated._levels(of, name)] for name in ("age", "hours", "wage")}
    return curated.frame.assign(**numbers)


def coverage(curated: Curated, ask: Any, truth: Any, runs: int, wrong: float = 1.0, seed: int = 0) -> float:
    """How often intervals hold the truth, over fresh noise; a truth may depend on what stands for levels."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(runs):
        asked = curated.asked(rng, wrong)
        low, high = ask(asked).interval
        held += low <= (truth(asked) if callable(truth) else truth) <= high
    return held / runs
