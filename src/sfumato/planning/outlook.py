"""All that a plan means, together: the risk, the widths, what drowns, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.planning.risk import FALSE_ALARMS, PRIORS, Risk
from sfumato.planning.verdict import Verdict
from sfumato.planning.widths import LEVEL, ColumnWidth, Widths, amount
from sfumato.text import one_line, percent

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan

LISTED_COLUMNS = 40  # columns that are listed one by one


@dataclass(frozen=True)
class Outlook:
    """What a plan means for the people in the table, and for whoever uses the release.

    Attributes:
        risk: What an attacker may learn about one person.
        widths: How wide the intervals will be.
        verdict: What the release will be good for.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> print(sf.outlook(sf.plan(schema, epsilon=1, delta=1e-6, rows=50)).verdict)
        fit for nothing: noise is 148.6 % of the rows in half a column, on average; take more rows, fewer columns or \
bins, or more epsilon
    """

    risk: Risk
    widths: Widths
    verdict: Verdict

    def cells(self) -> dict[str, str]:
        """What plans are compared by, by name.

        Returns:
            A short text each.
        """
        found = {
            "attacker's advantage": f"{self.risk.advantage:.3f}",
            f"found at {percent(FALSE_ALARMS)} false alarms": percent(self.risk.true_positives()),
        }
        for prior in PRIORS:
            found[f"belief of {percent(prior)} becomes at most"] = percent(self.risk.largest_belief(prior))
        if not self.widths.are_known:
            return found
        found |= {
            "all rows, ±": f"{self.widths.rows:.0f}",
            "a count (widest column), ±": f"{self.widths.count:.0f}",
            "a share (widest column), ±": _points(self.widths.share),
            "columns that drown": f"{sum(each.drowns for each in self.widths.columns)}",
        }
        if correlations := self.widths.some_correlations():
            told = "a correlation, ±" if self.widths.are_settled else "a correlation, if bought, least ±"
            found[told] = _correlation(max(each.correlation for each in correlations))
        if self.widths.tables_bought is not None:
            found["pairs that drown"] = f"{self.widths.drowned_pairs} of {self.widths.pairs}"
        return found | {"fit for": self.verdict.fit_for}

    def means(self) -> dict[str, str]:
        """The half-widths of the first columns' means, which grow with the bounds, by the column's name.

        Returns:
            A short text each.
        """
        known = self.widths.columns[:LISTED_COLUMNS] if self.widths.are_known else ()
        return {one_line(each.column): amount(each.mean) for each in known if each.mean is not None}

    def lines(self) -> list[str]:
        """Column by column, and the verdict, in words.

        Returns:
            Lines.
        """
        if not self.widths.are_known:
            return [f"verdict: {self.verdict}"]
        table: list[tuple[str, ...]] = [
            (f"half-widths of {percent(LEVEL)} intervals", "a count", "a share", "the mean", "")
        ]
        table += [_record(each) for each in self.widths.columns[:LISTED_COLUMNS]]
        lines = [f"{record[0]:<34}" + "".join(f"{cell:>12}" for cell in record[1:]) for record in table]
        if len(self.widths.columns) > LISTED_COLUMNS:
            lines.append(f"and {len(self.widths.columns) - LISTED_COLUMNS} more columns: see --json")
        lines += self._correlations()
        if drowned := self.widths.some_drowned():
            such = ", ".join(" x ".join(map(one_line, each.columns)) for each in drowned)
            lines.append(f"pairs that drown even if their tables are bought, such as: {such}")
        guessed = "" if self.widths.plan.public.rows else f" (no --rows was given: {self.widths.plan.rows} are taken)"
        return [*(line.rstrip() for line in lines), "", f"verdict: {self.verdict}{guessed}"]

    def _correlations(self) -> list[str]:
        """One line about pairs of numbers, where tables may tell how they correlate."""
        pairs = self.widths.some_correlations()
        told = ", ".join(
            f"{' x '.join(map(one_line, each.columns))} ± {_correlation(each.correlation)}" for each in pairs
        )
        least = (
            "" if self.widths.are_settled else ", at about the least, where noisy answers choose to buy their tables"
        )
        return [f"correlations such as: {told}{least}"] if pairs else []

    def data(self) -> dict[str, Any]:
        """The numbers, for JSON.

        Returns:
            Plain values.
        """
        beliefs = [
            {"prior": prior, "mean": self.risk.belief(prior), "most": self.risk.largest_belief(prior)}
            for prior in PRIORS
        ]
        return {
            "risk": {
                "advantage": self.risk.advantage,
                "true_positives": {"false_alarms": FALSE_ALARMS, "most": self.risk.true_positives()},
                "beliefs": beliefs,
            },
            "widths": self.widths.data(),
            "verdict": self.verdict.data(),
        }


def outlook(
    plan: Plan, guesses: Mapping[str, float] | None = None, spreads: Mapping[str, float] | None = None
) -> Outlook:
    """What a plan means: the risk for people, the widths of intervals, and what the release will be good for.

    Args:
        plan: Any plan.
        guesses: Public guesses at the means of columns, by name; their half-widths depend on them a little.
        spreads: Public guesses at their standard deviations, by name, for correlations where a layout settles tables.

    Returns:
        The outlook.

    Raises:
        ArgumentError: A guess is for no column of numbers, or out of its bounds.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> f"{sf.outlook(sf.plan(schema, epsilon=1, delta=1e-6)).risk.advantage:.3f}"
        '0.094'
    """
    widths = Widths(plan, guesses or {}, spreads or {})
    return Outlook(Risk.of(plan), widths, Verdict.of(widths))


def _correlation(width: float) -> str:
    """A half-width of 1 says nothing: any correlation is within it of 0.

    >>> _correlation(0.0312), _correlation(1.4)
    ('0.0312', '1')
    """
    return amount(min(width, 1.0))


def _points(width: float) -> str:
    return percent(width) if width < 1.0 else "100 %"  # any share is within that


def _record(each: ColumnWidth) -> tuple[str, ...]:
    mean = "" if each.mean is None else f"± {amount(each.mean)}"
    remark = "drowns" if each.drowns else "wide mean" if each.wide_mean else ""
    return one_line(each.column), f"± {each.count:.0f}", f"± {_points(each.share)}", mean, remark
