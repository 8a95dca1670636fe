"""What may happen and what it costs: schema, groups, rules, the causal graph with its equations, prices, distances."""
