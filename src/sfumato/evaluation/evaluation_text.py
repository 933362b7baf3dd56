"""An evaluation as lines of text, for a screen. Private, and says so first and last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from sfumato.evaluation.closest_rows import NOT_PRIVACY
from sfumato.evaluation.measures import CLOSEST, MEASURE_SECTIONS, MEASURES, Measure
from sfumato.evaluation.release_evaluation import PRIVATE, Compared, Evaluation, FewFigures
from sfumato.text import one_line

SCREEN_WIDTH = 100
TOLD_ROWS = 8  # of each list of the worst
PLAIN_FIGURE = Measure("", False)
HEADS = ("release", "\u00b1", "real rows", "independent")


def lines(found: Evaluation) -> Iterator[str]:
    """All that fits a screen; JSON and the page have more."""
    yield PRIVATE
    yield ""
    yield f"Release: {found.release}"
    yield from _wrapped(about(found))
    yield ""
    for sentence in summary(found):
        yield from _wrapped(sentence)
    for title, names in MEASURE_SECTIONS.items():
        shown = {name: found.measures[name] for name in names if name in found.measures}
        if shown:
            yield from _measures(section_title(title, found), shown)
        if shown and names is CLOSEST:
            yield from _wrapped(NOT_PRIVACY)
    yield from _columns(found)
    yield from _pairs(found)
    yield from _few("Worst small groups", found.groups)
    yield from _few("Worst rare values", found.rare)
    yield from _rules(found)
    if found.notes:
        yield ""
    for note in found.notes:
        yield from _wrapped(f"Note: {note}")
    yield ""
    yield PRIVATE


def about(found: Evaluation) -> str:
    """What was compared, in a sentence or two."""
    rows = found.rows
    spread = f"\u00b1 is the standard deviation over {found.samples} samples of this one release. "
    samples = "1 sample" if found.samples == 1 else f"{found.samples} samples"
    return (
        f"{samples} of {rows['sample']:,} rows (seeds from {found.seed}) beside {rows['train']:,} train and "
        f"{rows['test']:,} test rows. {spread if found.samples > 1 else ''}Real rows: judges trained on train rows; "
        "for all else test rows held against train rows, as many as of the samples and of independent columns (every "
        "column drawn by itself, and judges that guess)."
    )


def summary(found: Evaluation) -> list[str]:
    """What matters most, in words."""
    told: list[str] = []
    for name in ("lightgbm", "lightgbm_r2", "logistic", "linear_r2"):
        figure = found.measures.get(name)
        if figure is not None and figure.real is not None and not told:
            what = "AUC" if "_r2" not in name else "R\u00b2"
            judge = MEASURES[name].title.split(",")[0]
            told.append(
                f"Trained on synthetic rows, {judge} learns {one_line(found.target or '')} to {what} {figure.mean:.3f} "
                f"on real rows; trained on real rows, to {figure.real:.3f}."
            )
    if "tv2" in found.measures:
        told.append(f"Tables of two columns are {_off(found.measures['tv2'])}.")
    if found.columns:
        worst = found.columns[0]
        pair = f"; the worst pair is {_pair(found.pairs[0].names)}" if found.pairs else ""
        told.append(f"The worst column is {one_line(worst.name)}{pair}.")
    return told


def section_title(title: str, found: Evaluation) -> str:
    """The title of a section of measures, with the target where it speaks of one."""
    target = found.target is not None and "learn" in title
    return f"{title} (target: {one_line(found.target or '')})" if target else title


def cells(figure: Compared, measure: Measure) -> tuple[str, str, str, str]:
    """A figure as it is shown: mean, spread, of real rows, of independent columns."""
    values = (figure.mean, figure.sd, figure.real, figure.independent)
    one, two, three, four = ("-" if value is None else f"{value:z.{measure.digits}f}" for value in values)
    return one, two, three, four


def share(value: float | None) -> str:
    """A share with enough digits for the few."""
    return "-" if value is None else f"{100.0 * value:.2f} %"


def _off(figure: Compared) -> str:
    beside = [
        f"{value:.3f} for {what}"
        for value, what in ((figure.real, "real rows"), (figure.independent, "independent columns"))
        if value is not None
    ]
    return f"{figure.mean:.3f} off in total variation" + (f" ({', '.join(beside)})" if beside else "")


def _measures(title: str, figures: Mapping[str, Compared]) -> Iterator[str]:
    rows = [
        (MEASURES[name].title, *cells(figure, MEASURES[name]), f"{'more' if MEASURES[name].more_is_better else 'less'}")
        for name, figure in figures.items()
    ]
    yield from _table(title, ("", *HEADS, "better is"), rows)


def _columns(found: Evaluation) -> Iterator[str]:
    heads = ("column", "alone", "real", "with others", "real", "learned", "real")
    rows = []
    for each in found.columns[:TOLD_ROWS]:
        parts = (each.alone, each.together, each.learned)
        pairs = [("-", "-") if part is None else cells(part, PLAIN_FIGURE)[::2] for part in parts]
        rows.append((one_line(each.name), *(cell for pair in pairs for cell in pair)))
    yield from _table("Worst columns: distance alone and in tables with others, AUC as a target", heads, rows)


def _pairs(found: Evaluation) -> Iterator[str]:
    rows = [(_pair(each.names), *cells(each.distance, PLAIN_FIGURE)) for each in found.pairs[:TOLD_ROWS]]
    yield from _table("Worst pairs: distance of their tables", ("pair", *HEADS), rows)


def _few(title: str, few: Sequence[FewFigures]) -> Iterator[str]:
    heads = ("rows with", "real share", "synthetic", "relative error", "label off by")
    rows = [
        (
            each.title,
            share(each.share.real),
            share(each.share.mean),
            f"{each.error:.2f}",
            "-" if each.label_distance is None else f"{each.label_distance:.3f}",
        )
        for each in few[:TOLD_ROWS]
    ]
    yield from _table(title, heads, rows)


def _rules(found: Evaluation) -> Iterator[str]:
    rows = [(one_line(each.rule), share(each.broken.mean), share(each.broken.real)) for each in found.rules]
    yield from _table("Rows that break rules", ("rule", "release", "train rows"), rows)


def _pair(names: tuple[str, str]) -> str:
    return f"{one_line(names[0])} × {one_line(names[1])}"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A title and aligned rows; nothing where there are no rows."""
    if not rows:
        return
    yield ""
    yield title
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    for row in (heads, *rows):
        yield ("  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])).rstrip()


def _wrapped(text: str) -> list[str]:
    return wrap(text, SCREEN_WIDTH, break_long_words=False, break_on_hyphens=False)
