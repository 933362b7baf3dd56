"""A release whose model is a generator, and what it was trained on: noisy answers that were bought once.

Both are anyone's to have. So whoever holds the file may train again, go on with a training, or train something else,
and the guarantee stays what it is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato.encoding.projected import Projected
from sfumato.encoding.projected import columns as columns_at
from sfumato.errors import ArgumentError
from sfumato.mechanisms.train import Encoder, OnStep, own, train_on, untrained
from sfumato.models.bought import Bought
from sfumato.models.generator import Generator, OwnGenerator, Progress
from sfumato.release.conditions import Given, OfClass
from sfumato.release.release import Guarantee, Release
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema
from sfumato.training.settings import Training

TABLED_ROWS = 1 << 13  # of a class, drawn to see how its latent columns are distributed
SAVE_SECONDS = 10.0  # between two checkpoints


@dataclass(frozen=True, repr=False)
class GeneratorRelease(Release):
    """A generator, the encoder of the space that it makes rows in, and all that it, or another, is trained on."""

    encoder: Encoder
    bought: Bought
    generator: Generator | OwnGenerator
    progress: Progress

    @classmethod
    def begin(
        cls, schema: Schema, guarantee: Guarantee, mechanism: str, encoder: Encoder, bought: Bought
    ) -> GeneratorRelease:
        """Before any training: a Gaussian for each class."""
        first = untrained(bought, encoder, Training(), None)
        return cls(schema, guarantee, mechanism, encoder, bought, first, Progress())

    @property
    def encoding(self) -> str:
        return self.encoder.name

    @cached_property
    def class_weights(self) -> FloatArray:
        return np.asarray(self.bought.counts / self.bought.counts.sum())

    @property
    def is_trained(self) -> bool:
        """Whether a training has come to its end."""
        return self.progress.finished

    def train(
        self,
        training: Training | None = None,
        *,
        module: Any = None,
        warm: bool = False,
        resume: bool = False,
        checkpoint: str | Path | None = None,
        on_step: OnStep = lambda step, steps, loss: None,
    ) -> GeneratorRelease:
        """A release with a generator trained on what was bought. It costs no privacy, however often.

        `module` is an equinox module of your own, called as module(noise, one_hot_class) for one row; without it
        `training` says what the network looks like. `warm` begins with the weights of this release, `resume` goes on
        with a training that was interrupted, with its own settings. `checkpoint` is a file in which the release is
        kept while it is trained, every few seconds; an interrupt leaves it at the last block of steps. Without one, an
        interrupt ends the training with a warning, and the release comes back as far as it is, to be resumed.
        """
        now = self._ready(training, module, warm, resume)
        saved = time.monotonic()

        def told(generator: Generator | OwnGenerator, progress: Progress) -> None:
            nonlocal now, saved
            now = replace(now, generator=generator, progress=progress)
            on_step(progress.step, progress.settings.steps, float(progress.loss or 0.0))
            if checkpoint is not None and time.monotonic() - saved > SAVE_SECONDS:
                now.save(checkpoint)
                saved = time.monotonic()

        try:
            trained = train_on(now.bought, now.encoder, now.generator, now.progress, told)
            done = replace(now, generator=trained[0], progress=trained[1])
            if checkpoint is not None:
                done.save(checkpoint)
        except KeyboardInterrupt:
            if now.progress.memory is None:  # there is nothing to go on with
                raise
            if checkpoint is None:
                warnings.warn("interrupted: the release is trained in part; train(resume=True) goes on", stacklevel=2)
                return now
            now.save(checkpoint)
            raise
        return done

    def using(self, library: str) -> GeneratorRelease:
        """The same release, sampled with "numpy" or with "jax"."""
        if library not in ("numpy", "jax") or not isinstance(self.generator, Generator):
            raise ArgumentError("networks of sfumato's own are sampled with 'numpy' or 'jax'; other modules with jax")
        return replace(self, generator=replace(self.generator, library=library))

    def predict_proba(self, table: Any) -> pd.DataFrame:
        raise ArgumentError("a generator does not classify: train a classifier on rows sampled from it")

    def log_density(self, table: Any) -> FloatArray:
        raise ArgumentError("a generator has no density that anyone could evaluate; a mixture has")

    def _ready(self, training: Training | None, module: Any, warm: bool, resume: bool) -> GeneratorRelease:
        """The release as the training finds it: its first weights, and how far it is."""
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

    def _condition(self, given: Mapping[str, Any]) -> Given:
        for name in given:
            if name not in self.schema.columns:
                raise ArgumentError(f"given: {name!r} is not a column of the release")
            if name != self.layout.label:
                raise ArgumentError(f"given: a generator can fix the label only, not {name!r}; keep rows by where")
        return OfClass.of(given, self.layout)

    def _columns(self, n: int, rng: np.random.Generator, condition: Given | None) -> tuple[list[Any], IntArray]:
        if isinstance(condition, OfClass):
            labels = np.full(n, condition.k)
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
        """The encoder over the space as the generator fills it, so that every column's distribution is the one that
        was asked for, whatever the generator made of it; from rows drawn with a fixed seed."""
        rng = np.random.default_rng(0)
        drawn = [self._made(np.full(TABLED_ROWS, k), rng) for k in range(len(self.class_weights))]
        return self.encoder.around(drawn) if isinstance(self.encoder, Projected) else self.encoder.tabled(drawn)


def image_of(layout: Layout) -> tuple[int, int] | None:
    """The shape of the one image that all columns make up, if they do."""
    shapes = [group.shape for group in layout.groups]
    return shapes[0] if len(shapes) == 1 else None
