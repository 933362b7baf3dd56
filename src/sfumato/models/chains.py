"""Rows of a tilted mixture: Metropolis steps with the mixture as proposal, and a sampler that goes there in stages.

The state of a row is its component c, its latent coordinates z and, where labels are adapted, its label y. The mixture
gives it the density q(c, z, y) = w_c N(z; m_c, S_c) P(y | class of c, bins of z), where P puts everything on the
component's own class unless labels are adapted; a tilt gives it p = q exp(f) / Z, with f the weights of the cells that
its bins and its label are in. Every step below proposes a state s' from s with a density g(s' | s) and accepts it with
probability min(1, p(s') g(s | s') / (p(s) g(s' | s))), which leaves p as it is (Metropolis and Hastings):

- A fresh row: g(s' | s) = q(s'), so the ratio is exp(f(s') - f(s)).
- One coordinate z_j, drawn from the Gaussian's own law of it given c and the others: g is the conditional density of
  w_c N(z; m_c, S_c), so what is left of the ratio is exp(f(s') - f(s)) P(y | class, new bins) / P(y | class, old bins).
- The label, where labels are adapted, drawn from P(y | class, bins): what is left of the ratio is exp(f(s') - f(s)).

A column that follows another (`followers.py`) has a bin of its own law, given its leader's bin, and its coordinate says
nothing: q has the factor P(bin | leader's bin) in place of the bin that z_j is in. Whenever a leader's bin is proposed,
bins of its followers are drawn along with it, and a follower's bin alone is proposed from its law, so that the ratios
stay as they are; a follower's coordinate moves as the others let it.

Under a condition q is the mixture's law given that. Held columns are not proposed one by one; the law of another
coordinate given all the others is the same with and without the condition. A label that is held where labels are
adapted is a factor P(label | class, bins) of the density, and fresh rows, drawn without it, are accepted by
exp(f(s') - f(s)) P(label | s') / P(label | s).

Zeros are cells where no row can be. The mixture given that a row is in none of them is q restricted, so that the steps
are the same, and those that would go there are refused. A density of 0 (a weight of -inf) is never moved to.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import log_softmax, logsumexp

from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.models.base import REJECTION
from sfumato.models.followers import FollowerLaw
from sfumato.models.labellers import Labeller
from sfumato.models.mixture_model import Condition, MixtureModel
from sfumato.models.quick_numbers import Float32Array, log_uniforms, normals
from sfumato.models.tilt import Int32Array, Tilt
from sfumato.schema.layout import CategoryBins, FloatArray, IntArray

COLUMN_GROUPS = 32  # of columns, where there are more
MOVED_AT_ONCE = 1 << 14  # rows, so that what belongs to them stays near the processor
NARROW = 1e-2  # spread of a coordinate given the others, below which single precision would round it away

LatentArray: TypeAlias = FloatArray | Float32Array


@dataclass(frozen=True)
class Staging:
    """How rows go from the mixture to a tilt of it."""

    effective: float = 0.5  # the least effective share of rows at each stage
    sweeps: int = 2  # after each stage
    stages: int = 100  # at most
    bisections: int = 30
    draws: int = 16  # for each row that is wanted, before those that were found come several times
    enough: int = 1000  # of them
    sure: int = 1 << 21  # draws, after which it gives up where there are not enough


STAGING = Staging()


@dataclass(eq=False)
class Rows:
    """States of rows; the steps of chains change them in place.

    Attributes:
        latent: (features, rows), latent coordinates.
        component: The component of every row.
        own: The class of its component, in whose latent space it is.
        labels: Its label, which is the same unless labels are adapted.
        codes: (features, rows), its bins.
    """

    latent: LatentArray
    component: IntArray
    own: IntArray
    labels: IntArray
    codes: Int32Array

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, which: IntArray | slice) -> Rows:
        """Some of the rows, by number or as a stretch; copies."""
        if isinstance(which, slice):
            return Rows(*(getattr(self, f.name)[..., which].copy() for f in fields(self)))
        return Rows(*(getattr(self, f.name).take(which, axis=-1) for f in fields(self)))

    def put(self, which: IntArray | slice, rows: Rows) -> None:
        """Write rows in the place of those of the given numbers."""
        for f in fields(self):
            getattr(self, f.name)[..., which] = getattr(rows, f.name)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Rows one after the other; at least one part."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts], axis=-1) for f in fields(cls)))


class Chains:
    """The states of rows of a mixture, and the steps that keep a tilt of it.

    Args:
        model: A mixture in the encoding `scores`.
        condition: One that the model made, or None.
        zeros: A tilt whose weights are 0, or -inf where no row of the mixture is to be; it has the levels of the tilts
            that it meets.
        followers: Laws of columns that follow others.
        fixed: Bins that the condition holds followers at, by column. That a leader goes with them is for the tilt to
            say: `leading`.

    Raises:
        ArgumentError: The model has another encoding.
    """

    def __init__(
        self,
        model: MixtureModel,
        condition: Condition | None = None,
        zeros: Tilt | None = None,
        followers: Sequence[FollowerLaw] = (),
        fixed: Mapping[int, int] | None = None,
    ) -> None:
        if not isinstance(model.encoder, Scores):
            raise ArgumentError(f"only a mixture in the encoding 'scores' can be tilted, not {model.encoding!r}")
        self.model, self.condition = model, condition
        self.laws = {law.follower.column: law for law in followers}
        self.fixed = fixed or {}
        self.zeros = zeros if zeros is not None and zeros.tables else None
        self.encoder, self.mixture = model.encoder, model.mixture
        self.labeller = model.labeller if isinstance(model.labeller, Labeller) else None
        self.label = None if condition is None else condition.label
        self.held = self._held()
        covariances = [self.mixture.covariance(c) for c in range(self.mixture.components)]
        precisions = np.stack([np.linalg.inv(covariance) for covariance in covariances])
        diagonals = np.diagonal(precisions, axis1=1, axis2=2)
        spreads = 1.0 / np.sqrt(diagonals)
        self.dtype = np.dtype(np.float32 if spreads.min() >= NARROW else np.float64)
        # Given the others, coordinate j is z[j] - slopes[j] (z - mean), give or take its spread.
        self._spreads = np.ascontiguousarray(spreads.T, self.dtype)
        self._slopes = np.asarray(precisions / diagonals[:, :, None], self.dtype)
        self._means = np.asarray(self.mixture.means, self.dtype)
        self._factors = np.stack([np.linalg.cholesky(each) for each in covariances]).astype(self.dtype)

    @cached_property
    def _evidence(self) -> list[FloatArray]:
        """What every bin says about each class, up to what is common to all classes; (classes, bins) a column."""
        assert self.labeller is not None
        tables = (self.labeller.intercepts[:, None], *self.labeller.evidence)
        return [np.concatenate([np.zeros_like(t), t]) if len(t) == 1 else t for t in tables]

    def _held(self) -> dict[int, int]:
        """The columns that the condition holds, and the bin of each."""
        found: dict[int, int] = {}
        for k, boxes in enumerate(() if self.condition is None else self.condition.boxes):
            bounded = np.isfinite(boxes.low[0]) | (np.isfinite(boxes.high[0]) & ~boxes.is_point[0])
            found |= {
                int(j): int(self.encoder.columns[j].codes_at(boxes.low[:, j], k)[0]) for j in np.flatnonzero(bounded)
            }
        return found

    # --- the mixture's own rows

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """Draw rows of the mixture, under the condition if there is one, and where rows can be; those of a component
        lie together.

        Rows that are not wanted are drawn again. Where few are wanted, those that were found come several times.

        Args:
            n: How many.
            rng: Where random numbers come from.

        Returns:
            The rows.

        Raises:
            ArgumentError: Next to none of the rows drawn were wanted.
        """
        if self.label is None and self.zeros is None:
            return self._fresh(n, rng)
        parts, kept, drawn = list[Rows](), 0, 0
        while kept < n or not parts:
            if drawn >= min(STAGING.draws * n, STAGING.sure) and kept >= min(n, STAGING.enough):
                break
            if drawn >= min(max(n, 1) * REJECTION.draws_a_row, STAGING.sure):
                raise ArgumentError(self._too_few(kept, drawn))
            rows = self._fresh(REJECTION.size(n - kept, max(kept, 1) / max(drawn, 1)), rng)
            drawn += len(rows)
            parts.append(rows.take(rng.permutation(np.flatnonzero(self._is_wanted(rows)))[: n - kept]))
            kept += len(parts[-1])
        found = Rows.joined(parts)
        return found if kept == n else found.take(np.arange(n) % kept)

    def log_possible(self, n: int, rng: np.random.Generator) -> tuple[float, float]:
        """The log of the share of the mixture's rows that are where rows can be, counted among n, and its error."""
        if self.zeros is None:
            return 0.0, 0.0
        found = float(np.count_nonzero(self._is_wanted(self._fresh(n, rng))))
        share = max(found, 0.5) / n  # none of them is not never
        return float(np.log(share)), float(np.sqrt((1.0 - share) / share / n))

    def _too_few(self, kept: int, drawn: int) -> str:
        if self.zeros is None:
            return f"given: only {kept} of {drawn} rows drawn had the label"
        return f"{kept} of {drawn} rows drawn keep the constraints of the schema: the model gives them no mass"

    def _is_wanted(self, rows: Rows) -> Any:
        wanted = np.ones(len(rows), dtype=bool) if self.label is None else rows.labels == self.label
        return wanted if self.zeros is None else wanted & (self.log_weights(rows, self.zeros) == 0.0)

    def _fresh(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the mixture, under the condition but for an adapted label that is held; block by block."""
        sizes = [min(MOVED_AT_ONCE, n - start) for start in range(0, max(n, 1), MOVED_AT_ONCE)]
        return Rows.joined([self._fresh_block(size, rng) for size in sizes])

    def _fresh_block(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the mixture by component, so that neighbours share a class."""
        latent: LatentArray
        if self.condition is None:
            held = rng.multinomial(n, self.mixture.weights / self.mixture.weights.sum())
            component = np.repeat(np.arange(len(held)), held)
            latent = normals(rng, self.mixture.dim * n).reshape(self.mixture.dim, n).astype(self.dtype, copy=False)
            for c, run in _runs(component):
                np.matmul(self._factors[c], latent[:, run].copy(), out=latent[:, run])
                latent[:, run] += self._means[c][:, None]
        else:
            component, drawn = self.condition.sample(self.mixture, n, rng)
            order = np.argsort(component, kind="stable")
            component, latent = component[order], np.ascontiguousarray(drawn[order].T, self.dtype)
        own = self.mixture.component_class[component]
        codes = np.empty(latent.shape, np.int32)
        for k, run in _runs(own):
            for j in range(len(codes)):
                codes[j, run] = self.held[j] if j in self.held else self.encoder.columns[j].codes_at(latent[j, run], k)
        for j, law in self.laws.items():
            codes[j] = self.fixed[j] if j in self.fixed else law.draw(codes[law.follower.leader], rng)
        rows = Rows(latent, component, own, own.copy(), codes)
        if self.labeller is not None:
            rows.labels = self._relabelled(self._logits(rows), own, rng)
        return rows

    def _logits(self, rows: Rows) -> FloatArray:
        """(classes, rows): what bins say about the classes where labels are adapted."""
        start, *evidence = self._evidence
        found = np.repeat(start, len(rows), axis=1)
        for table, codes in zip(evidence, rows.codes, strict=True):
            found += table[:, codes]
        return found

    def _relabelled(self, logits: FloatArray, own: IntArray, rng: np.random.Generator) -> IntArray:
        assert self.labeller is not None
        rises = np.exp(log_softmax(logits, axis=0)).cumsum(axis=0)
        drawn = (rng.random(len(own)) >= rises[:-1]).sum(axis=0)
        return np.where(rng.random(len(own)) < self.labeller.alpha, own, drawn)

    def _log_label(self, logits: FloatArray, own: IntArray, labels: IntArray) -> FloatArray:
        """log P(label | own class, bins)."""
        assert self.labeller is not None
        with np.errstate(over="ignore"):  # a label that is out of the question
            mine = 1.0 / np.exp(logits - logits[labels, np.arange(len(labels))]).sum(axis=0)
        return np.log(self.labeller.alpha * (own == labels) + (1.0 - self.labeller.alpha) * mine)

    def led(self, leader: int) -> list[FollowerLaw]:
        """The laws of columns that follow one and are not held."""
        return [law for j, law in self.laws.items() if law.follower.leader == leader and j not in self.fixed]

    def decode(self, rows: Rows, rng: np.random.Generator) -> list[pd.Series[Any]]:
        """The feature columns of rows, in the schema's types."""
        members = [np.flatnonzero(rows.own == k) for k in range(self.encoder.classes)]
        found = []
        for j, (column, bins) in enumerate(zip(self.encoder.columns, self.model.layout.bins, strict=True)):
            position = np.zeros(len(rows))
            if j in self.laws:
                position = rng.random(len(rows))
            elif not isinstance(bins, CategoryBins):
                latent = _blurred(rows.latent[j], rng) if bins.step is None else rows.latent[j].astype(np.float64)
                for k, mine in enumerate(members):
                    position[mine] = column.position_in(latent.take(mine), rows.codes[j].take(mine), k)
            found.append(bins.decode(rows.codes[j].astype(np.int64), position))
        return found

    # --- steps

    def sweep(self, rows: Rows, tilt: Tilt, rng: np.random.Generator) -> float:
        """Move rows in place by steps that keep the tilted mixture: afresh, column by column, and the label.

        Args:
            rows: The rows, whose order changes.
            tilt: The tilt.
            rng: Where random numbers come from.

        Returns:
            The share of rows that were replaced by fresh ones.
        """
        if self.zeros is not None:
            tilt = tilt.with_tables(self.zeros.tables, self.zeros.weights)
        together, replaced = tilt.at_once(MOVED_AT_ONCE), 0
        for start in range(0, len(rows), together):
            part = slice(start, start + together)
            block = rows.take(part)
            replaced += self._replace(block, tilt, rng)
            block = block.take(np.argsort(block.component, kind="stable"))
            _Block(self, block, tilt).sweep(rng)
            rows.put(part, block)
        return replaced / max(len(rows), 1)

    def log_weights(self, rows: Rows, tilt: Tilt) -> FloatArray:
        """The weights of the cells that each row is in, added up."""
        return tilt.log_weights(tilt.levels_of(rows.codes, rows.labels))

    def _replace(self, rows: Rows, tilt: Tilt, rng: np.random.Generator) -> int:
        """Propose a fresh row for every row; how many were taken."""
        now = self._log_factor(rows, tilt)
        fresh = self._fresh_block(len(rows), rng)
        if self.label is not None:
            fresh.labels[:] = self.label
        partner = rng.permutation(len(rows))  # fresh rows come by component
        with np.errstate(invalid="ignore"):  # -inf both: it stays
            gain = self._log_factor(fresh, tilt).take(partner) - now
        taken = np.flatnonzero(log_uniforms(rng, len(rows)) < gain)
        rows.put(taken, fresh.take(partner[taken]))
        return len(taken)

    def _log_factor(self, rows: Rows, tilt: Tilt) -> FloatArray | Float32Array:
        """By what the density differs from that of fresh rows."""
        places = tilt.places(tilt.levels_of(rows.codes, rows.labels))
        found = np.minimum(tilt.short_weights.take(places).sum(axis=0), np.float32(tilt.ceiling))
        if self.label is None:
            return found
        return np.asarray(found + self._log_label(self._logits(rows), rows.own, rows.labels))


class _Block:
    """Some rows in the order of their components, with what the steps of one column need of all others."""

    def __init__(self, chains: Chains, rows: Rows, tilt: Tilt) -> None:
        self.chains, self.rows, self.tilt = chains, rows, tilt
        self.runs = _runs(rows.component)
        self.class_runs = _runs(rows.own)
        self.levels = tilt.levels_of(rows.codes, rows.labels)
        self.places = tilt.places(self.levels)
        self.total = tilt.short_weights.take(self.places).sum(axis=0)
        if chains.labeller is not None:
            self.logits = chains._logits(rows)
            self.log_label = chains._log_label(self.logits, rows.own, rows.labels)

    def sweep(self, rng: np.random.Generator) -> None:
        """Move every column that is not held, in random order, and the label where it is free.

        What the others say of a coordinate is a product with a precision matrix. Of many columns it is found for a
        group of them at once, and kept up to date within the group.
        """
        features = len(self.rows.codes)
        order = rng.permutation([j for j in range(features) if j not in self.chains.held])
        size = max(1, features // COLUMN_GROUPS)
        for start in range(0, len(order), size):
            group = order[start : start + size]
            pulls = self._pulls(group)
            for place, j in enumerate(group):
                moved = self._move_column(int(j), pulls[place], rng)
                for c, run in self.runs if place + 1 < len(group) else ():
                    towards = self.chains._slopes[c][group[place + 1 :], j]
                    pulls[place + 1 :, run] += towards[:, None] * moved[run]
        if self.chains.labeller is not None and self.chains.label is None:
            self._move_label(rng)

    def _pulls(self, group: IntArray) -> LatentArray:
        """(columns, rows): how far some coordinates are from where the others have them."""
        chains, latent = self.chains, self.rows.latent
        found = np.empty((len(group), len(self.rows)), chains.dtype)
        for c, run in self.runs:
            slopes = chains._slopes[c][group]
            np.matmul(slopes, latent[:, run], out=found[:, run])
            found[:, run] -= (slopes @ chains._means[c])[:, None]
        return found

    def _move_column(self, j: int, pull: LatentArray, rng: np.random.Generator) -> LatentArray:
        """Propose a coordinate of every row from its Gaussian's law of it given the others; by how much it moved."""
        rows, n, chains = self.rows, len(self.rows), self.chains
        step = normals(rng, n) * chains._spreads[j].take(rows.component)
        step -= pull
        latent = rows.latent[j] + step
        if j in chains.laws:
            rows.latent[j] = latent  # it says nothing: its law given the others is all there is
            if j not in chains.fixed:
                law = chains.laws[j]
                self._propose({j: law.draw(rows.codes[law.follower.leader], rng)}, rng)
            return step
        codes = np.empty(n, np.int32)
        for k, run in self.class_runs:
            codes[run] = chains.encoder.columns[j].codes_at(latent[run], k)
        along = {law.follower.column: law.draw(codes, rng) for law in chains.led(j)}
        taken = self._propose({j: codes} | along, rng)
        rows.latent[j] = np.where(taken, latent, rows.latent[j])
        step *= taken
        return step

    def _propose(self, codes: Mapping[int, Int32Array], rng: np.random.Generator) -> Any:
        """Propose bins of some columns at once, drawn by the mixture's own law of them; which rows took them."""
        rows, chains = self.rows, self.chains
        rises = {j: self.tilt.level_of(j, code) - self.levels[j] for j, code in codes.items()}
        more = self._gain(rises)
        gain: LatentArray = self._under_ceiling(more)
        if chains.labeller is not None:
            logits, log_label = self._label_with(codes)
            gain = gain + (log_label - self.log_label)
        taken = log_uniforms(rng, len(rows)) < gain
        for j, code in codes.items():
            rows.codes[j] = np.where(taken, code, rows.codes[j])
            self._shift(j, rises[j] * taken)
        self.total += np.where(taken, more, np.float32(0.0))
        if chains.labeller is not None:
            np.copyto(self.logits, logits, where=taken)
            np.copyto(self.log_label, log_label, where=taken)
        return taken

    def _move_label(self, rng: np.random.Generator) -> None:
        """Propose a label of every row from its law given the class and the bins."""
        rows, column = self.rows, len(self.levels) - 1
        labels = self.chains._relabelled(self.logits, rows.own, rng)
        gain = self._under_ceiling(self._gain({column: labels.astype(np.int32) - self.levels[column]}))
        rows.labels = np.where(log_uniforms(rng, len(rows)) < gain, labels, rows.labels)

    def _gain(self, rises: Mapping[int, Int32Array]) -> Float32Array:
        """What rows gain in the weights of their cells if the levels of some columns rise by so many."""
        tables, strides = self.tilt.touched(tuple(rises))
        at = self.places.take(tables, axis=0)
        before = self.tilt.short_weights.take(at).sum(axis=0)
        for stride, rise in zip(strides, rises.values(), strict=True):
            at += stride[:, None] * rise
        with np.errstate(invalid="ignore"):  # -inf both: it stays
            return np.asarray(self.tilt.short_weights.take(at).sum(axis=0) - before)

    def _under_ceiling(self, more: Float32Array) -> Float32Array:
        """What rows gain where the weights of their cells add up to the ceiling at the most."""
        if self.tilt.ceiling == np.inf:
            return more
        ceiling = np.float32(self.tilt.ceiling)
        with np.errstate(invalid="ignore"):  # -inf both: it stays
            return np.asarray(np.minimum(self.total + more, ceiling) - np.minimum(self.total, ceiling))

    def _shift(self, j: int, rise: Int32Array) -> None:
        """Raise the levels of column j."""
        self.levels[j] += rise
        for t, stride in zip(self.tilt.having(j), self.tilt.strides(j), strict=True):
            self.places[t] += stride * rise

    def _label_with(self, codes: Mapping[int, Int32Array]) -> tuple[FloatArray, FloatArray]:
        """What bins would say about the classes, and of the row's label, if those of some columns were these."""
        rows, logits = self.rows, self.logits
        for j, code in codes.items():
            evidence = self.chains._evidence[1 + j]
            logits = logits + (evidence.take(code, axis=1) - evidence.take(rows.codes[j], axis=1))
        return logits, self.chains._log_label(logits, rows.own, rows.labels)


def leading(tilt: Tilt, laws: Sequence[FollowerLaw], fixed: Mapping[int, int], held: Container[int]) -> Tilt:
    """A tilt by which leaders go with the bins that their followers are held at, unless they are held themselves."""
    for law in laws:
        column, leader = law.follower.column, law.follower.leader
        if column in fixed and leader not in held:
            with np.errstate(divide="ignore"):
                tilt = tilt.with_tables([(leader,)], np.log(law.chances[:, fixed[column]]))
    return tilt


def settle(chains: Chains, tilt: Tilt, n: int, rng: np.random.Generator) -> tuple[Rows, float, float]:
    """Draw rows of a tilted mixture: a sequential Monte Carlo sampler (Del Moral, Doucet and Jasra 2006).

    Twice as many rows are drawn from the mixture. The tilt is put on in stages, each as large a share of it as leaves
    the rows' weights an effective share of at least 1/2; at each stage rows are resampled by weight, systematically,
    and moved by two sweeps.

    Args:
        chains: The states of rows of the mixture.
        tilt: The tilt.
        n: How many rows.
        rng: Where random numbers come from.

    Returns:
        The rows, the log of the mean of exp(weights) under the mixture, and its standard error, which takes the rows
        of each stage for independent.

    Raises:
        ArgumentError: None of the rows drawn is where rows can be, or the tilt needs too many stages.
    """
    rows, tilt = chains.draw(max(2 * n, 1), rng), tilt.merged()
    log_total = variance = done = 0.0
    for _ in range(STAGING.stages):
        weights = chains.log_weights(rows, tilt)
        step = _step(weights, 1.0 - done)
        log_share = logsumexp(step * weights) - np.log(len(rows))
        share = np.exp(step * weights - log_share)
        log_total, variance = log_total + float(log_share), variance + float(share.var()) / len(rows)
        rows = rows.take(resampled(share, n, rng))
        done = min(done + step, 1.0)
        partial = tilt.scaled(done)
        for _ in range(STAGING.sweeps):
            chains.sweep(rows, partial, rng)
        if done == 1.0:
            return rows, log_total, float(np.sqrt(variance))
    raise ArgumentError(f"the tables are further from the mixture than {STAGING.stages} stages go")


def _step(weights: FloatArray, most: float) -> float:
    """The largest share of the weights, at most this, that leaves rows where rows can be effective."""
    possible = weights[weights > -np.inf]
    if len(possible) == 0:
        raise ArgumentError(f"none of {len(weights)} rows drawn is where rows can be: the mixture gives it no mass")

    below = possible - possible.max()

    def is_effective(step: float) -> bool:
        share = np.exp(step * below)
        return bool(share.sum() ** 2 >= STAGING.effective * len(possible) * (share @ share))

    if is_effective(most):
        return most
    low, high = 0.0, most
    for _ in range(STAGING.bisections):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_effective(middle) else (low, middle)
    return high


def resampled(share: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Rows by weight, in order: n equal steps through the shares from a random start, so each comes within 1 of its
    share.
    """
    upto = np.cumsum(share)
    at = (np.arange(n) + rng.random()) / n * upto[-1]
    last = int(np.flatnonzero(share > 0)[-1])
    return np.minimum(np.searchsorted(upto, at, "right"), last)


def _runs(values: IntArray) -> list[tuple[int, slice]]:
    """The stretches of equal neighbours: their value, and where they are."""
    ends = np.flatnonzero(np.diff(values, append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    return [(int(values[a]), slice(int(a), int(b) + 1)) for a, b in zip(starts, ends, strict=True)]


def _blurred(latent: LatentArray, rng: np.random.Generator) -> FloatArray:
    """The numbers in double precision, anywhere from where they were rounded: values in a bin have all digits."""
    return latent + np.spacing(latent) * (rng.random(len(latent)) - 0.5)
