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


def _model_data(made: Release) -> dict[str, Any]:
    facts, _ = made.model.to_arrays()
    return {"generator": facts} if made.model.kind == "generator" else {"alpha": facts.get("alpha")}
