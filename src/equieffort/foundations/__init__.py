"""What every room stands on: checks of arguments, compiled loops, genuine objects, and the tolerances of proofs."""
