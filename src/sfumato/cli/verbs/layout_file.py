"""`sfumato layout`: bins and tables that several fits share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Adjacency, Json, Replace
from sfumato.errors import ArgumentError

RELEASE = ".sfumato"  # what the names of releases end in


def layout(
    source: Annotated[Path, typer.Argument(help="A schema (YAML or JSON), or a release that serves as layout.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the layout, NAME.json.")],
    epsilon: Annotated[float | None, typer.Option(help="Of a schema: what each site is going to spend.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of a schema: chance that the epsilon bound fails.")] = None,
    rows: Annotated[int | None, typer.Option(help="Of a schema: a public guess at the rows of one site.")] = None,
    sites: Annotated[int, typer.Option(help="Of a schema: how many sites or periods are to be merged.")] = 1,
    adjacency: Adjacency = "add-remove",
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Settle what several fits ask, for releases to merge. Touches no data.

    Bins and tables are the same in all of them: give the layout to each by `sfumato fit --layout`.
    """
    from sfumato.api import load
    from sfumato.mechanisms.shared_layout import SharedLayout

    claim_name(output, replace_file)
    if source.suffix == RELEASE:
        if epsilon is not None or delta is not None or rows is not None:
            raise ArgumentError("a release has settled its layout: leave --epsilon, --delta and --rows out")
        made = SharedLayout.of_release(load(source))
    else:
        if epsilon is None or delta is None:
            raise ArgumentError("a layout of a schema needs --epsilon and --delta: they say which tables noise leaves")
        made = SharedLayout.of(source, epsilon=epsilon, delta=delta, rows=rows, sites=sites, adjacency=adjacency)
    made.save(output)
    names = made.column_names
    if as_json:
        tables = [[names[j] for j in table] for table in made.tables]
        print_json({"output": str(output), "seeded": made.seeded, "tables": tables})
    else:
        print(f"wrote {output}: {len(made.levels)} columns, {len(made.tables)} tables. No data was touched.")
        if made.seeded:
            print("NOT PUBLIC: it is of a release with seeded noise, and for fits with a seed only.")
        print(f"Every site: sfumato fit DATA --layout {output} ...; then: sfumato merge A B -o ALL.sfumato")
