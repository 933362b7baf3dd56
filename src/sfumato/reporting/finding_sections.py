"""The sections on what the release says: columns, associations, pairs, subgroups, and what drowns in noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sfumato.asking.estimate import TOO_NOISY, WHY_TOO_NOISY
from sfumato.planning.verdict import Verdict
from sfumato.reporting.association_map import AssociationMap
from sfumato.reporting.column_figures import Bar, ColumnFigure
from sfumato.reporting.figures_told import NO_NUMBER, estimate_text, interval_text, number_text, percent_text
from sfumato.reporting.markup import Markup, foreign, joined, table, tag
from sfumato.reporting.numbering import Numbering, listing, paragraph
from sfumato.reporting.seen_release import SIZES, SeenRelease
from sfumato.reporting.subgroups import GroupMeans, GroupShares, group_shares, told_class
from sfumato.text import one_line

INTERVAL = "95 % interval"
STRONGEST = 15  # pairs that are listed
LEAST_SHOWN = 0.005  # of an association, which is told with two decimals
FAINT = 0.1  # of the strongest association, below which all cells of a map look alike
LISTED_LOST = 40  # columns with classes that drown, that are listed


def columns_section(numbering: Numbering, seen: SeenRelease, figures: Sequence[ColumnFigure]) -> Markup:
    """Every column with error bars."""
    shown = figures[: SIZES.sections]
    more = len(figures) - len(shown)
    parts = [
        paragraph(
            "Bars are shares of the rows whose cell can be read; where cells may be missing, those are one of the "
            "bars. Lines across their ends are 95 % intervals: the noise of the answers, and nothing else, so they "
            "speak of this table and not of a population. Pale bars cannot be told from none."
        ),
        *_summary(numbering, figures),
        tag("div", *(_column(numbering, seen, figure) for figure in shown), class_="figures"),
        *(_group(numbering, seen, name) for name in seen.release.schema.groups),
    ]
    if more > 0:
        parts.append(_viewer(len(shown), more))
    return numbering.section("columns", "The columns, one by one", *parts)


def associations_section(numbering: Numbering, seen: SeenRelease, found: AssociationMap) -> Markup:
    """The map of associations."""
    if len(found.names) < 2:
        said = paragraph("There are not two columns of which an association could be told.")
        return numbering.section("associations", "What goes with what", said)
    strongest = found.strongest(STRONGEST)
    is_faint = strongest[0][2] < FAINT
    parts = [_faint(strongest[0])] if is_faint else [_map(numbering, seen, found)]
    rows = [
        (joined([foreign(one), " × ", foreign(other)]), f"{value:.2f}", _rests(bought))
        for one, other, value, bought in strongest
        if value >= LEAST_SHOWN
    ]
    if rows:
        head = ["Pair", "Cramér’s V", "Rests on"]
        parts.append(numbering.table("The strongest associations", head, rows, numbers=(1,)))
    return numbering.section("associations", "What goes with what", _measured(found, is_faint), *parts)


def pairs_section(numbering: Numbering, seen: SeenRelease, tables: int, left_out: int) -> Markup:
    """Pairs for a reader to choose."""
    if len(seen.release.schema.columns) < 2:
        return numbering.section("pairs", "Two columns of your choice", paragraph("There is one column only."))
    more = f"; {left_out:,} more were bought and left out for their size (the release has them)" if left_out else ""
    told = f"Noisy tables of {tables:,} pairs are in this file{more}. Of every other pair"
    if not tables and not left_out:
        told = "No noisy table of a pair was bought. Of every pair"
    choices = tag(
        "p",
        tag("label", "Down ", tag("select", id="pair-one")),
        " ",
        tag("label", "Across ", tag("select", id="pair-other")),
        " ",
        tag("label", tag("input", type="checkbox", id="pair-within"), " percent within each row"),
        class_="choices",
    )
    scatter = tag(
        "figure",
        tag("div", class_="chart", id="scatter-chart", role="img", aria_labelledby="scatter-caption"),
        tag("figcaption", id="scatter-caption"),
        id="scatter-figure",
        hidden=True,
    )
    return numbering.section(
        "pairs",
        "Two columns of your choice",
        paragraph(f"{told} the model’s own table is shown, without intervals."),
        tag("noscript", paragraph("To choose columns takes JavaScript, which is part of this file.")),
        choices,
        tag("p", id="pair-words", role="status", class_="words"),
        tag(
            "div",
            class_="chart",
            id="pair-chart",
            role="img",
            aria_label="Heat map of the two columns; as a table below",
        ),
        tag("details", tag("summary", "The two columns as numbers"), tag("div", id="pair-table")),
        scatter,
    )


def subgroups_section(
    numbering: Numbering, seen: SeenRelease, found: AssociationMap, means: Sequence[GroupMeans]
) -> Markup:
    """Subgroups, with their uncertainty."""
    shares = group_shares(seen, _by_association(seen, found))
    parts: list[Markup] = []
    if means:
        parts.append(_means_table(numbering, means))
    if shares:
        parts += _shares_figures(numbering, seen, shares)
    if not parts:
        parts.append(paragraph("No noisy table speaks of subgroups: ", _no_groups(seen)))
    return numbering.section("subgroups", "Subgroups", *parts)


def caution(figures: Sequence[ColumnFigure], worth: Verdict) -> Markup:
    """A warning for the top of the page, where noise hides half of the columns, or the release is fit for nothing."""
    drowned = sum(figure.is_unreadable for figure in figures)
    if drowned and 2 * drowned >= len(figures):
        told = f"Noise hides most of this table: {drowned:,} of {len(figures):,} columns cannot be read."
        return tag("p", tag("strong", told), " What the model says of them means nothing.", class_="caution")
    if worth.fit_for != "nothing":
        return Markup("")
    return tag("p", tag("strong", f"This release is {worth.told()}."), class_="caution")


def noise_section(
    numbering: Numbering,
    seen: SeenRelease,
    figures: Sequence[ColumnFigure],
    bought: int,
    means: Sequence[GroupMeans] = (),
) -> Markup:
    """What is too noisy to be read."""
    drowned = [figure for figure in figures if figure.is_unreadable]
    partly = [figure for figure in figures if figure.lost and figure not in drowned]
    without = [figure for figure in figures if figure.reason and figure not in drowned]
    columns = len(seen.columns)
    pairs = columns * (columns - 1) // 2
    points: list[str] = []
    if drowned:
        points.append(joined(["Do not read these columns, noise hides most of their rows: ", _names(drowned), "."]))
    if noisy := list(_noisy_means(figures, means)):
        points.append(joined([f"Means that are called {TOO_NOISY}, since {WHY_TOO_NOISY}: ", _listed(noisy), "."]))
    if without:
        reasons = sorted({figure.reason for figure in without})
        points.append(
            joined(["These columns have no error bars: ", _names(without), f" ({'; '.join(map(one_line, reasons))})."])
        )
    if seen.release.schema.groups:
        points.append("The columns of groups were never counted one by one: what is shown of them is the model’s.")
    points.append(
        f"Of {pairs:,} pairs of columns, noisy tables were bought of {bought:,}. What is said of the other "
        f"{pairs - bought:,} is the model’s own, without an interval."
    )
    parts = [listing(points)]
    if partly:
        parts.append(_lost_table(numbering, partly))
    elif not drowned and len(without) < len(figures):
        parts.append(paragraph("Every class of every column that was counted stands above its noise."))
    return numbering.section("noise", "What is too noisy to be read", *parts)


# --- columns


def viewer_data(figure: ColumnFigure) -> dict[str, Any]:
    """What a column's figure is drawn from when it is chosen."""
    words = f"{_facts_text(figure)} Source: {_source(figure)}".strip()
    return {"name": one_line(figure.name), "words": words, "pale": figure.is_unreadable, **_bars_data(figure.bars)}


def _facts_text(figure: ColumnFigure) -> str:
    """The numbers of a column in a sentence, and how many of its classes drown; '' where there is nothing to tell."""
    facts = "; ".join(f"{word} {estimate_text(each)}" for word, each in figure.facts.items())
    lost = f"{figure.lost} of {len(figure.bars)} classes cannot be told from none." if figure.lost else ""
    if figure.is_unreadable:
        lost = "Do not read this column: noise hides most of its rows."
    return " ".join(filter(None, [f"{facts[:1].upper()}{facts[1:]}." if facts else "", lost]))


def _bars_data(bars: Sequence[Bar]) -> dict[str, Any]:
    return {
        "labels": [bar.label for bar in bars],
        "share": [_short(bar.share) for bar in bars],
        "low": [None if bar.interval is None else _short(bar.interval[0]) for bar in bars],
        "high": [None if bar.interval is None else _short(bar.interval[1]) for bar in bars],
    }


def _bars_table(head: str, caption: str, bars: Sequence[Bar]) -> Markup:
    rows = [(foreign(bar.label), percent_text(bar.share), interval_text(bar.interval)) for bar in bars]
    return table([head, "Percent", INTERVAL], rows, caption=caption, numbers=(1, 2), label="The same as numbers")


def _short(value: float) -> float | None:
    return round(value, 5) if np.isfinite(value) else None


def _summary(numbering: Numbering, figures: Sequence[ColumnFigure]) -> Iterator[Markup]:
    """Of every column its mean, its largest class, and how much of it is missing, where any may be."""
    if len(figures) < 2:
        return
    has_missing = any(figure.missing is not None for figure in figures)
    yield numbering.table(
        "All columns at a glance",
        [
            "Column",
            f"Mean ({INTERVAL})",
            "Largest class",
            f"Its percent ({INTERVAL})",
            *[f"Percent missing ({INTERVAL})"] * has_missing,
        ],
        [_at_a_glance(figure, has_missing) for figure in figures],
        numbers=(1, 3, 4),
        source="noisy answers; – where no answer tells.",
    )


def _at_a_glance(figure: ColumnFigure, has_missing: bool) -> tuple[str, ...]:
    mean = estimate_text(figure.facts["mean"]) if "mean" in figure.facts else NO_NUMBER
    largest = max(figure.present, key=lambda bar: bar.share if np.isfinite(bar.share) else -1.0)
    told = TOO_NOISY, NO_NUMBER, NO_NUMBER
    if not figure.is_unreadable:
        told = foreign(largest.label), _share_text(largest), _share_text(figure.missing)
    return (foreign(figure.name), mean, *told[: 2 + has_missing])


def _share_text(bar: Bar | None) -> str:
    return NO_NUMBER if bar is None else f"{percent_text(bar.share)} ({interval_text(bar.interval)})"


def _column(numbering: Numbering, seen: SeenRelease, figure: ColumnFigure) -> Markup:
    name = foreign(figure.name)
    words = _facts_text(figure)
    drawn = numbering.figure(
        joined(["Rows by ", name, ", in percent", " (the label)" * (figure.name == seen.release.schema.label)]),
        f"Bar chart of the shares of {one_line(figure.name)}; the same numbers are in the table below it.",
        {"kind": "bars", "pale": figure.is_unreadable, **_bars_data(figure.bars)},
        _bars_table("Class", joined(["Shares of ", name]), figure.bars),
        source=_source(figure),
    )
    return tag("article", tag("h3", name), paragraph(words) if words else "", drawn, class_="column")


def _source(figure: ColumnFigure) -> str:
    if figure.reason:
        return f"the model’s own rows, without intervals: {one_line(figure.reason)}."
    return f"noisy answer “{one_line(figure.source)}”; {INTERVAL}s."


def _viewer(shown: int, more: int) -> Markup:
    return tag(
        "article",
        tag("h3", "The other columns"),
        paragraph(f"The first {shown} columns are above. Choose any of the {more:,} others, or one of these, here:"),
        tag("p", tag("label", "Column ", tag("select", id="column-choice")), class_="choices"),
        tag("p", id="column-words", role="status", class_="words"),
        tag(
            "div", class_="chart", id="column-chart", role="img", aria_label="Bar chart of the column; as a table below"
        ),
        tag("details", tag("summary", "The column as numbers"), tag("div", id="column-table")),
        class_="column",
    )


def _group(numbering: Numbering, seen: SeenRelease, name: str) -> Markup:
    """The mean of each column of a group, in its place."""
    group = seen.release.schema.groups[name]
    means = seen.rows[list(group.names)].to_numpy(dtype=np.float64).mean(axis=0)
    width = group.shape[1] if group.shape is not None else len(group.names)
    rows = [(foreign(each), number_text(float(f"{mean:.4g}"))) for each, mean in zip(group.names, means, strict=True)]
    drawn = numbering.figure(
        joined(["Mean of each column of ", foreign(name), ", in its place"]),
        f"Means of the {len(group.names)} columns of {one_line(name)}.",
        {"kind": "places", "means": [float(f"{mean:.4g}") for mean in means], "width": width},
        table(["Column", "Mean"], rows, caption="Means", numbers=(1,), label="Means"),
        source="rows that the model drew, without intervals.",
    )
    return tag("article", tag("h3", foreign(name)), drawn, class_="column")


# --- associations


def _measured(found: AssociationMap, is_faint: bool) -> Markup:
    """What an association is here, and what it rests on."""
    bought = int(found.bought.sum()) // 2
    pairs = len(found.names) * (len(found.names) - 1) // 2
    of = "The association" if is_faint else "Each cell of the map is the association"
    dots = "" if is_faint or not bought else ", which have a dot"
    fewer = f" Of {found.of:,} columns these are {len(found.names)}, with the largest correlation of ranks to another."
    return paragraph(
        f"{of} of two columns{' is' if is_faint else ':'} Cramér’s V of their classes, from 0 (neither tells anything "
        "of the other) to 1 (one is a function of the other). All are the model’s. Where a noisy table of the pair was "
        f"bought, the model follows it up to its noise: so it is for {bought:,} of {pairs:,} pairs{dots}. What the "
        f"model says of the others rests on moments and on other tables alone.{fewer * (len(found.names) < found.of)}"
    )


def _faint(strongest: tuple[str, str, float, bool]) -> Markup:
    """Words in the place of a map that would be next to blank."""
    one, other, value, _ = strongest
    if value < LEAST_SHOWN:
        said = Markup("No two columns go together in this model at all")
    else:
        said = joined(["No two columns go together by more than ", foreign(one), " and ", foreign(other)])
        said = joined([said, f" do, at {value:.2f}"])
    return paragraph(
        said,
        ", so no map is drawn: it would be blank. The more noise there is, the stronger are the associations that it "
        "hides: that none is told here does not say that there is none in the table.",
    )


def _map(numbering: Numbering, seen: SeenRelease, found: AssociationMap) -> Markup:
    return numbering.figure(
        "The map of associations. Choose a cell to see its pair in the next section",
        f"A heat map of {len(found.names)} columns; the strongest pairs are in the table below.",
        _map_data(seen, found),
        _matrix(found),
        source="rows that the model drew, in the classes of the columns’ figures.",
    )


def _rests(bought: bool) -> str:
    return "a noisy table, through the model" if bought else "the model alone"


def _map_data(seen: SeenRelease, found: AssociationMap) -> dict[str, Any]:
    return {
        "kind": "map",
        "names": [one_line(name) for name in found.names],
        "places": [seen.places[name] for name in found.names],
        "values": found.values.round(3).ravel().tolist(),
        "bought": found.bought.astype(int).ravel().tolist(),
    }


def _matrix(found: AssociationMap) -> Markup:
    rows = [
        (foreign(name), *(NO_NUMBER if i == j else f"{found.values[i, j]:.2f}" for j in range(len(found.names))))
        for i, name in enumerate(found.names)
    ]
    head = ["", *(foreign(name) for name in found.names)]
    every = range(1, len(head))
    return table(head, rows, caption="Cramér’s V of all pairs", numbers=every, label="All associations")


# --- subgroups


def _by_association(seen: SeenRelease, found: AssociationMap) -> list[str]:
    """Columns by how much they go with the label."""
    label = seen.release.schema.label
    if label not in found.names:
        return []
    with_label = found.values[found.names.index(label)]
    return [found.names[i] for i in np.argsort(-with_label, kind="stable").tolist() if found.names[i] != label]


def _means_table(numbering: Numbering, means: Sequence[GroupMeans]) -> Markup:
    """One line a column, where all are in the same groups; else one line a group."""
    if len({(each.by, each.groups) for each in means}) == 1:
        head = ["Mean of", *(foreign(group) for group in means[0].groups)]
        lines = [(foreign(each.column), *(_mean_text(mean) for mean in each.means)) for each in means]
        title = joined(["Means by ", foreign(means[0].by), f", with {INTERVAL}s"])
        return numbering.table(title, head, lines, numbers=range(1, len(head)), source=_GROUP_SOURCE)
    rows = [
        (joined([foreign(each.column), " by ", foreign(each.by)]), foreign(group), _mean_text(mean))
        for each in means
        for group, mean in zip(each.groups, each.means, strict=True)
    ]
    title = Markup(f"Means in groups, with {INTERVAL}s")
    return numbering.table(title, ["Mean of", "Group", "Mean"], rows, numbers=(2,), source=_GROUP_SOURCE)


_GROUP_SOURCE = "noisy tables of both columns. Where only – stands, noise does not tell the group from an empty one."


def _mean_text(mean: Any) -> str:
    return estimate_text(mean) if mean.interval is not None else NO_NUMBER


def _shares_figures(numbering: Numbering, seen: SeenRelease, shares: Sequence[GroupShares]) -> Iterator[Markup]:
    told = told_class(seen)
    assert told is not None
    label, value = foreign(seen.release.schema.label), foreign(seen.release.layout.class_names()[told])
    overall = float(seen.release.class_weights[told])
    yield paragraph(
        joined(["How often ", label, " is ", value]),
        " in the groups of the columns that go with it most. The dashed line is the share of all rows. Of a "
        "group without a dot noise does not tell enough: it may be empty, or share its bins with others.",
    )
    lost = [each for each in shares if all(bar.interval is None for bar in each.bars)]
    drawn = [
        numbering.figure(
            joined(["Share of ", label, " = ", value, " by ", foreign(each.column)]),
            f"Dots with intervals, one a group of {one_line(each.column)}; the same numbers are in the table below.",
            {"kind": "dots", "overall": round(overall, 5), **_bars_data(each.bars)},
            _bars_table("Group", "Shares in groups", each.bars),
            source=f"noisy table with the label; {INTERVAL}s.",
        )
        for each in shares
        if each not in lost
    ]
    yield tag("div", *drawn, class_="figures")
    if lost:
        names = _listed([foreign(each.column) for each in lost])
        yield paragraph("Of these columns no group can be told from an empty one, and nothing is drawn: ", names, ".")


def _no_groups(seen: SeenRelease) -> str:
    if not seen.release.answers:
        return "the file was saved compact, without its noisy answers."
    if seen.release.schema.label is None:
        return "no table of a column of numbers with a category was bought, and there is no label."
    return "no table of the label with another column was bought."


# --- noise


def _noisy_means(figures: Sequence[ColumnFigure], means: Sequence[GroupMeans]) -> Iterator[Markup]:
    """The columns, and the groups of columns, whose mean is not told."""
    for figure in figures:
        if "mean" in figure.facts and figure.facts["mean"].is_too_noisy:
            yield foreign(figure.name)
    for each in means:
        for group, mean in zip(each.groups, each.means, strict=True):
            if mean.is_too_noisy:
                yield joined([foreign(each.column), " where ", foreign(each.by), " is ", foreign(group)])


def _names(figures: Sequence[ColumnFigure]) -> Markup:
    return _listed([foreign(figure.name) for figure in figures])


def _listed(items: Sequence[Markup]) -> Markup:
    more = len(items) - LISTED_LOST
    named = joined(items[:LISTED_LOST], ", ")
    return joined([named, f" and {more:,} more"]) if more > 0 else named


def _lost_table(numbering: Numbering, figures: Sequence[ColumnFigure]) -> Markup:
    rows = [
        (
            foreign(figure.name),
            f"{figure.lost} of {len(figure.bars)}",
            joined((foreign(bar.label) for bar in figure.bars if bar.is_lost), ", "),
        )
        for figure in sorted(figures, key=lambda figure: -figure.lost)[:LISTED_LOST]
    ]
    return numbering.table(
        "Classes that cannot be told from none"
        + (f" (the worst {LISTED_LOST} columns)" * (len(figures) > LISTED_LOST)),
        ["Column", "Classes", "Which"],
        rows,
        numbers=(1,),
        source=f"the {INTERVAL}s of the figures reach down to 0.",
    )
