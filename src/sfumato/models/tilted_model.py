"""A mixture that tables have moved: of all distributions that agree with them, the nearest to the mixture."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import logsumexp

from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.cores import one_blas_thread
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.guarantee import Guarantee
from sfumato.models.balance import balanced
from sfumato.models.base import CodedRows, GivenCell, register_model
from sfumato.models.chains import Chains, Rows, leading, settle
from sfumato.models.followers import Follower, FollowerLaw, can_follow
from sfumato.models.gaussian_mixture import alike
from sfumato.models.labellers import Labeller, QuadraticLabeller
from sfumato.models.mixture_model import CLASS_ROWS, Condition, MixtureModel
from sfumato.models.tilt import MOST_TILTED, Int32Array, Tilt
from sfumato.models.wanted_counts import WantedCounts, level_shares
from sfumato.schema.layout import NOWHERE, FloatArray, IntArray, Layout


@dataclass(frozen=True)
class Drawing:
    """How many rows are drawn for those that are wanted."""

    times: float = 2.0  # as many, for rows whose tables come out right to be chosen from
    fewest: int = 1 << 12  # for stages to be sure of their weights
    at_once: int = 1 << 16  # rows that are chosen, before all are moved on
    missed: float = 0.7  # in the logarithm of the mass: rows have twice as much of it as the model knows of
    lower: float = 1.0  # by how much weights are cut off lower, then; twice as much each time
    lowerings: int = 6  # at most, whatever a file says of the mass


@dataclass(frozen=True)
class Limits:
    """What a file may say of a tilt, at the most."""

    tables: int = 1 << 14
    columns: int = 16  # of a table
    followers: int = 1 << 12
    weight: float = 1e3
    log_total: float = 1e6


DRAWING = Drawing()
LIMITS = Limits()
UNKNOWN_COMBINATIONS = 256  # of the levels of cells that fit no bin

_Column = Annotated[int, Field(strict=True, ge=0)]
_Table = Annotated[tuple[_Column, ...], Field(min_length=1, max_length=LIMITS.columns)]
_Follower = tuple[_Column, _Column]  # and its leader
_Levels = Annotated[int, Field(strict=True, ge=1, le=MOST_TILTED)]


class _Facts(BaseModel):
    """What a file says of a tilted mixture beside its arrays."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    base: dict[str, Any]
    levels: Annotated[tuple[_Levels, ...], Field(fail_fast=True)]  # how many each feature has
    tables: Annotated[tuple[_Table, ...], Field(fail_fast=True, max_length=LIMITS.tables)]
    impossible: Annotated[int, Field(strict=True, ge=0, le=MOST_TILTED)]  # cells
    followers: Annotated[tuple[_Follower, ...], Field(fail_fast=True, max_length=LIMITS.followers)] = ()
    ceiling: Annotated[float, Field(ge=-LIMITS.log_total, le=LIMITS.log_total)] | None = None
    log_total: Annotated[float, Field(ge=-LIMITS.log_total, le=LIMITS.log_total)]
    log_total_sd: Annotated[float, Field(ge=0, le=LIMITS.log_total)]


@dataclass(frozen=True)
class TiltedCondition:
    """What the mixture makes of given cells, and the bins at which columns that follow others are held."""

    base: Condition
    fixed: Mapping[int, int]


@register_model
@dataclass(frozen=True, eq=False)
class TiltedModel:
    """The distribution base(row) exp(weights of the cells that the row is in) / total.

    Columns that follow others have laws of their own in the place of what the mixture says of them (`followers.py`).

    Attributes:
        base: The mixture, in the encoding `scores`.
        tilt: The tables and the weights of their cells.
        expected: The share of rows in each cell, one table after the other, which samples are balanced to.
        log_total: The log of the mean of exp(weights) under the mixture.
        log_total_sd: Its standard error.
        followers: The columns that follow others; none of their leaders does.
    """

    base: MixtureModel
    tilt: Tilt
    expected: FloatArray
    log_total: float
    log_total_sd: float
    followers: tuple[Follower, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str] = "tilted"
    row_spends: ClassVar[tuple[str, ...]] = ()
    drawn_at_once: ClassVar[int] = 1 << 19  # rows of one set of candidates, which take their time to settle

    def __post_init__(self) -> None:
        bins = [len(level) for level in self.tilt.levels]
        if bins != list(self.layout.sizes) or self.tilt.classes != self.layout.classes:
            raise ArgumentError("the levels of a tilt do not fit the bins of its mixture")
        if self.expected.shape != (self.tilt.cells,):
            raise ArgumentError(f"a tilted mixture has one share for each of its {self.tilt.cells} cells")

    @classmethod
    def of(
        cls,
        base: MixtureModel,
        tilt: Tilt,
        rows: int,
        rng: np.random.Generator,
        followers: tuple[Follower, ...] = (),
    ) -> TiltedModel:
        """The tilted mixture, its shares and its total from rows drawn for it.

        Args:
            base: The mixture.
            tilt: The tilt.
            rows: How many rows to draw.
            rng: Where random numbers come from.
            followers: The columns that follow others.

        Returns:
            The model.

        Raises:
            ArgumentError: The tilt does not fit the mixture, or leaves no row.
        """
        weighing, zeros = tilt.split()
        chains = Chains(base, zeros=zeros, followers=laws_of(base, followers, tilt.levels))
        drawn, log_total, sd = settle(chains, weighing, rows, rng)
        log_possible, possible_sd = chains.log_possible(rows, rng)
        places = tilt.places(tilt.levels_of(drawn.codes, drawn.labels))
        expected = np.bincount(places.ravel(), minlength=tilt.cells) / rows
        sd = float(np.hypot(sd, possible_sd))
        return cls(base, tilt, expected, log_total + log_possible, sd, followers=followers)

    @property
    def layout(self) -> Layout:
        """The public bins of the schema."""
        return self.base.layout

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        return self.base.encoding

    @property
    def labeller(self) -> Labeller | QuadraticLabeller | None:
        """How labels are adapted before the tilt; None where they are not."""
        return self.base.labeller

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes; from rows drawn with a fixed seed where no table has the label."""
        label = len(self.tilt.levels)
        if len(self.tilt.having(label)):
            shares = level_shares(self.tilt, self.expected, label)
            return np.asarray(shares / shares.sum())
        rows, _, _ = settle(self.chains(None), self._split[0], CLASS_ROWS, np.random.default_rng(0))
        return np.asarray(np.bincount(rows.labels, minlength=self.layout.classes) / len(rows))

    # --- drawing

    @cached_property
    def _split(self) -> tuple[Tilt, Tilt]:
        """What weighs rows, in as few tables as may be, and where no row can be."""
        weighing, zeros = self.tilt.split()
        return weighing.merged(), zeros

    @cached_property
    def _laws(self) -> tuple[FollowerLaw, ...]:
        return laws_of(self.base, self.followers, self.tilt.levels)

    def chains(self, condition: TiltedCondition | None = None) -> Chains:
        """Rows of the mixture with what follows, under a condition if there is one, and where rules let them be."""
        if condition is None:
            return Chains(self.base, None, self._split[1], self._laws)
        return Chains(self.base, condition.base, self._split[1], self._laws, condition.fixed)

    def check_given(self, names: Iterable[str]) -> None:
        """Refuse what the mixture refuses, which is nothing: it has no columns in groups."""
        self.base.check_given(names)

    def condition(self, given: Mapping[str, GivenCell]) -> TiltedCondition:
        """What the mixture makes of given cells; the tilt follows when rows are drawn."""
        names = self.layout.names
        fixed = {each.column: given[names[each.column]].code for each in self.followers if names[each.column] in given}
        others = {name: cell for name, cell in given.items() if name not in {names[j] for j in fixed}}
        return TiltedCondition(self.base.condition(others), fixed)

    @one_blas_thread()
    def draw(
        self, n: int, rng: np.random.Generator, condition: TiltedCondition | None = None
    ) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw n rows: candidates in stages, and of them, again and again, those whose tables come out right.

        Under a condition rows are taken as they come, as the shares of cells are those of all rows.
        """
        chains = self.chains(condition)
        if condition is None:
            rows = Rows.joined(list(self._chosen(chains, n, rng)))
        else:
            tilt = leading(self._split[0], self._laws, condition.fixed, chains.held)
            drawn, _, _ = settle(chains, tilt, max(n, DRAWING.fewest), rng)
            rows = drawn.take(rng.permutation(len(drawn))[:n])
        return chains.decode(rows, rng), rows.labels

    def _chosen(self, chains: Chains, n: int, rng: np.random.Generator) -> Iterator[Rows]:
        """Some rows at a time, n in all, so that the tables of all of them so far come out right.

        Candidates are settled once. Whenever some of them were chosen, all are moved on by a sweep, which keeps the
        model's law, and those that were chosen by one more, so that none comes again as it was.
        """
        size = min(n, DRAWING.at_once)
        candidates, tilt = self._settled(chains, max(int(DRAWING.times * size), DRAWING.fewest), rng)
        wanted = WantedCounts.of(self.base, self.tilt, self.expected, candidates.codes)
        ahead, chosen = np.zeros(len(wanted.shares)), np.zeros(0, np.int64)
        for start in range(0, max(n, 1), max(size, 1)):
            if start:
                self._move_on(chains, tilt, candidates, chosen, rng)
            some = min(size, n - start)
            places = wanted.places(candidates.codes, candidates.labels)
            chosen = balanced(places, some * wanted.shares, some, rng, ahead)
            ahead += np.bincount(places.take(chosen, axis=0).ravel(), minlength=len(ahead)) - some * wanted.shares
            yield candidates.take(chosen)

    def _settled(self, chains: Chains, n: int, rng: np.random.Generator) -> tuple[Rows, Tilt]:
        """Rows of the tilted mixture, and the tilt that they have.

        Where rows have more mass than the model knows of, they came upon what the fit's fewer rows had not seen: rare
        rows in many cells of large weight. Weights are then cut off lower, until these do not count.
        """
        tilt = self._split[0]
        rows, log_total, _ = settle(chains, tilt, n, rng)
        for turn in range(DRAWING.lowerings):
            if log_total <= self._log_known + DRAWING.missed:
                break
            largest = float(chains.log_weights(rows, tilt).max())
            tilt = tilt.reweighted(tilt.weights, largest - DRAWING.lower * 2**turn)
            rows, log_total, _ = settle(chains, tilt, n, rng)
        return rows, tilt

    @staticmethod
    def _move_on(chains: Chains, tilt: Tilt, candidates: Rows, chosen: IntArray, rng: np.random.Generator) -> None:
        """Move candidates in place: all of them once, and those that were chosen before that."""
        gone = candidates.take(chosen)
        chains.sweep(gone, tilt, rng)
        candidates.put(chosen, gone)
        chains.sweep(candidates, tilt, rng)

    @cached_property
    def _log_known(self) -> float:
        """The log of the mean of exp(weights) under the mixture where rows can be; from rows with a fixed seed."""
        log_possible, _ = self.chains(None).log_possible(CLASS_ROWS, np.random.default_rng(0))
        return self.log_total - log_possible

    # --- scoring

    def log_joint(self, rows: CodedRows) -> FloatArray:
        """The log density log p(x, class), (rows, classes).

        Cells that fit no bin are integrated out: the mixture does so itself, and exp(weights) is averaged over the
        levels of their columns as the mixture has them in the class, as if they were independent of each other and of
        the row's other cells; over 256 combinations of levels drawn with a fixed seed where there are more.
        """
        return self._base_joint(rows) + self._log_weights(rows.codes) - self.log_total

    def _base_joint(self, rows: CodedRows) -> FloatArray:
        """The log density before the tilt: the mixture's of the columns that follow nobody, and followers' chances."""
        if not self.followers:
            return self.base.log_joint(rows)
        joint = replace(self.base, labeller=None).log_joint(self._without_followers(rows))
        assert isinstance(self.base.encoder, Scores)
        for law in self._laws:
            leaders, codes = rows.codes[law.follower.leader], rows.codes[law.follower.column]
            masses = self.base.encoder.columns[law.follower.leader].masses
            for k in range(self.layout.classes):
                joint[:, k] += law.log_chance(leaders, codes, masses[k])
        return self.labeller.blend(rows.codes, joint) if isinstance(self.labeller, Labeller) else joint

    def _without_followers(self, rows: CodedRows) -> CodedRows:
        """Rows of which the mixture is told nothing of the columns that follow others."""
        codes, values = list(rows.codes), list(rows.values)
        for each in self.followers:
            codes[each.column] = np.full_like(codes[each.column], NOWHERE)
            known = values[each.column]
            values[each.column] = None if known is None else np.full_like(known, np.nan)
        return CodedRows(tuple(codes), tuple(values))

    def log_posterior(self, rows: CodedRows) -> FloatArray:
        """The log probabilities log p(class | x), (rows, classes); the mixture's where a row cannot be at all."""
        base = self._base_joint(rows)
        tilted = base + self._log_weights(rows.codes)
        joint = np.where((tilted > -np.inf).any(axis=1, keepdims=True), tilted, base)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def _log_weights(self, codes: Sequence[IntArray]) -> FloatArray:
        """(rows, classes): the weights of the cells that rows are in with each class."""
        found = np.empty((len(codes[0]), self.layout.classes))
        for pattern, mine in alike(np.stack([code < 0 for code in codes], axis=1)):
            known = [code[mine].clip(0) for code in codes]
            levels = self.tilt.levels_of(known, np.zeros(len(known[0]), np.int64))
            columns = [int(j) for j in np.flatnonzero(pattern) if len(self.tilt.having(int(j)))]
            for k in range(self.layout.classes):
                levels[-1] = np.full(len(known[0]), k, np.int32)
                found[mine, k] = self._log_mean(levels, columns, k)
        return found

    def _log_mean(self, levels: list[Int32Array], unknown: list[int], k: int) -> FloatArray:
        """The log of the mean of exp(weights) over the levels of columns that are not known."""
        if not unknown:
            return np.minimum(sum(part.log_weights(levels) for part in self._split), self.tilt.ceiling)
        touched = sorted({int(t) for j in unknown for t in self.tilt.having(j)})
        others = np.delete(np.arange(len(self.tilt.tables)), touched)
        total = np.full(len(levels[-1]), -np.inf)
        for log_share, combination in self._combinations(unknown, k):
            for j, level in zip(unknown, combination, strict=True):
                levels[j] = np.full(len(total), level, np.int32)
            total = np.logaddexp(total, log_share + self.tilt.log_weights(levels, touched))
        return np.minimum(total + self.tilt.log_weights(levels, others), self.tilt.ceiling)

    def _combinations(self, columns: list[int], k: int) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Levels of columns, and the log of how often the mixture has them in class k."""
        shares = [self._level_shares(j, k) for j in columns]
        sizes = [len(share) for share in shares]
        if prod(sizes) <= UNKNOWN_COMBINATIONS:
            for combination in itertools.product(*map(range, sizes)):
                yield sum(np.log(share[i]) for share, i in zip(shares, combination, strict=True)), combination
            return
        rng = np.random.default_rng(0)
        drawn = [rng.choice(len(share), UNKNOWN_COMBINATIONS, p=share) for share in shares]
        for combination in zip(*drawn, strict=True):
            yield -float(np.log(UNKNOWN_COMBINATIONS)), tuple(map(int, combination))

    def _level_shares(self, j: int, k: int) -> FloatArray:
        """How often the mixture has each level of a feature, in class k unless labels are adapted."""
        assert isinstance(self.base.encoder, Scores)
        masses = self.base.encoder.columns[j].masses
        mass = masses[k] if self.base.labeller is None else self.base.mixture.class_weights @ masses
        shares = np.bincount(self.tilt.levels[j], mass)
        return np.asarray(shares / shares.sum())

    # --- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """All that a file keeps: the mixture, and the tilt with the cells where no row can be named."""
        base, arrays = self.base.to_arrays()
        impossible = np.flatnonzero(self.tilt.weights == -np.inf)
        facts = {
            "base": base,
            "levels": list(self.tilt.sizes[:-1]),
            "tables": [list(table) for table in self.tilt.tables],
            "impossible": len(impossible),
            "ceiling": None if self.tilt.ceiling == np.inf else self.tilt.ceiling,
            "log_total": self.log_total,
            "log_total_sd": self.log_total_sd,
        }
        if self.followers:
            facts["followers"] = [[each.column, each.leader] for each in self.followers]
            arrays |= {f"tilt.chances.{i}": each.chances for i, each in enumerate(self.followers)}
        arrays |= {f"tilt.levels.{c}": level.astype(np.int64) for c, level in enumerate(self.tilt.levels)}
        arrays["tilt.weights"] = np.where(self.tilt.weights == -np.inf, 0.0, self.tilt.weights)
        arrays |= {"tilt.impossible": impossible.astype(np.int64), "tilt.expected": self.expected}
        return facts, arrays

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Insist) -> Specs:
        """Which arrays belong to these facts, and of what size; checks the facts."""
        told = _Facts.model_validate(facts)
        insist(told.base.get("encoding") == "scores", "its encoding does not fit a tilt")
        specs = MixtureModel.shapes(layout, told.base, insist)
        insist(len(told.levels) == len(layout.sizes), "the levels of its tilt do not fit the columns of its schema")
        fitting = all(levels <= bins for levels, bins in zip(told.levels, layout.sizes, strict=True))
        insist(fitting, "the levels of its tilt do not fit the bins of its schema")
        sizes = (*told.levels, layout.classes)
        for table in told.tables:
            insist(max(table) < len(sizes) and len(set(table)) == len(table), "a table of its tilt has no such columns")
        cells = sum(prod(sizes[j] for j in table) for table in told.tables)
        insist(cells <= MOST_TILTED and told.impossible <= cells, "the tables of its tilt have too many cells")
        specs |= {f"tilt.levels.{c}": ArraySpec((size,), np.int64) for c, size in enumerate(layout.sizes)}
        _check_followers(told.followers, layout, insist)
        specs |= {
            f"tilt.chances.{i}": ArraySpec((told.levels[leader], told.levels[column]))
            for i, (column, leader) in enumerate(told.followers)
        }
        specs |= {"tilt.weights": ArraySpec((cells,)), "tilt.expected": ArraySpec((cells,))}
        return specs | {"tilt.impossible": ArraySpec((told.impossible,), np.int64)}

    @classmethod
    def from_arrays(cls, layout: Layout, facts: Mapping[str, Any], arrays: NamedArrays, insist: Insist) -> TiltedModel:
        """The model of a file: every number checked."""
        told = _Facts.model_validate(facts)
        own = {name: array for name, array in arrays.items() if not name.startswith("tilt.")}
        base = MixtureModel.from_arrays(layout, told.base, own, insist)
        levels = tuple(arrays[f"tilt.levels.{c}"] for c in range(len(layout.sizes)))
        for level, size in zip(levels, told.levels, strict=True):
            insist(np.array_equal(np.unique(level), np.arange(size)), "the levels of its tilt are not numbered from 0")
        weights, impossible = arrays["tilt.weights"].copy(), arrays["tilt.impossible"]
        insist((np.abs(weights) <= LIMITS.weight).all(), "a weight of its tilt is too large")
        rising = (np.diff(impossible) > 0).all() and ((impossible >= 0) & (impossible < len(weights))).all()
        insist(rising, "the impossible cells of its tilt are not places of cells, in order")
        weights[impossible] = -np.inf
        tilt = Tilt(levels, layout.classes, told.tables, weights, np.inf if told.ceiling is None else told.ceiling)
        _check_expected(tilt, arrays["tilt.expected"], insist)
        followers = tuple(Follower(*who, arrays[f"tilt.chances.{i}"]) for i, who in enumerate(told.followers))
        for each in followers:
            proper = (each.chances > 0).all() and (np.abs(each.chances.sum(axis=1) - 1.0) < 1e-6).all()
            insist(proper, "the chances of a column that follows another are not probabilities")
        return cls(base, tilt, arrays["tilt.expected"], told.log_total, told.log_total_sd, followers=followers)

    def check_guarantee(self, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
        """A tilted mixture holds no noisy rows, like the mixture."""


def laws_of(base: MixtureModel, followers: Sequence[Follower], levels: Sequence[IntArray]) -> tuple[FollowerLaw, ...]:
    """The laws of columns that follow others, each with the shares that the mixture gives its bins."""
    assert not followers or isinstance(base.encoder, Scores)
    columns = base.encoder.columns if isinstance(base.encoder, Scores) else ()
    weights = base.mixture.class_weights
    return tuple(FollowerLaw.of(each, levels, weights @ columns[each.column].masses) for each in followers)


def _check_followers(followers: Sequence[tuple[int, int]], layout: Layout, insist: Insist) -> None:
    """Whether columns can follow each other as a file says."""
    columns, leaders = {column for column, _ in followers}, {leader for _, leader in followers}
    known = all(max(pair) < len(layout.sizes) for pair in followers)
    insist(known and len(columns) == len(followers), "a column that follows another is none, or does so twice")
    insist(not columns & leaders, "a column that others follow follows another itself")
    insist(known and all(can_follow(layout.bins[j]) for j in columns), "a column of many values follows another")


def _check_expected(tilt: Tilt, expected: FloatArray, insist: Insist) -> None:
    """Whether the shares of cells are probabilities, table by table."""
    possible = (expected >= 0).all() and (expected[tilt.weights == -np.inf] == 0).all()
    insist(possible, "the expected shares of its tilt are not probabilities")
    sums = np.add.reduceat(expected, tilt.starts[:-1]) if tilt.tables else np.ones(0)
    insist((np.abs(sums - 1.0) < 1e-6).all(), "the expected shares of its tilt do not add up to one")
