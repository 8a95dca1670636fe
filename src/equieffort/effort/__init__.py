"""From costs to a verdict: statistics that add, neighbourhoods, measures with their intervals, and what is judged."""
