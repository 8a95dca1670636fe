"""Where facts of solvers, verdicts and settings become sentences, once for each audience.

Sentences that belong to one thing stand beside it: a measure's and a notion's beside their equations, a comparison's
beside its numbers, what cannot be read of a model or an equation where it is read.
"""
