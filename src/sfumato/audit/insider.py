"""The strongest adversary there is: one who sees every noisy answer and knows both tables.

What a mechanism makes of the answers is post-processing, so no reader of the release can do better. Its statistic is
known: given the earlier answers a question is the same on both tables, and its answer is Gaussian around the one total
or the other, so the log-likelihood ratio of the whole run is the sum over answers of

    sum over coordinates of (t1 - t0) (answer - (t0 + t1) / 2) / sd^2.

For a mechanism that is exactly mu-GDP it is normal around -mu^2/2 and +mu^2/2 with standard deviation mu: the best
threshold is 0. The sd that enters is the one the curator states; were the noise drawn wrong, the statistic would be
worse than the best one, and still honest.
"""

from __future__ import annotations

from sfumato.private.curator import Engine
from sfumato.private.queries import Answer, Asker, Query


class Insider:
    """Stands between a mechanism and the curator, and adds up the log-likelihood ratio of what passes."""

    def __init__(self, curator: Asker, without: Engine, with_row: Engine) -> None:
        self._curator = curator
        self._engines = without, with_row
        self.log_ratio = 0.0

    @property
    def remaining(self) -> float:
        return self._curator.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        answer = self._curator.total(name, query, mu_squared)
        absent, present = (engine.total(query) for engine in self._engines)
        middle = (absent + present) / 2.0
        self.log_ratio += float(((present - absent) * (answer.values - middle) / answer.sd**2).sum())
        return answer
