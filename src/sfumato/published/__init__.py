"""The papers' algorithms as printed, for comparison.

They take raw arrays, stand outside the wall, and what they claim is the papers' claim, not this library's: each
docstring says what does not hold.
"""
