"""LinearExact: linear scores in a linear world, filled in the order of gain a price."""
