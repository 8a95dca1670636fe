"""One person's cheapest way to a favourable decision: problem, solvers, verification, and the table of all answers."""
