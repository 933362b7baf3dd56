"""`sfumato report`: a release as a page that may be published with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, Replace


def report(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the page (.html).")],
    title: Annotated[str | None, typer.Option(help="What the table is called; public words.")] = None,
    publisher: Annotated[str | None, typer.Option(help="Who publishes it; public words.")] = None,
    date: Annotated[str | None, typer.Option(help="When it is published; public words.")] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Write a page about a release, to publish with it. Costs no privacy.

    It is one file, made from the release alone, and needs no network.
    """
    from sfumato.api import load
    from sfumato.cli.progress import working
    from sfumato.files import replacing
    from sfumato.reporting.document import report as make_report

    claim_name(output, replace_file)
    made = load(release)
    with working("writing the report") as reach:
        page = make_report(made, title=title, publisher=publisher, date=date, file=release.name, progress=reach)
    with replacing(output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    size = output.stat().st_size
    if as_json:
        print_json({"output": str(output), "bytes": size, "private": False, "secure": made.guarantee.secure})
        return
    told = ", so it may be published with it" * made.guarantee.secure
    print(f"wrote {output}: {size / 1e6:.1f} MB, made from the release alone{told}")
    if not made.guarantee.secure:
        print("NOT PRIVATE: the release was made with insecure_seed, for tests only; the page says so too")
