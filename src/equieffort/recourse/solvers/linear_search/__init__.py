"""LinearSearch: linear scores in a linear world, by branch and bound over which features are set and which follow."""
