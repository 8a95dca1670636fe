"""How often intervals hold and verdicts are wrong, by simulation: the parts of `benchmarks/error_rates.py`."""
