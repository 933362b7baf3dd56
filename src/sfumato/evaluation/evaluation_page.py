"""An evaluation as one HTML page: no script, no request to anywhere, and the word PRIVATE on every view of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from sfumato.evaluation.closest_rows import NOT_PRIVACY
from sfumato.evaluation.column_shares import Shares
from sfumato.evaluation.evaluation_text import PLAIN_FIGURE, about, cells, section_title, share, summary
from sfumato.evaluation.measures import CLOSEST, MEASURE_SECTIONS, MEASURES, Measure
from sfumato.evaluation.release_evaluation import PRIVATE, ColumnFigures, Compared, Evaluation, FewFigures
from sfumato.text import one_line

TAG = '<span class="tag">PRIVATE</span>'
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
LEGEND = '<p class="legend"><span class="of-real">real train rows</span><span class="of-synthetic">synthetic</span></p>'
STRIP = 132, 22  # pixels of the picture beside a measure
CHART = 300, 96  # of an ordered column
ROW_PIXELS, LABEL_PIXELS = 19, 118  # of a listed column
LONGEST_LABEL = 20  # letters


def page(found: Evaluation) -> str:
    """The page.

    Args:
        found: What an evaluation found.

    Returns:
        HTML, to be kept as private as the rows are.
    """
    style = (files("sfumato") / "data" / "evaluation.css").read_text(encoding="utf-8")
    sections = list(_sections(found))
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _ in sections)
    body = "".join(
        f'<section><h2 id="{key}">{escape(title)} {TAG}</h2>{text}</section>' for key, title, text in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>PRIVATE: evaluation of a release</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header class="private"><strong>PRIVATE</strong>{escape(PRIVATE.removeprefix("PRIVATE"))}</header>
<div class="watermark" aria-hidden="true">PRIVATE</div>
<main>
<h1>What a release is worth beside real rows</h1>
<p>{_text(found.release)}</p>
<div class="summary">{"".join(f"<p>{escape(sentence)}</p>" for sentence in summary(found))}</div>
<p class="soft">{escape(about(found))}</p>
<nav aria-label="Sections"><ul>{links}</ul></nav>
{body}
</main>
<footer><p class="soft">{escape(PRIVATE)}</p></footer>
</body>
</html>
"""


def _sections(found: Evaluation) -> Iterable[tuple[str, str, str]]:
    """Their ids, titles and contents; those that have any."""
    for place, (title, measures) in enumerate(MEASURE_SECTIONS.items()):
        shown = [name for name in measures if name in found.measures]
        if shown:
            note = f"<p>{escape(NOT_PRIVACY)}</p>" if measures is CLOSEST else ""
            yield f"measures-{place}", section_title(title, found), note + _measures(found, title, shown)
    if found.columns:
        yield "columns", "Columns, the worst first", _columns(found)
    if found.pairs:
        yield "pairs", "The worst pairs of columns", _pairs(found)
    if found.groups:
        yield "groups", "The worst small groups", _few(found.groups, "Two categories that 0.2 to 2 % of rows share.")
    if found.rare:
        yield "rare", "The worst rare values", _few(found.rare, "Values of categories that less than 1 % of rows have.")
    if found.rules:
        yield "rules", "Rules between columns", _rules(found)
    if found.notes:
        yield "notes", "Notes", f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in found.notes)}</ul>"


# --- Tables


def _measures(found: Evaluation, title: str, names: Sequence[str]) -> str:
    heads = ("measure", "release", "±", "real rows", "independent", "better is", "independent to real")
    rows = []
    for name in names:
        measure, figure = MEASURES[name], found.measures[name]
        better = "more" if measure.more_is_better else "less"
        told = f"{escape(measure.title)}<small>{escape(measure.about)}</small>"
        rows.append((told, *cells(figure, measure), better, _strip(figure, measure)))
    return _table(f"{title}: the release beside real rows and independent columns.", heads, rows)


def _pairs(found: Evaluation) -> str:
    heads = ("pair", "release", "±", "real rows", "independent", "independent to real")
    rows = [
        (
            f"{_text(each.names[0])} × {_text(each.names[1])}",
            *cells(each.distance, PLAIN_FIGURE),
            _strip(each.distance, PLAIN_FIGURE),
        )
        for each in found.pairs
    ]
    return _table("Total-variation distance of their tables, by how far it exceeds that of real rows.", heads, rows)


def _few(few: Sequence[FewFigures], caption: str) -> str:
    heads = ("rows with", "share of train rows", "of synthetic rows", "±", "relative error", "label off by")
    rows = [
        (
            escape(each.title),
            share(each.share.real),
            share(each.share.mean),
            share(each.share.sd),
            f"{each.error:.2f}",
            "-" if each.label_distance is None else f"{each.label_distance:.3f}",
        )
        for each in few
    ]
    return _table(f"{caption} The relative error counts 1 at the most.", heads, rows)


def _rules(found: Evaluation) -> str:
    rows = [(_text(each.rule), share(each.broken.mean), share(each.broken.real)) for each in found.rules]
    return _table("Share of rows that break each rule.", ("rule", "synthetic rows", "train rows"), rows)


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are HTML, without columns in which there is nothing."""
    kept = [place for place in range(len(heads)) if any(row[place] not in ("", "-") for row in rows)]
    heads, rows = [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(_cell(cell) for cell in row[1:]) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: str) -> str:
    return f'<td class="strip">{cell}</td>' if cell.startswith("<svg") else f"<td>{cell}</td>"


# --- Pictures


def _strip(figure: Compared, measure: Measure) -> str:
    """Where the release lies between independent columns and real rows; nothing where these are not in that order."""
    low, high = figure.independent, figure.real
    if low is None or high is None or (high - low if measure.more_is_better else low - high) <= 0:
        return ""
    width, height = STRIP
    scale, middle = (width - 24) / (high - low), height / 2

    def at(value: float) -> float:
        return min(max(12 + (value - low) * scale, 4), width - 4)

    spread = figure.sd or 0.0
    ends = sorted((at(figure.mean - spread), at(figure.mean + spread)))
    told = f"{(figure.mean - low) / (high - low):.0%} of the way from independent columns to real rows"
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{told}"><title>{told}</title>'
        f'<line class="axis" x1="12" x2="{width - 12}" y1="{middle}" y2="{middle}"/>'
        f'<line class="axis" x1="12" x2="12" y1="5" y2="{height - 5}"/>'
        f'<rect class="of-real" x="{width - 14}" y="4" width="4" height="{height - 8}"/>'
        f'<line class="spread" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}"/>'
        f'<circle class="of-synthetic" cx="{at(figure.mean):.1f}" cy="{middle}" r="4.5"/></svg>'
    )


def _columns(found: Evaluation) -> str:
    heads = ("column", "alone", "real rows", "with others", "real rows", "as a target", "real rows")
    rows = []
    for each in found.columns:
        parts = (each.alone, each.together, each.learned)
        pairs = [("-", "-") if part is None else cells(part, PLAIN_FIGURE)[::2] for part in parts]
        rows.append((_text(each.name), *(cell for pair in pairs for cell in pair)))
    caption = "Total-variation distance of each column alone and in tables with each other column; AUC as a target."
    cards = "".join(_card(each) for each in found.columns if each.shares is not None)
    return f'{_table(caption, heads, rows)}{LEGEND}<div class="cards">{cards}</div>'


def _card(column: ColumnFigures) -> str:
    """One column: a picture, and its figures for who wants them."""
    shares = column.shares
    assert shares is not None
    apart = [abs(one - two) for one, two in zip(shares.real, shares.synthetic, strict=True)]
    most = max(range(len(apart)), key=apart.__getitem__)
    told = f"Largest difference: {100 * apart[most]:.2f} points at {shares.values[most]}"
    picture = _bars(shares, told) if len(shares.values) <= 14 else _histogram(shares, told)
    rows = [
        (escape(value), share(one), share(two))
        for value, one, two in zip(shares.values, shares.real, shares.synthetic, strict=True)
    ]
    table = _table(f"Shares of {one_line(column.name)}", ("value", "real", "synthetic"), rows)
    return (
        f"<figure><figcaption>{_text(column.name)} {TAG}</figcaption>"
        f'<p class="soft">{escape(told)}</p>{picture}<details><summary>Figures</summary>{table}</details></figure>'
    )


def _bars(shares: Shares, told: str) -> str:
    """Horizontal bars with a name each."""
    most = max(*shares.real, *shares.synthetic, 1e-9)
    width = CHART[0] - LABEL_PIXELS - 4
    parts = []
    for place, (value, one, two) in enumerate(zip(shares.values, shares.real, shares.synthetic, strict=True)):
        top = place * ROW_PIXELS
        name = value if len(value) <= LONGEST_LABEL else f"{value[: LONGEST_LABEL - 1]}…"
        parts.append(
            f'<text x="{LABEL_PIXELS - 5}" y="{top + 12}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="of-real" x="{LABEL_PIXELS}" y="{top + 2}" width="{width * one / most:.1f}" height="7"/>'
            f'<rect class="of-synthetic" x="{LABEL_PIXELS}" y="{top + 9}" width="{width * two / most:.1f}" height="7"/>'
        )
    return _svg("".join(parts), ROW_PIXELS * len(shares.values), told)


def _histogram(shares: Shares, told: str) -> str:
    """Bars of real rows, and a dot each for synthetic ones."""
    most = max(*shares.real, *shares.synthetic, 1e-9)
    width, height = CHART
    step = width / len(shares.values)
    parts = [f'<line class="axis" x1="0" x2="{width}" y1="{height}" y2="{height}"/>']
    for place, (one, two) in enumerate(zip(shares.real, shares.synthetic, strict=True)):
        tall = (height - 6) * one / most
        parts.append(
            f'<rect class="of-real" x="{place * step + 1:.1f}" y="{height - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}"/><circle class="of-synthetic" cx="{(place + 0.5) * step:.1f}" '
            f'cy="{height - (height - 6) * two / most:.1f}" r="3.2"/>'
        )
    ends = ((0, "start", shares.values[0]), (width, "end", shares.values[-1]))
    parts += [f'<text x="{x}" y="{height + 13}" text-anchor="{side}">{escape(text)}</text>' for x, side, text in ends]
    return _svg("".join(parts), height + 18, told)


def _svg(content: str, height: int, told: str) -> str:
    label = escape(told)
    return (
        f'<svg viewBox="0 0 {CHART[0]} {height}" role="img" aria-label="{label}"><title>{label}</title>{content}</svg>'
    )


def _text(foreign: str) -> str:
    return escape(one_line(foreign))
