"""The parts of a report that are numbered: sections, tables and figures, each with its caption and its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.reporting.markup import Markup, joined, table, tag


@dataclass
class Numbering:
    """What was numbered so far.

    Attributes:
        sections: The title of each section, by its id.
        tables: How many tables there are.
        figures: What each figure is drawn from, by its id.
    """

    sections: dict[str, str] = field(default_factory=dict)
    tables: int = 0
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)

    def section(self, place: str, title: str, *parts: str) -> Markup:
        """A section with its number."""
        self.sections[place] = title
        number = tag("span", f"{len(self.sections)}", class_="numeral")
        return tag("section", tag("h2", number, " ", title), *parts, id=place)

    def table(
        self,
        title: str,
        head: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        numbers: Iterable[int] = (),
        source: str = "",
    ) -> Markup:
        """A table with its number, and where it comes from below."""
        self.tables += 1
        caption = joined([tag("b", f"Table {self.tables}."), " ", title])
        made = table(head, rows, caption=caption, numbers=numbers, label=f"Table {self.tables}")
        return joined([made, source_line(source)])

    def figure(self, title: str, words: str, data: dict[str, Any], numbers: str, source: str = "") -> Markup:
        """A figure with its number, its words for who cannot see it, and the same as numbers.

        Args:
            title: What stands below it.
            words: What it shows, in a sentence.
            data: What it is drawn from; `kind` says how.
            numbers: A table of the same.
            source: Where it comes from.

        Returns:
            The figure.
        """
        place = f"figure-{len(self.figures) + 1}"
        self.figures[place] = data
        number = len(self.figures)
        chart = tag("div", class_="chart", data_figure=place, role="img", aria_label=words)
        caption = tag("figcaption", tag("b", f"Figure {number}."), " ", title)
        told = tag("details", tag("summary", f"Figure {number} as numbers"), numbers)
        return tag("figure", chart, caption, source_line(source), told)


def source_line(source: str) -> Markup:
    """The line below a table or a figure that says where it comes from; nothing where there is none."""
    return tag("p", tag("span", "Source:"), " ", source, class_="source") if source else Markup("")


def paragraph(*parts: str, **attributes: Any) -> Markup:
    """A paragraph."""
    return tag("p", *parts, **attributes)


def listing(items: Iterable[str]) -> Markup:
    """A list of points."""
    return tag("ul", *(tag("li", each) for each in items))
