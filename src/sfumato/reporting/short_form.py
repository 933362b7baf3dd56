"""The short form of a release, for a notebook: a few lines of HTML, without a script.

Public output, made from the release alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.reporting.markup import Markup, foreign, joined, tag
from sfumato.reporting.promise import promise

if TYPE_CHECKING:
    from sfumato.release.release import Release

SHOWN_NAMES = 12  # columns that are named
CELL = "text-align:left;padding:0.15em 1em 0.15em 0;vertical-align:top;font-weight:normal"
ALARM = "background:#b3261e;color:#fff;padding:0.5em 0.8em;font-weight:bold"


def short_form(release: Release) -> str:
    """A release in a few lines of HTML.

    Args:
        release: The release.

    Returns:
        HTML that stands by itself, without a script.
    """
    guarantee = release.guarantee
    facts = {
        "guarantee": str(guarantee),
        "which means": promise(guarantee, shows_rows=False),
        "columns": _columns(release),
        "label": foreign(release.schema.label) if release.schema.label is not None else "none",
        "spent on": joined((foreign(spend.name) for spend in guarantee.spends), ", "),
        "answers": f"{len(release.answers)} noisy ones kept" if release.answers else "none kept: saved compact",
    }
    rows = [
        tag("tr", tag("th", name, scope="row", style=CELL), tag("td", value, style=CELL))
        for name, value in facts.items()
    ]
    alarm = Markup("") if guarantee.secure else tag("p", "NOT PRIVATE: made with a seed, for tests only", style=ALARM)
    title = tag("p", tag("b", "Release"), f" ({release.mechanism}, {release.model.kind})", style="margin:0.3em 0")
    return tag("div", title, alarm, tag("table", tag("tbody", *rows)), class_="sfumato-release")


def _columns(release: Release) -> Markup:
    names = list(release.schema.columns)
    named = joined((foreign(name) for name in names[:SHOWN_NAMES]), ", ")
    more = len(names) - SHOWN_NAMES
    return joined([f"{len(names):,}: ", named, f" and {more:,} more" if more > 0 else ""])
