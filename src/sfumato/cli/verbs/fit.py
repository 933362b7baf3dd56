"""`sfumato fit`: release a private table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.asked import asked_of, settings_of
from sfumato.cli.interrupts import interruptible, unfinished
from sfumato.cli.output import print_json, say
from sfumato.cli.parameters import (
    Adapt,
    Adjacency,
    Alpha,
    Architecture,
    Calibration,
    Components,
    Data,
    Delta,
    Depth,
    Divergence,
    Encode,
    Form,
    Json,
    Mechanism,
    Rate,
    Rows,
    SigmaMax,
    SliceCount,
    SliceDim,
    Steps,
    TrainSeed,
    Width,
)
from sfumato.cli.progress import tell_steps, tell_training, working
from sfumato.cli.releases import release_data
from sfumato.cli.tables import opened
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.private.accounting import Spend

NOTHING_WRITTEN = "nothing was written, but the ledger may have counted the release"


def fit(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, typer.Option(help="What is publicly known about it: YAML or JSON.")],
    epsilon: Annotated[float, typer.Option(help="How much the release may tell about one row; 1 is customary.")],
    delta: Delta,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the release, NAME.sfumato.")],
    mechanism: Mechanism = "mixture",
    encoding: Encode = "scores",
    adjacency: Adjacency = "add-remove",
    rows: Rows = None,
    components: Components = None,
    adapt: Adapt = None,
    sigma_max: SigmaMax = None,
    alpha: Alpha = None,
    form: Form = None,
    slices: SliceCount = None,
    slice_dim: SliceDim = None,
    calibration: Calibration = None,
    steps: Steps = None,
    rate: Rate = None,
    architecture: Architecture = None,
    width: Width = None,
    depth: Depth = None,
    divergence: Divergence = None,
    train_seed: TrainSeed = None,
    train: Annotated[
        bool, typer.Option("--train/--no-train", help="Train a generator now, or leave it to `sfumato train`.")
    ] = True,
    ledger: Annotated[
        str | None, typer.Option(help="Count the release in this ledger: a file, or a PostgreSQL URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The name under which the table was opened there.")] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable noise, for tests: the release then has NO guarantee.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Release a private table. Each call spends anew."""
    from sfumato.api import fit as run
    from sfumato.api import plan as make
    from sfumato.files import check_writable
    from sfumato.ledger.ledger import Ledger
    from sfumato.private.slicing.law import Slices
    from sfumato.schema.schema import Schema

    known = Schema.load(schema)
    sliced = form, slices, slice_dim, calibration
    asked = asked_of(mechanism, adjacency, encoding, rows, components, adapt, sigma_max, alpha, *sliced)
    settings = settings_of(steps, rate, architecture, width, depth, divergence, train_seed)
    trained: dict[str, Any] = {}
    if mechanism == "slicing":
        trained = {"training": (settings or True) if train else False, "checkpoint": output}
    elif settings is not None or not train:
        raise ArgumentError("options of training are for mechanism 'slicing'")
    total = make(known, epsilon=epsilon, delta=delta, **asked).mu

    def announce(spend: Spend | Slices) -> None:
        if isinstance(spend, Slices):
            say(f"asking for {spend.projections} noisy projections of every row")
            return
        share = (spend.mu / total) ** 2
        say(f"asking for {spend.name}: {share:.0%} of the budget (mu {spend.mu:.4f} of {total:.4f})")

    # Refuse what can be refused before any budget is spent, not after.
    books = None if ledger is None else Ledger(ledger)
    if books is not None and books.keeps(output):
        raise ArgumentError(f"{output} is the ledger, or belongs to it; write the release somewhere else")
    check_writable(output)
    source = opened(context, data)
    tell = tell_training if mechanism == "slicing" else tell_steps
    with working("fitting"), interruptible(books, NOTHING_WRITTEN), unfinished(output):
        release = run(
            source,
            known,
            epsilon=epsilon,
            delta=delta,
            **asked,
            **trained,
            ledger=books,
            dataset=dataset,
            insecure_seed=insecure_seed,
            on_spend=announce,
            on_step=tell,
        )
        release.save(output)
    if as_json:
        print_json({"output": str(output)} | release_data(release))
    else:
        print(f"wrote {output}\n{release.guarantee}")
