"""The release: a model anyone may have, and the guarantee it was made under.

Everything here is post-processing of noisy answers: free, repeatable and seedable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.asking.asks import Asks
from sfumato.cores import over_cores
from sfumato.errors import ArgumentError
from sfumato.guarantee import LONGEST_NAME, Guarantee, NoisyAnswer
from sfumato.models import GeneratorModel, Model, Trainable, model_asked
from sfumato.release.conditional import Held, Where, keep_where, row_filter
from sfumato.release.inference import class_probabilities, log_density
from sfumato.release.keeping import FITTING, Keeping, keep_rules
from sfumato.release.population import draw_populations
from sfumato.release.unread import Unread, find_unread
from sfumato.schema.columns import Category, Column, Datetime, Number
from sfumato.schema.conditions import Mask, Once
from sfumato.schema.layout import NOWHERE, FloatArray, Layout
from sfumato.schema.rules import Modelling
from sfumato.schema.schema import Schema
from sfumato.text import one_line
from sfumato.training.settings import Training

BATCH_ROWS = 1 << 16
DRAWING_THREADS = 8  # at most: each holds a batch and what it takes to draw it, some hundred megabytes with tables

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Release(Asks):
    """A differentially private model of a table: sample it; some models score and classify rows too.

    Attributes:
        schema: What is public about the table's columns.
        guarantee: What is promised about every unit of the private table.
        mechanism: The name of the mechanism that asked.
        model: The distribution of rows, made of noisy answers alone.
        answers: The noisy answers as the curator gave them, with their noise; () where they were left out.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> table = pd.DataFrame({"age": np.arange(1000) % 80})
        >>> release = sf.fit(table, schema, epsilon=1, delta=1e-6)
        >>> release.sample(3, seed=0).shape, release.log_density(table.head(2)).shape
        ((3, 1), (2,))
    """

    schema: Schema
    guarantee: Guarantee
    mechanism: str
    model: Model
    answers: tuple[NoisyAnswer, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.mechanism) <= LONGEST_NAME or not self.mechanism.isprintable():
            raise ArgumentError("the name of a mechanism is missing, too long, or cannot be printed")

    def __repr__(self) -> str:
        return (
            f"Release({one_line(self.mechanism)}, {self.model.kind} of {len(self.schema.columns)} columns in "
            f"{self.encoding}, {len(self.answers)} answers, {self.guarantee})"
        )

    def _repr_html_(self) -> str:
        """The short form of the report, for a notebook."""
        from sfumato.reporting.short_form import short_form

        return short_form(self)

    @property
    def layout(self) -> Layout:
        """The public bins of the schema."""
        return self.model.layout

    @cached_property
    def modelling(self) -> Modelling:
        """What is modelled and what is computed, so that rows keep the rules between columns."""
        return self.schema.modelling

    @cached_property
    def keeping(self) -> Keeping:
        """How rows that keep the rules are weighed, from rows drawn with a fixed seed."""
        drawn = self._columns(FITTING.rows, np.random.default_rng(0), None)
        return Keeping.of(self.modelling, drawn, self.modelling.complete(drawn)[1])

    @property
    def asked(self) -> Layout:
        """The columns as questions saw them: the label may be one of them."""
        return model_asked(self.model).layout

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        return self.model.encoding

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The share of each feature's cells that fitted no bin, with its noise, from the noisy answers alone.

        It may be published with the release. () where no answer tells: in a compact file, or of columns in groups. Of a
        column with `missing: true` every cell fits a bin.
        """
        found = find_unread(self.answers, self.asked.names)
        columns = zip(self.asked.names, self.asked.bins, strict=True)
        may_miss = {name for name, bins in columns if bins.missing != NOWHERE}
        return tuple(each for each in found if each.column not in may_miss)

    @property
    def class_weights(self) -> FloatArray:
        """How often each class comes."""
        return self.model.class_weights

    @overload
    def sample(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
        draws: None = None,
    ) -> pd.DataFrame: ...

    @overload
    def sample(
        self, n: int | None = None, seed: int | None = None, *, where: Where | None = None, draws: int
    ) -> list[pd.DataFrame]: ...

    def sample(
        self,
        n: int | None = None,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
        draws: int | None = None,
    ) -> pd.DataFrame | list[pd.DataFrame]:
        """Draw synthetic rows, with the schema's columns, order and types.

        Args:
            n: How many rows; of draws each, and of those ten for each row of the private table by default.
            seed: The same seed gives the same rows.
            given: Columns to hold at values ({"income": ">50K", "age": 40}): the others follow their conditional
                distribution under the model.
            where: Keep rows for which this holds: a condition ("age > 40 and town in ['Ulm', 'Bonn']"; its grammar is
                in docs/conditions.md), or a function of the frame. At most 1000 rows are drawn for each one wanted.
            draws: Draw the population so many times, as the model has it given noise and sampling, and rows of each:
                analyses of them are put together by `sf.combine` (docs/draws.md).

        Returns:
            The rows; a list of them, one for each draw, where `draws` is given.

        Raises:
            ArgumentError: If an argument is out of its range, or `where` keeps too few rows, or draws are wanted of a
                release without tables of pairs.
        """
        if draws is not None:
            if given is not None:
                raise ArgumentError("draws are of whole rows: use where= in the place of given=")
            drawn = draw_populations(self, n, draws, seed)
            return [each.release.sample(each.rows, each.seed, where=where) for each in drawn]
        if n is None:
            raise ArgumentError("the number of rows to sample must be 0 or more: only draws= has one of its own")
        return pd.concat(list(self._stream(n, seed, given, where, lambda frame: frame)), ignore_index=True)

    def sample_batches(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Draw the same rows as `sample`, as a stream of Arrow batches.

        Args:
            n: How many rows.
            seed: The same seed gives the same rows.
            given: Columns to hold at values.
            where: Keep rows for which this holds.

        Returns:
            The batches, one at a time.

        Raises:
            ArgumentError: If an argument is out of its range, or `where` keeps too few rows.
        """
        return self._stream(n, seed, given, where, self._arrow)

    def predict_proba(self, table: Any) -> pd.DataFrame:
        """The probability of each class for each row of a table.

        Args:
            table: Rows with the schema's features: whatever `open_table` takes.

        Returns:
            One row a row, one column a class, in schema order.

        Raises:
            ArgumentError: If the schema has no label, or the model does not classify.
        """
        if self.schema.label is None:
            raise ArgumentError("this release has no label, so there is nothing to predict")
        probabilities = class_probabilities(
            self.model, table, self.modelling, None if self.modelling.is_plain else self.keeping
        )
        return pd.DataFrame(probabilities, columns=self.layout.class_names())

    def log_density(self, table: Any) -> FloatArray:
        """The log density of each row: log p(x), or log p(x, y) where the table has the label column.

        A probability mass in categories, atoms and stepped columns, a density in the others. Cells that
        have no place in the schema are integrated out. Integrals over boxes of a latent Gaussian are taken by matching
        moments, or on a fixed set of quasi-random points: deterministic, right to a few percent on most rows.
        Rows that break a rule of the schema have none: -inf. The others are those of `sample`, weighed and counted
        among 65,536 rows drawn with a fixed seed: where few rows keep the rules, it is right to a few percent too.

        Args:
            table: Rows with the schema's features: whatever `open_table` takes.

        Returns:
            One number a row.

        Raises:
            ArgumentError: If the model has no density.
        """
        return log_density(self.model, table, self.modelling, None if self.modelling.is_plain else self.keeping)

    def train(
        self,
        training: Training | None = None,
        *,
        module: Any = None,
        warm: bool = False,
        resume: bool = False,
        checkpoint: str | Path | None = None,
        on_step: Callable[[int, int, float], None] = lambda step, steps, loss: None,
    ) -> Release:
        """A release with a generator trained on what was bought. It costs no privacy, however often.

        Args:
            training: The settings; they say what the network looks like.
            module: An equinox module of your own, called as module(noise, one_hot_class) for one row.
            warm: Begin with the weights of this release.
            resume: Go on with a training that was interrupted, with its own settings.
            checkpoint: A file in which the release is kept while it is trained, every few seconds; an interrupt leaves
                it at the last block of steps. Without one, an interrupt ends the training with a warning, and the
                release comes back as far as it is, to be resumed.
            on_step: Hears the step, how many there are at most, and the loss.

        Returns:
            The trained release, with the same guarantee.

        Raises:
            ArgumentError: If there is nothing to train in this release, or the arguments do not go together.
        """
        if not isinstance(self.model, Trainable):
            raise ArgumentError(f"there is nothing to train in a release of mechanism {one_line(self.mechanism)!r}")

        def keep(model: Model) -> None:
            assert checkpoint is not None
            replace(self, model=model).save(checkpoint)

        kept = None if checkpoint is None else keep
        done = self.model.train(training, module=module, warm=warm, resume=resume, keep=kept, on_step=on_step)
        return replace(self, model=done)

    def using(self, library: str) -> Release:
        """The same release, its generator sampled with "numpy" or with "jax".

        Args:
            library: "numpy" or "jax".

        Returns:
            The release.

        Raises:
            ArgumentError: If the model is no generator of sfumato's own, or there is no such library.
        """
        if not isinstance(self.model, GeneratorModel):
            raise ArgumentError("only generators are sampled with one library or another")
        return replace(self, model=self.model.using(library))

    def save(self, path: str | Path, compact: bool = False) -> None:
        """Write the release to one file.

        Args:
            path: Where to; what is there is replaced.
            compact: Leave the noisy answers out, which the model does not need.

        Raises:
            OutputError: If it cannot be written there.
        """
        from sfumato.release.file import write

        write(replace(self, answers=()) if compact else self, path)

    def _stream(
        self,
        n: int,
        seed: int | None,
        given: Mapping[str, Any] | None,
        where: Where | None,
        form: Callable[[pd.DataFrame], T],
    ) -> Iterator[T]:
        """Batches of rows in some form. Each has random numbers of its own, so that threads change nothing."""
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"the number of rows to sample must be 0 or more, not {n!r}")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ArgumentError(f"the seed of a sample must be a whole number, 0 or more, not {seed!r}")
        seeds = np.random.SeedSequence(seed)
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentError("given must be a mapping of columns to values, like {'income': '>50K'}")
        held = Held.of(self.model, given, self.modelling) if given else None
        if where is not None:
            rng = np.random.default_rng(seeds)
            frames = keep_where(lambda size: self._frame(size, rng, held), int(n), row_filter(where, self.schema))
            return map(form, frames)
        size = getattr(self.model, "drawn_at_once", BATCH_ROWS)
        starts = range(0, max(int(n), 1), size)

        def batch(place: int, start: int) -> T:
            key = (place,) if place else ()  # the first batch has the numbers of the seed itself
            rng = np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=key))
            return form(self._frame(min(size, int(n) - start), rng, held))

        return over_cores((partial(batch, *each) for each in enumerate(starts)), min(len(starts), DRAWING_THREADS))

    def _frame(self, n: int, rng: np.random.Generator, held: Held | None) -> pd.DataFrame:
        """Rows that keep the rules."""
        if self.modelling.is_plain:
            return self.modelling.complete(self._columns(n, rng, held))[0]
        return keep_rules(lambda size: self._weighed(size, rng, held), n, float(np.exp(self.keeping.log_share)))

    def _weighed(self, n: int, rng: np.random.Generator, held: Held | None) -> tuple[pd.DataFrame, Mask]:
        """Rows as the model draws them, and which of them are to be kept."""
        columns = self._columns(n, rng, held)
        frame, kept = self.modelling.complete(columns)
        return frame, kept & (np.log(rng.random(n)) < self.keeping.log_weights(columns, n))

    def _columns(self, n: int, rng: np.random.Generator, held: Held | None) -> Once:
        """The modelled columns, as the model draws them."""
        decoded, labels = self.model.draw(n, rng, None if held is None else held.condition)
        columns = dict(zip(self.layout.names, decoded, strict=True))
        if self.layout.label is not None and self.layout.label_bins is not None:
            columns[self.layout.label] = self.layout.label_bins.decode(labels, rng.random(n))
        if held is not None:
            columns |= {name: fixed.astype(columns[name].dtype) for name, fixed in held.fixed(n).items()}
        return Once(columns)

    def _arrow(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """Rows as Arrow. Categories get their type from the schema: drawn values would vary it by batch."""
        kinds = {
            name: _arrow_type(column) for name, column in self.schema.columns.items() if not isinstance(column, Number)
        }
        for name, kind in kinds.items():
            if pa.types.is_large_string(kind) and frame[name].dtype == object:
                frame[name] = frame[name].map(str, na_action="ignore")
        types = pa.Schema.from_pandas(frame, preserve_index=False)
        for name, kind in kinds.items():
            types = types.set(types.get_field_index(name), pa.field(name, kind))
        table = pa.Table.from_pandas(frame, schema=types, preserve_index=False)
        return pa.RecordBatch.from_arrays([_whole(column) for column in table.columns], schema=types)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)])


def _arrow_type(column: Column) -> pa.DataType:
    if isinstance(column, Datetime):
        return pa.timestamp("us", tz=column.zone)
    if isinstance(column, Category):
        if all(isinstance(value, int) for value in column.values):
            return pa.int64()
        return pa.large_string() if any(isinstance(value, str) for value in column.values) else pa.float64()
    kinds = {"boolean": pa.bool_(), "date": pa.date32(), "time": pa.time64("us"), "duration": pa.duration("us")}
    return kinds[column.type]
