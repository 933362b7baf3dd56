"""The part of a release that answers questions, each with an interval where the noisy answers give one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from sfumato.asking.estimate import About, Estimate, Estimates

if TYPE_CHECKING:
    from sfumato.asking.release_questions import Asked


class Asks:
    """Questions to a release: free, repeatable, and the same every time. docs/asking.md has the method."""

    @cached_property
    def _asked(self) -> Asked:
        from sfumato.asking.release_questions import Asked

        return Asked.of(cast(Any, self))

    def count(self, where: str | None = None, *, level: float = 0.95, about: About = "table") -> Estimate:
        """How many rows there are, or how many a condition holds for.

        Args:
            where: A condition, like "age > 40 and sex == 'Female'"; its grammar is in docs/conditions.md.
            level: How often the interval holds the number.
            about: 'table'; a population has no count.

        Returns:
            The estimate.

        Raises:
            ArgumentError: If an argument is out of its range.

        Example:
            >>> import pandas as pd, sfumato as sf
            >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
            >>> table = pd.DataFrame({"age": [20, 30, 40, 50] * 5000})
            >>> release = sf.fit(table, schema, epsilon=1, delta=1e-6)
            >>> found = release.count("age > 25")
            >>> abs(found.estimate - 15_000) < 10 * found.se
            True
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.count(where, Manner(level, about))

    def share(
        self,
        where: str,
        *,
        among: str | None = None,
        by: str | None = None,
        level: float = 0.95,
        about: About = "table",
    ) -> Any:
        """The share of rows that a condition holds for, of those whose cells of its columns can be read.

        Args:
            where: A condition.
            among: Another one: the share of the rows that it holds for.
            by: A column whose values are groups: the share in each.
            level: How often the interval holds the share.
            about: 'table', or 'population' for what the rows are independent draws of.

        Returns:
            An `Estimate`, by Fieller's interval; with `by` the `Estimates` of all groups.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.share(where, Manner(level, about), among, by)

    def mean(
        self,
        column: str,
        *,
        by: str | None = None,
        where: str | None = None,
        level: float = 0.95,
        about: About = "table",
    ) -> Any:
        """The mean of a column of numbers, of all rows, of those that a condition holds for, or of each group.

        A number may lie anywhere in its bin, and the interval has room for that.

        Args:
            column: A column of numbers, or of truth values.
            by: A column whose values are the groups.
            where: A condition.
            level: How often the interval holds the mean.
            about: 'table', or 'population' for what the rows are independent draws of.

        Returns:
            An `Estimate`; with `by` the `Estimates` of all groups.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.mean(column, by, where, Manner(level, about))

    def quantile(
        self, column: str, q: float, *, where: str | None = None, level: float = 0.95, about: About = "table"
    ) -> Estimate:
        """The smallest number that a share q of rows is at or below: the median for 0.5.

        Args:
            column: A column of numbers.
            q: Between 0 and 1.
            where: A condition.
            level: How often the interval holds the quantile.
            about: 'table', or 'population' for what the rows are independent draws of.

        Returns:
            The estimate, whose interval is of whole bins, without a standard error.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.quantile(column, q, where, Manner(level, about))

    def table(self, one: str, other: str, *, level: float = 0.95, about: About = "table") -> Estimates:
        """How many rows there are in each cell of the table of two columns, in the bins of the answer that has it.

        Args:
            one: A column.
            other: Another one.
            level: How often each interval holds its count.
            about: 'table'; a population has no counts.

        Returns:
            One estimate for each cell.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.table(one, other, Manner(level, about))

    def correlation(self, one: str, other: str, *, level: float = 0.95, about: About = "table") -> Estimate:
        """The correlation of two columns of numbers as binned: for each number stands a typical one of its bin.

        Args:
            one: A column of numbers, or of truth values.
            other: Another one.
            level: How often the interval holds the correlation.
            about: 'table', or 'population' for what the rows are independent draws of.

        Returns:
            The estimate, with an interval by the delta method where a table of both was bought.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.correlation(one, other, Manner(level, about))

    def regress(
        self,
        formula: str,
        kind: Literal["linear", "logistic"] = "linear",
        *,
        level: float = 0.95,
        about: About = "table",
    ) -> Estimates:
        """The coefficients of a regression of the binned columns.

        Args:
            formula: What is explained by what: "hours ~ age + sex". For each number stands a typical one of its bin;
                categories are indicators of each level but the first.
            kind: "linear", from tables of all pairs; or "logistic", from one table of all columns.
            level: How often each interval holds its coefficient.
            about: 'table', or 'population' for what the rows are independent draws of (of a linear one from pairs:
                with residuals of one variance).

        Returns:
            One estimate for each term, with intervals by the delta method where the tables were bought.

        Raises:
            ArgumentError: If an argument is out of its range.
        """
        from sfumato.asking.release_questions import Manner

        return self._asked.regress(formula, kind, Manner(level, about))
