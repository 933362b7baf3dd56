"""Comparing a release with real rows. Private: whatever it prints was computed from real rows without noise."""
