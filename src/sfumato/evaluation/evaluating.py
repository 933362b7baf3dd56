"""`sf.evaluate`: one release beside real rows.

Every measure is taken of some samples of the release, of real rows (test rows held against train rows: the best that
can be hoped for, with the sampling error of that many rows) and of independent columns (each column of the train rows
shuffled by itself: what a release without any relation between columns would be worth).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sfumato.errors import ArgumentError, SfumatoError, insist
from sfumato.evaluation.broken_rules import broken_by_rule
from sfumato.evaluation.closest_rows import closeness, real_closeness
from sfumato.evaluation.column_shares import column_shares
from sfumato.evaluation.comparison import likeness
from sfumato.evaluation.coverage import Few, find_groups, find_rare, label_distance, relative_error
from sfumato.evaluation.judges import JUDGES, column_score, has_lightgbm, judge_classes, median, some
from sfumato.evaluation.measures import MEASURES
from sfumato.evaluation.real_rows import RealRows, read_rows
from sfumato.evaluation.regression_judges import REGRESSORS, judge_constant, judge_number
from sfumato.evaluation.release_evaluation import (
    ColumnFigures,
    Compared,
    Evaluation,
    FewFigures,
    PairFigures,
    RuleFigures,
)
from sfumato.evaluation.table_distances import MOST_TABLES, column_distances, distances
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.release.file import read
from sfumato.release.release import Release
from sfumato.schema.conditions import parse
from sfumato.schema.schema import Schema
from sfumato.text import one_line

MOST_EVALUATED, MOST_QUICK = 100_000, 10_000  # rows of a table: of more, some are drawn
MOST_LEARNED = 30_000_000  # cells that a pass over columns as targets may read: of more columns some are targets
FEWEST_TARGETS = 5
LIKELIHOOD_ROWS = 5_000
WORST = 20  # pairs, groups and rare values that are kept
MOST_DRAWN = 60  # columns whose shares are kept
SHUFFLE_SEED = 0

Told: TypeAlias = Callable[[float, str], None]


def evaluate(
    release: Release | str | Path,
    *,
    train: Any,
    test: Any = None,
    target: str | None = None,
    rules: Sequence[str] = (),
    samples: int = 3,
    seed: int = 0,
    quick: bool = False,
    progress: Told | None = None,
) -> Evaluation:
    """See what the rows of a release are worth beside real ones. What it finds is private.

    Args:
        release: A release, or the path of its file.
        train: The real rows that it was made of: whatever `open_table` takes. They are private.
        test: Other real rows of the same kind, which were not in the fit. Without them a fifth of the train rows stands
            in for them, and what needs rows that are new is left out; the notes say so.
        target: The column for the judges to learn, the label by default: of a category classifiers, of a number, date
            or time regressors.
        rules: Rules between columns that the release was not told, to count the rows that break them.
        samples: How many samples of the release, each with as many rows as `train`; figures have their spread.
        seed: Of the first sample; each further one has the next number.
        quick: Look at 10,000 rows of each table at most, instead of 100,000.
        progress: Hears, before each piece of work, which fraction is done and what comes next.

    Returns:
        What was found.

    Raises:
        ReleaseError: The release file cannot be read.
        TableError: A table cannot be read, lacks a column that the release has, or is another table.
        ArgumentError: The target is no column, a rule is none, or a number is out of its range.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> ages = pd.DataFrame({"age": np.arange(1000) % 80})
        >>> release = sf.fit(ages[:500], schema, epsilon=1, delta=1e-6)
        >>> found = sf.evaluate(release, train=ages[:500], test=ages[500:], samples=2)
        >>> found.measures["tv1"].real < found.measures["tv1"].mean < 1
        True
    """
    made = read(release) if isinstance(release, str | os.PathLike) else release
    _check(made.schema, target, rules, samples, seed)
    tell = progress or (lambda done, what: None)
    most = MOST_QUICK if quick else MOST_EVALUATED
    tell(0.0, "reading the train rows")
    known = read_rows(train, made.schema, most)
    if test is None:
        real, held = known.split()
        insist(min(real.size, held.size) > 0, "one train row cannot be compared with anything; give more rows")
    else:
        tell(0.0, "reading the test rows")
        real, held = known, read_rows(test, made.schema, most)
    chosen = target or made.schema.label
    return _Run(made, real, held, test is not None, chosen, tuple(rules), samples, seed, tell).run()


def _check(schema: Schema, target: str | None, rules: Sequence[str], samples: int, seed: int) -> None:
    """Refuse what can be refused before a row is read."""
    if target is not None and target not in schema.columns:
        names = ", ".join(map(one_line, list(schema.columns)[:20]))
        raise ArgumentError(f"target {target!r} is no column of the release; it has {names}")
    if isinstance(rules, str):
        raise ArgumentError("rules is a list of rules, not one text")
    for rule in rules:
        parse(rule, schema.columns)
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ArgumentError(f"{name} must be a whole number, {least} or more, not {value!r}")


@dataclass(frozen=True)
class _Looked:
    """What was measured of some rows; `shares` and `inside` are of the few, in their order."""

    figures: Mapping[str, float] = field(default_factory=dict)
    learned: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    shares: Sequence[float] = ()
    inside: Sequence[float] = ()
    broken: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def together(self) -> dict[str, float]:
        """The mean distance of the pairs that each column is in."""
        found: dict[str, list[float]] = {}
        for names, distance in self.pairs.items():
            for name in names:
                found.setdefault(name, []).append(distance)
        return {name: float(np.mean(each)) for name, each in found.items()}


class _Run:
    """One evaluation."""

    def __init__(
        self,
        release: Release,
        real: RealRows,
        held: RealRows,
        is_new: bool,
        target: str | None,
        rules: tuple[str, ...],
        samples: int,
        seed: int,
        tell: Told,
    ) -> None:
        self._release, self._real, self._held, self._is_new = release, real, held, is_new
        self._rules, self._samples, self._seed, self._tell = rules, samples, seed, tell
        self._names = [name for name in real.typed.names if name in held.typed.names]
        self._train, self._test = real.typed.only(self._names), held.typed.only(self._names)
        self._target = target if target in self._names else None
        self._has_lightgbm = has_lightgbm()
        self._targets = self._find_targets()
        self._groups, self._rare = find_groups(self._train), find_rare(self._train)
        self._done, self._cost = 0.0, self._all_work()
        self._drawn: list[TypedRows] = []

    def run(self) -> Evaluation:
        real = self._look(self._test, "real rows", learn_from=self._train)
        independent = self._look(self._shuffled(), "independent columns")
        looks = [self._sample(number) for number in range(self._samples)]
        measures = self._measures(looks, real, independent) | self._likelihoods()
        self._tell(1.0, "done")
        few = [self._few_figures(place, looks) for place in range(len(self._few))]
        return Evaluation(
            release=f"{one_line(self._release.mechanism)}, {self._release.guarantee}",
            rows={"train": self._train.size, "test": self._test.size, "sample": self._train.size},
            samples=self._samples,
            seed=self._seed,
            target=self._target,
            measures={name: measures[name] for name in MEASURES if name in measures},
            columns=self._columns(looks, real, independent),
            pairs=self._pairs(looks, real, independent),
            groups=_worst(few[: len(self._groups)]),
            rare=_worst(few[len(self._groups) :]),
            rules=self._rule_figures(looks),
            notes=tuple(self._notes()),
        )

    # --- Looking

    def _sample(self, number: int) -> _Looked:
        """What one sample of the release is like."""
        what = f"sample {number + 1} of {self._samples}"
        self._next(f"{what}: drawing", 3)
        frame = self._release.sample(self._train.size, seed=self._seed + number)
        rows = typed(frame, self._release.schema).only(self._names)
        self._drawn.append(rows)
        broken = {rule: float(mask.mean()) for rule, mask in self._broken(frame).items()}
        return self._look(rows, what, learn_from=rows, broken=broken)

    def _broken(self, frame: Any) -> dict[str, Any]:
        """By rule, and of any rule."""
        found = broken_by_rule(frame, self._release.schema, self._rules)
        return found | ({"": np.logical_or.reduce(list(found.values()))} if found else {})

    def _look(
        self,
        rows: TypedRows,
        what: str,
        learn_from: TypedRows | None = None,
        broken: Mapping[str, float] | None = None,
    ) -> _Looked:
        """All that is measured of some rows, and of what judges learn from some."""
        learned: dict[str, float] = {}
        figures: dict[str, float] = {}
        if learn_from is not None:
            self._next(f"{what}: judges", self._judge_cost)
            figures = self._judged(learn_from)
            learned = self._learned(learn_from, what)
        self._next(f"{what}: tables", 2)
        figures |= likeness(rows, self._train, tell_apart=self._has_lightgbm)
        if learned:
            figures["any_column"] = float(np.nanmean(list(learned.values())))
        if self._is_new and learn_from is not None:
            self._next(f"{what}: closest rows", 2)
            figures |= self._closest(rows)
        label = self._train.schema.label
        inside = (
            [label_distance(self._train, rows, label, each) for each in self._groups] if label in rows.codes else []
        )
        return _Looked(
            figures=figures | ({} if not broken else {"broken_rules": broken[""]}),
            learned=learned,
            alone=column_distances(self._train, rows),
            pairs=distances(self._train, rows, 2) if len(self._names) > 1 else {},
            shares=[float(each.members(rows).mean()) for each in self._few],
            inside=inside,
            broken=broken or {},
        )

    def _closest(self, rows: TypedRows) -> dict[str, float]:
        return real_closeness(self._train, rows) if rows is self._test else closeness(self._train, self._test, rows)

    def _judged(self, rows: TypedRows) -> dict[str, float]:
        """What judges of the target learn from rows."""
        name = self._target
        if name is None:
            return {}
        if name in rows.numbers:
            return judge_number(rows, self._test, name, self._judges(REGRESSORS))
        return judge_classes(rows, self._test, name, self._judges(JUDGES))

    def _guessed(self) -> dict[str, float]:
        """What judges would reach that know nothing."""
        guessed = {"any_column": 0.5} | dict.fromkeys(JUDGES, 0.5)
        if self._target in self._train.numbers:
            constant = judge_constant(self._train, self._test, self._target)
            guessed |= {f"{judge}_{end}": value for judge in REGRESSORS for end, value in constant.items()}
        return guessed

    def _learned(self, rows: TypedRows, what: str) -> dict[str, float]:
        """The AUC of each column as the target of LightGBM."""
        few, found = some(rows), {}
        for name in self._targets:
            self._next(f"{what}: learning {one_line(name)}", 1)
            found[name] = column_score(few, self._test, name, median(self._train, name))
        return found

    def _shuffled(self) -> TypedRows:
        """The train rows, every column in an order of its own."""
        rng, rows = np.random.default_rng(SHUFFLE_SEED), self._train
        return TypedRows(
            rows.schema,
            {name: rng.permutation(values) for name, values in rows.numbers.items()},
            {name: rng.permutation(codes) for name, codes in rows.codes.items()},
        )

    def _likelihoods(self) -> dict[str, Compared]:
        """The mean log density of test rows and of train rows; of neither where the test rows are not new."""
        self._next("log-likelihood", 2)
        if not self._is_new:
            return {}
        try:
            found = {"log_likelihood": self._held, "log_likelihood_train": self._real}
            return {name: Compared.of([self._density(rows)]) for name, rows in found.items()}
        except SfumatoError:  # the model has no density
            return {}

    def _density(self, rows: RealRows) -> float:
        """Over rows that have one: those that break a rule of the schema have none."""
        batches = [batch for batch in rows.some(LIKELIHOOD_ROWS).batches if batch.num_rows]
        found = np.concatenate([self._release.log_density(batch) for batch in batches])
        return float(np.mean(found[np.isfinite(found)])) if np.isfinite(found).any() else float("nan")

    # --- What was found

    @property
    def _few(self) -> list[Few]:
        return [*self._groups, *self._rare]

    def _measures(self, looks: Sequence[_Looked], real: _Looked, independent: _Looked) -> dict[str, Compared]:
        names = dict.fromkeys(name for look in looks for name in look.figures)
        floor = self._guessed() | dict(independent.figures)
        found = {
            name: Compared.of([look.figures[name] for look in looks], real.figures.get(name), floor.get(name))
            for name in names
        }
        return {name: each for name, each in found.items() if not np.isnan(each.mean)}

    def _columns(self, looks: Sequence[_Looked], real: _Looked, independent: _Looked) -> tuple[ColumnFigures, ...]:
        """Every column, the one whose tables with others are farthest off first."""
        figures = [
            ColumnFigures(
                name,
                _of(name, [each.alone for each in looks], real.alone, independent.alone),
                _maybe(name, [each.together for each in looks], real.together, independent.together),
                _maybe(name, [each.learned for each in looks], real.learned, {}),
            )
            for name in self._names
        ]
        order = sorted(figures, key=lambda each: -(each.together or each.alone).excess)
        return tuple(
            ColumnFigures(each.name, each.alone, each.together, each.learned, self._shares(each.name, place))
            for place, each in enumerate(order)
        )

    def _shares(self, name: str, place: int) -> Any:
        return column_shares(name, self._train, self._drawn) if place < MOST_DRAWN else None

    def _pairs(self, looks: Sequence[_Looked], real: _Looked, independent: _Looked) -> tuple[PairFigures, ...]:
        """The pairs that are farthest off, beyond what real rows are."""
        found = [
            PairFigures((names[0], names[1]), _of(names, [e.pairs for e in looks], real.pairs, independent.pairs))
            for names in real.pairs
        ]
        return tuple(sorted(found, key=lambda each: -each.distance.excess)[:WORST])

    def _few_figures(self, place: int, looks: Sequence[_Looked]) -> FewFigures:
        few = self._few[place]
        real = float(few.members(self._train).mean())
        shares = [look.shares[place] for look in looks]
        error = float(np.mean([relative_error(np.array([real]), np.array([share])) for share in shares]))
        inside = [look.inside[place] for look in looks if place < len(look.inside)]
        title = few.title(self._train.schema)
        return FewFigures(title, Compared.of(shares, real), error, float(np.mean(inside)) if inside else None)

    def _rule_figures(self, looks: Sequence[_Looked]) -> tuple[RuleFigures, ...]:
        real = self._real.broken(self._rules)
        rules = [rule for rule in looks[0].broken if rule]
        return tuple(
            RuleFigures(rule, Compared.of([look.broken[rule] for look in looks], real.get(rule))) for rule in rules
        )

    # --- What to say beside

    def _notes(self) -> Iterable[str]:
        yield from self._notes_of_rows("train", self._real)
        if self._is_new:
            yield from self._notes_of_rows("test", self._held)
        else:
            yield (
                "No test rows: a fifth of the train rows, drawn with a fixed seed, stands in for them. These rows were "
                "in the fit, so judges may score too well. Left out: log-likelihood of held-out rows, closest rows."
            )
        if not self._has_lightgbm:
            yield (
                "LightGBM is not installed (pip install 'sfumato[evaluate]'). Left out: its judge, any column, told "
                "apart; the other judges are there."
            )
        if self._target is None:
            yield "The release has no label and no target was named: no judges of one column."
        schema = self._release.schema
        if wanting := [one_line(name) for name in schema.columns if name not in self._names]:
            yield f"Computed from other columns and not in the tables, so not compared: {', '.join(wanting)}."
        if 0 < len(self._targets) < len(self._names):
            yield f"Any column: {len(self._targets)} of {len(self._names)} columns were targets, drawn at random."
        pairs = len(self._names) * (len(self._names) - 1) // 2
        if pairs > MOST_TABLES[2]:
            yield f"Pairs of columns: {MOST_TABLES[2]:,} of {pairs:,} were looked at, drawn at random."
        if schema.unit is not None:
            yield (
                f"The release counts at most {schema.unit.rows} rows of each {one_line(schema.unit.column)}; real rows "
                "are compared as they stand in the tables."
            )

    def _notes_of_rows(self, what: str, rows: RealRows) -> Iterable[str]:
        if rows.drawn:
            yield f"Of {rows.total:,} {what} rows {rows.size:,} were drawn evenly, with a fixed seed."
        if rows.unlabelled:
            yield f"{rows.unlabelled:,} {what} rows without a label that the schema knows are left out, as in a fit."

    # --- Work and how far it is

    def _judges(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name != "lightgbm" or self._has_lightgbm]

    def _find_targets(self) -> list[str]:
        """The columns that LightGBM is to learn: all, or of a wide table some."""
        if not self._has_lightgbm or len(self._names) < 2:
            return []
        most = max(FEWEST_TARGETS, MOST_LEARNED // (min(self._train.size, MOST_EVALUATED) * len(self._names)))
        drawn = set(np.random.default_rng(SHUFFLE_SEED).permutation(len(self._names))[:most].tolist())
        return [name for place, name in enumerate(self._names) if place in drawn]

    @property
    def _judge_cost(self) -> float:
        return 0.0 if self._target is None else 5.0

    def _all_work(self) -> float:
        """In pieces of about a second, of a table like UCI Adult."""
        passes = self._samples + 1
        closest = 2 * passes if self._is_new else 0
        return passes * (self._judge_cost + len(self._targets) + 2) + closest + 2 + 3 * self._samples + 2

    def _next(self, what: str, cost: float) -> None:
        self._tell(min(self._done / self._cost, 1.0), what)
        self._done += cost


def _of(key: Any, samples: Sequence[Mapping[Any, float]], real: Mapping[Any, float], other: Mapping[Any, float]) -> Any:
    return Compared.of([each[key] for each in samples], real.get(key), other.get(key))


def _maybe(key: Any, samples: Sequence[Mapping[Any, float]], real: Any, other: Any) -> Compared | None:
    return _of(key, samples, real, other) if key in samples[0] else None


def _worst(few: Sequence[FewFigures]) -> tuple[FewFigures, ...]:
    return tuple(sorted(few, key=lambda each: (-each.error, -(each.share.real or 0.0)))[:WORST])
