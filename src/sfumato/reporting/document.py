"""The report of a release: one HTML file that asks nobody for anything, for a phone, a screen and paper.

Public output. It only post-processes: it is made of the release alone, of noisy answers, of the model that was made of
them and of the public schema, so that it costs no privacy and may be published wherever the release may.

Its scripts are part of it, and the page's own policy lets no other run, nor anything be fetched: whatever a column or a
category is called, it stays text.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sfumato import __version__
from sfumato.errors import insist
from sfumato.planning.release_verdict import release_verdict
from sfumato.progress import Told, Work
from sfumato.reporting.association_map import AssociationMap, association_map
from sfumato.reporting.charts import specifications, vega_bundle
from sfumato.reporting.column_figures import column_figure
from sfumato.reporting.finding_sections import (
    associations_section,
    caution,
    columns_section,
    noise_section,
    pairs_section,
    subgroups_section,
    viewer_data,
)
from sfumato.reporting.markup import Markup, script_data, tag
from sfumato.reporting.numbering import Numbering, paragraph
from sfumato.reporting.pair_tables import bought_pairs, coded_rows, pair_data, points
from sfumato.reporting.promise_sections import (
    NO_SECRET,
    guarantee_section,
    released_section,
    short_guarantee,
    spent_section,
)
from sfumato.reporting.seen_release import SIZES, SeenRelease
from sfumato.reporting.subgroups import group_means
from sfumato.reporting.use_sections import rules_section, sample_data, sample_section, use_section
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.release.release import Release

OF_ROWS, OF_COLUMN, OF_PAIRS, OF_CHARTS = 2.5, 0.02, 2.0, 4.0  # what pieces of the work cost, in seconds
LONGEST_TITLE = 200  # letters of what a report is given to say of itself


def report(
    release: Release,
    *,
    title: str | None = None,
    publisher: str | None = None,
    date: str | None = None,
    file: str = "release.sfumato",
    progress: Told | None = None,
) -> str:
    """The report of a release, as one HTML document: it may be published wherever the release may.

    It is made from the release alone, and costs no privacy. The same release gives the same report.

    Args:
        release: The release.
        title: What the table is called; public words.
        publisher: Who publishes it; public words.
        date: When it is published; public words.
        file: The name under which the release is published.
        progress: Hears, before each piece of work, which fraction is done and what comes next.

    Returns:
        The document; it loads nothing from anywhere.

    Raises:
        MissingExtraError: If the extra `report` is not installed.
        ArgumentError: If the words are too long or empty.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> release = sf.fit(pd.DataFrame({"age": np.arange(5000) % 80}), schema, epsilon=1, delta=1e-6)
        >>> page = sf.report(release, title="Ages", publisher="Office of Ages")  # doctest: +SKIP
    """
    words = {"title": title, "publisher": publisher, "date": date, "file": file}
    for name, each in words.items():
        fits = each is None or (isinstance(each, str) and each.strip() and len(each) <= LONGEST_TITLE)
        insist(fits, f"{name} must have from 1 to {LONGEST_TITLE} letters")
    title = one_line(title or f"A private table of {len(release.schema.columns):,} columns")
    return _Pages(SeenRelease(release), title, publisher, date, file).document(progress or (lambda done, what: None))


class _Pages:
    """A report in the making."""

    def __init__(self, seen: SeenRelease, title: str, publisher: str | None, date: str | None, file: str) -> None:
        self.seen, self.title, self.file = seen, title, one_line(file)
        self.publisher, self.date = (None if each is None else one_line(each) for each in (publisher, date))
        self.numbering = Numbering()

    def document(self, tell: Told) -> str:
        cost = OF_ROWS + OF_COLUMN * len(self.seen.columns) + OF_PAIRS + OF_CHARTS
        body, data = self._body(Work(tell, cost))
        bundle = f"/*! {_static('vega-licences.txt')} */\n{vega_bundle()}"
        own = _static("report.js")
        policy = (
            f"default-src 'none'; script-src {_digest(bundle)} {_digest(own)}; style-src 'unsafe-inline'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        head = [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"sfumato {__version__}"),
            tag("title", self.title),
            tag("style", Markup(_static("report.css"))),
        ]
        scripts = [
            tag("script", script_data(data), type="application/json", id="data"),
            tag("script", Markup(bundle), type="module"),
            tag("script", Markup(own), type="module"),
        ]
        html = tag("html", tag("head", *head), tag("body", *body, *scripts), lang="en")
        return f"<!doctype html>\n{html}\n"

    def _body(self, work: Work) -> tuple[list[Markup], dict[str, Any]]:
        """What is read, and the data that its charts are drawn from."""
        seen, numbering = self.seen, self.numbering
        work.next("drawing rows", OF_ROWS)
        figures = []
        for name in seen.columns:
            figures.append(column_figure(seen, name))
            work.next("columns", OF_COLUMN)
        work.next("pairs of columns", OF_PAIRS)
        found, means = association_map(seen), group_means(seen)
        tables, left_out = pair_data(seen)
        bought = sum(1 for _ in bought_pairs(seen))
        sections = [
            released_section(numbering, seen, self.title, self.publisher),
            guarantee_section(numbering, seen),
            spent_section(numbering, seen.release.guarantee),
            columns_section(numbering, seen, figures),
            associations_section(numbering, seen, found),
            pairs_section(numbering, seen, len(tables), left_out),
            subgroups_section(numbering, seen, found, means),
            noise_section(numbering, seen, figures, bought, means),
            rules_section(numbering, seen),
            sample_section(numbering, seen),
            use_section(numbering, seen, self.title, self.publisher, self.date, self.file),
        ]
        work.next("charts", OF_CHARTS)
        data = {
            "specs": specifications(),
            "figures": numbering.figures,
            "columns": [viewer_data(figure) for figure in figures] if len(figures) > SIZES.sections else [],
            "names": [one_line(name) for name in seen.places],
            "pairs": tables,
            "first": self._first_pair(found),
            "coded": coded_rows(seen),
            "points": points(seen),
            "total": None if seen.total.interval is None else round(max(seen.total.estimate, 0.0)),
            "sample": sample_data(seen, self.file),
        }
        top, main = (
            [self._masthead(caution(figures, release_verdict(seen.release))), self._contents()],
            tag("main", *sections, id="main"),
        )
        return [*top, main, self._colophon()], data

    def _first_pair(self, found: AssociationMap) -> list[int]:
        """The pair that is shown before one is chosen: the strongest, with the label where there is one."""
        pairs = [(one, other) for one, other, *_ in found.strongest(len(found.names) ** 2)]
        with_label = [pair for pair in pairs if self.seen.release.schema.label in pair]
        names = [*with_label, *pairs, tuple(self.seen.places)][0]
        return [self.seen.places[name] for name in names[:2]]

    def _masthead(self, warning: Markup) -> Markup:
        guarantee = self.seen.release.guarantee
        by = " · ".join(filter(None, [self.publisher, self.date]))
        parts = [
            tag("a", "To the report", href="#main", class_="skip"),
            paragraph("Statistical report", class_="kind"),
            tag("h1", self.title),
            paragraph(
                f"A differentially private release, {short_guarantee(guarantee)}"
                if guarantee.secure
                else "A release without a guarantee",
                class_="subtitle",
            ),
        ]
        if by:
            parts.append(paragraph(by, class_="by"))
        if not guarantee.secure:
            parts.append(tag("div", tag("strong", "NOT PRIVATE."), " ", NO_SECRET, role="alert", class_="alarm"))
        return tag("header", *parts, warning)

    def _contents(self) -> Markup:
        items = [tag("li", tag("a", title, href=f"#{place}")) for place, title in self.numbering.sections.items()]
        return tag("nav", tag("h2", "Contents"), tag("ol", *items), aria_label="Contents")

    def _colophon(self) -> Markup:
        return tag(
            "footer",
            paragraph(
                f"Made with sfumato {__version__} from the release alone. Intervals are of 95 % and know the noise of "
                "the answers; they say where the number of this table lies, and hold for a number that was not chosen "
                "by looking at it. Charts are drawn by Vega, whose script and licences are part of this file."
            ),
        )


def _static(name: str) -> str:
    """A file that is part of every report."""
    return (files("sfumato.reporting") / "static" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """A script as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
