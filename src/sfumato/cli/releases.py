"""A release as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.release.release import Release


def release_data(made: Release) -> dict[str, Any]:
    """All that a release says about itself."""
    from sfumato.release.guarantee import guarantee_data

    return {
        "mechanism": made.mechanism,
        "encoding": made.encoding,
        "guarantee": guarantee_data(made.guarantee),
        "schema": made.schema.dump(),
        "classes": dict(zip(map(str, made.layout.class_names()), made.class_weights.tolist(), strict=False)),
        "unread": {each.column: {"share": each.share, "sd": each.sd} for each in made.unread},
        **_model_data(made),
    }


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
