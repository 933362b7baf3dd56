"""`sfumato evaluate`: one release beside real rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.opening import opened
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, Replace
from sfumato.cli.progress import working
from sfumato.errors import ArgumentError


def evaluate(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="A release file.")],
    train: Annotated[
        str, typer.Option(help="The private table that it was made of: a file, or the URL of a database.")
    ],
    test: Annotated[
        str | None, typer.Option(help="Real rows that were not in the fit; without, a fifth of --train stands in.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column that judges learn; the label by default. May be a number.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="A rule that the release was not told: --rule 'a <= b'. May be repeated."),
    ] = None,
    samples: Annotated[
        int, typer.Option(help="How many samples of the release; figures have their spread.", min=1)
    ] = 3,
    seed: Annotated[int, typer.Option(help="Of the first sample; each further one has the next number.", min=0)] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Look at 10,000 rows of each table at most.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page for a browser or paper, which is as PRIVATE.")] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """See what the rows of a release are worth beside real ones. What is shown is private: do not publish it.

    sfumato evaluate r.sfumato --train train.csv --test test.csv --html r.html
    """
    from sfumato.api import load
    from sfumato.evaluation import evaluate as compare
    from sfumato.files import replacing

    _check_files(release, train, test, html)
    if html is not None:
        claim_name(html, replace_file)
    made = load(release)
    known, new = opened(context, train), None if test is None else opened(context, test)
    with working("evaluating") as reach:
        found = compare(
            made,
            train=known,
            test=new,
            target=target,
            rules=rule or (),
            samples=samples,
            seed=seed,
            quick=quick,
            progress=reach,
        )
    if html is not None:
        with replacing(html, private=True) as place:
            place.write_text(found.to_html(), encoding="utf-8")
    if as_json:
        print_json(found.to_dict() | {"output": None if html is None else str(html)})
        return
    print(found)
    if html is not None:
        print(f"wrote {html}: PRIVATE, like what is above")


def _check_files(release: Path, train: str, test: str | None, html: Path | None) -> None:
    """Refuse test rows that are the train rows, and a page in the place of what it is made of."""
    from sfumato.files import real_path

    if test is not None and "://" not in test and real_path(test) == real_path(train):
        raise ArgumentError("--test is the table of --train; give rows that were not in the fit, or leave --test out")
    for place in (str(release), train, *([] if test is None else [test])):
        if html is not None and real_path(html) == real_path(place):
            raise ArgumentError(f"--html {html} is one of the files that are read; write the page somewhere else")
