"""Sums of trees as a bounding oracle: what is left of them over a box of changes."""
