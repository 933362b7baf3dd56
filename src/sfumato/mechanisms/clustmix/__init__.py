"""The clustmix mechanism: many small cells of each class, to train classifiers on, after Madl et al. (2023)."""

from sfumato.mechanisms.clustmix.clustmix_mechanism import CellTuning, Clustmix, ClustmixTuning, PointTuning

__all__ = ["CellTuning", "Clustmix", "ClustmixTuning", "PointTuning"]
