"""The slicing mechanism: noisy slices are bought once, generators trained on them for free, after Greenewald et al."""

from sfumato.mechanisms.slicing.slicing_mechanism import Slicing as Slicing
from sfumato.mechanisms.slicing.slicing_mechanism import SlicingTuning as SlicingTuning
from sfumato.mechanisms.slicing.slicing_mechanism import WaveTuning as WaveTuning
