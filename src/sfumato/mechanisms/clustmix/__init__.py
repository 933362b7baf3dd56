"""The clustmix mechanism: many small cells of each class, to train classifiers on, after Madl et al. (2023)."""

from sfumato.mechanisms.clustmix.clustmix_mechanism import CellTuning as CellTuning
from sfumato.mechanisms.clustmix.clustmix_mechanism import Clustmix as Clustmix
from sfumato.mechanisms.clustmix.clustmix_mechanism import ClustmixTuning as ClustmixTuning
from sfumato.mechanisms.clustmix.clustmix_mechanism import PointTuning as PointTuning
