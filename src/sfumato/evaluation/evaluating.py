"""`sf.evaluate`: one release beside real rows.

Every measure is taken of some samples of the release, of real rows (test rows held against train rows: the best that
can be hoped for, with the sampling error of that many rows) and of independent columns (each column drawn by itself
from the train rows: what a release without any relation between columns would be worth).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError, SfumatoError, insist
from sfumato.evaluation.broken_rules import broken_by_rule
from sfumato.evaluation.column_shares import Shares, column_shares
from sfumato.evaluation.coverage import relative_error
from sfumato.evaluation.measures import MEASURES
from sfumato.evaluation.measuring import Measured, Measuring
from sfumato.evaluation.real_rows import RealRows, read_rows
from sfumato.evaluation.release_evaluation import (
    ColumnFigures,
    Compared,
    Evaluation,
    FewFigures,
    PairFigures,
    RuleFigures,
)
from sfumato.evaluation.table_distances import MOST_TABLES
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.progress import Told, Work
from sfumato.release.file import read
from sfumato.release.release import Release
from sfumato.schema.conditions import parse
from sfumato.schema.schema import Schema
from sfumato.text import one_line

MOST_EVALUATED, MOST_QUICK = 100_000, 10_000  # rows of a table: of more, some are drawn
LIKELIHOOD_ROWS, LIKELIHOOD_CELLS = 5_000, 1_000_000  # whose density is asked for
WORST = 20  # pairs, groups and rare values that are kept
MOST_DRAWN = 60  # columns whose shares are kept
ANY_RULE = ""  # the key of rows that break one rule or another


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
    if target is not None and not all(target in rows.typed.names for rows in (real, held)):
        raise ArgumentError(f"target {target!r} is computed from other columns, and is not in the tables: add it there")
    run = _Run(made, known, real, held, test is not None, target or made.schema.label, tuple(rules), samples, seed)
    return run.evaluation(tell)


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
class _Sample:
    """One sample of the release: its rows, what was measured of them, and the share that breaks each rule."""

    rows: TypedRows
    found: Measured
    broken: Mapping[str, float]


@dataclass(frozen=True)
class _Run:
    """One evaluation: `real` is all that is known of the train rows, or what is not held out of them."""

    release: Release
    known: RealRows
    real: RealRows
    held: RealRows
    is_new: bool
    wanted: str | None
    rules: tuple[str, ...]
    samples: int
    seed: int

    @cached_property
    def names(self) -> list[str]:
        """The columns that both tables have."""
        return [name for name in self.real.typed.names if name in self.held.typed.names]

    @cached_property
    def measuring(self) -> Measuring:
        """The real rows that samples are held against."""
        train, test = (rows.typed.only(self.names) for rows in (self.real, self.held))
        return Measuring(train, test, self.is_new, self.wanted if self.wanted in self.names else None)

    def evaluation(self, tell: Told) -> Evaluation:
        """Measure all, and put it together."""
        measuring = self.measuring
        work = Work(tell, measuring.cost(self.samples) + 3 * self.samples + 2)
        real, independent = measuring.real(work), measuring.independent(work)
        samples = [self._sample(number, work) for number in range(self.samples)]
        work.next("log-likelihood", 2)
        likelihoods = self._likelihoods()
        tell(1.0, "done")
        looks = [sample.found for sample in samples]
        groups = len(measuring.groups)
        few = [self._few(place, looks) for place in range(len(measuring.few))]
        return Evaluation(
            release=f"{one_line(self.release.mechanism)}, {self.release.guarantee}",
            rows={"train": measuring.train.size, "test": measuring.test.size, "sample": measuring.train.size},
            samples=self.samples,
            seed=self.seed,
            target=measuring.target,
            measures=_measures(looks, real, independent) | likelihoods,
            columns=self._columns(samples, real, independent),
            pairs=_pairs(looks, real, independent),
            groups=_worst(few[:groups]),
            rare=_worst(few[groups:]),
            rules=self._rules(samples),
            notes=tuple(self._notes(has_density=bool(likelihoods))),
        )

    def _sample(self, number: int, work: Work) -> _Sample:
        what = f"sample {number + 1} of {self.samples}"
        work.next(f"{what}: drawing", 3)
        frame = self.release.sample(self.measuring.train.size, seed=self.seed + number)
        rows = typed(frame, self.release.schema).only(self.names)
        masks = broken_by_rule(frame, self.release.schema, self.rules)
        if masks:
            masks[ANY_RULE] = np.logical_or.reduce(list(masks.values()))
        broken = {rule: float(mask.mean()) for rule, mask in masks.items()}
        found = self.measuring.synthetic(rows, what, work)
        if broken:
            found = replace(found, figures={**found.figures, "broken_rules": broken[ANY_RULE]})
        return _Sample(rows, found, broken)

    def _likelihoods(self) -> dict[str, Compared]:
        """The mean log density of test rows and of train rows; of neither where the test rows are not new."""
        if not self.is_new:
            return {}
        try:
            tables = {"log_likelihood": self.held, "log_likelihood_train": self.real}
            return {name: Compared.of([self._density(rows)]) for name, rows in tables.items()}
        except SfumatoError:  # the model has no density
            return {}

    def _density(self, rows: RealRows) -> float:
        """Over rows that have one: those that break a rule of the schema have none."""
        few = rows.some(min(LIKELIHOOD_ROWS, max(1, LIKELIHOOD_CELLS // len(self.names))))
        batches = [batch for batch in few.batches if batch.num_rows]
        found = np.concatenate([self.release.log_density(batch) for batch in batches])
        return float(np.mean(found[np.isfinite(found)])) if np.isfinite(found).any() else float("nan")

    def _columns(self, samples: Sequence[_Sample], real: Measured, independent: Measured) -> tuple[ColumnFigures, ...]:
        """Every column, the one whose tables with others are farthest off first."""
        looks = [sample.found for sample in samples]
        figures = [
            ColumnFigures(
                name,
                _compared(name, [look.alone for look in looks], real.alone, independent.alone),
                _maybe(name, [look.together for look in looks], real.together, independent.together),
                _maybe(name, [look.learned for look in looks], real.learned, {}),
            )
            for name in self.names
        ]
        order = sorted(figures, key=lambda each: -(each.together or each.alone).excess)
        drawn = [replace(each, shares=self._shares(each.name, samples)) for each in order[:MOST_DRAWN]]
        return (*drawn, *order[MOST_DRAWN:])

    def _shares(self, name: str, samples: Sequence[_Sample]) -> Shares:
        return column_shares(name, self.measuring.train, [sample.rows for sample in samples])

    def _few(self, place: int, looks: Sequence[Measured]) -> FewFigures:
        few, train = self.measuring.few[place], self.measuring.train
        real, shares = float(few.members(train).mean()), [look.shares[place] for look in looks]
        error = float(np.mean([relative_error(np.array([real]), np.array([share])) for share in shares]))
        inside = [look.inside[place] for look in looks if place < len(look.inside)]
        label = float(np.mean(inside)) if inside else None
        return FewFigures(few.title(train.schema), Compared.of(shares, real), error, label)

    def _rules(self, samples: Sequence[_Sample]) -> tuple[RuleFigures, ...]:
        rules = [rule for rule in samples[0].broken if rule != ANY_RULE]
        real = self.real.broken(self.rules) if rules else {}
        broken = {rule: [sample.broken[rule] for sample in samples] for rule in rules}
        return tuple(RuleFigures(rule, Compared.of(broken[rule], real.get(rule))) for rule in rules)

    # --- What to say beside

    def _notes(self, has_density: bool) -> Iterator[str]:
        yield from _drawn("train", self.known)
        if self.is_new:
            if self.held.typed.is_same(self.real.typed):
                yield "Nothing was held out: the test rows are the train rows. Figures of test rows are too good."
            yield from _drawn("test", self.held)
            if not has_density:
                yield "The release has no density. Left out: log-likelihood of held-out rows."
        else:
            yield (
                "No test rows: a fifth of the train rows, drawn with a fixed seed, stands in for them. These rows were "
                "in the fit, so judges may score too well. Left out: log-likelihood of held-out rows, closest rows."
            )
        if not self.measuring.has_lightgbm:
            yield (
                "LightGBM is not installed (pip install 'sfumato[evaluate]'). Left out: its judge, any column, told "
                "apart; the other judges are there."
            )
        if self.measuring.target is None:
            yield "The release has no label and no target was named: no judges of one column."
        yield from self._notes_of_columns()
        unit = self.release.schema.unit
        if unit is not None:
            yield (
                f"The release counts at most {unit.rows} rows of each {one_line(unit.column)}; real rows are compared "
                "as they stand in the tables."
            )

    def _notes_of_columns(self) -> Iterator[str]:
        wanting = [one_line(name) for name in self.release.schema.columns if name not in self.names]
        if wanting:
            yield f"Computed from other columns and not in the tables, so not compared: {', '.join(wanting)}."
        targets, columns = len(self.measuring.targets), len(self.names)
        if 0 < targets < columns:
            yield f"Any column: {targets} of {columns:,} columns were targets, drawn with a fixed seed."
        pairs = columns * (columns - 1) // 2
        if pairs > MOST_TABLES[2]:
            yield f"Pairs of columns: {MOST_TABLES[2]:,} of {pairs:,} were looked at, drawn with a fixed seed."


def _drawn(what: str, rows: RealRows) -> Iterator[str]:
    if rows.drawn:
        yield f"Of {rows.total:,} {what} rows {rows.size:,} were drawn evenly, with a fixed seed."
    if rows.unlabelled:
        yield f"{rows.unlabelled:,} {what} rows without a label that the schema knows are left out, as in a fit."


def _measures(looks: Sequence[Measured], real: Measured, independent: Measured) -> dict[str, Compared]:
    names = [name for name in MEASURES if name in looks[0].figures]
    found = {
        name: _compared(name, [look.figures for look in looks], real.figures, independent.figures) for name in names
    }
    return {name: each for name, each in found.items() if not np.isnan(each.mean)}


def _pairs(looks: Sequence[Measured], real: Measured, independent: Measured) -> tuple[PairFigures, ...]:
    """The pairs that are farthest off, beyond what real rows are."""
    samples = [look.pairs for look in looks]
    found = [
        PairFigures((names[0], names[1]), _compared(names, samples, real.pairs, independent.pairs))
        for names in real.pairs
    ]
    return tuple(sorted(found, key=lambda each: -each.distance.excess)[:WORST])


def _worst(few: Sequence[FewFigures]) -> tuple[FewFigures, ...]:
    return tuple(sorted(few, key=lambda each: (-each.error, -(each.share.real or 0.0)))[:WORST])


def _compared(
    key: Any, samples: Sequence[Mapping[Any, float]], real: Mapping[Any, float], independent: Mapping[Any, float]
) -> Compared:
    return Compared.of([each[key] for each in samples], real.get(key), independent.get(key))


def _maybe(
    key: Any, samples: Sequence[Mapping[Any, float]], real: Mapping[Any, float], independent: Mapping[Any, float]
) -> Compared | None:
    return _compared(key, samples, real, independent) if key in samples[0] else None
