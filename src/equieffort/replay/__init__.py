"""Saved actions followed again from a file's own numbers, in plain numpy: no solver and no equation's own code."""
