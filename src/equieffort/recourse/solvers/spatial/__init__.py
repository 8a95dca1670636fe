"""Spatial branch and bound: equations that bend, enclosed over boxes of the values that are set."""
