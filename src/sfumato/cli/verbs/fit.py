"""`sfumato fit`: release a private table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.claim import Claim
from sfumato.cli.entry_notes import entry_notes
from sfumato.cli.interrupts import elsewhere, interruptible, unfinished
from sfumato.cli.mechanism_options import chosen
from sfumato.cli.opening import opened
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Adjacency, Data, Delta, Json, Mechanism, Replace, Rows
from sfumato.cli.progress import rounds, training, working
from sfumato.cli.reaching import reached
from sfumato.cli.releases import promise_lines, release_data, worth_lines
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.ledger.ledger import Ledger
    from sfumato.mechanisms import Plan
    from sfumato.release.release import Release
    from sfumato.schema.schema import Schema
    from sfumato.serving.remote import Remote

# Said at every fit: what the rows hold must not decide it.
SEE_CHECK = "see `sfumato check` for what of the table the schema cannot read"
NOTHING_WRITTEN = "nothing was written, but the ledger may have counted the release"


def fit(
    context: typer.Context,
    data: Data,
    epsilon: Annotated[float, typer.Option(help="How much the release may tell about one row; 1 is customary.")],
    delta: Delta,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the release, NAME.sfumato.")],
    schema: Annotated[
        Path | None,
        typer.Option(
            help="What is publicly known about it: YAML or JSON. It is needed, but where a server has its own."
        ),
    ] = None,
    mechanism: Mechanism = "mixture",
    adjacency: Adjacency = "add-remove",
    rows: Rows = None,
    ledger: Annotated[
        str | None, typer.Option(help="Count the release in this ledger: a file, or a PostgreSQL URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The name under which the table was opened there.")] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable noise, for tests: the release then has NO guarantee.")
    ] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Release a private table. Each call spends anew: see `sfumato check` first.

    sfumato fit people.csv --schema people.yaml --epsilon 1 --delta 1e-6 -o people.sfumato
    """
    from sfumato.api import fit as run
    from sfumato.api import plan as make
    from sfumato.ledger.ledger import Ledger
    from sfumato.release.unread import unread_lines
    from sfumato.training.extra import check_extra

    # Refuse what can be refused before any budget is spent, not after.
    remote = reached(context, data)
    known = _public_schema(schema, remote)
    config = chosen(context, mechanism)
    planned = make(known, epsilon=epsilon, delta=delta, mechanism=config, adjacency=adjacency, rows=rows)
    if planned.training is not None:
        check_extra()
        config = replace(config, training=None)  # which begins once the file holds what was bought
    counted_in = None if ledger is None else Ledger(ledger)
    check_output(output, counted_in)
    claim = Claim(output, replace_file)
    source, notes = opened(context, data) if remote is None else remote, entry_notes(context)
    with interruptible(counted_in, NOTHING_WRITTEN), elsewhere(remote is not None), unfinished(claim):
        with working("fitting") as reach:
            release = run(
                source,
                known,
                epsilon=epsilon,
                delta=delta,
                mechanism=config,
                adjacency=adjacency,
                rows=rows,
                ledger=counted_in,
                dataset=dataset,
                who=notes.who,
                why=notes.why,
                progress=rounds(reach),
                insecure_seed=insecure_seed,
            )
            claim.save(release)
        release = _trained(release, planned, claim.path)
    if as_json:
        print_json({"output": str(claim.path)} | release_data(release) | {"see": SEE_CHECK})
    else:
        told = [*promise_lines(planned), *worth_lines(release), *unread_lines(release.unread), SEE_CHECK]
        print("\n".join([f"wrote {claim.path}", str(release.guarantee), *told]))


def check_output(output: Path, ledger: Ledger | None) -> None:
    """Refuse to write over a ledger."""
    if ledger is not None and ledger.keeps(output):
        raise ArgumentError(f"{output} is the ledger, or belongs to it; write the release somewhere else")


def _public_schema(schema: Path | None, remote: Remote | None) -> Schema:
    """The schema that is given, or else the server's."""
    from sfumato.schema.schema import Schema

    if schema is not None:
        return Schema.load(schema)
    if remote is None:
        raise ArgumentError("schema must be given: a file that says what is public of the table")
    return remote.schema


def _trained(release: Release, planned: Plan, output: Path) -> Release:
    """The release trained as planned, kept in its file from the first step on."""
    if planned.training is None:
        return release
    with working("training") as reach:
        return release.train(planned.training, checkpoint=output, on_step=training(reach))
