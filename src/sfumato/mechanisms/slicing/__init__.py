"""The slicing mechanism: noisy slices are bought once, generators trained on them for free, after Greenewald et al."""

from sfumato.mechanisms.slicing.slicing_mechanism import Slicing, SlicingTuning, WaveTuning

__all__ = ["Slicing", "SlicingTuning", "WaveTuning"]
