"""A generator, and what it was trained on: noisy answers that were bought once.

Both are anyone's to have. So whoever holds the file may train again, go on with a training, or train something else,
and the guarantee stays what it is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from sfumato.arrays import Insist, NamedArrays, Specs
from sfumato.encoding.projected import Projected
from sfumato.encoding.projected import columns as columns_at
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.guarantee import Guarantee
from sfumato.models.base import CodedRows, GivenCell, register_model
from sfumato.models.bought import Bought
from sfumato.models.generator import Generator, OwnGenerator, Progress
from sfumato.models.generator_facts import (
    ROWS_ROUND,
    GeneratorFacts,
    arrays_of,
    build,
    check,
    check_bought,
    facts_of,
    shapes,
)
from sfumato.models.generator_training import Encoder, bring, image_of, own, train_on, untrained
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.training.settings import Training

TABLED_ROWS = 1 << 13  # of a class, drawn to see how its latent columns are distributed
SAVE_SECONDS = 10.0  # between two times that a model in training is kept
TRAINED_ENCODERS: dict[str, type[Scores] | type[Projected]] = {"scores": Scores, "projected": Projected}


@register_model
@dataclass(frozen=True, eq=False)
class GeneratorModel:
    """A generator, the encoder of the space that it makes rows in, and all that it, or another, is trained on.

    Attributes:
        layout: The public bins of the schema.
        encoder: How columns become coordinates.
        bought: The noisy answers that it is trained on.
        generator: The network.
        progress: How far its training is.
    """

    layout: Layout
    encoder: Encoder
    bought: Bought
    generator: Generator | OwnGenerator
    progress: Progress

    kind: ClassVar[str] = "generator"
    row_spends: ClassVar[tuple[str, ...]] = (ROWS_ROUND,)

    @classmethod
    def begin(cls, layout: Layout, encoder: Encoder, bought: Bought) -> GeneratorModel:
        """Before any training: a Gaussian for each class."""
        return cls(layout, encoder, bought, untrained(bought, encoder, Training(), None), Progress())

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        return self.encoder.name

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes, by the noisy counts."""
        return np.asarray(self.bought.counts / self.bought.counts.sum())

    @property
    def is_trained(self) -> bool:
        """Whether a training has come to its end."""
        return self.progress.finished

    # --- training

    def train(
        self,
        training: Training | None = None,
        *,
        module: Any = None,
        warm: bool = False,
        resume: bool = False,
        keep: Callable[[GeneratorModel], None] | None = None,
        on_step: Callable[[int, int, float], None] = lambda step, steps, loss: None,
    ) -> GeneratorModel:
        """A model with a generator trained on what was bought; `Release.train` says how.

        `keep` is handed the model every few seconds, at the end, and on an interrupt.
        """
        now = self._ready(training, module, warm, resume)
        kept = time.monotonic()

        def told(generator: Generator | OwnGenerator, progress: Progress) -> None:
            nonlocal now, kept
            now = replace(now, generator=generator, progress=progress)
            on_step(progress.step, progress.settings.steps, float(progress.loss or 0.0))
            if keep is not None and time.monotonic() - kept > SAVE_SECONDS:
                keep(now)
                kept = time.monotonic()

        try:
            trained = train_on(now.bought, now.encoder, now.generator, now.progress, told)
            done = replace(now, generator=trained[0], progress=trained[1])
            if keep is not None:
                keep(done)
        except KeyboardInterrupt:
            if now.progress.memory is None:  # there is nothing to go on with
                raise
            if keep is None:
                warnings.warn("interrupted: the release is trained in part; train(resume=True) goes on", stacklevel=3)
                return now
            keep(now)
            raise
        return done

    def using(self, library: str) -> GeneratorModel:
        """The same model, sampled with "numpy" or with "jax"."""
        if library not in ("numpy", "jax") or not isinstance(self.generator, Generator):
            raise ArgumentError("networks of sfumato's own are sampled with 'numpy' or 'jax'; other modules with jax")
        return replace(self, generator=replace(self.generator, library=library))

    def with_module(self, module: Any) -> GeneratorModel:
        """The same model with the module whose numbers it holds, which a file does not."""
        if not isinstance(self.generator, OwnGenerator):
            raise ArgumentError("module is for releases that were trained with a module of their author's own")
        return replace(self, generator=bring(self.generator, module))

    def _ready(self, training: Training | None, module: Any, warm: bool, resume: bool) -> GeneratorModel:
        """The model as the training finds it: its first weights, and how far it is."""
        again = self.progress.number + 1
        settings = training or (self.progress.settings if warm or resume else Training())
        problem = settings.problem()
        if problem is not None:
            raise ArgumentError(problem)
        if resume:
            if self.progress.memory is None or self.progress.finished:
                raise ArgumentError("there is no interrupted training to go on with; train anew, or warm")
            if training is not None or module is not None or warm:
                raise ArgumentError("a training that is resumed keeps its settings: give nothing else")
            return self
        if warm and module is not None:
            raise ArgumentError("a module of your own brings its own weights: give it, or warm=True")
        if module is not None:
            return replace(self, generator=own(module, self.bought, self.encoder), progress=Progress(again, settings))
        fresh = untrained(self.bought, self.encoder, settings, image_of(self.layout))
        if not warm:
            return replace(self, generator=fresh, progress=Progress(again, settings))
        if isinstance(self.generator, Generator) and self.generator.architecture != fresh.architecture:
            raise ArgumentError("a warm start needs the architecture, width and depth that the release has")
        return replace(self, progress=Progress(again, settings))

    # --- drawing

    def check_given(self, names: Iterable[str]) -> None:
        """Refuse all columns but the label."""
        for name in names:
            if name != self.layout.label:
                raise ArgumentError(f"given: a generator can fix the label only, not {name!r}; keep rows by where")

    def condition(self, given: Mapping[str, GivenCell]) -> int:
        """The class of all rows."""
        (cell,) = given.values()
        return cell.code

    def draw(
        self, n: int, rng: np.random.Generator, condition: int | None = None
    ) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw n rows, of the class of the condition if there is one."""
        if condition is not None:
            labels = np.full(n, condition)
        else:
            labels = rng.choice(len(self.class_weights), size=n, p=self.class_weights)
        made, encoder = self._made(labels, rng), self._matched
        if isinstance(encoder, Projected):
            return columns_at(encoder.places(made, labels, rng), self.layout.bins), labels
        return encoder.decode(made, labels, self.layout.bins), labels

    def _made(self, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        """Rows of the given classes in the encoder's space."""
        made, space = self.generator.sample(labels, rng), self.bought.space
        return made if space is None else space.coordinates(made, labels)

    @cached_property
    def _matched(self) -> Encoder:
        """The encoder over the space as the generator fills it, known by rows drawn with a fixed seed.

        So every column's distribution is the one that was asked for, whatever the generator made of it.
        """
        rng = np.random.default_rng(0)
        drawn = [self._made(np.full(TABLED_ROWS, k), rng) for k in range(len(self.class_weights))]
        return self.encoder.around(drawn) if isinstance(self.encoder, Projected) else self.encoder.tabled(drawn)

    # --- scoring

    def log_joint(self, rows: CodedRows) -> NoReturn:
        """Refuse: there is no density."""
        raise ArgumentError("a generator has no density that anyone could evaluate; a mixture has")

    def log_posterior(self, rows: CodedRows) -> NoReturn:
        """Refuse: a generator does not classify."""
        raise ArgumentError("a generator does not classify: train a classifier on rows sampled from it")

    # --- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """All that a file keeps: what was bought, the network and how far its training is."""
        parts = self.bought, self.generator, self.progress
        return facts_of(self.encoding, *parts), arrays_of(*parts) | self.encoder.to_arrays()

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Insist) -> Specs:
        """Which arrays belong to these facts, and of what size; checks the facts."""
        told = GeneratorFacts.model_validate(facts)
        encoder = TRAINED_ENCODERS[told.encoding].shapes(layout, insist)
        check(told, layout, insist)
        return shapes(told, layout) | encoder

    @classmethod
    def from_arrays(
        cls, layout: Layout, facts: Mapping[str, Any], arrays: NamedArrays, insist: Insist
    ) -> GeneratorModel:
        """The model of a file: every number checked."""
        told = GeneratorFacts.model_validate(facts)
        encoder = TRAINED_ENCODERS[told.encoding].from_arrays(layout, arrays, insist)
        return cls(layout, encoder, *build(told, arrays, layout, encoder, insist))

    def check_guarantee(self, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
        """Whether a guarantee covers what was bought."""
        check_bought(self.bought, guarantee, unit_rows, insist)
