"""What a question to a release is answered with: a number, how sure it is, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

from sfumato.text import one_line

About: TypeAlias = Literal["table", "population"]
WIDE = 0.1  # of what is possible: a wider interval that reaches an end of it does not tell the number from that end
TOO_NOISY = "too noisy"
WHY_TOO_NOISY = "the interval reaches a bound, and covers more than a tenth of what lies between both"


@dataclass(frozen=True)
class Estimate:
    """A number that a release tells, with its interval where the noise of its answers gives one.

    Nothing in it is clipped: a count below 0 is what noise makes of a small one, and sums of such counts are unbiased.
    Only what is printed keeps to what is possible.

    Attributes:
        estimate: The number; NaN where nothing tells it.
        se: Its standard error; None where there is none, or an interval is not made of it.
        interval: Where the number lies, low and high; None where no answer tells.
        level: How often such an interval holds the number.
        about: 'table': the rows that were fitted, with the noise alone; 'population': what they are a sample of.
        rests_on: The noisy answers that it is made of, by name; () where it is the model's own.
        reason: Why there is no interval; '' where there is one.
        estimand: What the number is of, in words.
        possible: Between what the number lies by what it is; what is printed keeps to it.

    Example:
        >>> print(Estimate(-3.2, 5.1, (-13.2, 6.8), 0.95, "table", ("histograms",), "", "rows", (0.0, math.inf)))
        0 (95 %: 0 to 6.8), of rows
        >>> print(Estimate(12.0, 9.0, (-6.0, 30.0), 0.95, "table", ("histograms",), "", "ages", (0.0, 100.0)))
        too noisy (95 %: 0 to 30), of ages
    """

    estimate: float
    se: float | None
    interval: tuple[float, float] | None
    level: float
    about: About
    rests_on: tuple[str, ...]
    reason: str = ""
    estimand: str = ""
    possible: tuple[float, float] = (-math.inf, math.inf)

    @property
    def width(self) -> float:
        """How wide the interval is; infinite where there is none."""
        return math.inf if self.interval is None else self.interval[1] - self.interval[0]

    @property
    def is_too_noisy(self) -> bool:
        """Whether the number would mislead: its interval reaches a bound, and covers over a tenth of what is possible.

        Counts have no upper bound and are never called so: next to none is an answer.
        """
        bottom, top = self.possible
        if self.interval is None or not math.isfinite(top - bottom):
            return False
        low, high = self.interval
        covered = min(high, top) - max(low, bottom)
        return (low <= bottom or high >= top) and covered > WIDE * (top - bottom)

    def data(self) -> dict[str, Any]:
        """The same as plain JSON values.

        Returns:
            One entry for each attribute.
        """
        return {
            "estimate": None if math.isnan(self.estimate) else self.estimate,
            "se": self.se,
            "interval": None if self.interval is None else list(self.interval),
            "level": self.level,
            "about": self.about,
            "rests_on": list(self.rests_on),
            "reason": self.reason,
            "estimand": self.estimand,
        }

    def __str__(self) -> str:
        of = f", of {self.estimand}" if self.estimand else ""
        if self.interval is None:
            return f"{self.shown()}{of}"
        return f"{self.shown()}{of}{', for the population' if self.about == 'population' else ''}"

    def shown(self) -> str:
        """The number, unless it is too noisy, and its interval in a few letters, kept to what is possible.

        Returns:
            One line.
        """
        if self.interval is None:
            return f"{self._kept(self.estimate)} (no interval: {self.reason})"
        low, high = map(self._kept, self.interval)
        told = TOO_NOISY if self.is_too_noisy else self._kept(self.estimate)
        return f"{told} ({100 * self.level:g} %: {low} to {high})"

    def _kept(self, value: float) -> str:
        low, high = self.possible
        return written(min(max(value, low), high), self.se)


def written(value: float, se: float | None = None) -> str:
    """A number with the digits that its standard error leaves it, or five.

    >>> written(12345.678, 20.0), written(0.12345, 0.002), written(3.0), written(1234567.0)
    ('12346', '0.1235', '3', '1234567')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else f"{value:g}"
    scale = se if se is not None and se > 0.0 else max(abs(value), 1e-12) / 1000.0
    decimals = min(max(1 - math.floor(math.log10(scale)), 0), 12)
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class Estimates(Sequence[Estimate]):
    """A table of estimates: one for each group, or for each cell of a table.

    Attributes:
        names: What tells them apart: the columns of the groups, or "term" in a regression.
        keys: For each estimate the values of these columns.
        estimates: The estimates.

    Example:
        >>> one = Estimate(40.2, 0.4, (39.4, 41.0), 0.95, "table", ("tables 1",))
        >>> found = Estimates(("sex",), (("Male",),), (one,))
        >>> found["Male"].estimate, found.frame().columns.tolist()[:4]
        (40.2, ['sex', 'estimate', 'se', 'low'])
    """

    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    estimates: tuple[Estimate, ...]

    def __getitem__(self, key: Any) -> Any:
        """By the values of a group, `found["Male"]`, `found["Male", 40]`; or by place, where no group is called so."""
        wanted = key if isinstance(key, tuple) else (key,)
        if wanted in self.keys:
            return self.estimates[self.keys.index(wanted)]
        if isinstance(key, (int, slice)):
            return self.estimates[key]
        raise KeyError(f"there is no group {', '.join(repr(part) for part in wanted)}")

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def frame(self) -> pd.DataFrame:
        """The estimates as a frame.

        Returns:
            One row for each: its group, estimate, se, low, high, level, about, rests_on and reason.
        """
        rows = []
        for key, each in zip(self.keys, self.estimates, strict=True):
            low, high = each.interval or (math.nan, math.nan)
            told = {"estimate": each.estimate, "se": each.se, "low": low, "high": high, "level": each.level}
            said = {"about": each.about, "rests_on": ", ".join(each.rests_on), "reason": each.reason}
            rows.append(dict(zip(self.names, key, strict=True)) | told | said)
        return pd.DataFrame(rows)

    def data(self) -> list[dict[str, Any]]:
        """The same as plain JSON values.

        Returns:
            One entry for each estimate, its group among it.
        """
        return [
            {"group": {name: str(part) for name, part in zip(self.names, key, strict=True)}} | each.data()
            for key, each in zip(self.keys, self.estimates, strict=True)
        ]

    def __str__(self) -> str:
        keys = [", ".join(one_line(str(part)) for part in key) for key in self.keys]
        wide = max(map(len, keys), default=0)
        head = [f"{', '.join(map(one_line, self.names))}: {self.estimates[0].estimand}"] if self.estimates else []
        lines = (f"  {key:<{wide}}  {each.shown()}" for key, each in zip(keys, self.estimates, strict=True))
        return "\n".join([*head, *lines])
