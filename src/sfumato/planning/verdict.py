"""What a release will be good for, in one word and one sentence.

The blur of a plan is the mean over columns of the noise on the number of rows in half of a column's bins (one standard
deviation), over the rows there. The two bounds were read off measured releases of public tables, docs/planning.md: up
to GOOD_FOR_TRAINING a classifier that learns from synthetic rows lost at most 0.025 of the AUC that the same number of
real rows give; up to GOOD_FOR_TABLES one-way tables were off by less than a tenth of the rows, and such a classifier
lost up to MOST_LOST.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sfumato.text import one_line, percent

if TYPE_CHECKING:
    from sfumato.planning.widths import Widths

GOOD_FOR_TRAINING = 0.025
GOOD_FOR_TABLES = 0.15
MOST_LOST = 0.06  # of AUC, among the measured releases that are fit for tables


@dataclass(frozen=True)
class Verdict:
    """What a release will be good for.

    Attributes:
        fit_for: "training" (and tables), "tables" alone, "nothing", or "unknown" where no histograms are asked.
        blur: What it is told by; None where it is unknown.
        misfits: Columns of which so much fits no bin that the schema cannot be the table's.

    Example:
        >>> print(Verdict.at(0.048))
        fit for tables of single columns and for rows to try things out with; a model trained on such rows is weaker \
than one of real rows (in tests by up to 0.06 of AUC): noise is 4.8 % of the rows in half a column, on average
    """

    fit_for: Literal["training", "tables", "nothing", "unknown"]
    blur: float | None
    misfits: tuple[str, ...] = ()

    @classmethod
    def of(cls, widths: Widths) -> Verdict:
        """The verdict on what a plan would release.

        Args:
            widths: What is expected of it.

        Returns:
            The verdict.
        """
        if not widths.are_known:
            return cls("unknown", None)
        return cls.at(sum(each.blur for each in widths.columns) / len(widths.columns))

    @classmethod
    def at(cls, blur: float) -> Verdict:
        """The verdict on so much blur.

        Args:
            blur: The mean over columns.

        Returns:
            The verdict.
        """
        if blur <= GOOD_FOR_TRAINING:
            return cls("training", blur)
        return cls("tables" if blur <= GOOD_FOR_TABLES else "nothing", blur)

    def data(self) -> dict[str, Any]:
        """The verdict, for JSON.

        Returns:
            Plain values.
        """
        return {"fit_for": self.fit_for, "blur": self.blur, "misfits": list(self.misfits), "words": str(self)}

    def told(self) -> str:
        """The verdict in words, without what may be done about it: on a release nothing may, any more.

        Returns:
            A sentence.
        """
        if self.misfits:
            named = ", ".join(f"`{one_line(name)}`" for name in self.misfits)
            return f"fit for nothing: a tenth or more of {named} fits no bin, so the schema is not that of this table"
        if self.blur is None:
            return "unknown, because columns are not counted one by one, as in groups"
        words = {
            "training": "fit for training and for tables",
            "tables": "fit for tables of single columns and for rows to try things out with; a model trained on such "
            f"rows is weaker than one of real rows (in tests by up to {MOST_LOST:g} of AUC)",
        }
        noise = f"noise is {percent(self.blur)} of the rows in half a column, on average"
        return f"{words.get(self.fit_for, 'fit for nothing')}: {noise}"

    def __str__(self) -> str:
        advice = "; take more rows, fewer columns or bins, or more epsilon"
        if self.misfits:
            advice = "; `sfumato check` tells what its cells hold"
        return self.told() + (advice if self.fit_for == "nothing" else "")
