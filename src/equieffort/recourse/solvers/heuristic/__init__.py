"""A search that proves nothing: for classifiers and equations that nobody can read."""
