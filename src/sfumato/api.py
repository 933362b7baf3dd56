"""What a user calls: `plan`, `fit` and `load`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.accounting import calibrate, check_adjacency
from sfumato.engines import Local
from sfumato.engines.choosing import check_rows, engine_for
from sfumato.errors import ArgumentError
from sfumato.guarantee import Guarantee, NoisyAnswer
from sfumato.insecure import insecure_bits
from sfumato.ledger.account import Ask
from sfumato.ledger.ledger import Ledger, reservations
from sfumato.mechanisms import Mechanism, Plan, Public, find
from sfumato.mechanisms.asker import Asker, Client
from sfumato.mechanisms.questions import describe
from sfumato.models import GeneratorModel
from sfumato.models.base import Trainable
from sfumato.private.accounting import Adjacency, Budget, Spend
from sfumato.private.curator import Curator, Engine
from sfumato.private.noise import Bits, secure_bits
from sfumato.private.queries.base import Answer, Query
from sfumato.private.slicing.law import Slices
from sfumato.private.units import KEY_BYTES, Units, unit_delta
from sfumato.progress import Listener, Planned, Spending, Step, listening, tell
from sfumato.release.file import read
from sfumato.release.release import Release
from sfumato.schema.column_labels import can_unlabel, unlabelled
from sfumato.schema.layout import ROW, Layout
from sfumato.schema.schema import Schema
from sfumato.serving.remote import Opening, Remote
from sfumato.training.extra import check_extra


def plan(
    schema: Schema | dict[str, Any] | str | Path,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | Mechanism = "mixture",
    adjacency: str = "add-remove",
    rows: int | None = None,
) -> Plan:
    """What a fit would ask and how much it would lose, without touching any data.

    Args:
        schema: What is publicly known about the columns: a `Schema`, a dictionary, or the path of a file.
        epsilon: How much the release may tell about one row.
        delta: The probability that it tells more.
        mechanism: A config such as `sf.Mixture(components=4)`, or a name, which is short for its defaults.
        adjacency: Which tables are neighbours: "add-remove", "replace-one" or "label".
        rows: A public guess at the number of rows. It moves budget between rounds, never the guarantee.

    Returns:
        The rounds with their shares, and the loss to expect: a public function of the arguments.

    Raises:
        ArgumentError: An argument is none that there is, or does not go with the schema.
        SchemaError: The schema is no schema.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> sf.plan(schema, epsilon=1, delta=1e-6, rows=5000).mu > 0.23
        True
    """
    return find(mechanism).plan(_public(_schema(schema), epsilon, delta, adjacency, rows))


def fit(
    table: Any,
    schema: Schema | dict[str, Any] | str | Path | None = None,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | Mechanism = "mixture",
    adjacency: str = "add-remove",
    rows: int | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    who: str | None = None,
    why: str | None = None,
    engine: Local | None = None,
    progress: Listener | None = None,
    insecure_seed: int | None = None,
) -> Release:
    """Release a private table: a model of its distribution that is (epsilon, delta)-DP.

    Each call spends anew: trying again until a result pleases is several releases. `sf.check` tells beforehand, in
    private, what of the table the schema cannot read.

    Args:
        table: Whatever `open_table` takes: a path, a pandas or Polars frame, an Arrow table or stream, a DuckDB
            relation, a NumPy array; or a DataFrame of Spark or Dask, whose rows stay there. Its rows are private. Or
            `sf.remote(...)`, a table that a server answers for.
        schema: What is publicly known about the columns: a `Schema`, a dictionary, or the path of a file. A server has
            its own: leave it out there, or give the same.
        epsilon: How much the release may tell about one row.
        delta: The probability that it tells more.
        mechanism: A config whose fields are its options, such as `sf.Mixture(components=4)`, or a name, which is short
            for its defaults.
        adjacency: Which tables are neighbours: "add-remove", "replace-one" or "label".
        rows: A public guess at the number of rows. It moves budget between rounds, never the guarantee.
        ledger: A `Ledger`, or its path or URL, that counts the release against the cap of `dataset`. A release that
            would exceed the cap is refused before a row is read.
        dataset: The name under which the table was opened there.
        who: Who asks for the release, for the ledger's entry: one line, no secret.
        why: What it is for, likewise.
        engine: Where rows are added up: `sf.Local()` reads them here. By default DuckDB and PostgreSQL count what they
            can by themselves, and all other rows are read here.
        progress: A callable that hears of the rounds that are planned (`Planned`), of each of them before it is asked
            (`Spending`), of how far a table is read (`Reading`), of rows that have to be read out of a database
            (`Streamed`), and of every step of what is free afterwards (`Step`).
        insecure_seed: Repeatable noise, for tests. Such a release carries no guarantee.

    Returns:
        The release, trained where the mechanism says so.

    Raises:
        ArgumentError: An argument is none that there is, or does not go with the schema.
        SchemaError: The schema is no schema, or is not confirmed yet.
        LedgerError: The ledger cannot be read, or counts other units or neighbours.
        BudgetError: The cap of the data set would be exceeded.
        TableError: The table cannot be read.
        MissingExtraError: The mechanism needs an extra that is not installed.

    Example:
        >>> import numpy as np, sfumato as sf
        >>> ages = np.random.default_rng(0).integers(18, 90, (500, 1))
        >>> schema = {"columns": {"x0": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> release = sf.fit(ages, schema, epsilon=1, delta=1e-6, rows=500)
        >>> len(release.sample(10))
        10
    """
    wish: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "mechanism": mechanism,
        "adjacency": adjacency,
        "rows": rows,
    }
    if isinstance(table, Remote):
        own = {"ledger": ledger, "dataset": dataset, "engine": engine, "insecure_seed": insecure_seed}
        planned, release = _fit_there(table, schema, wish, own, (who, why), progress)
    else:
        reserve = reservations(ledger, dataset, insecure_seed is None, who, why)
        job = prepare(table, schema, **wish, engine=engine, insecure_seed=insecure_seed)
        planned = job.plan
        with reserve(job.asked) as entry, listening(progress):
            tell(Planned(tuple(each.title for each in planned.rounds)))
            release = job.release(job.curator(_announcer(planned, progress), entry.draw), entry=entry.id)
    if planned.training is None or not isinstance(release.model, Trainable):
        return release
    told = progress or (lambda event: None)
    return release.train(planned.training, on_step=lambda step, steps, loss: told(Step(step, steps, loss)))


def prepare(
    table: Any,
    schema: Schema | dict[str, Any] | str | Path | None,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | Mechanism = "mixture",
    adjacency: str = "add-remove",
    rows: int | None = None,
    engine: Local | None = None,
    insecure_seed: int | None = None,
) -> Job:
    """Check all that can be checked before a row is read or anything is spent."""
    if schema is None:
        raise ArgumentError("schema must be given: a table does not say what is public of it")
    checked = _schema(schema)
    checked.require_confirmed()
    public = _public(checked, epsilon, delta, adjacency, rows)
    chosen, planned = _planned(mechanism, public, insecure_seed is None)
    bits = secure_bits if insecure_seed is None else insecure_bits(insecure_seed)
    units = None if checked.unit is None else Units(checked.unit.rows, bits(KEY_BYTES))
    chosen_engine = engine_for(table, _asked(public, planned), units, planned.values, engine)
    if planned.slices or any(each.name == "rows" for each in planned.rounds):
        check_rows(chosen_engine)
    job = Job(checked, public, planned, chosen, chosen_engine, bits)
    job.promise(job.curator())  # a plan that would spend more than was asked for is refused here
    return job


@dataclass(frozen=True)
class Job:
    """A fit made ready: public facts, a mechanism's plan, and a private table."""

    schema: Schema
    public: Public
    plan: Plan
    mechanism: Mechanism
    engine: Engine
    bits: Bits

    @cached_property
    def budget(self) -> Budget:
        """What there is to spend."""
        return Budget(self.plan.mu, self.plan.slices)

    @property
    def unit(self) -> str:
        """Whose rows are protected together: "row" (or that of a query), or the name of the unit column."""
        return getattr(self.engine, "row", ROW) if self.schema.unit is None else self.schema.unit.column

    @property
    def asked(self) -> Ask:
        """What a ledger has to set aside."""
        terms = float(self.public.epsilon), float(self.public.delta), self.budget.total, self.budget.slices
        return Ask(self.mechanism.name, self.public.adjacency, self.unit, *terms)

    def curator(
        self,
        on_spend: Callable[[Spend | Slices], None] = lambda spend: None,
        before_noise: Callable[[], None] = lambda: None,
    ) -> Curator:
        """The only door to the table."""
        public = self.public
        return Curator(self.engine, self.budget, public.adjacency, self.bits, on_spend, public.unit_rows, before_noise)

    def release(self, curator: Curator, asker: Asker | None = None, entry: str | None = None) -> Release:
        """Ask, by way of `asker` if there is one, and build the release; `entry` is the ledger's id for it."""
        model = self.mechanism.run(asker or Client(curator), self.plan)
        promise = self.promise(curator, entry)
        return Release(self.schema, promise, self.mechanism.name, model, _kept(curator.answers))

    def promise(self, curator: Curator, entry: str | None = None) -> Guarantee:
        """The guarantee, which the curator states from what it charged."""
        facts = curator.statement(self.public.epsilon, self.public.delta, self.unit)
        return Guarantee(**facts, entry=entry)


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


def _fit_there(
    table: Remote,
    schema: Schema | dict[str, Any] | str | Path | None,
    wish: dict[str, Any],
    own: dict[str, Any],
    notes: tuple[str | None, str | None],
    progress: Listener | None,
) -> tuple[Plan, Release]:
    """Fit a table that a server answers for: plan here, ask there."""
    for name, value in own.items():
        if value is not None:
            raise ArgumentError(f"{name} must be left out: it is the server's, not the analyst's")
    if schema is not None and _schema(schema) != table.schema:
        raise ArgumentError(f"schema is not that of {table.address.text}, which alone counts there: leave it out")
    if wish["adjacency"] != table.adjacency:
        raise ArgumentError(f"{table.address.text} protects by adjacency={table.adjacency.value!r}: say so")
    terms = wish["epsilon"], wish["delta"]
    public = _public(table.schema, *terms, wish["adjacency"], wish["rows"])
    chosen, planned = _planned(wish["mechanism"], public, table.secure)
    plain = _asked(public, planned) is not public.layout
    opening = Opening(chosen.name, *terms, planned.mu, planned.slices, plain, planned.values, *notes)
    with table.session(opening, progress) as door, listening(progress):
        tell(Planned(tuple(each.title for each in planned.rounds)))
        model = chosen.run(Client(door), planned)
        return planned, Release(table.schema, door.close(), chosen.name, model, _kept(door.answers))


def _planned(mechanism: str | Mechanism, public: Public, secure: bool) -> tuple[Mechanism, Plan]:
    """A mechanism and its plan."""
    chosen = find(mechanism)
    planned = chosen.plan(public)
    if secure and getattr(getattr(chosen, "layout", None), "seeded", False):
        raise ArgumentError("the layout is of a release with seeded noise, which tells of its rows; fit that one again")
    if planned.training is not None:
        check_extra()
    return chosen, planned


def _kept(answers: Iterable[tuple[str, Query, Answer]]) -> tuple[NoisyAnswer, ...]:
    """Answers as a release keeps them."""
    return tuple(NoisyAnswer(name, each.values, each.sd, describe(query)) for name, query, each in answers)


def _public(schema: Schema, epsilon: float, delta: float, adjacency: str, rows: int | None) -> Public:
    """The facts that a mechanism may plan by."""
    check_adjacency(adjacency)
    if adjacency == Adjacency.LABEL and schema.label is None:
        raise ArgumentError("adjacency 'label' needs a schema with a label")
    left = delta if schema.unit is None else unit_delta(delta)
    return Public(
        layout=Layout.of(schema),
        epsilon=epsilon,
        delta=delta,
        delta_left=left,
        mu=calibrate(epsilon, left),
        adjacency=Adjacency(adjacency),
        rows=rows,
        unit_rows=None if schema.unit is None else schema.unit.rows,
        modelling=None if schema.modelling.is_plain else schema.modelling,
    )


def _asked(public: Public, planned: Plan) -> Layout:
    """The columns as questions see them: the schema's, with its label among them where the plan has none. Not where
    neighbours differ in their labels, which are told apart from columns.
    """
    layout = public.layout
    plain = planned.layout.label is None and can_unlabel(layout) and public.adjacency is Adjacency.ADD_REMOVE
    return unlabelled(layout) if plain else layout


def _announcer(plan: Plan, progress: Listener | None) -> Callable[[Spend | Slices], None]:
    """What the curator tells before each round, as events."""

    def announce(spend: Spend | Slices) -> None:
        if progress is None:
            return
        if isinstance(spend, Slices):
            progress(Spending("rows", projections=spend.projections))
        else:
            progress(Spending(spend.name, spend.mu, (spend.mu / plan.mu) ** 2))

    return announce


def _schema(schema: Schema | dict[str, Any] | str | Path) -> Schema:
    return Schema.load(schema) if isinstance(schema, (str, Path)) else Schema.of(schema)
