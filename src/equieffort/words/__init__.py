"""Where facts become sentences, once for each audience: whoever calls Python, writes a spec, or reads the report."""
