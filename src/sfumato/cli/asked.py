"""What the options of a fit and of a training come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.training.settings import Training


def asked_of(
    mechanism: str,
    adjacency: str,
    encoding: str,
    rows: int | None,
    components: str | None,
    adapt: str | None,
    sigma_max: float | None,
    alpha: float | None,
    form: str | None,
    slices: int | None,
    slice_dim: int | None,
    calibration: str | None,
) -> dict[str, Any]:
    """What `plan` and `fit` are asked alike."""
    return {
        "mechanism": mechanism,
        "adjacency": adjacency,
        "encoding": encoding,
        "rows": rows,
        "components": int(components) if components is not None and components.isdecimal() else components,
        "adapt": False if adapt == "no" else adapt,
        "sigma_max": sigma_max,
        "alpha": alpha,
        "form": form,
        "slices": slices,
        "slice_dim": slice_dim,
        "calibration": calibration,
    }


def settings_of(
    steps: int | None,
    rate: float | None,
    architecture: str | None,
    width: int | None,
    depth: int | None,
    divergence: str | None,
    seed: int | None,
) -> Training | None:
    """Settings of a training; None where nothing was said."""
    from sfumato.training.settings import Training

    said = {"steps": steps, "rate": rate, "architecture": architecture, "width": width, "depth": depth}
    said |= {"divergence": divergence, "seed": seed}
    kept: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return Training(**kept) if kept else None
