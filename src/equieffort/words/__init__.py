"""Where facts become sentences, once for each audience: callers in Python, authors of a spec, readers of a report."""
