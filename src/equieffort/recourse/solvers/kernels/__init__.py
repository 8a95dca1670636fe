"""What compiled solvers share: a simplex method, curves of cost, everybody's search on threads, and its clocks."""
