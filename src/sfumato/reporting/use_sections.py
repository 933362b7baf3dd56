"""The sections on the rules that rows keep, a sample of rows, and how to cite and load the release."""

from __future__ import annotations

import re
from typing import Any

from sfumato import __version__
from sfumato.reporting.figures_told import NO_NUMBER
from sfumato.reporting.markup import Markup, foreign, joined, tag
from sfumato.reporting.numbering import Numbering, listing, paragraph
from sfumato.reporting.promise_sections import NO_SECRET, short_guarantee
from sfumato.reporting.seen_release import SIZES, SeenRelease
from sfumato.schema.columns import Listed, Number
from sfumato.schema.conditions import written_name
from sfumato.text import one_line

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
WRITTEN_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?", re.ASCII)


def rules_section(numbering: Numbering, seen: SeenRelease) -> Markup:
    """The rules that every row keeps."""
    modelling = seen.release.modelling
    if modelling.is_plain:
        said = paragraph("The schema has no rules between columns. Values keep to its bounds and categories.")
        return numbering.section("rules", "Rules that are kept", said)
    broken = modelling.broken(seen.rows)
    rows = [(tag("code", one_line(text)), f"{int(fails.sum()):,}") for text, fails in broken.items()]
    return numbering.section(
        "rules",
        "Rules that are kept",
        paragraph(
            "Every row that the release draws keeps the rules of its schema. Rows that break one are not given out."
        ),
        numbering.table(
            "Rules",
            ["Rule", f"Broken by so many of {len(seen.rows):,} rows"],
            rows,
            numbers=(1,),
            source="rows that the model drew, held against each rule.",
        ),
    )


def sample_section(numbering: Numbering, seen: SeenRelease) -> Markup:
    """Some synthetic rows, to scroll and to download."""
    frame = seen.rows.iloc[: SIZES.shown_rows, : SIZES.shown_columns]
    cells = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    rows = [(f"{number}", *map(_cell, row)) for number, row in enumerate(cells, start=1)]
    columns = list(seen.release.schema.columns.items())[: SIZES.shown_columns]
    right = [i for i, (_, column) in enumerate(columns, start=1) if isinstance(column, Number)]
    left = len(seen.release.schema.columns) - len(columns)
    fewer = f" The first {len(columns)} columns are shown; the download has all." if left > 0 else ""
    count = sample_rows(seen)
    names = [name for name in seen.release.schema.columns if _tamed(name) != name]
    tamed = " In the download an apostrophe stands before texts that a spreadsheet would take for a formula."
    return numbering.section(
        "sample",
        "A sample of rows",
        paragraph(
            "These rows are drawn from the model. None of them is a row of the table. Do not compute intervals from "
            "them as if they were: ask the release (",
            tag("code", "release.count"),
            ", ",
            tag("code", "release.mean"),
            f"), which knows its noise.{fewer}{tamed * bool(names or _formulas(seen))}",
        ),
        tag("p", tag("button", f"Download {count:,} rows (CSV)", type="button", id="download"), class_="choices"),
        tag(
            "div",
            numbering.table("Synthetic rows", ["Row", *(foreign(name) for name, _ in columns)], rows, numbers=right),
            class_="sample",
        ),
    )


def _cell(cell: Any) -> str:
    """A cell of the sample, short: the download has all its digits."""
    if cell is None:
        return NO_NUMBER
    return f"{cell:.6g}" if isinstance(cell, float) else foreign(str(cell).removesuffix(" 00:00:00"))


def sample_rows(seen: SeenRelease) -> int:
    """How many rows can be downloaded: the page stays small, however long categories are."""
    by_cells = max(SIZES.sample_cells // len(seen.rows.columns), 1)
    return min(SIZES.sample_rows, len(seen.rows), by_cells, seen.rows_within(SIZES.sample_letters))


def sample_data(seen: SeenRelease, file: str) -> dict[str, Any]:
    """The rows that can be downloaded, with an apostrophe before what a spreadsheet would compute."""
    frame = seen.rows.iloc[: sample_rows(seen)].copy()
    for name in _formulas(seen):
        frame[name] = [_tamed(cell) if isinstance(cell, str) else cell for cell in frame[name]]
    stem = file.removesuffix(".sfumato")
    return {"csv": frame.rename(columns=_tamed).to_csv(index=False), "file": f"{stem}.sample.csv"}


def _formulas(seen: SeenRelease) -> list[str]:
    """The columns of which some category looks like a formula."""
    listed = [(name, column) for name, column in seen.columns.items() if isinstance(column, Listed)]
    return [name for name, column in listed if any(_tamed(str(level)) != str(level) for level in column.levels)]


def _tamed(text: str) -> str:
    """Text that no spreadsheet takes for a formula; numbers stay.

    >>> [_tamed(text) for text in ("=1+1", "-x", "-1.5", "plain")]
    ["'=1+1", "'-x", '-1.5', 'plain']
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not WRITTEN_NUMBER.fullmatch(text) else text


def use_section(
    numbering: Numbering, seen: SeenRelease, title: str, publisher: str | None, date: str | None, file: str
) -> Markup:
    """How to cite and to load it."""
    signed = " ".join(filter(None, [publisher, f"({date})" if date else None]))
    kind = f"Differentially private release, {short_guarantee(seen.release.guarantee)}."
    if not seen.release.guarantee.secure:
        kind = "Release without a guarantee, made with a seed for a test."
    return numbering.section(
        "use",
        "To cite it, and to load it",
        paragraph(f"{signed}{': ' * bool(signed)}{title}. {kind} Made with sfumato {__version__}.", class_="cite"),
        tag("pre", tag("code", _program(seen, file)), tabindex="0", role="region", aria_label="Program in Python"),
        listing(
            [
                joined([tag("code", "pip install sfumato"), " installs what reads the file."]),
                "Sampling and asking cost no privacy, however often: both are arithmetic on what the file holds."
                if seen.release.guarantee.secure
                else NO_SECRET,
            ]
        ),
    )


def _program(seen: SeenRelease, file: str) -> str:
    """Three lines that load the release, and questions to it that it can answer."""
    lines = ["import sfumato as sf", "", f"release = sf.load({file!r})", "rows = release.sample(1000, seed=1)"]
    schema = seen.release.schema
    numbers = [name for name, column in seen.columns.items() if isinstance(column, Number)]
    if numbers and seen.release.answers:
        by = f", by={schema.label!r}" if schema.label is not None and numbers[0] != schema.label else ""
        lines.append(f"print(release.mean({numbers[0]!r}{by}))")
    listed = [(name, column) for name, column in seen.columns.items() if isinstance(column, Listed)]
    if listed and seen.release.answers:
        name, column = listed[0]
        text = str(column.levels[0]).lower() if column.type == "boolean" else f"'{_quoted(column.levels[0])}'"
        lines.append(f"print(release.share({f'{written_name(name)} == {text}'!r}))")
    return "\n".join(lines)


def _quoted(level: Any) -> str:
    return str(level).replace("'", "''")
