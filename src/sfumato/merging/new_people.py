"""`sf.update`: rows of new people, fitted on the layout of what was released, and merged with it.

Rows are read by the curator of an ordinary fit, which a ledger charges like any other. Those who are in the release
already are not asked again, so nobody pays twice, if the rows are of new people only. Nothing here looks whether they
are: comparing tables would tell of both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.api import fit
from sfumato.engines import Local
from sfumato.errors import ArgumentError
from sfumato.guarantee import MOST_MERGED
from sfumato.ledger.ledger import Ledger
from sfumato.mechanisms import Mixture
from sfumato.merging.joint_guarantee import check_rule
from sfumato.merging.joint_release import check_kind, merged, read_told
from sfumato.progress import Listener
from sfumato.release.release import Release


def update(
    release: Release,
    new_rows: Any,
    *,
    epsilon: float,
    delta: float,
    new_people: bool | str,
    rows: int | None = None,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    engine: Local | None = None,
    progress: Listener | None = None,
    insecure_seed: int | None = None,
) -> Release:
    """A release with rows of new people in it, who pay once; those who are in it already pay nothing.

    Args:
        release: One of the mixture in scores, with its noisy answers: it serves as layout.
        new_rows: A table of the same schema with the rows of new people only: whatever `open_table` takes, or
            `sf.remote(...)`, a table that a server answers for; ledger, engine and seed are then the server's.
        epsilon: How much may be told about one row of them.
        delta: The probability that more is told.
        new_people: True says that none of them is in the release already. Better: the public rule, in words, that each
            row was chosen by, such as "admitted from 2026-01-01 on, one admission a person". The guarantee repeats it;
            whoever is in both pays both.
        rows: A public guess at the number of new rows.
        ledger: A `Ledger`, or its path or URL, that counts the fit of the new rows.
        dataset: The name under which they were opened there; that of new people is another one than that of the
            others, or all share one cap.
        engine: Where rows are added up, `sf.Local()` by default.
        progress: A callable that hears of every round before it is asked.
        insecure_seed: Repeatable noise, for tests. Neither the fit nor what it is merged into then has a guarantee.

    Returns:
        The merged release.

    Raises:
        ArgumentError: It is not said that people are new, an argument is out of its range, or the release cannot be
            merged.
        BudgetError: The cap of the data set would be exceeded.
        TableError: The table cannot be read.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> first, later = (pd.DataFrame({"age": np.arange(500) % most}) for most in (40, 80))
        >>> release = sf.fit(first, schema, epsilon=1, delta=1e-6)
        >>> both = sf.update(release, later, epsilon=1, delta=1e-6, new_people="admitted from 2026 on")
        >>> both.guarantee.joint.rules, both.guarantee.joint.own.epsilon
        (('admitted from 2026 on',), 1.0)
    """
    if new_people is not True and not (isinstance(new_people, str) and new_people):
        raise ArgumentError(
            "update is for rows of people who are not in the release: say so by new_people=True (--new-people), or by "
            "the public rule that tells them apart (--rule); the same people are fitted again, and merged as such"
        )
    rule = new_people if isinstance(new_people, str) else None
    check_rule(rule)
    check_kind(release, "the release")
    read_told(release, "the release")  # whatever cannot be merged is refused before anything is spent
    if release.guarantee.joint is not None and len(release.guarantee.joint.parts) >= MOST_MERGED:
        raise ArgumentError(f"the release has {MOST_MERGED} parts already, which is as many as a merged one may have")
    fitted = fit(
        new_rows,
        release.schema,
        epsilon=epsilon,
        delta=delta,
        mechanism=Mixture(layout=release),
        adjacency=str(release.guarantee.adjacency),
        rows=rows,
        ledger=ledger,
        dataset=dataset,
        engine=engine,
        progress=progress,
        insecure_seed=insecure_seed,
    )
    return merged([release, fitted], rule=rule)
