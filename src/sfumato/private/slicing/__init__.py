"""Noisy projections of every row: what they cost, and how they are drawn."""
