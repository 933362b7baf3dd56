"""Questions to a release: estimates with intervals, from the noisy answers that it keeps."""

from sfumato.asking.estimate import Estimate, Estimates

__all__ = ["Estimate", "Estimates"]
