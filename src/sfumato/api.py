"""What a user calls: `plan`, `fit` and `load`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.encoding.affine import check_affine
from sfumato.errors import ArgumentError
from sfumato.files import check_writable
from sfumato.guarantee import Guarantee
from sfumato.ledger.account import Ask
from sfumato.ledger.ledger import Ledger, reservations
from sfumato.mechanisms.adapt import fit_adapted
from sfumato.mechanisms.asker import Asker, Client
from sfumato.mechanisms.clustmix import fit_clustmix
from sfumato.mechanisms.groups import fit_groups
from sfumato.mechanisms.mixture import fit_mixture
from sfumato.mechanisms.plan import Plan, make_plan
from sfumato.mechanisms.points import OnStep
from sfumato.mechanisms.slices import SliceOptions
from sfumato.mechanisms.slicing import fit_slicing
from sfumato.models import GeneratorModel, MixtureModel, Model
from sfumato.models.generator_training import check_extra, check_image, check_module, image_of
from sfumato.private.accounting import Adjacency, Budget, Spend, calibrate
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import Bits, insecure_bits, secure_bits
from sfumato.private.slicing.law import Slices
from sfumato.private.source import Source
from sfumato.private.units import KEY_BYTES, Units, unit_delta
from sfumato.release.file import read
from sfumato.release.release import Release
from sfumato.schema.layout import ROW, Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.training.settings import Training

MECHANISMS = ("mixture", "clustmix", "slicing")
ENCODINGS = ("scores", "affine")


def plan(
    schema: Schema | dict[str, Any] | str | Path,
    *,
    epsilon: float,
    delta: float,
    mechanism: str = "mixture",
    adjacency: str = "add-remove",
    encoding: str = "scores",
    rows: int | None = None,
    components: int | str | None = None,
    adapt: bool | str | None = None,
    sigma_max: float | None = None,
    alpha: float | None = None,
    form: str | None = None,
    slices: int | None = None,
    slice_dim: int | None = None,
    calibration: str | None = None,
) -> Plan:
    """What a fit would ask and how much it would lose, without touching any data.

    `rows` is a public guess at the number of rows; it moves budget between rounds, never the guarantee. `components` is
    the number of Gaussians a class, or "auto" for as many as pay: the rule under `scores`, one being that of `affine`.
    `adapt` sets a part of the budget aside for the labels, as `fit` says. A schema with groups is planned for their
    projection.
    """
    checked = _schema(schema)
    layout = Layout.of(checked)
    neighbours = _adjacency(adjacency, checked)
    _one_of("mechanism", mechanism, MECHANISMS)
    encoding = _encoding(encoding, mechanism, layout)
    if encoding == "affine":
        check_affine(layout.bins, layout.names)
    if mechanism == "slicing" and form == "rows" and neighbours is not Adjacency.REPLACE_ONE:
        raise ArgumentError("form 'rows' tells how many rows there are: it needs adjacency 'replace-one'")
    left = delta if checked.unit is None else unit_delta(delta)
    mu = calibrate(epsilon, left)
    return make_plan(
        layout,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        adjacency=neighbours,
        rows=rows,
        unit_rows=1 if checked.unit is None else checked.unit.rows,
        encoding=encoding,
        components=components,
        adapt=adapt,
        mechanism=mechanism,
        sigma_max=sigma_max,
        alpha=alpha,
        slices=SliceOptions(form, slices, slice_dim, calibration),
        delta_left=left,
    )


def fit(
    table: Any,
    schema: Schema | dict[str, Any] | str | Path,
    *,
    epsilon: float,
    delta: float,
    mechanism: str = "mixture",
    adjacency: str = "add-remove",
    encoding: str = "scores",
    rows: int | None = None,
    components: int | str | None = None,
    adapt: bool | str | None = None,
    sigma_max: float | None = None,
    alpha: float | None = None,
    form: str | None = None,
    slices: int | None = None,
    slice_dim: int | None = None,
    calibration: str | None = None,
    training: Training | bool = True,
    module: Any = None,
    checkpoint: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    insecure_seed: int | None = None,
    workers: int | None = None,
    on_spend: Callable[[Spend | Slices], None] = lambda spend: None,
    on_step: OnStep = lambda step, steps, loss: None,
) -> Release:
    """Release a private table: a model of its distribution that is (epsilon, delta)-DP.

    `table` is whatever `open_table` takes: a path, a pandas or Polars frame, an Arrow table or stream, a DuckDB
    relation, a NumPy array. Its rows are private; the schema is public. `rows` is a public guess at how many there
    are. `on_spend` hears of every round before it is asked. Each call spends anew: trying again until a result pleases
    is several releases.

    `components` is the number of Gaussians a class (clusters, where there is no label), or "auto" for as many as noisy
    answers say will pay; without a word that is the rule under `scores`, and one under `affine`.

    `mechanism` is "mixture", whose task is the distribution, or "clustmix", whose task is rows to train on: many small
    cells of each class, each at least as large as keeps the noise on its mean below `sigma_max` (in units where a
    column's variance is about 1; 0.1 without a word, 1 for columns in groups). `components` then is how many cells a
    class begins with; those that turn out too small are merged.

    `adapt` spends a fifth of the budget on how the label follows the columns, for those who will train classifiers on
    synthetic rows: labels are then drawn from a logistic model that was corrected by the private labels, and in part
    from the mixture. True or "labels" says so; "points" moves the points of clustmix by kernel inducing points instead
    (it needs the extra `train`), "both" does both, and "auto" adapts labels where they can be: a label of at least two
    classes, not under `affine`. Without a word a mixture is not adapted, and clustmix is, by "auto". `alpha` holds what
    is adapted to what it was: the share of labels that stay the model's own, and alpha of the paper's equation (6).
    `on_step` hears how the points move: the step, how many there are at most, and the loss.

    Mechanism "slicing" buys noisy slices of the table once and trains a generator on them, which is free, and so is
    every further `release.train(...)`. `form` "central" (the default) asks for class sums along random slices of
    `slice_dim` dimensions; "rows" for `slices` noisy projections of every row, its noise `calibration` "exact" or
    by "theorem1" of the paper: the number of rows is then public, so that adjacency must be "replace-one". From as
    many projections as coordinates on, rows themselves get the noise, which tells more.
    `training` are the settings; False leaves the training for later. `module` is an equinox module of your own,
    called as module(noise, one_hot_class). `checkpoint` is a file that holds what was bought from the moment that it
    is, and then how far the training is.

    `ledger` (a `Ledger`, or its path or URL) counts the release against the cap of `dataset`, the name under which the
    table was opened there. A release that would exceed the cap is refused before a row is read.

    `insecure_seed` makes the noise repeatable, for tests. Such a release carries no guarantee.
    """
    _check_training(mechanism, training, module, checkpoint)
    reserve = reservations(ledger, dataset, secure=insecure_seed is None)
    job = prepare(
        table,
        schema,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        adjacency=adjacency,
        encoding=encoding,
        rows=rows,
        components=components,
        adapt=adapt,
        sigma_max=sigma_max,
        alpha=alpha,
        form=form,
        slices=slices,
        slice_dim=slice_dim,
        calibration=calibration,
        insecure_seed=insecure_seed,
        workers=workers,
    )
    if isinstance(training, Training):
        check_image(training, image_of(job.layout))
    if module is not None:
        check_module(module, job.layout.classes, job.layout.dim)
    with reserve(job.asked) as entry:
        release = job.release(Client(job.curator(on_spend, entry.draw)), entry.id, on_step)
        if checkpoint is not None:
            release.save(checkpoint)  # before the training: what was bought is not lost with it
    if not isinstance(release.model, GeneratorModel) or training is False:
        return release
    settings = training if isinstance(training, Training) else None
    return release.train(settings, module=module, checkpoint=checkpoint, on_step=on_step)


def prepare(
    table: Any,
    schema: Schema | dict[str, Any] | str | Path,
    *,
    epsilon: float,
    delta: float,
    mechanism: str = "mixture",
    adjacency: str = "add-remove",
    encoding: str = "scores",
    rows: int | None = None,
    components: int | str | None = None,
    adapt: bool | str | None = None,
    sigma_max: float | None = None,
    alpha: float | None = None,
    form: str | None = None,
    slices: int | None = None,
    slice_dim: int | None = None,
    calibration: str | None = None,
    insecure_seed: int | None = None,
    workers: int | None = None,
) -> Job:
    """Check all that can be checked before a row is read or anything is spent."""
    checked = _schema(schema)
    checked.require_confirmed()
    planned = plan(
        checked,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        adjacency=adjacency,
        encoding=encoding,
        rows=rows,
        components=components,
        adapt=adapt,
        sigma_max=sigma_max,
        alpha=alpha,
        form=form,
        slices=slices,
        slice_dim=slice_dim,
        calibration=calibration,
    )
    layout = Layout.of(checked)
    bits = secure_bits if insecure_seed is None else insecure_bits(insecure_seed)
    units = None if checked.unit is None else Units(checked.unit.rows, bits(KEY_BYTES))
    engine = LocalEngine(Source(open_table(table), layout, units, values=planned.encoding == "affine"), workers)
    secure = insecure_seed is None
    return Job(checked, layout, planned, mechanism, engine, _budget(planned), bits, secure)


def _budget(planned: Plan) -> Budget:
    return Budget(planned.mu, () if planned.slicing is None else planned.slicing.slices)


@dataclass(frozen=True)
class Job:
    """A fit made ready: a public plan and a private table, one budget."""

    schema: Schema
    layout: Layout
    plan: Plan
    mechanism: str
    engine: LocalEngine
    budget: Budget
    bits: Bits
    secure: bool

    @property
    def unit(self) -> str:
        return ROW if self.schema.unit is None else self.schema.unit.column

    @property
    def asked(self) -> Ask:
        """What a ledger has to set aside."""
        plan = self.plan
        terms = float(plan.epsilon), float(plan.delta), plan.mu, self.budget.slices
        return Ask(self.mechanism, plan.adjacency, self.unit, *terms)

    def curator(
        self,
        on_spend: Callable[[Spend | Slices], None] = lambda spend: None,
        before_noise: Callable[[], None] = lambda: None,
    ) -> Curator:
        """The only door to the table."""
        unit_rows = None if self.schema.unit is None else self.schema.unit.rows
        return Curator(self.engine, self.budget, self.plan.adjacency, self.bits, on_spend, unit_rows, before_noise)

    def release(
        self, curator: Asker, entry: str | None = None, on_step: OnStep = lambda step, steps, loss: None
    ) -> Release:
        """Ask, and build the release from the answers; `entry` is the ledger's id for it."""
        model: Model
        if self.mechanism == "slicing":
            model = GeneratorModel.begin(self.layout, *fit_slicing(curator, self.layout, self.plan))
        else:
            model = MixtureModel(self.layout, *self._fit(curator, on_step))
        return Release(self.schema, self._guarantee(entry), self.mechanism, model)

    def _fit(self, curator: Asker, on_step: OnStep) -> tuple[Any, ...]:
        if self.plan.encoding == "projected":
            return fit_groups(curator, self.layout, self.plan)
        if self.mechanism == "clustmix":
            return fit_clustmix(curator, self.layout, self.plan, on_step)
        if self.plan.label_rounds:
            return fit_adapted(curator, self.layout, self.plan)
        return fit_mixture(curator, self.layout, self.plan)

    def _guarantee(self, entry: str | None) -> Guarantee:
        return Guarantee(
            epsilon=float(self.plan.epsilon) if self.secure else None,
            delta=float(self.plan.delta) if self.secure else None,
            mu=self.plan.mu if self.secure else None,
            adjacency=self.plan.adjacency,
            unit=self.unit,
            secure=self.secure,
            spends=self.budget.spends,
            entry=entry,
            slices=self.budget.slices,
        )


def load(path: str | Path, module: Any = None) -> Release:
    """Read a release file, every field checked.

    What is checked is form and arithmetic: that the numbers of a guarantee go together. A file that was edited with
    care can still claim a guarantee that is false: trust it as far as you trust where it comes from.

    Args:
        path: The file.
        module: The equinox module whose numbers the release holds, where it was trained with one.

    Returns:
        The release.

    Raises:
        ReleaseError: If the file is damaged, foreign, of another version, or inconsistent.
        ArgumentError: If `module` is given and the release was trained without one, or with another.

    Example:
        >>> import tempfile, pandas
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> release = fit(pandas.DataFrame({"age": [41, 52]}), schema, epsilon=1, delta=1e-6)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.save(f"{folder}/ages.sfumato")
        ...     again = load(f"{folder}/ages.sfumato")
        >>> again.sample(3, seed=0).equals(release.sample(3, seed=0))
        True
    """
    release = read(path)
    if module is None:
        return release
    if not isinstance(release.model, GeneratorModel):
        raise ArgumentError("module is for releases that were trained with a module of their author's own")
    return replace(release, model=release.model.with_module(module))


def _check_training(mechanism: str, training: Training | bool, module: Any, checkpoint: str | Path | None) -> None:
    """Refuse what cannot be trained before anything is bought."""
    if mechanism != "slicing":
        if not isinstance(training, bool) or module is not None or checkpoint is not None:
            raise ArgumentError("training, module and checkpoint are for mechanism 'slicing'")
        return
    if not isinstance(training, (bool, Training)):
        raise ArgumentError(f"training must be settings (sf.Training), True or False, not {training!r}")
    if module is not None and training is False:
        raise ArgumentError("a module is there to be trained: give it to release.train(module=...) later")
    problem = training.problem() if isinstance(training, Training) else None
    if problem is not None:
        raise ArgumentError(problem)
    if training is not False:
        check_extra()
    if checkpoint is not None:
        check_writable(checkpoint)


def _schema(schema: Schema | dict[str, Any] | str | Path) -> Schema:
    return Schema.load(schema) if isinstance(schema, (str, Path)) else Schema.of(schema)


def _adjacency(name: str, schema: Schema) -> Adjacency:
    _one_of("adjacency", name, tuple(Adjacency))
    if name == Adjacency.LABEL and schema.label is None:
        raise ArgumentError("adjacency 'label' needs a schema with a label")
    return Adjacency(name)


def _encoding(encoding: str, mechanism: str, layout: Layout) -> str:
    """The encoding that is meant: that of a projection, where columns are in groups."""
    _one_of("encoding", encoding, ENCODINGS)
    if encoding == "affine" and layout.groups:
        raise ArgumentError("columns in groups have an encoding of their own; leave encoding='affine' out")
    if encoding == "affine" and mechanism != "mixture":
        raise ArgumentError(f"mechanism '{mechanism}' needs encoding 'scores'")
    return "projected" if layout.groups else encoding


def _one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ArgumentError(f"{what} must be {' or '.join(repr(str(a)) for a in allowed)}, not {value!r}")
