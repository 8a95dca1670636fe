"""Who decides: classifiers and the views that solvers can read, models from files, and surrogates of decisions."""
