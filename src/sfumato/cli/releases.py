"""A release as JSON, and where one must not be written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan
    from sfumato.release.release import Release

WEAK = 3.3  # mu, at which the best attacker's advantage 2 Phi(mu / 2) - 1 is nine tenths


def release_data(made: Release) -> dict[str, Any]:
    """All that a release says about itself."""
    from sfumato.planning.release_verdict import release_verdict
    from sfumato.release.guarantee import guarantee_data

    return {
        "mechanism": made.mechanism,
        "encoding": made.encoding,
        "guarantee": guarantee_data(made.guarantee),
        "schema": made.schema.dump(),
        "classes": dict(zip(map(str, made.layout.class_names()), made.class_weights.tolist(), strict=False)),
        "verdict": release_verdict(made).data(),
        "unread": {each.column: {"share": each.share, "sd": each.sd} for each in made.unread},
        **_model_data(made),
    }


def worth_lines(made: Release) -> list[str]:
    """What a release is good for, in a line from its noisy answers alone; none where they do not tell."""
    from sfumato.planning.release_verdict import release_verdict

    found = release_verdict(made)
    return [] if found.blur is None else [str(found)]


def promise_lines(planned: Plan) -> list[str]:
    """A line for each way in which the promise is so weak that hardly anything is promised."""
    delta, lines = planned.delta, []
    if planned.mu > WEAK:
        who = "who knows all other rows can tell nearly for certain whether one is in the table"
        lines.append(f"epsilon {planned.epsilon:g} promises little: {who}; `sfumato plan` has the figures")
    if delta * planned.rows > 1.0:
        told = f"delta {delta:g} is more than 1 / rows: to publish that share of the rows as they are would keep to it"
        lines.append(f"{told}; take 1e-6, or less")
    return lines


def check_apart(output: Path, merged: Sequence[Path]) -> None:
    """Refuse to write over a release that goes into another: it was paid for, and cannot be had back from there."""
    from sfumato.files import real_path

    if real_path(output) in map(real_path, merged):
        raise ArgumentError(f"{output} is a release that is to be merged; write the merged one somewhere else")


def followed_tables(made: Release) -> list[list[str]]:
    """The columns of each table of several that a tilted mixture follows; none of another model."""
    from sfumato.models.column_label import model_asked
    from sfumato.models.tilted_model import TiltedModel

    model = model_asked(made.model)
    if not isinstance(model, TiltedModel):
        return []
    names = (*model.layout.names, model.layout.label or "")
    tables = model.tilt.tables
    return [[names[j] for j in table] for table in tables if len(set(table) - {len(names) - 1}) > 1]


def _model_data(made: Release) -> dict[str, Any]:
    facts, _ = made.model.to_arrays()
    if made.model.kind == "generator":
        return {"generator": facts}
    return {"alpha": facts.get("base", facts).get("alpha"), "tables": followed_tables(made)}
