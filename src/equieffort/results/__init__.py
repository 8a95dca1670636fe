"""The audit and what one keeps of it: audit(), the file, explanations, resampling, comparison, planning."""
