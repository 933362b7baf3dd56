"""`sfumato update`: rows of new people, merged with what was released."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import Claim
from sfumato.cli.interrupts import elsewhere, interruptible
from sfumato.cli.opening import opened
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Data, Delta, Json, Replace, Rows
from sfumato.cli.progress import rounds, working
from sfumato.cli.reaching import reached
from sfumato.cli.releases import check_apart, release_data, worth_lines
from sfumato.cli.verbs.fit import NOTHING_WRITTEN, SEE_CHECK, check_output


def update(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The release so far.")],
    data: Data,
    epsilon: Annotated[float, typer.Option(help="How much may be told about one of the new rows.")],
    delta: Delta,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the merged release, NAME.sfumato.")],
    new_people: Annotated[
        bool,
        typer.Option(
            "--new-people", help="Say that nobody in these rows is in the release already; this or --rule is needed."
        ),
    ] = False,
    rule: Annotated[
        str | None, typer.Option(help="Better: the public rule that each row was chosen by, in words.")
    ] = None,
    rows: Rows = None,
    ledger: Annotated[
        str | None, typer.Option(help="Count the new rows in this ledger: a file, or a PostgreSQL URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The name under which they were opened there.")] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable noise, for tests: the release then has NO guarantee.")
    ] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Add rows of new people to a release. Each call spends anew.

    Those who are in it already pay nothing.
    """
    from sfumato.api import load
    from sfumato.ledger.ledger import Ledger
    from sfumato.merging import update as run

    before = load(release)
    counted_in = None if ledger is None else Ledger(ledger)
    check_output(output, counted_in)
    check_apart(output, [release])
    claim = Claim(output, replace_file)
    remote = reached(context, data)
    source = opened(context, data) if remote is None else remote
    with (
        working("fitting") as reach,
        interruptible(counted_in, NOTHING_WRITTEN),
        elsewhere(remote is not None),
    ):
        made = run(
            before,
            source,
            epsilon=epsilon,
            delta=delta,
            new_people=rule or new_people,
            rows=rows,
            ledger=counted_in,
            dataset=dataset,
            progress=rounds(reach),
            insecure_seed=insecure_seed,
        )
        claim.save(made)
    if as_json:
        print_json({"output": str(claim.path)} | release_data(made) | {"see": SEE_CHECK})
    else:
        print("\n".join([f"wrote {claim.path}", str(made.guarantee), *worth_lines(made), SEE_CHECK]))
