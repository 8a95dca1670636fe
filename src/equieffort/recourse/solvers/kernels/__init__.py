"""Compiled loops that several solvers share: a heap, a simplex method, curves of cost."""
